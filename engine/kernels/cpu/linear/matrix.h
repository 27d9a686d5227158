// One matrix of the kernels of linear algebra.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace loopscope {

/// A matrix of its own elements, row by row.
template <typename T> class Matrix {
public:
    Matrix(int64_t rows, int64_t columns) : m_rows(rows), m_columns(columns), m_elements(static_cast<size_t>(rows * columns)) {}
    Matrix(const T* from, int64_t rows, int64_t columns) : m_rows(rows), m_columns(columns), m_elements(from, from + rows * columns) {}
    static Matrix identity(int64_t rows, int64_t columns)
    {
        Matrix out(rows, columns);
        for (int64_t i = 0; i < std::min(rows, columns); ++i) out(i, i) = T(1);
        return out;
    }
    int64_t rows() const { return m_rows; }
    int64_t columns() const { return m_columns; }
    T& operator()(int64_t r, int64_t c) { return m_elements[static_cast<size_t>(r * m_columns + c)]; }
    T operator()(int64_t r, int64_t c) const { return m_elements[static_cast<size_t>(r * m_columns + c)]; }
    Matrix transposed() const
    {
        Matrix out(m_columns, m_rows);
        for (int64_t r = 0; r < m_rows; ++r)
            for (int64_t c = 0; c < m_columns; ++c) out(c, r) = (*this)(r, c);
        return out;
    }
    /// Row by row.
    const std::vector<T>& elements() const { return m_elements; }
    T largest() const
    {
        T most(0);
        for (const T x : m_elements) most = std::max(most, std::abs(x));
        return most;
    }
    void swapColumns(int64_t a, int64_t b)
    {
        for (int64_t r = 0; r < m_rows; ++r) std::swap((*this)(r, a), (*this)(r, b));
    }

private:
    int64_t m_rows, m_columns;
    std::vector<T> m_elements;
};

} // namespace loopscope
