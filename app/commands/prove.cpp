// `loopscope prove`: whether two programs compute the same, held against each other value by value on inputs that are given and drawn.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/wiring/backend.h"
#include "app/wiring/input_sources.h"
#include "app/wiring/model_file.h"
#include "app/wiring/proof.h"
#include "app/wiring/proof_inputs.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"
#include "app/wiring/tolerance.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/text.h"
#include "engine/debug/reference/comparison_text.h"

#include <algorithm>
#include <memory>

namespace loopscope::app {

namespace {

constexpr int kProved = 0, kRefuted = 1, kUndecided = static_cast<int>(ErrorCode::execution); // as where a run reaches its budget
constexpr int64_t kDrawnSteps = 100'000; ///< of a run on drawn inputs, which may loop for ever
constexpr size_t kNamed = 5;             ///< values without a partner that are named

/// Everything that a command line asks to be proved.
struct AskedProof {
    std::unique_ptr<LoadedModel> first = std::make_unique<LoadedModel>(),
                                 second = std::make_unique<LoadedModel>(); ///< `pair` points at them
    ProofPair pair;
    ExecutionOptions options;
    Profile profile = Profile::reference; ///< of the second program
    ProofOptions proof;
    std::vector<Array> given; ///< inputs of the first program; empty where it has some and none were given
    bool isGiven = false;
    int64_t samples = 0;
};

/// What came of it.
struct ProofOutcome {
    Proof proof;
    int64_t inputs = 0, refused = 0, undecided = 0;
    std::string untried;        ///< why an input could not be tried; empty: all were
    std::vector<Array> refuted; ///< inputs that show a difference
    bool isMinimized = false;

