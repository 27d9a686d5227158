// Proves programs equal that a corpus says, or a rewrite promises, are: `prove_check twins KNOWN [FILTER]` the cases that exist with
// control flow of TensorFlow 1 and of TensorFlow 2 (feeds and fetches match by position), `prove_check raised KNOWN [FILTER]` the v1 cases
// and what raising makes of them. Each runs on its own inputs, one run after the other in one session, and its last run with inputs on 8
// drawn ones. KNOWN lists cases that are known not to prove, with the reason. The corpus is $LOOPSCOPE_CORPUS, else ../shared/corpus. Exit
// codes: 0, 1 (a case fails without being listed, or is listed and does not), 77 (no corpus).
#include "app/check/golden_case.h"
#include "app/check/golden_run.h"
#include "app/check/verdict.h"
#include "app/wiring/lowering.h"
#include "app/wiring/proof.h"
#include "app/wiring/proof_inputs.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"
#include "converters/formats.h"
#include "converters/raise/raise.h"
#include "tests/scratch.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace loopscope::app {
namespace {

constexpr int64_t kMostSteps = 50'000;
constexpr int64_t kDrawn = 8;

/// One program of a case in a session of its own.
struct Program {
    explicit Program(LoadedModel loaded) : file(std::move(loaded)), session(file.model, options()) {}
    static ExecutionOptions options()
    {
        ExecutionOptions options;
        options.maxSteps = kMostSteps;
        return options;
    }
    LoadedModel file;
    ModelSession session;
};

CaseResult resultOf(const std::string& id, Verdict verdict, std::string message)
{
    CaseResult result;
    result.id = id;
    result.verdict = verdict;
    result.message = std::move(message);
    return result;
}

Result<std::vector<Array>> inputsOf(const GoldenRun& run)
{
    std::vector<Array> inputs;
    if (run.inPath.empty()) return inputs;
    LS_TRY(const NpzFile archive, NpzFile::open(run.inPath));
    for (size_t k = 0; k < run.feeds.size(); ++k) {
        LS_TRY(std::optional<Array> array, goldenArray(archive, k, run.inDtypes));
        if (!array) return Error(ErrorCode::badFile, "an array is missing");
        inputs.push_back(std::move(*array));
    }
    return inputs;
}

/// One run of both programs, and the drawn ones behind it. A run that reached its budget left variables as they were in the middle of it,
/// at another place in each program: `again` brings both to where the run began.
Result<Proof> proveRun(
    Program& here, Program& there, const GoldenRun& run, const GoldenRun& other, bool draws, const std::function<void()>& again = [] {})
{
    RunTarget target, targetThere;
    LS_TRY(Executor* const first, here.session.enter(rootOf(here.file.model, ""), {run.feeds, run.fetches, run.targets}, target));
    LS_TRY(Executor* const second,
           there.session.enter(rootOf(there.file.model, ""), {other.feeds, other.fetches, other.targets}, targetThere));
    ProofNames names;
    for (size_t k = 0; k < run.feeds.size(); ++k) names[run.feeds[k]] = other.feeds[k];
    for (size_t k = 0; k < run.fetches.size(); ++k) names.emplace(run.fetches[k], other.fetches[k]);
    LS_TRY(const ProofPair pair, pairForProof(first->model(), target, second->model(), targetThere, names));
    LS_TRY(const std::vector<Array> inputs, inputsOf(run));
    ProofOptions options;
    options.tolerance.close = Tolerance::Close{1e-5, 1e-6, 1e-5};
    LS_TRY(Proof proof, proveOn(pair, *first, *second, inputs, options));
    for (int64_t k = 0; draws && k < kDrawn && proof.verdict != ProofVerdict::different; ++k) {
        LS_TRY(const std::vector<Array> drawn, drawInputs(target, inputs, 1, k));
        LS_TRY(const Proof more, proveOn(pair, *first, *second, drawn, options));
        add(proof, more);
        if (!more.undecided.empty()) again();
        if (more.verdict == ProofVerdict::different && more.first) proof.first->address = drawKindText(k) + ": " + proof.first->address;
    }
    return proof;
}

CaseResult proveCase(const GoldenCase& golden, const GoldenCase& other, Program& here, Program& there)
{
    Proof whole;
    size_t last = golden.runs.size();
    for (size_t r = 0; r < golden.runs.size(); ++r)
        if (!golden.runs[r].feeds.empty() && !golden.runs[r].mustFail) last = r;
    for (size_t r = 0; r < golden.runs.size(); ++r) {
        const GoldenRun &run = golden.runs[r], &runThere = other.runs[r];
        const std::string place = golden.runs.size() > 1 ? "run " + std::to_string(r) + ", " : "";
        if (run.feeds.size() != runThere.feeds.size() || run.fetches.size() != runThere.fetches.size())
            return resultOf(golden.id, Verdict::unsupported, place + "feeds or fetches do not match");
        const Result<Proof> proof = proveRun(here, there, run, runThere, r == last, [&] {
            for (size_t before = 0; before < r; ++before)
                static_cast<void>(proveRun(here, there, golden.runs[before], other.runs[before], false));
        });
        if (!proof.ok()) {
            if (run.mustFail) continue; // what cannot even be selected
            const bool isMissing = proof.error().code() == ErrorCode::unsupported;
            return resultOf(golden.id, isMissing ? Verdict::unsupported : Verdict::error, place + proof.error().message());
        }
        add(whole, *proof);
        if (proof->verdict == ProofVerdict::different)
            return resultOf(golden.id, Verdict::fail,
                            place + verdictLine(*proof) + " (" + proof->first->there + ")  " + differenceLine(*proof->first));
    }
    return resultOf(golden.id, Verdict::pass, std::string(verdictText(whole.verdict)) + "  " + evidenceText(whole));
}

CaseResult proveTwin(const GoldenCase& golden, const GoldenCase& twin)
{
    Result<LoadedModel> first = loadModel(golden.modelPath), second = loadModel(twin.modelPath);
    if (!first.ok() || !second.ok() || golden.runs.size() != twin.runs.size())
        return resultOf(golden.id, Verdict::unsupported, "not a pair of programs that open");
    Program here(std::move(first).value()), there(std::move(second).value());
    return proveCase(golden, twin, here, there);
}

CaseResult proveRaised(const GoldenCase& golden)
{
    Result<LoadedModel> first = loadModel(golden.modelPath), second = loadModel(golden.modelPath);
    if (!first.ok() || !second.ok()) return resultOf(golden.id, Verdict::unsupported, "does not open");
    RaiseOptions options;
    for (const GoldenRun& run : golden.runs) {
        options.feeds.insert(options.feeds.end(), run.feeds.begin(), run.feeds.end());
        options.fetches.insert(options.fetches.end(), run.fetches.begin(), run.fetches.end());
        options.targets.insert(options.targets.end(), run.targets.begin(), run.targets.end());
    }
    const Result<RewriteReport> report = raiseControlFlow(second->model, options);
    if (!report.ok()) return resultOf(golden.id, Verdict::unsupported, report.error().message());
    if (!report->declined.empty())
        return resultOf(golden.id, Verdict::unsupported, report->declined.front().where + ": " + report->declined.front().reason);
    Program here(std::move(first).value()), there(std::move(second).value());
    return proveCase(golden, golden, here, there);
}

/// Every run of a case that needs no state of another: lowered, written and read back, against what it was lowered from.
CaseResult proveLowered(const GoldenCase& golden, const std::string& folder)
{
    const Result<LoadedModel> file = loadModel(golden.modelPath);
    if (!file.ok()) return resultOf(golden.id, Verdict::unsupported, "does not open");
    Proof whole;
    int runs = 0;
    for (const GoldenRun& run : golden.runs) {
        if (run.mustFail || run.fetches.empty()) continue;
        const GraphId root = rootOf(file->model, "");
        const RunSelection selection{run.feeds, run.fetches, run.targets};
        Result<Model> selected = selectForRun(file->model, root, selection);
        if (!selected.ok()) return resultOf(golden.id, Verdict::unsupported, selected.error().message());
        const Result<LoweredModel> lowered = loweredModel(file->model, root, selection, "", {});
        if (!lowered.ok()) return resultOf(golden.id, Verdict::unsupported, "not lowered: " + lowered.error().message());
        if (!lowered->noForm.empty())
            return resultOf(golden.id, Verdict::unsupported,
                            "no form: " + lowered->noForm.front().kind + ": " + lowered->noForm.front().reason);
        const std::string path = folder + "/" + std::to_string(std::hash<std::string>()(golden.id)) + ".tflite";
        SaveOptions save;
        save.overwrite = true;
        Status saved = saveModel(lowered->model, path, save);
        if (!saved.ok()) return resultOf(golden.id, Verdict::fail, "not written: " + std::move(saved).takeError().message());
        const Result<LoadedModel> read = loadModel(path);
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
        if (!read.ok()) return resultOf(golden.id, Verdict::fail, "not read: " + read.error().message());
        selected->signatures.clear();
        const Result<RunTarget> target = selectTarget(*selected, ""), other = selectTarget(read->model, "");
        if (!target.ok() || !other.ok()) return resultOf(golden.id, Verdict::error, "no target");
        ProofNames names; // by position
        for (size_t k = 0; k < target->inputs.size() && k < other->inputs.size(); ++k)
            names[selected->graph(root).value(target->inputs[k].value).id] =
                read->model.graph(other->graph).value(other->inputs[k].value).id;
        const Result<ProofPair> pair = pairForProof(*selected, *target, read->model, *other, names);
        if (!pair.ok()) return resultOf(golden.id, Verdict::fail, pair.error().message());
        const Result<std::vector<Array>> inputs = inputsOf(run);
        if (!inputs.ok()) return resultOf(golden.id, Verdict::error, inputs.error().message());
        ProofOptions options;
        options.tolerance.close = Tolerance::Close{1e-5, 1e-6, 1e-5};
        const Result<Proof> proof = proveOn(*pair, *inputs, Program::options(), Profile::reference, options);
        if (!proof.ok()) return resultOf(golden.id, Verdict::fail, proof.error().message());
        if (!proof->refused.empty()) continue; // it needs what another run leaves
        if (proof->verdict == ProofVerdict::different)
            return resultOf(golden.id, Verdict::fail, verdictLine(*proof) + "  " + differenceLine(*proof->first));
        add(whole, *proof);
        ++runs;
    }
    if (runs == 0) return resultOf(golden.id, Verdict::unsupported, "no run stands alone");
    return resultOf(golden.id, Verdict::pass, std::string(verdictText(whole.verdict)) + "  " + evidenceText(whole));
}

std::set<std::string> readKnown(const std::string& path)
{
    std::set<std::string> known;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const size_t end = line.find_first_of(" \t#");
        if (end != 0 && !line.empty()) known.insert(line.substr(0, end));
    }
    return known;
}

