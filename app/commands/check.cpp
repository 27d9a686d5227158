// `loopscope check`: golden cases, text tests, and the rules of a trace.
#include "app/check/golden_case.h"
#include "app/check/golden_run.h"
#include "app/check/ltest_run.h"
#include "app/check/verdict.h"
#include "app/commands/check_trace.h"
#include "app/commands/commands.h"
#include "app/commands/shared_cases.h"
#include "app/output/console.h"
#include "app/ranks/ranks.h"
#include "app/wiring/backend.h"
#include "app/wiring/model_file.h"
#include "app/wiring/model_summary.h"
#include "app/wiring/session.h"
#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/ops/catalog.h"
#include "tracer/api/trace_reader.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

namespace loopscope::app {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kCaseCost = 4096; ///< of a case by itself, in bytes that are read and run

/// What the command line asked for: cases to run, with which kernels, and where their answers may be rewritten.
struct Work {
    std::optional<Profile> profile; ///< none: golden cases with the reference kernels, text tests with all that there are
    std::vector<CaseJob> jobs;
    std::vector<std::string> textTests; ///< paths of .ltest files
};

/// Opening, reading and running grow with the bytes of the model and its arrays.
uint64_t costOf(const GoldenCase& golden)
{
    const auto bytesOf = [](const std::string& path) -> uint64_t {
        std::error_code error;
        const uintmax_t bytes = path.empty() ? 0 : fs::file_size(path, error);
        return error ? 0 : bytes;
    };
    uint64_t cost = kCaseCost + bytesOf(golden.modelPath) * (golden.runs.size() + 1);
    for (const GoldenRun& run : golden.runs) cost += bytesOf(run.inPath) + bytesOf(run.outPath);
    return cost;
}

Status addGolden(const std::string& folder, Work& work)
{
    LS_TRY(std::vector<GoldenCase> cases, readGoldenCases(folder));
    const Profile profile = work.profile.value_or(Profile::reference);
    for (GoldenCase& golden : cases) {
        std::string id = golden.id;
        const uint64_t cost = costOf(golden);
        work.jobs.push_back({std::move(id), [golden = std::move(golden), profile] { return runGoldenCase(golden, profile); }, cost});
    }
    return {};
}

Status addTextTests(const std::string& path, Work& work)
{
    LS_TRY(LtestFile file, readLtest(path));
    const auto shared = std::make_shared<const LtestFile>(std::move(file));
    for (size_t i = 0; i < shared->cases.size(); ++i)
        work.jobs.push_back({path + ":" + shared->cases[i].name,
                             [shared, i, only = work.profile] { return runLtestCase(*shared, shared->cases[i], nullptr, only); },
                             kCaseCost});
    work.textTests.push_back(path);
    return {};
}

/// A model by itself: it must open, pass inference, and come back identical from its file format and its text.
CaseResult checkModel(const std::string& path)
{
    CaseResult result;
    result.id = path;
    result.verdict = Verdict::fail;
    const auto failed = [&](Error error) {
        if (error.code() == ErrorCode::unsupported) result.verdict = Verdict::unsupported;
        result.message = error.message();
        return result;
    };
    Result<LoadedModel> file = loadModel(path);
    if (!file.ok()) return failed(std::move(file).takeError());
    if (Status same = comesBackIdentical(*file); !same.ok()) return failed(std::move(same).takeError());
    Model inferred = file->model;
    if (Status status = inferModel(inferred); !status.ok()) return failed(std::move(status).takeError());
    if (const std::vector<std::string> missing = summarize(file->model).missing; !missing.empty()) {
        result.verdict = Verdict::unsupported;
        result.message = "no kernel for " + join(missing, ", ");
        return result;
    }
    result.verdict = Verdict::pass;
    return result;
}

bool looksLikeTextTest(const std::string& path)
{
    if (path.ends_with(".ltest")) return true;
    const Result<Bytes> content = mapFile(path);
    if (!content.ok()) return false;
    const std::string_view text(content->as<char>(), content->size());
    return text.starts_with("== test") || text.find("\n== test") != std::string_view::npos;
}

Status addPath(const std::string& path, Work& work)
{
    std::error_code error;
    if (!fs::exists(path, error)) return Error(ErrorCode::badFile, "no such file").at(path);
    if (!fs::is_directory(path, error)) {
        if (looksLikeTextTest(path)) return addTextTests(path, work);
        work.jobs.push_back({path, [path] { return checkModel(path); }, kCaseCost});
        return {};
    }
    const std::string folder = path.size() > 1 && path.ends_with("/") ? path.substr(0, path.size() - 1) : path;
    if (fs::exists(folder + "/cases.jsonl", error)) return addGolden(folder, work);
    // A folder of suites, or of text tests at any depth.
    const std::vector<std::string> suites = goldenFolders(folder);
    std::vector<std::string> tests;
    for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end; it != end;
         it.increment(error)) {
        if (error) break;
        if (it->path().extension() == ".ltest") tests.push_back(it->path().string());
    }
    std::sort(tests.begin(), tests.end());
    if (suites.empty() && tests.empty())
        return Error(ErrorCode::badFile, "nothing to check: neither cases.jsonl nor .ltest files").at(path);
    for (const std::string& suite : suites) LS_CHECK_OK(addGolden(suite, work));
    for (const std::string& test : tests) LS_CHECK_OK(addTextTests(test, work));
    return {};
}

