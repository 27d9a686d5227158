#include "app/commands/shared_cases.h"

#include "app/output/console.h"
#include "app/output/progress.h"
#include "app/ranks/sweep.h"
#include "app/wiring/command_line.h"
#include "app/wiring/signals.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <re2/re2.h>
#include <string>
#include <thread>

namespace loopscope::app {

namespace {

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

} // namespace

Status filterCases(const Arguments& arguments, std::vector<CaseJob>& jobs)
{
    if (!arguments.has("filter")) return {};
    const std::string text = arguments.text("filter");
    const RE2 filter(text, RE2::Quiet);
    if (!filter.ok())
        return Error(ErrorCode::usage, "option '--filter'")
            .found("'" + text + "'")
            .expected("a regular expression (" + filter.error() + ")");
    std::erase_if(jobs, [&](const CaseJob& job) { return !RE2::PartialMatch(job.id, filter); });
    if (jobs.empty()) return Error(ErrorCode::usage, "no case matches --filter '" + text + "'");
    return {};
}

Result<std::vector<CaseResult>> runCases(Console& console, const Arguments& arguments, Ranks* ranks, const std::vector<CaseJob>& jobs,
                                         std::string_view verb)
{
    PoolOptions options;
    LS_CHECK_OK(readPoolOptions(arguments, ranks, options));
    ProgressMeter meter(console, std::string(verb), static_cast<int64_t>(jobs.size()), "cases/s");
    options.tick = [&](int64_t done) {
        if (meter.due()) meter.show(done, std::to_string(done) + " of " + std::to_string(jobs.size()), "");
    };
    if (console.json()) options.finished = [&](const CaseResult& result) { console.line(caseJson(result)); };
    std::vector<CaseResult> results;
    if (ranks) {
        const std::unique_ptr<JobSource> source = sharedJobs(*ranks, jobs, [&console](const std::string& lost) { console.warning(lost); });
        LS_TRY(results, runSharedJobs(jobs, options, *source));
    } else {
        results = runJobs(jobs, options);
    }
    console.endProgress();
    return results;
}

int helpWithCases(const Arguments& arguments, Ranks& ranks, const Result<std::vector<CaseJob>>& jobs)
{
    PoolOptions options;
    Status status = jobs.ok() ? readPoolOptions(arguments, &ranks, options) : Status(jobs.error().copy());
    if (status.ok()) {
        const std::unique_ptr<JobSource> source = sharedJobs(ranks, *jobs, {});
        const Result<std::vector<CaseResult>> results = runSharedJobs(*jobs, options, *source);
        if (results.ok()) return 0;
        status = results.error().copy();
    }
    const Error why = std::move(status).takeError();
    leaveSweep(ranks, why);
    return 0; // rank 0 tells of it
}

void printCases(Console& console, const std::vector<CaseResult>& results, size_t total, double seconds)
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

int exitCodeOf(const std::vector<CaseResult>& results)
{
    if (interruptFlag().requested()) return static_cast<int>(ErrorCode::cancelled);
    const auto any = [&](Verdict v) { return std::ranges::any_of(results, [&](const CaseResult& r) { return r.verdict == v; }); };
    if (any(Verdict::fail) || any(Verdict::error)) return 1;
    return any(Verdict::unsupported) ? static_cast<int>(ErrorCode::unsupported) : 0;
}

} // namespace loopscope::app
