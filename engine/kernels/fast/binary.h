// Element-wise functions of two 8-bit operands, for the kernels that also do floats.
#pragma once

#include "engine/kernels/kernel.h"

#include <cstdint>

namespace loopscope::fast {

enum class QuantizedFunction : uint8_t { add, sub, mul };

/// i8 and u8 operands with scales. Errors: unsupported, what the loops do not do.
Result<PreparedKernel> prepareQuantizedBinary(const KernelSetup& setup, QuantizedFunction function);

} // namespace loopscope::fast
