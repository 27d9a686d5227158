// Walking over the elements of a tensor in an order that is not its own: broadcasting, slices, reductions. Private to this folder.
#pragma once

#include "engine/tensor/shape.h"

#include <array>
#include <cstdint>

namespace loopscope {

/// Ranks beyond this are refused by whatever walks.
inline constexpr int kMostDimensions = 32;

/// Counts through dimensions, the last fastest, and keeps an element offset. No allocation.
class Odometer {
public:
    void addDimension(int64_t size, int64_t stride)
    {
        m_size[m_rank] = size;
        m_stride[m_rank] = stride;
        m_index[m_rank] = 0;
        ++m_rank;
    }
    void reset(int64_t offset)
    {
        m_offset = offset;
        m_index.fill(0);
    }
    int64_t offset() const { return m_offset; }
    int64_t count() const
    {
        int64_t n = 1;
        for (int i = 0; i < m_rank; ++i) n *= m_size[i];
        return n;
    }
    void next()
    {
        for (int i = m_rank - 1; i >= 0; --i) {
            m_offset += m_stride[i];
            if (++m_index[i] < m_size[i]) return;
            m_offset -= m_stride[i] * m_size[i];
            m_index[i] = 0;
        }
    }

private:
    int m_rank = 0;
    int64_t m_offset = 0;
    std::array<int64_t, kMostDimensions> m_size{}, m_stride{}, m_index{};
};

/// Strides of `shape`, in elements, for reading it as if it had the broadcast shape `target`.
inline Odometer broadcastWalk(const Shape& shape, const Shape& target)
{
    std::array<int64_t, kMostDimensions> strides{};
    const int skipped = target.rank() - shape.rank();
    int64_t stride = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
        strides[i + skipped] = shape[i] == 1 ? 0 : stride;
        stride *= shape[i];
    }
    Odometer walk;
    for (int i = 0; i < target.rank(); ++i) walk.addDimension(target[i], strides[i]);
    return walk;
}

} // namespace loopscope
