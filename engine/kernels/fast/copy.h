// Copies of short runs of numbers, which are what windows, gathered rows and resized pixels are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace loopscope::fast {

/// Copies `bytes` bytes: most runs are shorter than what a call of memcpy is worth.
[[gnu::always_inline]] inline void copyBytes(const std::byte* from, size_t bytes, std::byte* to)
{
    if (bytes > 64) {
        std::memcpy(to, from, bytes);
    } else if (bytes >= 16) { // whole sixteens, the last of them once more from the end
        for (size_t at = 0; at + 16 < bytes; at += 16) std::memcpy(to + at, from + at, 16);
        std::memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 8) {
        std::memcpy(to, from, 8);
        std::memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes == 4) {
        std::memcpy(to, from, 4);
    } else {
        for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
    }
}

template <typename T> [[gnu::always_inline]] inline void copyRun(const T* from, int64_t count, T* to)
{
    copyBytes(reinterpret_cast<const std::byte*>(from), static_cast<size_t>(count) * sizeof(T), reinterpret_cast<std::byte*>(to));
}

/// The same for runs that are mostly shorter than sixteen bytes: copies sixteen where the source has so many. `to` has room for them.
template <typename T> [[gnu::always_inline]] inline void copyShortRun(const T* from, int64_t count, T* to, const T* end)
{
    constexpr int64_t kTogether = 16 / static_cast<int64_t>(sizeof(T));
    if (count <= kTogether && end - from >= kTogether) std::memcpy(to, from, 16);
    else copyRun(from, count, to);
}

} // namespace loopscope::fast
