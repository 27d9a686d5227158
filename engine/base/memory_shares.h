// What is held beside values in memory: the bytes of packed weights, of scratch memory of kernels, and of what devices have given, counted
// for whoever asks where memory went.
#pragma once

#include <atomic>
#include <cstdint>

namespace loopscope {

/// Bytes of the whole process. Safe from any thread.
struct MemoryShares {
    std::atomic<int64_t> packedWeights = 0, scratch = 0, device = 0;

    static MemoryShares& all()
    {
        static MemoryShares shares;
        return shares;
    }
};

} // namespace loopscope
