// The fixed point of softmax on stored integers, for other profiles that have the reference's bits.
#pragma once

#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/kernel.h"

namespace loopscope {

/// Differences to the row's maximum are rescaled to 5 integer bits. Source: LiteRT kernels/activations.cc (SoftmaxPrepare),
/// kernels/internal/quantization_util.cc (PreprocessSoftmaxScaling, CalculateInputRadius).
struct FixedSoftmaxParams {
    QuantizedMultiplier input;
    int32_t diffMin = 0;         ///< smaller differences count as nothing
    QuantizedMultiplier reverse; ///< LOG_SOFTMAX: from 5 integer bits back to stored steps
};
FixedSoftmaxParams fixedSoftmaxParams(double beta, float inScale);

/// Errors: unsupported, for dtypes and scales that the reference kernel does not do.
Result<PreparedKernel> prepareSoftmax(const KernelSetup& setup);

Error softmaxRowTooLong(int64_t length);

} // namespace loopscope
