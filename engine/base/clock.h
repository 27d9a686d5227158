// Monotonic time in nanoseconds.
#pragma once

#include <cstdint>
#include <time.h>

namespace loopscope {

/// Nanoseconds since an arbitrary start; never goes back. About 20 ns a call.
inline int64_t nowNs()
{
    timespec t = {};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

} // namespace loopscope
