// The table of packed weights that are in use. It owns none of them: what the last session lets go is freed.
#include "engine/kernels/fast/packed.h"

#include "engine/base/hash.h"
#include "engine/base/memory_budget.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace loopscope {

namespace {

/// Memory may be given to other weights after a model is gone: their contents count, not only where they lie.
struct Entry {
    const std::byte* source;
    size_t bytes;
    uint64_t digest;
    PackedLayout layout;
    std::weak_ptr<const PackedWeights> packed;
};

struct Table {
    std::mutex mutex;
    std::vector<Entry> entries;
};

Table& table()
{
    static Table entries;
    return entries;
}

} // namespace

Result<std::shared_ptr<const PackedWeights>> packedOnce(const Tensor& weights, const PackedLayout& layout, size_t bytes,
                                                        const std::function<void(PackedWeights&)>& fill)
{
    const uint64_t digest = hash64(weights.view());
    Table& known = table();
    const std::lock_guard lock(known.mutex);
    std::erase_if(known.entries, [](const Entry& entry) { return entry.packed.expired(); });
    for (const Entry& entry : known.entries)
        if (entry.source == weights.data && entry.bytes == weights.bytes && entry.digest == digest && entry.layout == layout)
            if (auto packed = entry.packed.lock()) return packed;
    constexpr size_t kWorthAsking = size_t{1} << 20;
    if (bytes >= kWorthAsking && !checkMemory(bytes, "packed weights").ok())
        return Error(ErrorCode::unsupported, "no memory for packed weights").found(std::to_string(bytes) + " bytes");
    auto packed = std::make_shared<PackedWeights>(bytes);
    fill(*packed);
    known.entries.push_back({weights.data, weights.bytes, digest, layout, packed});
    return std::shared_ptr<const PackedWeights>(std::move(packed));
}

} // namespace loopscope
