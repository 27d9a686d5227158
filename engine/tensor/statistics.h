// Summary of a tensor: what a trace keeps of every write and a debugger prints first.
#pragma once

#include "engine/tensor/tensor.h"

#include <cstdint>
#include <span>

namespace loopscope {

/// Over all elements, in real units: quantized values are dequantized (per tensor and per channel). Complex numbers count by magnitude;
/// bool as 0 and 1; strings, handles and block formats give `elements` only.
struct TensorStatistics {
    int64_t elements = 0;
    int64_t finite = 0;      ///< elements that min, max, mean, std speak of
    double min = 0, max = 0; ///< meaningful if finite > 0
    double mean = 0;
    double std = 0;    ///< population deviation
    int64_t zeros = 0; ///< elements whose real value is 0
    int64_t nan = 0, positiveInf = 0, negativeInf = 0;
    int64_t denormal = 0;       ///< floats only
    int64_t saturated = 0;      ///< stored integers of a quantized tensor at a limit of their dtype
    int64_t firstAbnormal = -1; ///< flat index of the first NaN or infinity
};

/// One pass, no allocation. `tensor.shape` must be static and its data present.
TensorStatistics computeStatistics(const Tensor& tensor);

/// What statistics need to know of 512 elements of f32, or of those at the end: for whoever has not the elements but these.
struct StatisticsBlock {
    static constexpr int64_t kElements = 512;
    double min = 0, max = 0, mean = 0, squares = 0; ///< of those that are finite; squares: of what they differ from the mean
    int32_t finite = 0, zeros = 0, nan = 0, positiveInf = 0, negativeInf = 0, denormal = 0;
    int32_t firstAbnormal = -1; ///< in the block
    int32_t unused = 0;
};
/// The same as computeStatistics() of all elements, in order.
TensorStatistics joinStatistics(int64_t elements, std::span<const StatisticsBlock> blocks);

/// Element `index` (flat, row-major) as a real number: dequantized; bool 0 or 1; NaN for strings and handles.
double elementAsReal(const Tensor& tensor, int64_t index);
/// Element `index` of an integer or bool tensor as stored.
int64_t elementAsInteger(const Tensor& tensor, int64_t index);

} // namespace loopscope
