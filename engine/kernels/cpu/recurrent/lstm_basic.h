// The LSTM cell of kernel_type BASIC: one weight matrix for all gates, five operands, four results.
#pragma once

#include "engine/kernels/kernel.h"

namespace loopscope {

/// f32 throughout, or u8 with an i16 state. Errors: unsupported for other dtypes and scales.
Result<PreparedKernel> prepareBasicLstm(const KernelSetup& setup);

} // namespace loopscope
