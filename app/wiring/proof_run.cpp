#include "app/wiring/proof_run.h"

#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/wiring/backend.h"
#include "app/wiring/command_line.h"
#include "app/wiring/input_sources.h"
#include "app/wiring/kernel_reason.h"
#include "app/wiring/operator_effects.h"
#include "app/wiring/proof_inputs.h"
#include "app/wiring/session.h"
#include "app/wiring/tolerance.h"
#include "engine/api/inputs/inputs.h"
#include "engine/debug/reference/comparison_text.h"
#include "engine/observe/address_resolution.h"

#include <algorithm>

namespace loopscope::app {

namespace {

constexpr int kProved = 0, kRefuted = 1, kUndecided = static_cast<int>(ErrorCode::execution); // as where a run reaches its budget
constexpr int64_t kDrawnSteps = 100'000; ///< of a run on drawn inputs, which may loop for ever
constexpr size_t kNamed = 5;             ///< values without a partner that are named

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
Result<bool> tryInputs(Console& console, const ProofRequest& asked, const std::vector<Array>& inputs, const std::string& label,
                       bool isDrawn, ProofOutcome& outcome)
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
void minimize(Console& console, const ProofRequest& asked, ProofOutcome& outcome)
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

} // namespace

Result<ProofRequest> proofRequest(Console& console, const Arguments& arguments, const RunTarget& target, int64_t samples)
{
    ProofRequest asked;
    LS_TRY(asked.options, executionOptions(arguments));
    LS_TRY(asked.proof.tolerance, toleranceOf(arguments));
    asked.minimizes = arguments.has("minimize");
    LS_TRY(std::vector<std::string> sources, inputSources(arguments));
    std::erase_if(sources, [&](const std::string& text) { // --feed NAME only says what is an input
        return text.find('=') == std::string::npos &&
               std::ranges::any_of(target.inputs, [&](const Port& port) { return port.name == text; });
    });
    const bool needsInputs = std::ranges::any_of(target.inputs, &Port::isRead);
    const bool isOpen = sources.empty() && needsInputs;
    LS_TRY(asked.samples, arguments.integer("samples", isOpen ? samples : 0, 0, 1'000'000));
    asked.isGiven = !isOpen || asked.samples == 0;
    if (!asked.isGiven) return asked;
    LS_TRY(BoundInputs bound, bindInputs(target, sources, asked.options.seed, 1));
    for (const std::string& note : bound.notes) console.note(note);
    for (BoundInput& input : bound.inputs) asked.given.push_back(std::move(input.arrays.front()));
    return asked;
}

Result<ProofOutcome> proveAll(Console& console, const ProofRequest& asked)
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
    if (!goesOn && asked.minimizes) minimize(console, asked, outcome);
    if (!goesOn && asked.profile != asked.options.profile) {
        LS_TRY(outcome.effects, operatorEffects(asked, outcome.refuted));
    }
    console.endProgress();
    if (outcome.inputs == 0) return Error(ErrorCode::usage, "no input could be tried").at("proof").found(outcome.untried);
    if (!outcome.untried.empty()) console.note("some drawn inputs could not be tried: " + outcome.untried);
    return outcome;
}

int exitCodeOf(const ProofOutcome& outcome)
{
    if (outcome.isRefuted()) return kRefuted;
    return outcome.decided() > 0 ? kProved : kUndecided;
}

std::string verdictWord(const ProofOutcome& outcome)
{
    return outcome.isRefuted() || outcome.decided() > 0 ? std::string(verdictText(outcome.proof.verdict)) : "undecided";
}

std::vector<std::string> pairingLines(const ProofRequest& asked)
{
    const PairingSummary& pairing = asked.pair.map.summary();
    std::vector<std::string> lines = {std::to_string(pairing.paired) + " of " + std::to_string(pairing.total) +
                                      " inputs and computed values paired by " + pairing.how};
    if (!pairing.unpaired.empty()) lines.push_back("without a partner " + unpairedText(pairing.unpaired));
    if (!pairing.unpairedThere.empty()) lines.push_back("without a partner there " + unpairedText(pairing.unpairedThere));
    return lines;
}

