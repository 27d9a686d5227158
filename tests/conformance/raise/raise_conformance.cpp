// Raises every graph of a corpus that has TensorFlow 1's control flow, and runs what comes out on the recorded inputs: it must give the
// recorded answers where the graph itself does. Prints which graphs were raised completely, and why others were not.
// Usage: raise_conformance [--all] [FOLDER [FILTER]]; without a folder, $LOOPSCOPE_CORPUS/tf-v1 or ../shared/corpus/tf-v1. --all: tells of
// every graph. Exit codes: 0, 1 (a raised graph answers otherwise, or fewer than 97 % were raised), 77 (no corpus).
#include "app/check/golden_run.h"
#include "converters/formats.h"
#include "converters/raise/raise.h"
#include "engine/ir/frames.h"
#include "engine/ir/verifier.h"
#include "tests/scratch.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace loopscope {
namespace {

/// Graphs that are known to answer otherwise, with the reason behind `#`: a line each.
bool isKnown(const std::string& id)
{
    std::ifstream file("tests/conformance/raise/known.txt");
    for (std::string line; std::getline(file, line);)
        if (line.substr(0, line.find(' ')) == id) return true;
    return false;
}

struct Counts {
    int graphs = 0, complete = 0, partly = 0, equal = 0, different = 0, known = 0, skipped = 0;
};

/// What the runs of a case ask for.
RaiseOptions optionsOf(const app::GoldenCase& golden)
{
    RaiseOptions options;
    for (const app::GoldenRun& run : golden.runs) {
        for (const std::string& name : run.fetches) options.fetches.push_back(name);
        for (const std::string& name : run.feeds) options.feeds.push_back(name);
        for (const std::string& name : run.targets) options.targets.push_back(name);
    }
    return options;
}

void checkCase(app::GoldenCase golden, const std::string& scratch, bool tellsAll, Counts& counts)
{
    Result<LoadedModel> file = loadModel(golden.modelPath);
    if (!file.ok() || std::ranges::none_of(file->model.graphs, hasFramesOrSwitches)) return;
    ++counts.graphs;
    const auto tell = [&](const char* what, const std::string& text) { std::printf("%s %s: %s\n", what, golden.id.c_str(), text.c_str()); };
    Result<RewriteReport> report = raiseControlFlow(file->model, optionsOf(golden));
    if (!report.ok()) return tell("ERROR", report.error().message());
    const bool isComplete = report->declined.empty();
    (isComplete ? counts.complete : counts.partly) += 1;
    for (const Declined& declined : report->declined) tell("left ", declined.where + ": " + declined.reason);
    if (tellsAll && isComplete) tell("raised", std::to_string(report->rewrites.size()));
    if (Status status = verifyModel(file->model); !status.ok()) {
        ++counts.different;
        return tell("WRONG", std::move(status).takeError().message());
    }
    SaveOptions saving;
    saving.overwrite = true;
    const Result<const Format*> format = formatToSave(scratch, saving);
    if (!format.ok()) return tell("ERROR", format.error().message());
    if (Status status = (*format)->save(file->model, scratch, saving); !status.ok()) {
        ++counts.different;
        return tell("WRONG", std::move(status).takeError().message());
    }
    const app::CaseResult before = app::runGoldenCase(golden);
    golden.modelPath = scratch;
    const app::CaseResult after = app::runGoldenCase(golden);
    if (before.verdict != app::Verdict::pass && after.verdict != app::Verdict::pass) {
        ++counts.skipped;
    } else if (after.verdict == app::Verdict::pass) {
        ++counts.equal;
    } else if (isKnown(golden.id)) {
        ++counts.known;
        tell("known", after.message);
    } else {
        ++counts.different;
        tell("WRONG", after.message);
    }
}

/// A case in a process of its own: one that ends badly counts as different.
void checkApart(const app::GoldenCase& golden, const std::string& scratch, bool tellsAll, Counts& counts)
{
    std::fflush(stdout);
    const Counts before = counts;
    const pid_t child = fork();
    if (child == 0) {
        checkCase(golden, scratch, tellsAll, counts);
        std::fflush(stdout);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
    counts = before;
    ++counts.graphs;
    ++counts.different;
    std::printf("WRONG %s: the process ended with %d\n", golden.id.c_str(), status);
}

int runAll(const std::string& folder, const std::string& filter, bool tellsAll)
{
    std::error_code missing;
    if (!std::filesystem::exists(folder + "/cases.jsonl", missing)) {
        std::printf("no corpus at %s: skipped\n", folder.c_str());
        return 77;
    }
    Result<std::vector<app::GoldenCase>> cases = app::readGoldenCases(folder);
    if (!cases.ok()) {
        std::printf("%s\n", cases.error().message().c_str());
        return 1;
    }
    const ScratchFolder written;
    const std::string scratch = written.path("raised.pb");
    void* const shared = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    Counts& counts = *new (shared) Counts;
    for (const app::GoldenCase& golden : *cases)
        if (golden.id.find(filter) != std::string::npos) checkApart(golden, scratch, tellsAll, counts);
    const double share = counts.graphs == 0 ? 100.0 : 100.0 * counts.complete / counts.graphs;
    std::printf("%d graphs with control flow: %d raised completely (%.1f %%), %d in part or not; %d answer as recorded, %d differ, %d are "
                "known to, %d are not answered by the v1 graph either\n",
                counts.graphs, counts.complete, share, counts.partly, counts.equal, counts.different, counts.known, counts.skipped);
    return counts.different == 0 && share >= 97.0 ? 0 : 1;
}

} // namespace
} // namespace loopscope

int main(int argc, char** argv)
{
    std::vector<std::string> words(argv + 1, argv + argc);
    const bool tellsAll = !words.empty() && words.front() == "--all";
    if (tellsAll) words.erase(words.begin());
    const char* corpus = std::getenv("LOOPSCOPE_CORPUS");
    const std::string folder = !words.empty() ? words[0] : (corpus ? std::string(corpus) : std::string("../shared/corpus")) + "/tf-v1";
    return loopscope::runAll(folder, words.size() > 1 ? words[1] : "", tellsAll);
}