int check(const std::string& mode, const std::string& knownPath, const std::string& filter)
{
    const char* const set = std::getenv("LOOPSCOPE_CORPUS");
    const std::string corpus = set ? set : "../shared/corpus";
    if (!std::filesystem::exists(corpus + "/tf-v1/cases.jsonl")) {
        std::puts("skipped: no corpus here (set LOOPSCOPE_CORPUS)");
        return 77;
    }
    const Result<std::vector<GoldenCase>> cases = readGoldenCases(corpus + "/tf-v1"), others = readGoldenCases(corpus + "/tf-v2");
    if (!cases.ok() || !others.ok()) {
        std::puts("the cases cannot be read");
        return 1;
    }
    std::map<std::string, const GoldenCase*> twins;
    for (const GoldenCase& golden : *others) twins[golden.id] = &golden;
    const ScratchFolder scratch;
    const std::string folder = scratch.path();
    std::vector<CaseJob> jobs;
    for (const GoldenCase& golden : mode == "lowered" ? *others : *cases) {
        if (golden.id.find(filter) == std::string::npos) continue;
        const auto twin = twins.find(golden.id);
        if (mode == "lowered") jobs.push_back({golden.id, [&golden, folder] { return proveLowered(golden, folder); }});
        else if (mode == "raised") jobs.push_back({golden.id, [&golden] { return proveRaised(golden); }});
        else if (twin != twins.end()) jobs.push_back({golden.id, [&golden, other = twin->second] { return proveTwin(golden, *other); }});
    }
    PoolOptions options;
    options.jobs = 2;
    options.caseTimeout = 60;
    const std::vector<CaseResult> results = runJobs(jobs, options);
    const std::set<std::string> known = readKnown(knownPath);
    std::map<std::string, int> counts;
    int wrong = 0;
    for (const CaseResult& result : results) {
        // What TFLite has no form for, or raising declines with a reason, is told apart from what is wrong.
        const bool isDeclined = mode != "twins" && result.verdict == Verdict::unsupported;
        const bool passes = result.verdict == Verdict::pass || isDeclined;
        ++counts[passes && !isDeclined ? result.message.substr(0, result.message.find(' ')) : verdictName(result.verdict)];
        const bool isListed = known.contains(result.id);
        if (!filter.empty() || isDeclined || passes == isListed)
            std::printf("%s: %s  %s%s\n", result.id.c_str(), verdictName(result.verdict).c_str(), result.message.c_str(),
                        isListed && passes ? "  (but is listed)" : "");
        wrong += passes == isListed ? 1 : 0;
    }
    std::printf("%s: %zu cases", mode.c_str(), results.size());
    for (const auto& [name, count] : counts) std::printf(", %d %s", count, name.c_str());
    std::printf("; %zu known not to\n", known.size());
    return wrong == 0 && !results.empty() ? 0 : 1;
}

} // namespace
} // namespace loopscope::app

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::puts("usage: prove_check twins|raised KNOWN [FILTER]");
        return 2;
    }
    // A drawn length may ask for all memory there is, of which other tests want some: 2^27 floats, the largest case, need half of this.
    const rlimit most = {rlim_t{8} << 30, rlim_t{8} << 30};
    setrlimit(RLIMIT_AS, &most);
    return loopscope::app::check(argv[1], argv[2], argc > 3 ? argv[3] : "");
}
