// `loopscope check`: golden cases, text tests, and the rules of a trace.
#include "app/check/golden_case.h"
#include "app/check/golden_run.h"
#include "app/check/ltest_run.h"
#include "app/check/verdict.h"
#include "app/commands/check_trace.h"
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/progress.h"
#include "app/ranks/ranks.h"
#include "app/ranks/sweep.h"
#include "app/wiring/backend.h"
#include "app/wiring/model_file.h"
#include "app/wiring/model_summary.h"
#include "app/wiring/session.h"
#include "app/wiring/signals.h"
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
#include <re2/re2.h>
#include <thread>

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
    std::vector<std::string> suites, tests;
    for (fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error), end; it != end;
         it.increment(error)) {
        if (error) break;
        if (it->path().filename() == "cases.jsonl") suites.push_back(it->path().parent_path().string());
        if (it->path().extension() == ".ltest") tests.push_back(it->path().string());
    }
    std::sort(suites.begin(), suites.end());
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
void refuseFallbacks(std::vector<CaseResult>& results)
{
    for (CaseResult& result : results) {
        const int64_t count = result.compared.kernels.fellBack;
        if (result.verdict != Verdict::pass || count == 0) continue;
        result.verdict = Verdict::unsupported;
        result.message = std::to_string(count) + (count == 1 ? " operator" : " operators") + " had to run on the CPU";
    }
}

/// The end of a sweep: counts, then what did not pass, aligned.
void printSummary(Console& console, const std::vector<CaseResult>& results, size_t total, double seconds)
{
    std::array<int64_t, 4> counts = {};
    for (const CaseResult& r : results) ++counts[static_cast<size_t>(r.verdict)];
    std::array<char, 32> time = {};
    std::snprintf(time.data(), time.size(), "%.1f s", seconds);
    std::string line = std::to_string(total) + (total == 1 ? " case: " : " cases: ") + std::to_string(counts[0]) + " passed, " +
                       std::to_string(counts[1]) + " failed, " + std::to_string(counts[2]) + " unsupported";
    if (counts[3] > 0) line += ", " + std::to_string(counts[3]) + " could not be run";
    if (results.size() < total) line += ", " + std::to_string(total - results.size()) + " left out (cancelled)";
    console.line(line + "   " + time.data());

    size_t width = 0;
    for (const CaseResult& r : results)
        if (r.verdict == Verdict::fail || r.verdict == Verdict::error) width = std::max(width, r.id.size());
    width = std::min<size_t>(width, 60);
    std::map<std::string, int64_t> unsupported;
    for (const CaseResult& r : results) {
        if (r.verdict == Verdict::unsupported) ++unsupported[r.message];
        if (r.verdict != Verdict::fail && r.verdict != Verdict::error) continue;
        std::string id = r.id;
        if (id.size() < width) id.resize(width, ' ');
        console.line(console.paint(Style::bad, r.verdict == Verdict::fail ? "FAIL " : "ERROR") + " " + id + "  " + r.message);
    }
    if (console.verbose()) {
        for (const CaseResult& r : results)
            if (r.verdict == Verdict::unsupported) console.line("unsupported  " + r.id + "  " + r.message);
    } else if (!unsupported.empty()) {
        std::vector<std::pair<int64_t, std::string>> sorted;
        for (const auto& [message, count] : unsupported) sorted.emplace_back(-count, message);
        std::sort(sorted.begin(), sorted.end());
        constexpr size_t kShown = 12;
        for (size_t i = 0; i < sorted.size() && i < kShown; ++i)
            console.line("unsupported  " + std::to_string(-sorted[i].first) + " x  " + sorted[i].second);
        if (sorted.size() > kShown)
            console.line("unsupported  and " + std::to_string(sorted.size() - kShown) + " more reasons (-v lists the cases)");
    }
}

} // namespace

