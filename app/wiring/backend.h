// Where operators run: what --backend, --device and --strict say, and the memory that a run has on a device.
#pragma once

#include "engine/base/result.h"
#include "engine/exec/execution_options.h"
#include "engine/exec/executor.h"
#include "engine/tensor/device_memory.h"

#include <memory>
#include <string>

namespace loopscope::app {

class Arguments;

/// Tells the device which one it is to be, before it is opened: --device, else LOOPSCOPE_DEVICE; LOOPSCOPE_VALIDATE=1 asks for the
/// validation layer; compiled shaders are kept in LOOPSCOPE_CACHE, else ~/.cache/loopscope.
void chooseDevice(const Arguments& arguments, bool isOptional = false);
/// Opens the device that the command line chooses. Errors: device.
Status openDevice(const Arguments& arguments);
/// Reads --backend and --device. With `auto` the CPU runs everything where there is no device; why, if there is one and it cannot be used,
/// is left in `whyNoDevice` unless that is null. Errors: usage; device, "backend 'vulkan': no device (driver not found); --backend auto
/// would use cpu".
Status chooseBackend(const Arguments& arguments, ExecutionOptions& options, std::string* whyNoDevice = nullptr);
/// The same for work that other processes do: opens nothing in this one. Errors: usage; device, with `vulkan` and no device at all.
Result<bool> wantsDevice(const Arguments& arguments);
/// The memory of one executor of these options; null: it needs none. Errors: device.
Result<std::unique_ptr<DeviceMemory>> deviceMemoryFor(const ExecutionOptions& options);
/// Gives options of the profile `vulkan` the device's memory, which lives as long as the program; others need none. Errors: device.
Status giveDevice(ExecutionOptions& options);
/// --place PATTERN=cpu: marks operators that no GPU may run with the fact `@place=cpu`, which listings show. With other devices, or
/// random:N:SEED, a TensorFlow graph is cut between them (placement.h). A pattern is a kind, `add`, an operator, `main/add#2`, or a node's
/// name, `while/*`; `*` and `?` stand for others. Errors: usage, a pattern that fits nothing, a graph that cannot be cut so.
Status placeOperators(const Arguments& arguments, Model& model);
/// "the device was full twice and gave back what it held, 1 operator ran on the cpu"; empty: it never was, or there is none.
std::string fullDeviceText(const DeviceMemory* device);
/// --strict: an error if an operator ran on the CPU. Errors: unsupported.
Status checkStrict(const Arguments& arguments, const Executor& executor);

} // namespace loopscope::app
