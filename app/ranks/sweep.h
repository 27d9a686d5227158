// Jobs that are spread over ranks: rank 0 hands them out, dear ones first, gathers what they came to, and runs those of a rank that is lost
// again. Every rank knows all jobs, and tells of them by number.
#pragma once

#include "app/check/verdict.h"
#include "app/ranks/ranks.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace loopscope::app {

/// The source of a pool's jobs on this rank. `lost`: told of ranks that ended, on rank 0. `jobs` and `ranks` must outlive it.
std::unique_ptr<JobSource> sharedJobs(Ranks& ranks, const std::vector<CaseJob>& jobs, std::function<void(const std::string&)> lost);

/// Of another rank than 0 that cannot take part: tells rank 0, which does without it.
void leaveSweep(Ranks& ranks, const Error& why);

} // namespace loopscope::app
