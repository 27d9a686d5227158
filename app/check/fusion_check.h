// Golden cases that say what fusing them must come to (`expect`): they are fused, and held against it.
#pragma once

#include "app/check/golden_case.h"
#include "converters/formats.h"
#include "converters/fuse/fuse.h"

#include <map>
#include <string>

namespace loopscope::app {

struct FusionCheck {
    std::map<std::string, LoadedModel> fused; ///< by the signature that runs
    int64_t met = 0, total = 0;
    std::string firstUnmet;
    /// "2 of 3 expectations met"
    std::string summary() const { return std::to_string(met) + " of " + std::to_string(total) + " expectations met"; }
};

/// Fuses a copy of the model. Errors: those of fusing and of a model that does not verify afterwards.
Result<FusionCheck> checkFusion(const GoldenCase& golden, const LoadedModel& file);

} // namespace loopscope::app