namespace {

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
    if (!arguments.has("filter")) return work;
    const std::string text = arguments.text("filter");
    const RE2 filter(text, RE2::Quiet);
    if (!filter.ok())
        return Error(ErrorCode::usage, "option '--filter'")
            .found("'" + text + "'")
            .expected("a regular expression (" + filter.error() + ")");
    std::erase_if(work.jobs, [&](const CaseJob& job) { return !RE2::PartialMatch(job.id, filter); });
    if (work.jobs.empty()) return Error(ErrorCode::usage, "no case matches --filter '" + text + "'");
    return work;
}

/// --jobs: by default what this process, or this rank of several on one machine, has of the processors.
Status readPoolOptions(const Arguments& arguments, const Ranks* ranks, PoolOptions& options)
{
    const int64_t processors = ranks ? ranks->processors() : std::max(1U, std::thread::hardware_concurrency());
    LS_TRY(const int64_t jobs, arguments.integer("jobs", processors, 1, 4096));
    LS_TRY(options.caseTimeout, arguments.real("case-timeout", 60));
    options.jobs = static_cast<int>(jobs);
    options.cancel = &interruptFlag();
    return {};
}

/// Another rank than 0: runs what it is given, and says nothing but to rank 0.
int helpToCheck(const Arguments& arguments, Ranks& ranks)
{
    Result<Work> work = askedWork(arguments);
    PoolOptions options;
    Status status = work.ok() ? readPoolOptions(arguments, &ranks, options) : Status(std::move(work).takeError());
    if (status.ok()) {
        const std::unique_ptr<JobSource> source = sharedJobs(ranks, work->jobs, {});
        const Result<std::vector<CaseResult>> results = runSharedJobs(work->jobs, options, *source);
        if (results.ok()) return 0;
        status = results.error().copy();
    }
    const Error why = std::move(status).takeError();
    leaveSweep(ranks, why);
    return 0; // rank 0 tells of it
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
        if (!ranks->isFirst()) return helpToCheck(arguments, *ranks);
    }
    LS_TRY(Work work, askedWork(arguments));
    if (arguments.has("update"))
        for (const std::string& path : work.textTests) {
            LS_TRY(const int64_t changed, updateLtest(path));
            if (changed > 0) console.line(path + ": " + std::to_string(changed) + (changed == 1 ? " reply" : " replies") + " rewritten");
        }

    PoolOptions options;
    LS_CHECK_OK(readPoolOptions(arguments, ranks.get(), options));
    const int64_t started = nowNs();
    ProgressMeter meter(console, "checking", static_cast<int64_t>(work.jobs.size()), "cases/s");
    options.tick = [&](int64_t done) {
        if (meter.due()) meter.show(done, std::to_string(done) + " of " + std::to_string(work.jobs.size()), "");
    };
    if (console.json()) options.finished = [&](const CaseResult& result) { console.line(caseJson(result)); };
    std::vector<CaseResult> results;
    if (ranks) {
        const std::unique_ptr<JobSource> source =
            sharedJobs(*ranks, work.jobs, [&console](const std::string& lost) { console.warning(lost); });
        LS_TRY(results, runSharedJobs(work.jobs, options, *source));
    } else {
        results = runJobs(work.jobs, options);
    }
    console.endProgress();
    if (arguments.has("strict")) refuseFallbacks(results);
    if (!console.json()) {
        printSummary(console, results, work.jobs.size(), static_cast<double>(nowNs() - started) / 1e9);
        printCompared(console, results, arguments.has("bits"));
        if (work.profile && *work.profile != Profile::reference) printKernels(console, results, *work.profile);
    }
    if (interruptFlag().requested()) return static_cast<int>(ErrorCode::cancelled);
    const auto any = [&](Verdict v) {
        return std::any_of(results.begin(), results.end(), [&](const CaseResult& r) { return r.verdict == v; });
    };
    if (any(Verdict::fail) || any(Verdict::error)) return 1;
    return any(Verdict::unsupported) ? static_cast<int>(ErrorCode::unsupported) : 0;
}

} // namespace loopscope::app
