// How far two writes are apart: element by element where both are known, else by their statistics.
#pragma once

#include "engine/tensor/compare.h"
#include "tracer/read/run_view.h"

#include <optional>
#include <string>

namespace loopscope {

/// What was measured between a and b.
struct ValueDistance {
    bool isWithin = true; ///< inside the tolerance
    bool fromStatistics = false;
    std::optional<double> maxAbs, maxRel, ulp, cosine;
    std::optional<double> a, b; ///< at the worst element
    std::string at;             ///< "[0,127]"; empty if unknown
};

/// Elements of two arrays of the same shape, as real numbers; quantizations may be null.
ValueDistance compareElements(StoredValue& a, const Quantization* qa, StoredValue& b, const Quantization* qb, const Tolerance& tolerance);
/// Minimum, maximum and mean. Statistics can show that two values differ, not that they are within some ulp or a cosine.
ValueDistance compareStatistics(const ViewedWrite& a, const ViewedWrite& b, const Tolerance& tolerance);

} // namespace loopscope
