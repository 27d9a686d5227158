// Which operators read and write a resource variable: handles are followed through calls to where they were made.
#pragma once

#include "engine/debug/breakpoints/kind.h"

#include <string_view>
#include <vector>

namespace loopscope {

/// Operators that may access the variable `name` ("[container/]shared_name"). Errors: usage, with the names that there are.
Result<std::vector<BreakSite>> variableSites(const DebugTarget& target, std::string_view name, bool reads, bool writes);

} // namespace loopscope
