// Offsets in one arena for buffers with known lifetimes: buffers that live at the same time never overlap, others may.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace loopscope {

inline constexpr uint64_t kArenaAlignment = 64; ///< bytes: a cache line, and the widest vector load

/// Rounds up to the arena's alignment. Sizes come from checkedElementCount and stay far from the limit of 64 bits.
constexpr uint64_t alignArena(uint64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

/// A buffer that is needed from step `first` to step `last`, both included.
struct BufferLifetime {
    uint64_t bytes = 0;
    int32_t first = 0;
    int32_t last = 0;
};

struct MemoryLayout {
    std::vector<uint64_t> offsets; ///< as given; multiples of kArenaAlignment
    uint64_t bytes = 0;            ///< of the arena
    uint64_t lowerBound = 0;       ///< most bytes live at any one step: no layout is smaller
};

/// Greedy best fit in several orders, the best one kept and then improved (docs/execution.md, "Memory"). Deterministic.
MemoryLayout planMemory(std::span<const BufferLifetime> buffers);

/// Most bytes live at any one step, each buffer rounded up to the alignment.
uint64_t liveBytesBound(std::span<const BufferLifetime> buffers);

} // namespace loopscope
