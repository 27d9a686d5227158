// How kernels of mean and sum are prepared, and how sums of stored integers become results, for other profiles that share these.
#pragma once

#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/kernel.h"

namespace loopscope {

/// In the arithmetic of the setup's profile. Errors: unsupported, for dtypes without a loop.
Result<PreparedKernel> prepareMean(const KernelSetup& setup);
Result<PreparedKernel> prepareSum(const KernelSetup& setup);

struct QuantizedReductionParams {
    ScaleAndZero in, out;
    QuantizedMultiplier factor;
};
QuantizedReductionParams quantizedReductionParams(const KernelSetup& setup);

/// Writes the `results` results (i8, u8 or i16) of the reference kernels of mean and sum; each of `sums` is of `count` stored integers.
void storeMeans(const QuantizedReductionParams& params, const int32_t* sums, int64_t results, int64_t count, Tensor& out);
void storeSums(const QuantizedReductionParams& params, const int32_t* sums, int64_t results, int64_t count, Tensor& out);

} // namespace loopscope
