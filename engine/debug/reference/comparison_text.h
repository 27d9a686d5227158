// Differences in words and numbers, as `compare`, `drift` and stops at `differs` show them.
#pragma once

#include "engine/tensor/compare.h"

#include <string>

namespace loopscope {

/// "got 3.243441, want 3.738473 at [0,127]   max 0.495   cosine 0.996058 < 0.999"; "equal, bit for bit"; "shape [2], want [3]". What breaks
/// the tolerance is said with its bound.
std::string comparisonText(const Comparison& comparison, const Tolerance& tolerance, const Shape& shape);
/// Signal to noise of `got` against `want` in real units, in dB: infinite where they are equal, none where nothing can be computed.
double signalToNoise(const Tensor& got, const Tensor& want);
/// Mean of |got − want| in real units.
double meanDifference(const Tensor& got, const Tensor& want);
/// Three significant digits, at most five decimals: "0.00442", "0.495", "1.11", "0".
std::string differenceText(double difference);

} // namespace loopscope
