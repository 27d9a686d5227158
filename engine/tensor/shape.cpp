#include "engine/tensor/shape.h"

#include <algorithm>

namespace loopscope {

void Shape::assign(std::span<const int64_t> dims)
{
    m_hasRank = true;
    m_more.clear();
    m_rank = static_cast<int>(dims.size());
    if (m_rank > kInline) m_more.assign(dims.begin(), dims.end());
    else std::copy(dims.begin(), dims.end(), m_inline.begin());
}

void Shape::resize(int rank, int64_t fill)
{
    if (rank > kInline) {
        if (m_more.empty()) m_more.assign(m_inline.begin(), m_inline.begin() + m_rank);
        m_more.resize(static_cast<size_t>(rank), fill);
    } else {
        if (!m_more.empty()) {
            std::copy_n(m_more.begin(), std::min(rank, m_rank), m_inline.begin());
            m_more.clear();
        }
        for (int i = m_rank; i < rank; ++i) m_inline[static_cast<size_t>(i)] = fill;
    }
    m_hasRank = true;
    m_rank = rank;
}

bool Shape::isStatic() const
{
    if (m_rank == 0) return m_hasRank;
    return std::all_of(dims().begin(), dims().end(), [](int64_t d) { return d >= 0; });
}

bool Shape::operator==(const Shape& other) const
{
    if (m_hasRank != other.m_hasRank || m_rank != other.m_rank) return false;
    return m_rank == 0 || std::equal(data(), data() + m_rank, other.data());
}

std::string toString(const Shape& shape)
{
    if (!shape.hasRank()) return "";
    std::string text = "[";
    for (int i = 0; i < shape.rank(); ++i) {
        if (i > 0) text += ',';
        if (shape[i] < 0) text += '?';
        else text += std::to_string(shape[i]);
    }
    return text + "]";
}

std::optional<int64_t> checkedElementCount(const Shape& shape)
{
    if (!shape.isStatic()) return std::nullopt;
    constexpr int64_t kLimit = int64_t{1} << 58;
    int64_t product = 1; // of the dimensions that are not 0: strides are computed from them
    bool zero = false;
    for (const int64_t dim : shape.dims()) {
        if (dim == 0) zero = true;
        else if (__builtin_mul_overflow(product, dim, &product) || product > kLimit) return std::nullopt;
    }
    return zero ? 0 : product;
}

std::optional<Shape> broadcastShapes(const Shape& a, const Shape& b)
{
    if (!a.hasRank() || !b.hasRank()) return Shape::unknownRank();
    const int rank = std::max(a.rank(), b.rank());
    Shape out = Shape::ofRank(rank, 1);
    for (int i = 0; i < rank; ++i) {
        const int ia = i - (rank - a.rank());
        const int ib = i - (rank - b.rank());
        const int64_t da = ia < 0 ? 1 : a[ia];
        const int64_t db = ib < 0 ? 1 : b[ib];
        if (da == db) out[i] = da;
        else if (da == 1) out[i] = db;
        else if (db == 1) out[i] = da;
        else if (da == kUnknownDim) out[i] = db; // it must be db or 1, and either gives db
        else if (db == kUnknownDim) out[i] = da;
        else return std::nullopt;
    }
    return out;
}

Shape joinShapes(const Shape& a, const Shape& b)
{
    if (!a.hasRank() || !b.hasRank() || a.rank() != b.rank()) return Shape::unknownRank();
    Shape out = a;
    for (int i = 0; i < a.rank(); ++i)
        if (a[i] != b[i]) out[i] = kUnknownDim;
    return out;
}

} // namespace loopscope
