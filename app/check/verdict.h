// What checking one case came to, and the process pool that keeps a crash or a hang inside its case.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "engine/tensor/dtype.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::app {

enum class Verdict : uint8_t { pass, fail, unsupported, error };
std::string verdictName(Verdict verdict);

/// The element that differs most, of the output that made a case fail.
struct WorstElement {
    int64_t output = 0;
    std::string index; ///< "[1,0]"
    std::string got, want;
    double gotValue = 0, wantValue = 0;
    bool isNumber = true; ///< false: `got` and `want` are texts (strings)
};

/// Which kernels ran where another profile than the reference kernels was asked for.
struct KernelCounts {
    int64_t own = 0;      ///< operators with kernels of that profile
    int64_t fellBack = 0; ///< with reference kernels
    std::string fallback; ///< which, of the first graph in which some did; empty: none

    void add(const KernelCounts& other)
    {
        own += other.own;
        fellBack += other.fellBack;
        if (fallback.empty()) fallback = other.fallback;
    }
};

/// How much a case compared, and with what.
struct ComparedCounts {
    int64_t elements = 0;        ///< of all outputs
    int64_t floats = 0;          ///< those of floating-point outputs
    int64_t differentFloats = 0; ///< of them, those that are not equal bit for bit (NaNs are equal)
    KernelCounts kernels;

    void add(DType dtype, int64_t count, int64_t different)
    {
        elements += count;
        if (!isFloat(dtype)) return;
        floats += count;
        differentFloats += different;
    }
};

struct CaseResult {
    std::string id;
    Verdict verdict = Verdict::error;
    double seconds = 0;
    std::string message; ///< one line; empty for pass, unless nothing was compared
    std::optional<WorstElement> worst;
    ComparedCounts compared;
};

/// One line of `check --json`.
std::string caseJson(const CaseResult& result);

/// Something to check: its id, and the work, which runs in a process of its own.
struct CaseJob {
    std::string id;
    std::function<CaseResult()> run;
    uint64_t cost = 0; ///< about how long it takes, beside the others; where jobs are spread, dear ones begin first
};

/// The result as text without its id, for another process.
std::string encode(const CaseResult& result);
/// False: it is not whole.
bool decode(const std::string& text, CaseResult& result);

/// Where the jobs of a pool come from that shares them with processes elsewhere.
class JobSource {
public:
    using Finished = std::function<void(size_t job, CaseResult result)>;
    virtual ~JobSource() = default;
    /// Called often: adds to the jobs that wait here, and hands over what others came to elsewhere.
    virtual Status look(std::deque<size_t>& queue, const Finished& finished) = 0;
    /// A job that was taken here has ended.
    virtual Status ended(size_t job, const CaseResult& result) = 0;
    /// Nothing is left to be done, here or elsewhere.
    virtual bool isOver() const = 0;
    /// The pool has ended.
    virtual Status end() = 0;
};

struct PoolOptions {
    int jobs = 1;
    double caseTimeout = 60; ///< seconds; a case that takes longer is killed
    const CancelFlag* cancel = nullptr;
    /// Called in the order of the jobs, each as soon as it and all before it are done.
    std::function<void(const CaseResult&)> finished;
    /// Called often; `done` cases have ended.
    std::function<void(int64_t done)> tick;
};

/// Runs every job in a forked process, `jobs` at a time. A process that dies gives verdict error with its signal. After a cancellation
/// the rest is left out.
std::vector<CaseResult> runJobs(const std::vector<CaseJob>& jobs, const PoolOptions& options);
/// The same with jobs that are shared with processes elsewhere: what is known here of all jobs. Errors: of the source.
Result<std::vector<CaseResult>> runSharedJobs(const std::vector<CaseJob>& jobs, const PoolOptions& options, JobSource& source);

} // namespace loopscope::app
