// What kernels of loops have in common: where they find the device's memory and what is asked of them.
#pragma once

#include "engine/base/result.h"
#include "engine/device/vulkan_memory.h"
#include "engine/kernels/kernel.h"
#include "engine/tensor/device_host.h"

#include <utility>

namespace loopscope::vulkan {

/// Runs iterations of a loop: work(args, memory, what is asked).
inline Status runOnDevice(const KernelArgs& args, Status (*work)(const KernelArgs&, VulkanMemory&, DeviceTrips&))
{
    auto* const host = dynamic_cast<DeviceHost*>(args.runtime);
    auto* const memory = host ? dynamic_cast<VulkanMemory*>(host->deviceMemory()) : nullptr;
    if (!memory || !host->loopRun()) return Error(ErrorCode::internal, "a loop of the device runs without one");
    DeviceTrips& run = *host->loopRun();
    Status status = work(args, *memory, run);
    memory->endOperator();
    const auto mayGoOn = [&] { return !status.ok() && isOutOfDeviceMemory(status.detail()) && run.trips == 0 && !run.isOver; };
    if (mayGoOn()) {
        LS_CHECK_OK(memory->spill());
        status = work(args, *memory, run);
        memory->endOperator();
    }
    return mayGoOn() && memory->device().isOptional() ? Status() : std::move(status); // the host drives this iteration
}

} // namespace loopscope::vulkan