std::string whyOf(const ProofRequest& asked, const Proof& proof)
{
    if (asked.profile == asked.options.profile || !proof.first || asked.pair.model == nullptr) return {};
    const Result<Address> address = parseAddress(proof.first->address);
    if (!address.ok()) return {};
    const Result<ResolvedAddress> place = resolveAddress(*asked.pair.model, *address);
    if (!place.ok() || !place->op.valid()) return {};
    const Graph& graph = asked.pair.model->graph(place->graph);
    const Operator& op = graph.op(place->op);
    for (const Profile profile : {asked.profile, asked.options.profile})
        if (std::string remark = kernelRemark(op, graph, profile); !remark.empty())
            return kernelReason(std::move(remark), proof.first->kind == "value" ? stepsText(op, graph, proof.first->figures) : "");
    return {};
}

std::vector<std::string> outcomeLines(const Console& console, const ProofRequest& asked, const ProofOutcome& outcome)
{
    const Proof& proof = outcome.proof;
    std::vector<std::string> lines;
    if (proof.verdict == ProofVerdict::different && proof.first) {
        lines.push_back("refuted: " + verdictLine(proof));
        lines.push_back("  " + differenceLine(*proof.first));
        if (const std::string why = whyOf(asked, proof); !why.empty()) lines.push_back("  " + why);
        if (proof.output && proof.output->address != proof.first->address)
            lines.push_back("  " + proof.output->address + ": " + differenceLine(*proof.output));
        const std::string inputs = inputsText(asked.pair.target, outcome.refuted);
        if (!inputs.empty()) lines.push_back(std::string(outcome.isMinimized ? "  smallest input: " : "  with ") + inputs);
        for (std::string& line : effectLines(outcome.effects, whyOf(asked, proof))) lines.push_back("  " + std::move(line));
        return lines;
    }
    lines.push_back(evidenceText(proof));
    const auto apart = [&](int64_t count, const std::string& first, const char* side) {
        if (count > 0) lines.push_back(console.number(count) + " paired values were written " + side + " only, first " + first);
    };
    apart(proof.onlyHere, proof.firstOnlyHere, "by the first");
    apart(proof.onlyThere, proof.firstOnlyThere, "by the second");
    if (proof.apart > 0)
        lines.push_back(console.number(proof.apart) + " values paired by name differ although all outputs agree, first " +
                        proof.firstApart->address);
    if (proof.handles > 0) lines.push_back(console.number(proof.handles) + " handles were not compared");
    if (outcome.decided() == 0) {
        lines.push_back("nothing is proved: " + console.number(outcome.undecided) + " undecided");
        return lines;
    }
    std::string line = std::string(proof.verdict == ProofVerdict::approximate ? "agree" : "proved equal") + " on " +
                       console.number(outcome.decided()) + (outcome.decided() == 1 ? " input" : " inputs");
    line += ": " + verdictLine(proof);
    if (outcome.refused > 0) line += "; " + console.number(outcome.refused) + " that both refuse";
    if (outcome.undecided > 0) line += "; " + console.number(outcome.undecided) + " undecided";
    lines.push_back(line);
    return lines;
}

void addProof(JsonWriter& json, const ProofRequest& asked, const ProofOutcome& outcome)
{
    const Proof& proof = outcome.proof;
    const PairingSummary& pairing = asked.pair.map.summary();
    const bool isEqual = proof.verdict != ProofVerdict::different;
    const bool isDecided = !isEqual || outcome.decided() > 0;
    json.key("equal");
    isDecided ? json.value(isEqual) : json.null();
    json.key("compared").value(proof.values).key("first");
    addDifference(json, proof.first);
    json.key("verdict").value(verdictWord(outcome));
    json.key("inputs").value(outcome.inputs).key("refused").value(outcome.refused).key("undecided").value(outcome.undecided);
    json.key("outputs").value(proof.outputs).key("loops").value(proof.trips).key("branches").value(proof.branches);
    json.key("variables").value(proof.variables).key("inexact").value(proof.inexact);
    json.key("max_abs").value(proof.maxAbs).key("max_rel").value(proof.maxRel).key("bound").value(proof.bound);
    json.key("paired").value(pairing.paired).key("paired_by").value(pairing.how).key("unpaired").beginArray();
    for (const std::string& name : pairing.unpaired) json.value(name);
    json.endArray().key("unpaired_there").beginArray();
    for (const std::string& name : pairing.unpairedThere) json.value(name);
    json.endArray();
    if (const std::string why = isEqual ? "" : whyOf(asked, proof); !why.empty()) json.key("why").value(why);
    if (!isEqual) json.key(outcome.isMinimized ? "smallest" : "shown_by").value(inputsText(asked.pair.target, outcome.refuted));
    addEffects(json, outcome.effects);
}

} // namespace loopscope::app
