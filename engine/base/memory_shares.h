// What is held beside values in memory: the bytes of packed weights, of scratch memory of kernels, of what devices have given, and of
// values that other ranks keep, counted for whoever asks where memory went.
#pragma once

#include <atomic>
#include <cstdint>

namespace loopscope {

/// Bytes of the whole process. Safe from any thread.
struct MemoryShares {
    std::atomic<int64_t> packedWeights = 0, scratch = 0, device = 0;
    std::atomic<int64_t> onRanks = 0, valuesOnRanks = 0; ///< of this run's values and saved states

    static MemoryShares& all()
    {
        static MemoryShares shares;
        return shares;
    }
};

} // namespace loopscope
