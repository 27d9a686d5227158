// The names of what makes the loop around a model (docs/host_loop.md): the root graph and its While. What lies in an iteration of it is
// written as part of a call: `call@37/main/add#2` for `host/call@37:body/main:call/add#2`.
#pragma once

#include <string_view>

namespace loopscope {

inline constexpr std::string_view kHostGraph = "host";
inline constexpr std::string_view kHostLoop = "call";

} // namespace loopscope
