// What kernels of pooling decide when they are prepared, for all profiles that have such loops.
#pragma once

#include "engine/kernels/cpu/nn/conv_window.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/kernel.h"

namespace loopscope {

struct PoolParams {
    Window2d window;
    ActivationRange<float> range;
    ActivationRange<int32_t> storedRange; ///< integers
};

/// Errors: unsupported, where the activation leaves integers nothing.
Result<PoolParams> setUpPool(const KernelSetup& setup);

/// The error of a mean over nothing.
Error emptyPoolWindow();

} // namespace loopscope
