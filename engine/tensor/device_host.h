// How kernels of a device find its memory.
#pragma once

#include "engine/base/cancel.h"
#include "engine/tensor/device_memory.h"

#include <cstdint>
#include <vector>

namespace loopscope {

/// What a loop's kernel is asked for, and what it has done: its operands are the carried values of an iteration that begins, its results
/// those of the iteration that begins next, or of the loop if it is over.
struct DeviceTrips {
    int64_t mostSteps = 0;              ///< operators that may be completed, in whole iterations
    const CancelFlag* cancel = nullptr; ///< looked at now and then
    int64_t trips = 0;                  ///< iterations that were run to their end
    int64_t steps = 0;                  ///< operators completed
    int64_t invocations = 0;            ///< graphs and iterations begun
    bool isOver = false;                ///< the cond of the next iteration was false
    struct Inside {
        int32_t op = 0;    ///< of the body
        int64_t trips = 0; ///< in those iterations
    };
    std::vector<Inside> inside; ///< loops that the body calls
};

/// What the runtime of kernels is, too, where a device may compute.
class DeviceHost {
public:
    /// Null: there is no device.
    virtual DeviceMemory* deviceMemory() = 0;
    /// Null: no loop's kernel is running.
    virtual DeviceTrips* loopRun() { return nullptr; }

protected:
    ~DeviceHost() = default;
};

} // namespace loopscope
