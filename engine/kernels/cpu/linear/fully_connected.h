// How kernels of fully_connected are prepared, for other profiles that share its loops.
#pragma once

#include "engine/kernels/kernel.h"

namespace loopscope {

/// In the arithmetic of the setup's profile. Errors: unsupported, if scales are missing or do not fit; badFile (C5), if that of the bias
/// does not.
Result<PreparedKernel> prepareFullyConnected(const KernelSetup& setup);

} // namespace loopscope