/// What the verdicts rest on: how much was compared, and with `bits` how much of it is equal bit for bit.
void printCompared(Console& console, const std::vector<CaseResult>& results, bool bits)
{
    ComparedCounts all;
    int64_t floatCases = 0, equalCases = 0, empty = 0;
    for (const CaseResult& r : results) {
        all.elements += r.compared.elements;
        all.floats += r.compared.floats;
        all.differentFloats += r.compared.differentFloats;
        if (r.compared.floats > 0) ++floatCases;
        if (r.compared.floats > 0 && r.compared.differentFloats == 0) ++equalCases;
        if (r.verdict == Verdict::pass && !r.message.empty()) ++empty;
    }
    if (all.elements > 0)
        console.line(console.number(all.elements) + " elements compared, " + console.number(all.floats) + " of them floats");
    const auto share = [](int64_t part, int64_t whole) {
        std::array<char, 32> text = {};
        std::snprintf(text.data(), text.size(), "%.2f %%",
                      whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 100.0);
        return std::string(text.data());
    };
    if (bits)
        console.line("equal bit for bit: " + console.number(equalCases) + " of " + console.number(floatCases) + " cases with floats (" +
                     share(equalCases, floatCases) + "), " + console.number(all.floats - all.differentFloats) + " floats (" +
                     share(all.floats - all.differentFloats, all.floats) + ")");
    if (bits && console.verbose())
        for (const CaseResult& r : results)
            if (r.compared.differentFloats > 0)
                console.line("other bits  " + r.id + "  " + console.number(r.compared.differentFloats) + " of " +
                             console.number(r.compared.floats) + " floats");
    if (empty == 0) return;
    console.line("nothing compared  " + console.number(empty) + " x" + (console.verbose() ? "" : "  (-v lists the cases)"));
    if (console.verbose())
        for (const CaseResult& r : results)
            if (r.verdict == Verdict::pass && !r.message.empty()) console.line("nothing compared  " + r.id);
}

/// What ran with the kernels of the profile that was asked for, so that nobody takes reference kernels for others.
void printKernels(Console& console, const std::vector<CaseResult>& results, Profile profile)
{
    KernelCounts all;
    for (const CaseResult& result : results) all.add(result.compared.kernels);
    const std::string name = "profile '" + std::string(profileName(profile)) + "': ";
    console.line(name + (all.own == 0 ? "no kernel of it ran" : console.number(all.own) + (all.own == 1 ? " operator" : " operators")) +
                 "; with reference kernels " + console.number(all.fellBack));
}

/// --strict: what passed with operators that ran on the CPU is not done by the device.
void refuseFallbacks(std::vector<CaseJob>& jobs)
{
    for (CaseJob& job : jobs)
        job.run = [run = std::move(job.run)] {
            CaseResult result = run();
            if (result.verdict != Verdict::pass || result.compared.kernels.fellBack == 0) return result;
            result.verdict = Verdict::unsupported;
            result.message = result.compared.kernels.fallback;
            return result;
        };
}

/// What the command line names, as far as --filter lets it through.
Result<Work> askedWork(const Arguments& arguments)
{
    Work work;
    if (arguments.has("profile")) {
        LS_TRY(work.profile, profileOption(arguments));
    }
    LS_TRY(const bool isOnDevice, wantsDevice(arguments));
    if (isOnDevice) work.profile = Profile::vulkan;
    for (const std::string& path : arguments.positionals) LS_CHECK_OK(addPath(path, work));
    LS_CHECK_OK(filterCases(arguments, work.jobs));
    if (arguments.has("strict")) refuseFallbacks(work.jobs);
    return work;
}

} // namespace

Result<int> runCheck(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    if (arguments.positionals.size() == 1 && isTraceFile(arguments.positionals[0])) {
        if (arguments.has("repair")) LS_CHECK_OK(repairOneTrace(console, arguments.positionals[0]));
        return checkOneTrace(console, arguments.positionals[0]);
    }
    if (arguments.has("repair")) return Error(ErrorCode::usage, "option '--repair' takes one recording");
    std::unique_ptr<Ranks> ranks;
    if (hasRanks()) {
        if (arguments.has("update")) return Error(ErrorCode::usage, "option '--update' is not for several ranks");
        LS_TRY(ranks, Ranks::join());
        if (!ranks->isFirst()) {
            Result<Work> work = askedWork(arguments);
            return helpWithCases(arguments, *ranks, work.ok() ? Result<std::vector<CaseJob>>(std::move(work->jobs)) : work.error().copy());
        }
    }
    LS_TRY(Work work, askedWork(arguments));
    if (arguments.has("update"))
        for (const std::string& path : work.textTests) {
            LS_TRY(const int64_t changed, updateLtest(path));
            if (changed > 0) console.line(path + ": " + std::to_string(changed) + (changed == 1 ? " reply" : " replies") + " rewritten");
        }

    const int64_t started = nowNs();
    LS_TRY(std::vector<CaseResult> results, runCases(console, arguments, ranks.get(), work.jobs, "checking"));
    if (!console.json()) {
        printCases(console, results, work.jobs.size(), static_cast<double>(nowNs() - started) / 1e9);
        printCompared(console, results, arguments.has("bits"));
        if (work.profile && *work.profile != Profile::reference) printKernels(console, results, *work.profile);
    }
    return exitCodeOf(results);
}

} // namespace loopscope::app
