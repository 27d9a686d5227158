// How kernels of a device find its memory.
#pragma once

#include "engine/tensor/device_memory.h"

namespace loopscope {

/// What the runtime of kernels is, too, where a device may compute.
class DeviceHost {
public:
    /// Null: there is no device.
    virtual DeviceMemory* deviceMemory() = 0;

protected:
    ~DeviceHost() = default;
};

} // namespace loopscope
