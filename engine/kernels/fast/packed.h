// Constant weights in the order in which a kernel reads them: packed once for all frames, forks and sessions that hold the same weights.
#pragma once

#include "engine/base/memory_shares.h"
#include "engine/base/result.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>

namespace loopscope {

/// Immutable numbers, aligned for vectors.
class PackedWeights {
public:
    explicit PackedWeights(size_t bytes) : m_data(static_cast<std::byte*>(::operator new(bytes + 1, kAlignment))), m_bytes(bytes)
    {
        MemoryShares::all().packedWeights += static_cast<int64_t>(bytes);
    }
    ~PackedWeights()
    {
        MemoryShares::all().packedWeights -= static_cast<int64_t>(m_bytes);
        ::operator delete(m_data, kAlignment);
    }
    PackedWeights(const PackedWeights&) = delete;
    PackedWeights& operator=(const PackedWeights&) = delete;

    template <typename T> T* as() { return reinterpret_cast<T*>(m_data); }
    template <typename T> const T* as() const { return reinterpret_cast<const T*>(m_data); }
    size_t bytes() const { return m_bytes; }

private:
    static constexpr std::align_val_t kAlignment{64};
    std::byte* m_data;
    size_t m_bytes;
};

/// How weights are laid out: whatever tells two packings of the same bytes apart.
struct PackedLayout {
    int64_t rows = 0, depth = 0, groups = 1;
    int32_t zero = 0;  ///< what was subtracted
    uint32_t form = 0; ///< whose layout, by the kernel that asks
    bool operator==(const PackedLayout&) const = default;
};

/// The weights of that tensor in that layout, written by `fill` unless somebody holds them already. Safe from any thread. Errors:
/// unsupported, if the memory budget (--memory) has no room for them: the reference kernel may do with less.
Result<std::shared_ptr<const PackedWeights>> packedOnce(const Tensor& weights, const PackedLayout& layout, size_t bytes,
                                                        const std::function<void(PackedWeights&)>& fill);

} // namespace loopscope
