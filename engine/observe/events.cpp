#include "engine/observe/events.h"

#include <array>

namespace loopscope {

std::string_view callRoleName(CallRole role)
{
    constexpr std::array<std::string_view, 9> names = {"main", "loop", "then", "else", "branch", "call", "init", "region", "frame"};
    return names[static_cast<size_t>(role)];
}

} // namespace loopscope
