// What kernels hold beside values: the bytes of packed weights and of scratch memory, counted for whoever asks where memory went.
#pragma once

#include <atomic>
#include <cstdint>

namespace loopscope {

/// Bytes of the whole process. Safe from any thread.
struct MemoryShares {
    std::atomic<int64_t> packedWeights = 0, scratch = 0;

    static MemoryShares& all()
    {
        static MemoryShares shares;
        return shares;
    }
};

} // namespace loopscope
