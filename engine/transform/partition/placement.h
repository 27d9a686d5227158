// Which device each operator of a TensorFlow graph belongs to: what is asked for, and what has to move so that the graph can be cut between
// devices (docs/distributed.md).
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

struct DevicePlacement {
    std::vector<std::string> devices; ///< in the order of their first operator
    std::vector<int32_t> deviceOf;    ///< operator → device
};

/// `wanted` names a device for each operator, or nothing: then it is the one of its attribute `@device`, else `otherwise`.
/// What shares a variable, an array or another handle stays together, and what `_class` ties to another operator; a Switch and an Exit
/// stand where their data comes from, an Enter and a NextIteration where it goes. Errors: usage, if what has to stay together is wanted on
/// two devices.
Result<DevicePlacement> decidePlacement(const Graph& graph, const std::vector<std::string>& wanted, const std::string& otherwise);

/// Devices d0 … of `count`, drawn for each operator, or for what has to stay together.
DevicePlacement placeAtRandom(const Graph& graph, int64_t count, uint64_t seed);

} // namespace loopscope
