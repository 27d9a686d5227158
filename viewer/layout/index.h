// Layout and scene number nodes, edges and rows by int, -1 for none; this makes such a number the index of a vector.
#pragma once

#include <cstddef>

namespace loopscope {

/// `number` must not be negative.
constexpr size_t at(int number) { return static_cast<size_t>(number); }

} // namespace loopscope
