// How often this program has taken memory from the heap; operator new is replaced to count.
#pragma once

#include <cstddef>

namespace loopscope {

size_t allocationCount();

} // namespace loopscope
