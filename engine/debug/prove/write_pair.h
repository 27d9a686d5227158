// Two writes of one value, one of each run: whether they are the same, what roundings explain, and their difference in words.
#pragma once

#include "engine/debug/prove/verdict.h"
#include "engine/tensor/compare.h"
#include "engine/tensor/tensor.h"

#include <string>

namespace loopscope {

/// The same dtype, shape, quantization and bytes.
bool sameBits(const Tensor& a, const Tensor& b);
/// By how much the elements of two floats of one dtype may differ after so many roundings.
double boundOf(const Tensor& a, const Tensor& b, double roundings);
/// What `figures` say of them.
ProofDifference differenceOf(const Tensor& a, const Tensor& b, const Comparison& figures, std::string address, std::string there,
                             Step step);

} // namespace loopscope
