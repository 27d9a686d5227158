// How kernels of mean and sum are prepared, for other profiles that share their loops.
#pragma once

#include "engine/kernels/kernel.h"

namespace loopscope {

/// In the arithmetic of the setup's profile. Errors: unsupported, for dtypes without a loop.
Result<PreparedKernel> prepareMean(const KernelSetup& setup);
Result<PreparedKernel> prepareSum(const KernelSetup& setup);

} // namespace loopscope
