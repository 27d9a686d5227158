// Walks the elements of a result whose operands broadcast to it in NumPy's way: neighbouring dimensions that all operands step through
// alike are merged first, so that most shapes end in one or two plain loops.
#pragma once

#include "engine/base/interruption.h"
#include "engine/tensor/shape.h"

#include <array>
#include <cstdint>
#include <limits>

namespace loopscope {

/// The index space of one result and the strides of N operands in it. Lives on the stack, allocates nothing.
/// Dimensions of size 1 vanish and equal-stepping ones merge; a result would need more than 2³² elements to have more than kMaxRank left.
template <int N> class BroadcastLoop {
public:
    static constexpr int kMaxRank = 32;

    /// Operand shapes must broadcast to `result` (inference has checked it). Everything is static.
    BroadcastLoop(const Shape& result, const std::array<const Shape*, N>& operands)
    {
        m_dims[0] = 1; // a result of one element: one row of one
        int64_t running[N];
        for (int k = 0; k < N; ++k) {
            m_strides[k][0] = 0;
            running[k] = 1;
        }
        for (int i = 1; i <= result.rank(); ++i) { // from the innermost dimension outwards; m_dims is innermost first
            const int64_t size = result[result.rank() - i];
            if (size == 0) m_empty = true;
            int64_t stride[N];
            for (int k = 0; k < N; ++k) {
                const Shape& shape = *operands[static_cast<size_t>(k)];
                const int64_t own = i <= shape.rank() ? shape[shape.rank() - i] : 1;
                stride[k] = own == 1 ? 0 : running[k];
                running[k] *= own;
            }
            if (size == 1) continue;
            if (m_rank > 0 && continues(stride)) {
                m_dims[m_rank - 1] *= size;
                continue;
            }
            if (m_rank == kMaxRank) {
                m_empty = true;
                continue;
            }
            m_dims[m_rank] = size;
            for (int k = 0; k < N; ++k) m_strides[k][m_rank] = stride[k];
            ++m_rank;
        }
    }

    /// Elements of one row, and how far operand k moves from element to element of it: 0 or 1.
    int64_t rowLength() const { return m_dims[0]; }
    int64_t rowStride(int k) const { return m_strides[k][0]; }

    /// Calls row(o, offsets) for every row, in order: `o` is the flat index of its first result element, `offsets` of type
    /// `const int64_t (&)[N]` the flat index of operand k's element there.
    template <typename Row> void forEachRow(Row&& row) const { forRows(0, std::numeric_limits<int64_t>::max(), row); }
    /// The same for the rows `begin` to `end − 1`, as many as there are.
    template <typename Row> void forRows(int64_t begin, int64_t end, Row&& row) const
    {
        if (m_empty || begin >= end) return;
        int64_t index[kMaxRank] = {};
        int64_t offsets[N] = {};
        int64_t rest = begin;
        for (int d = 1; d < m_rank; ++d) {
            index[d] = rest % m_dims[d];
            rest /= m_dims[d];
            for (int k = 0; k < N; ++k) offsets[k] += m_strides[k][d] * index[d];
        }
        if (rest > 0) return;
        const int64_t length = rowLength();
        LoopPace pace;
        for (int64_t r = begin; r < end; ++r) {
            row(r * length, offsets);
            pace.did(length);
            int d = 1;
            for (; d < m_rank; ++d) {
                for (int k = 0; k < N; ++k) offsets[k] += m_strides[k][d];
                if (++index[d] < m_dims[d]) break;
                for (int k = 0; k < N; ++k) offsets[k] -= m_strides[k][d] * m_dims[d];
                index[d] = 0;
            }
            if (d >= m_rank) return;
        }
    }

private:
    /// True if each operand steps into the dimension outside exactly where the present one ends.
    bool continues(const int64_t (&stride)[N]) const
    {
        for (int k = 0; k < N; ++k)
            if (stride[k] != m_strides[k][m_rank - 1] * m_dims[m_rank - 1]) return false;
        return true;
    }

    int m_rank = 0;
    bool m_empty = false;
    int64_t m_dims[kMaxRank];
    int64_t m_strides[N][kMaxRank];
};

} // namespace loopscope
