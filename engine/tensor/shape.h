// A shape: dimensions, some of which may be unknown, or an unknown rank. Up to eight dimensions live inside the object, so that
// computing shapes while a model runs allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

inline constexpr int64_t kUnknownDim = -1;

/// Row-major dimensions. A default-constructed Shape is a scalar.
class Shape {
public:
    Shape() = default;
    Shape(std::initializer_list<int64_t> dims) { assign({dims.begin(), dims.size()}); }
    explicit Shape(std::span<const int64_t> dims) { assign(dims); }
    static Shape unknownRank()
    {
        Shape s;
        s.m_hasRank = false;
        return s;
    }
    /// `rank` dimensions, each `fill`.
    static Shape ofRank(int rank, int64_t fill = 0)
    {
        Shape s;
        s.resize(rank, fill);
        return s;
    }

    bool hasRank() const { return m_hasRank; }
    int rank() const { return m_rank; } ///< 0 for an unknown rank
    std::span<const int64_t> dims() const { return {data(), static_cast<size_t>(m_rank)}; }
    int64_t operator[](int i) const { return data()[i]; } ///< 0 ≤ i < rank
    int64_t& operator[](int i) { return data()[i]; }
    int64_t back() const { return data()[m_rank - 1]; }

    void assign(std::span<const int64_t> dims);
    void resize(int rank, int64_t fill);
    void append(int64_t dim) { resize(m_rank + 1, dim); }

    /// True if the rank and every dimension are known.
    bool isStatic() const;
    /// Product of the dimensions. Only for static shapes that passed checkedElementCount once (anything a file or user supplied).
    int64_t elementCount() const
    {
        int64_t n = 1;
        for (int i = 0; i < m_rank; ++i) n *= data()[i];
        return n;
    }
    /// Product of dimensions `begin` to `end − 1`.
    int64_t countOf(int begin, int end) const
    {
        int64_t n = 1;
        for (int i = begin; i < end; ++i) n *= data()[i];
        return n;
    }

    bool operator==(const Shape& other) const;

private:
    static constexpr int kInline = 8;
    const int64_t* data() const { return m_more.empty() ? m_inline.data() : m_more.data(); }
    int64_t* data() { return m_more.empty() ? m_inline.data() : m_more.data(); }

    bool m_hasRank = true;
    int m_rank = 0;
    std::array<int64_t, kInline> m_inline = {};
    std::vector<int64_t> m_more; ///< all dimensions, if there are more than kInline
};

/// "[1,?,4]", "[]"; "" for an unknown rank.
std::string toString(const Shape& shape);

/// Number of elements, or none if a dimension is unknown or negative, or the product (or 16 times it, the widest element) does not
/// fit 62 bits. Every shape from a file, an input or a computed operand passes here before memory is sized by it.
std::optional<int64_t> checkedElementCount(const Shape& shape);

/// NumPy broadcasting of two shapes; unknown dimensions give unknown ones. None if they do not fit.
std::optional<Shape> broadcastShapes(const Shape& a, const Shape& b);

/// The least specific common shape: equal dimensions stay, others become unknown, different ranks an unknown rank.
Shape joinShapes(const Shape& a, const Shape& b);

} // namespace loopscope