    int64_t decided() const { return inputs - undecided; }
};

Result<ProofNames> namesOf(const Arguments& arguments)
{
    ProofNames names;
    for (const std::string& text : arguments.all("pair")) {
        const size_t equals = text.find('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
            return Error(ErrorCode::usage, "option '--pair'")
                .found("'" + text + "'")
                .expected("NAME=NAME, a value of the first program and one of the second");
        names[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return names;
}

/// The second program: another file, or the same with other kernels.
Status openSecond(AskedProof& asked, const RunTarget& target, const ProofNames& names, const Arguments& arguments)
{
    const std::string against = arguments.text("against");
    if (arguments.positionals.size() == 2) {
        if (!against.empty()) return Error(ErrorCode::usage, "'prove' takes a second file or --against, not both");
        asked.profile = asked.options.profile;
        LS_TRY(*asked.second, loadModel(arguments.positionals[1]));
        LS_CHECK_OK(selectAlike(asked.second->model, asked.first->model, target, names, arguments.all("target")));
        return {};
    }
    for (const Profile known : {Profile::reference, Profile::fast, Profile::vulkan})
        if (against == profileName(known)) {
            if (known == Profile::vulkan) LS_CHECK_OK(openDevice(arguments));
            asked.profile = known;
            LS_TRY(*asked.second, loadModel(arguments.positionals[0]));
            return selectFromArguments(*asked.second, arguments);
        }
    if (!against.empty())
        return Error(ErrorCode::usage, "option '--against'").found("'" + against + "'").expected("reference, fast or vulkan");
    return Error(ErrorCode::usage, "a second program is missing").at("'prove'").expected("loopscope prove A B or prove A --against fast");
}

Result<AskedProof> askedProof(Console& console, const Arguments& arguments)
{
    AskedProof asked;
    LS_TRY(asked.options, executionOptions(arguments));
    LS_TRY(asked.proof.tolerance, toleranceOf(arguments));
    LS_TRY(asked.samples, arguments.integer("samples", 0, 0, 1'000'000));
    LS_TRY(const ProofNames names, namesOf(arguments));
    LS_TRY(*asked.first, loadModel(arguments.positionals[0]));
    LS_CHECK_OK(selectFromArguments(*asked.first, arguments));
    LS_TRY(const RunTarget target, targetOf(*asked.first, arguments.text("signature")));
    LS_CHECK_OK(openSecond(asked, target, names, arguments));
    LS_TRY(const RunTarget other, targetOf(*asked.second, arguments.positionals.size() == 2 ? "" : arguments.text("signature")));
    LS_TRY(const std::vector<std::string> sources, inputSources(arguments));
    const bool needsInputs = std::ranges::any_of(target.inputs, &Port::isRead);
    asked.isGiven = !sources.empty() || !needsInputs || asked.samples == 0;
    if (asked.isGiven) {
        LS_TRY(BoundInputs bound, bindInputs(target, sources, asked.options.seed, 1));
        for (const std::string& note : bound.notes) console.note(note);
        for (BoundInput& input : bound.inputs) asked.given.push_back(std::move(input.arrays.front()));
    }
    LS_TRY(asked.pair, pairForProof(asked.first->model, target, asked.second->model, other, names));
    return asked;
}

void tell(Console& console, const std::string& label, const Proof& proof)
{
    if (console.json() || console.quiet()) return;
    std::string line = label;
    line.resize(std::max<size_t>(line.size() + 2, 30), ' ');
    if (!proof.undecided.empty()) line += "undecided: " + proof.undecided;
    else if (!proof.refused.empty()) line += "both refuse: " + proof.refused;
    else line += verdictLine(proof);
    console.line(line);
}

/// One set of inputs. True: go on with the next.
Result<bool> tryInputs(Console& console, const AskedProof& asked, const std::vector<Array>& inputs, const std::string& label, bool isDrawn,
                       ProofOutcome& outcome)
{
    ExecutionOptions options = asked.options;
    if (isDrawn) options.maxSteps = std::min(options.maxSteps, kDrawnSteps);
    Result<Proof> proof = proveOn(asked.pair, inputs, options, asked.profile, asked.proof);
    if (!proof.ok()) {
        if (!isDrawn || proof.error().code() == ErrorCode::cancelled) return std::move(proof).takeError();
        if (outcome.untried.empty()) outcome.untried = proof.error().message();
        return true;
    }
    tell(console, label, *proof);
    ++outcome.inputs;
    outcome.refused += proof->refused.empty() ? 0 : 1;
    outcome.undecided += proof->undecided.empty() ? 0 : 1;
    add(outcome.proof, *proof);
    if (proof->verdict != ProofVerdict::different) return true;
    outcome.refuted = inputs;
    return false;
}

/// The smallest inputs that still show a difference, and that difference.
void minimize(Console& console, const AskedProof& asked, ProofOutcome& outcome)
{
    ExecutionOptions options = asked.options;
    options.maxSteps = std::min(options.maxSteps, 16 * outcome.proof.steps + 10'000);
    std::optional<Proof> last;
    int tried = 0;
    const auto shows = [&](std::span<const Array> inputs) {
        if (console.progressDue()) console.progress("minimizing: " + std::to_string(++tried) + " inputs tried");
        Result<Proof> proof = proveOn(asked.pair, inputs, options, asked.profile, asked.proof);
        if (!proof.ok() || proof->verdict != ProofVerdict::different || !proof->undecided.empty()) return false;
        last = std::move(proof).value();
        return true;
    };
    outcome.refuted = minimized(asked.pair.target, std::move(outcome.refuted), shows);
    outcome.isMinimized = true;
    if (!last) return;
    outcome.proof.first = last->first;
    outcome.proof.output = last->output;
}

Result<ProofOutcome> proveAll(Console& console, const AskedProof& asked, bool minimizes)
{
    ProofOutcome outcome;
    bool goesOn = true;
    if (asked.isGiven) {
        LS_TRY(goesOn, tryInputs(console, asked, asked.given, "inputs as given", false, outcome));
    }
    for (int64_t k = 0; k < asked.samples && goesOn; ++k) {
        Result<std::vector<Array>> drawn = drawInputs(asked.pair.target, asked.given, asked.options.seed, k);
        if (!drawn.ok()) return std::move(drawn).takeError();
        if (console.progressDue()) console.progress("sample " + std::to_string(k + 1) + " of " + std::to_string(asked.samples));
        LS_TRY(goesOn, tryInputs(console, asked, *drawn, "sample " + std::to_string(k + 1) + ", " + drawKindText(k), true, outcome));
    }
    if (!goesOn && minimizes) minimize(console, asked, outcome);
    console.endProgress();
    return outcome;
}

std::string unpairedText(const std::vector<std::string>& names)
{
    std::string text = std::to_string(names.size()) + ": ";
    for (size_t i = 0; i < names.size() && i < kNamed; ++i) text += (i > 0 ? ", " : "") + names[i];
    return text + (names.size() > kNamed ? ", …" : "");
}

void addDifference(JsonWriter& json, const std::optional<ProofDifference>& difference)
{
    if (!difference) {
        json.null();
        return;
    }
    const ProofDifference& d = *difference;
    json.beginObject().key("address").value(d.address).key("there").value(d.there).key("step");
    d.step.number >= 0 ? json.value(d.step.number) : json.null();
    json.key("kind").value(d.kind).key("a").value(d.a).key("b").value(d.b);
    const bool isValue = d.kind == "value";
    const auto number = [&](const char* key, double value) {
        json.key(key);
        isValue ? json.value(value) : json.null();
    };
    number("max_abs", d.figures.maxAbs);
    number("max_rel", d.figures.maxRel);
    json.key("ulp");
    isValue&& d.figures.maxUlp ? json.value(*d.figures.maxUlp) : json.null();
    number("cosine", d.figures.cosine);
    json.key("at");
    d.at.empty() ? json.null() : json.value(d.at);
    json.endObject();
}

void reportJson(Console& console, const AskedProof& asked, const ProofOutcome& outcome)
{
    const Proof& proof = outcome.proof;
    const PairingSummary& pairing = asked.pair.map.summary();
    const bool isEqual = proof.verdict != ProofVerdict::different;
    const bool isDecided = !isEqual || outcome.decided() > 0;
    JsonWriter json;
    json.beginObject().key("schema").value(1).key("equal");
    isDecided ? json.value(isEqual) : json.null();
    json.key("compared").value(proof.values).key("first");
    addDifference(json, proof.first);
    json.key("verdict").value(isDecided ? verdictText(proof.verdict) : "undecided");
    json.key("inputs").value(outcome.inputs).key("refused").value(outcome.refused).key("undecided").value(outcome.undecided);
    json.key("outputs").value(proof.outputs).key("loops").value(proof.trips).key("branches").value(proof.branches);
    json.key("variables").value(proof.variables).key("inexact").value(proof.inexact);
    json.key("max_abs").value(proof.maxAbs).key("max_rel").value(proof.maxRel).key("bound").value(proof.bound);
    json.key("paired").value(pairing.paired).key("paired_by").value(pairing.how).key("unpaired").beginArray();
    for (const std::string& name : pairing.unpaired) json.value(name);
    json.endArray().key("unpaired_there").beginArray();
    for (const std::string& name : pairing.unpairedThere) json.value(name);
    json.endArray();
    if (!isEqual) json.key(outcome.isMinimized ? "smallest" : "shown_by").value(inputsText(asked.pair.target, outcome.refuted));
    console.line(json.endObject().text());
}

void reportText(Console& console, const AskedProof& asked, const ProofOutcome& outcome)
{
    const Proof& proof = outcome.proof;
    if (proof.verdict == ProofVerdict::different && proof.first) {
        console.line("refuted: " + verdictLine(proof));
        console.line("  " + differenceLine(*proof.first));
        if (proof.output && proof.output->address != proof.first->address)
            console.line("  " + proof.output->address + ": " + differenceLine(*proof.output));
        const std::string inputs = inputsText(asked.pair.target, outcome.refuted);
        if (!inputs.empty()) console.line(std::string(outcome.isMinimized ? "  smallest input: " : "  with ") + inputs);
        return;
    }
    console.line(evidenceText(proof));
    const auto apart = [&](int64_t count, const std::string& first, const char* side) {
        if (count > 0) console.line(console.number(count) + " paired values were written " + side + " only, first " + first);
    };
    apart(proof.onlyHere, proof.firstOnlyHere, "by the first");
    apart(proof.onlyThere, proof.firstOnlyThere, "by the second");
    if (proof.apart > 0)
        console.line(console.number(proof.apart) + " values paired by name differ although all outputs agree, first " +
                     proof.firstApart->address);
    if (proof.handles > 0) console.line(console.number(proof.handles) + " handles were not compared");
    if (outcome.decided() == 0) {
        console.line("nothing is proved: " + console.number(outcome.undecided) + " undecided");
        return;
    }
    std::string line = std::string(proof.verdict == ProofVerdict::approximate ? "agree" : "proved equal") + " on " +
                       console.number(outcome.decided()) + (outcome.decided() == 1 ? " input" : " inputs");
    line += ": " + verdictLine(proof);
    if (outcome.refused > 0) line += "; " + console.number(outcome.refused) + " that both refuse";
    if (outcome.undecided > 0) line += "; " + console.number(outcome.undecided) + " undecided";
    console.line(line);
}

} // namespace

Result<int> runProve(const CommandContext& context)
{
    Console& console = context.console;
    LS_TRY(const AskedProof asked, askedProof(console, context.arguments));
    const PairingSummary& pairing = asked.pair.map.summary();
    if (!console.json()) {
        console.line(std::to_string(pairing.paired) + " of " + std::to_string(pairing.total) + " inputs and computed values paired by " +
                     pairing.how);
        if (!pairing.unpaired.empty()) console.line("without a partner " + unpairedText(pairing.unpaired));
        if (!pairing.unpairedThere.empty()) console.line("without a partner there " + unpairedText(pairing.unpairedThere));
    }
    LS_TRY(const ProofOutcome outcome, proveAll(console, asked, context.arguments.has("minimize")));
    if (outcome.inputs == 0) return Error(ErrorCode::usage, "no input could be tried").at("'prove'").found(outcome.untried);
    if (!outcome.untried.empty()) console.note("some drawn inputs could not be tried: " + outcome.untried);
    console.json() ? reportJson(console, asked, outcome) : reportText(console, asked, outcome);
    if (outcome.proof.verdict == ProofVerdict::different) return kRefuted;
    return outcome.decided() > 0 ? kProved : kUndecided;
}

} // namespace loopscope::app
