// Loops whose bodies want the whole device: iterations are recorded in chunks, and the device skips what lies beyond the loop's end.
#pragma once

#include "engine/base/result.h"
#include "engine/device/vulkan_device.h"
#include "engine/kernels/device_loop.h"

namespace loopscope::vulkan {

/// Errors: unsupported, an operator has no kernel of the device, or loops are nested deeper than twice; device.
Result<PreparedKernel> prepareChunks(const LoopSetup& setup, VulkanDevice& device);

} // namespace loopscope::vulkan
