// The Vulkan kernels, for the one registry.
#pragma once

#include "engine/kernels/registry.h"

namespace loopscope {
void registerVulkanKernels(KernelRegistry& registry);
}
