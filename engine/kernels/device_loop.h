// Loops that a device runs by itself, without the host between their iterations.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/kernels/kernel.h"
#include "engine/tensor/tensor.h"

#include <vector>

namespace loopscope {

/// A graph that an operator calls, with its values as they are when it is called from there.
struct CalledGraph {
    const Graph* graph = nullptr;
    std::vector<Tensor> values; ///< by id: dtype, shape, data of constants
    /// By operator: the graphs that an If chooses from, then and else, or those of a While, cond and body; of others none.
    std::vector<std::vector<CalledGraph>> branches;
};

/// A loop: its operator, whose operands and results are the carried values, and its graphs.
struct LoopSetup {
    const KernelSetup& op;
    const CalledGraph& cond;
    const CalledGraph& body;
};

/// What runs iterations of the loop on the device of the Vulkan kernels, as DeviceTrips (device_host.h) says. Errors: unsupported, why not
/// all of it runs there; device.
Result<PreparedKernel> prepareDeviceLoop(const LoopSetup& setup);

} // namespace loopscope
