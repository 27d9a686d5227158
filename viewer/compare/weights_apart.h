// What figures of a comparison cannot tell: whether the two files hold the same weights at all.
#pragma once

#include "viewer/compare/paired_scenes.h"

#include <string>

namespace loopscope::viewer {

/// Constants that partners take as the same operand, of which some elements were looked at.
struct WeightsCompared {
    int64_t pairs = 0, apart = 0; ///< apart: they point in other directions
};
/// Of the graphs that run. Any thread.
WeightsCompared compareWeights(const ComparedModel& here, const ComparedModel& there, const ValuePairing& pairing);
/// "the two files hold other weights …"; empty: nothing to say.
std::string weightsText(const WeightsCompared& weights);

} // namespace loopscope::viewer
