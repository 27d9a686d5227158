// Kernels that take matrices apart: QR, eigenvalues of symmetric matrices, singular values, least squares.
// core/kernels/linalg (qr_op_impl.h, self_adjoint_eig_v2_op_impl.h, svd_op_impl.h, matrix_solve_ls_op_impl.h). Factors are free
// in their signs: ours come from the same steps as Eigen's, which TensorFlow calls, so that they come out alike: reflections as LAPACK
// makes them, implicit QR steps with Wilkinson's shift, two-sided Jacobi rotations.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/linear/matrix.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace loopscope;

namespace {

using Reals = TypeList<float, double>;

template <typename T> struct Rotation {
    T c, s;
    Rotation transposed() const { return {c, -s}; }
    Rotation times(const Rotation& o) const { return {c * o.c - s * o.s, c * o.s + s * o.c}; }
};
/// Columns p and q turned.
template <typename T> void turnColumns(Matrix<T>& m, int64_t p, int64_t q, Rotation<T> by)
{
    for (int64_t r = 0; r < m.rows(); ++r) {
        const T x = m(r, p), y = m(r, q);
        m(r, p) = by.c * x - by.s * y;
        m(r, q) = by.s * x + by.c * y;
    }
}
template <typename T> void turnRows(Matrix<T>& m, int64_t p, int64_t q, Rotation<T> by)
{
    for (int64_t c = 0; c < m.columns(); ++c) {
        const T x = m(p, c), y = m(q, c);
        m(p, c) = by.c * x + by.s * y;
        m(q, c) = -by.s * x + by.c * y;
    }
}

/// The reflection that takes a vector to (beta, 0, …): I − tau · v · vᵀ with v = (1, rest).
template <typename T> struct Reflection {
    std::vector<T> rest;
    T tau = 0, beta = 0;

    explicit Reflection(const std::vector<T>& x) : rest(x.begin() + 1, x.end()), beta(x[0])
    {
        T tail(0);
        for (const T y : rest) tail += y * y;
        if (tail <= std::numeric_limits<T>::min()) {
            std::fill(rest.begin(), rest.end(), T(0));
            return;
        }
        const T norm = std::sqrt(x[0] * x[0] + tail);
        beta = x[0] >= T(0) ? -norm : norm;
        for (T& y : rest) y /= x[0] - beta;
        tau = (beta - x[0]) / beta;
    }
    /// Rows from `row` on and columns from `column` on, from the left.
    void applyLeft(Matrix<T>& m, int64_t row, int64_t column) const
    {
        for (int64_t c = column; c < m.columns(); ++c) {
            T sum = m(row, c);
            for (size_t i = 0; i < rest.size(); ++i) sum += rest[i] * m(row + 1 + static_cast<int64_t>(i), c);
            m(row, c) -= tau * sum;
            for (size_t i = 0; i < rest.size(); ++i) m(row + 1 + static_cast<int64_t>(i), c) -= tau * sum * rest[i];
        }
    }
    void applyRight(Matrix<T>& m, int64_t row, int64_t column) const
    {
        for (int64_t r = row; r < m.rows(); ++r) {
            T sum = m(r, column);
            for (size_t i = 0; i < rest.size(); ++i) sum += rest[i] * m(r, column + 1 + static_cast<int64_t>(i));
            m(r, column) -= tau * sum;
            for (size_t i = 0; i < rest.size(); ++i) m(r, column + 1 + static_cast<int64_t>(i)) -= tau * sum * rest[i];
        }
    }
};

template <typename T> std::vector<T> columnFrom(const Matrix<T>& m, int64_t row, int64_t column)
{
    std::vector<T> x;
    for (int64_t r = row; r < m.rows(); ++r) x.push_back(m(r, column));
    return x;
}

/// m = q · r, columns in the order of `order` if they are to be exchanged: the longest that is left first.
template <typename T> struct Orthogonal {
    Matrix<T> q, r;
    std::vector<int64_t> order;

    /// Of q only the first columns, as many as are asked for.
    Orthogonal(Matrix<T> m, bool pivots, int64_t columns)
        : q(Matrix<T>::identity(m.rows(), columns)),
          r(std::move(m)),
          order(static_cast<size_t>(r.columns()))
    {
        std::iota(order.begin(), order.end(), 0);
        std::vector<Reflection<T>> steps;
        for (int64_t k = 0, n = std::min(r.rows(), r.columns()); k < n; ++k) {
            interruptionPoint();
            if (pivots) {
                const auto length = [&](int64_t c) {
                    T sum(0);
                    for (int64_t i = k; i < r.rows(); ++i) sum += r(i, c) * r(i, c);
                    return sum;
                };
                int64_t best = k;
                for (int64_t c = k + 1; c < r.columns(); ++c)
                    if (length(c) > length(best)) best = c;
                r.swapColumns(k, best);
                std::swap(order[static_cast<size_t>(k)], order[static_cast<size_t>(best)]);
            }
            steps.emplace_back(columnFrom(r, k, k));
            steps.back().applyLeft(r, k, k);
            for (int64_t i = k + 1; i < r.rows(); ++i) r(i, k) = T(0);
        }
        for (size_t k = steps.size(); k-- > 0;) steps[k].applyLeft(q, static_cast<int64_t>(k), 0);
    }
};

/// The stack of matrices of operand 0. Errors: InvalidArgument.
struct Stack {
    Shape outer; ///< without the last two dimensions
    int64_t count = 1, rows = 0, columns = 0;
    Shape with(std::initializer_list<int64_t> last) const
    {
        Shape shape = outer;
        for (const int64_t d : last) shape.append(d);
        return shape;
    }
};
Result<Stack> stackOf(const KernelArgs& args, bool isSquare)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 2) return invalidArgument("Input tensor 0 must have rank >= 2");
    Stack stack{Shape(shape.dims().first(static_cast<size_t>(shape.rank() - 2))), 1, shape[shape.rank() - 2], shape.back()};
    stack.count = stack.outer.elementCount();
    if (isSquare && stack.rows != stack.columns)
        return invalidArgument("Input matrix must be square, got " + std::to_string(stack.rows) + " != " + std::to_string(stack.columns));
    return stack;
}

/// Matrix i of result k: the first rows and columns of `from`.
template <typename T, typename Stored = T>
void give(const KernelArgs& args, int k, int64_t i, const Matrix<T>& from, int64_t rows, int64_t columns)
{
    auto* out = args.out(k).as<Stored>() + i * rows * columns;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) *out++ = Element<Stored>::store(from(r, c));
}

Status runQr(const KernelArgs& args)
{
    LS_TRY(const Stack in, stackOf(args, false));
    const bool isFull = attributeBool(attributesOf(args), "full_matrices", false);
    const int64_t inner = isFull ? in.rows : std::min(in.rows, in.columns);
    LS_CHECK_OK(tfAllocate(args, 0, in.with({in.rows, inner})));
    LS_CHECK_OK(tfAllocate(args, 1, in.with({inner, in.columns})));
    return forDType<Reals, TypeList<Half>>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute; // halves are rounded at the end
        for (int64_t i = 0; i < in.count; ++i) {
            std::vector<C> elements(static_cast<size_t>(in.rows * in.columns));
            std::transform(args.in(0).as<T>() + i * std::ssize(elements), args.in(0).as<T>() + (i + 1) * std::ssize(elements),
                           elements.begin(), Element<T>::load);
            const Orthogonal<C> factors(Matrix<C>(elements.data(), in.rows, in.columns), false, inner);
            give<C, T>(args, 0, i, factors.q, in.rows, inner);
            give<C, T>(args, 1, i, factors.r, inner, in.columns);
        }
        return {};
    });
}

/// The rotation whose transpose takes (p, q) to (r, 0).
template <typename T> Rotation<T> givens(T p, T q)
{
    if (q == T(0)) return {p < T(0) ? T(-1) : T(1), T(0)};
    if (p == T(0)) return {T(0), q < T(0) ? T(1) : T(-1)};
    if (std::abs(p) > std::abs(q)) {
        const T t = q / p, u = std::copysign(std::sqrt(T(1) + t * t), p);
        return {T(1) / u, -t / u};
    }
    const T t = p / q, u = std::copysign(std::sqrt(T(1) + t * t), q);
    return {t / u, T(-1) / u};
}

/// Eigenvalues in ascending order with their vectors as columns. Only the lower half of the matrix is read.
template <typename T> struct Symmetric {
    std::vector<T> values;
    Matrix<T> vectors;
    bool converged = true;

    explicit Symmetric(Matrix<T> m) : values(static_cast<size_t>(m.rows())), vectors(Matrix<T>::identity(m.rows(), m.rows()))
    {
        const int64_t n = m.rows();
        for (int64_t r = 0; r < n; ++r)
            for (int64_t c = r + 1; c < n; ++c) m(r, c) = m(c, r);
        const T scale = m.largest() == T(0) ? T(1) : m.largest();
        for (int64_t r = 0; r < n; ++r)
            for (int64_t c = 0; c < n; ++c) m(r, c) /= scale;
        std::vector<T> below(static_cast<size_t>(std::max<int64_t>(n - 1, 0)));
        if (n == 3) three(m, below);
        else tridiagonal(m, below);
        iterate(below);
        for (T& value : values) value *= scale;
        for (int64_t i = 0; i + 1 < n; ++i) {
            const auto least = std::min_element(values.begin() + i, values.end()) - values.begin();
            std::swap(values[static_cast<size_t>(i)], values[static_cast<size_t>(least)]);
            vectors.swapColumns(i, least);
        }
    }

private:
    void tridiagonal(Matrix<T>& m, std::vector<T>& below)
    {
        const int64_t n = m.rows();
        std::vector<Reflection<T>> steps;
        for (int64_t k = 0; k + 1 < n; ++k) {
            interruptionPoint();
            steps.emplace_back(columnFrom(m, k + 1, k));
            below[static_cast<size_t>(k)] = steps.back().beta;
            steps.back().applyLeft(m, k + 1, k + 1);
            steps.back().applyRight(m, k + 1, k + 1);
        }
        for (int64_t i = 0; i < n; ++i) values[static_cast<size_t>(i)] = m(i, i);
        for (size_t k = steps.size(); k-- > 0;) steps[k].applyLeft(vectors, static_cast<int64_t>(k) + 1, 0);
    }
    /// Three dimensions have a way of their own, with other signs.
    void three(const Matrix<T>& m, std::vector<T>& below)
    {
        values = {m(0, 0), m(1, 1), m(2, 2)};
        below = {m(1, 0), m(2, 1)};
        if (m(2, 0) * m(2, 0) <= std::numeric_limits<T>::min()) return;
        const T beta = std::sqrt(m(1, 0) * m(1, 0) + m(2, 0) * m(2, 0)), a = m(1, 0) / beta, b = m(2, 0) / beta;
        const T q = T(2) * a * m(2, 1) + b * (m(2, 2) - m(1, 1));
        values = {m(0, 0), m(1, 1) + b * q, m(2, 2) - b * q};
        below = {beta, m(2, 1) - a * q};
        vectors(1, 1) = a;
        vectors(1, 2) = vectors(2, 1) = b;
        vectors(2, 2) = -a;
    }
    void iterate(std::vector<T>& below)
    {
        const auto d = [&](int64_t i) -> T& { return values[static_cast<size_t>(i)]; };
        const auto e = [&](int64_t i) -> T& { return below[static_cast<size_t>(i)]; };
        const T fine = T(1) / std::numeric_limits<T>::epsilon();
        const int64_t n = static_cast<int64_t>(values.size());
        int64_t start = 0, rounds = 0;
        for (int64_t end = n - 1; end > 0;) {
            for (int64_t i = start; i < end; ++i) {
                const T scaled = fine * e(i);
                if (std::abs(e(i)) < std::numeric_limits<T>::min() || scaled * scaled <= std::abs(d(i)) + std::abs(d(i + 1))) e(i) = T(0);
            }
            while (end > 0 && e(end - 1) == T(0)) --end;
            if (end <= 0) break;
            if (++rounds > 30 * n) {
                converged = false;
                return;
            }
            interruptionPoint();
            start = end - 1;
            while (start > 0 && e(start - 1) != T(0)) --start;
            step(d, e, start, end);
        }
    }
    template <typename D, typename E> void step(D& d, E& e, int64_t start, int64_t end)
    {
        const T half = (d(end - 1) - d(end)) * T(0.5), off = e(end - 1);
        T shift = d(end);
        if (half == T(0)) shift -= std::abs(off);
        else if (off != T(0)) {
            const T away = half + std::copysign(std::hypot(half, off), half);
            shift -= off * off == T(0) ? off / (away / off) : off * off / away;
        }
        T x = d(start) - shift, z = e(start);
        for (int64_t k = start; k < end && z != T(0); ++k) {
            const Rotation<T> by = givens(x, z);
            const T below = by.s * d(k) + by.c * e(k), next = by.s * e(k) + by.c * d(k + 1);
            d(k) = by.c * (by.c * d(k) - by.s * e(k)) - by.s * (by.c * e(k) - by.s * d(k + 1));
            d(k + 1) = by.s * below + by.c * next;
            e(k) = by.c * below - by.s * next;
            if (k > start) e(k - 1) = by.c * e(k - 1) - by.s * z;
            x = e(k);
            if (k < end - 1) {
                z = -by.s * e(k + 1);
                e(k + 1) = by.c * e(k + 1);
            }
            turnColumns(vectors, k, k + 1, by);
        }
    }
};

/// Result k for vectors of that shape; one that nobody wants is a scalar 0.
Status allocateVectors(const KernelArgs& args, int k, bool isWanted, const Shape& shape)
{
    LS_CHECK_OK(tfAllocate(args, k, isWanted ? shape : Shape()));
    if (!isWanted) std::memset(args.out(k).data, 0, args.out(k).bytes);
    return {};
}

Status runSelfAdjointEig(const KernelArgs& args)
{
    LS_TRY(const Stack in, stackOf(args, true));
    const bool wantsVectors = attributeBool(attributesOf(args), "compute_v", true);
    LS_CHECK_OK(tfAllocate(args, 0, in.with({in.rows})));
    LS_CHECK_OK(allocateVectors(args, 1, wantsVectors, in.with({in.rows, in.rows})));
    return forDType<Reals>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0; i < in.count; ++i) {
            const Symmetric<T> factors(Matrix<T>(args.in(0).as<T>() + i * in.rows * in.rows, in.rows, in.rows));
            if (!factors.converged)
                return invalidArgument("Self-adjoint eigen decomposition was not successful. The input might not be valid.");
            std::ranges::copy(factors.values, args.out(0).as<T>() + i * in.rows);
            if (wantsVectors) give(args, 1, i, factors.vectors, in.rows, in.rows);
        }
        return {};
    });
}

/// m = u · diag(values) · vᵀ, values in descending order.
template <typename T> struct Singular {
    std::vector<T> values;
    Matrix<T> u, v;

    /// Of u and v all columns, or as many as there are values.
    Singular(const Matrix<T>& m, bool isFull)
        : u(Matrix<T>::identity(std::min(m.rows(), m.columns()), std::min(m.rows(), m.columns()))),
          v(u)
    {
        const int64_t n = std::min(m.rows(), m.columns());
        const T scale = m.largest() == T(0) || !std::isfinite(m.largest()) ? T(1) : m.largest();
        Matrix<T> scaled = m;
        for (int64_t r = 0; r < m.rows(); ++r)
            for (int64_t c = 0; c < m.columns(); ++c) scaled(r, c) /= scale;
        Matrix<T> work(n, n);
        if (m.rows() > m.columns()) {
            const Orthogonal<T> factors(scaled, true, isFull ? m.rows() : n);
            u = factors.q;
            v = Matrix<T>(n, n);
            for (int64_t c = 0; c < n; ++c) v(factors.order[static_cast<size_t>(c)], c) = T(1);
            for (int64_t r = 0; r < n; ++r)
                for (int64_t c = r; c < n; ++c) work(r, c) = factors.r(r, c);
        } else if (m.columns() > m.rows()) {
            const Orthogonal<T> factors(scaled.transposed(), true, isFull ? m.columns() : n);
            v = factors.q;
            u = Matrix<T>(n, n);
            for (int64_t c = 0; c < n; ++c) u(factors.order[static_cast<size_t>(c)], c) = T(1);
            for (int64_t r = 0; r < n; ++r)
                for (int64_t c = 0; c <= r; ++c) work(r, c) = factors.r(c, r);
        } else {
            work = scaled;
        }
        rotate(work);
        values.resize(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) {
            values[static_cast<size_t>(i)] = std::abs(work(i, i)) * scale;
            if (work(i, i) < T(0))
                for (int64_t r = 0; r < u.rows(); ++r) u(r, i) = -u(r, i);
        }
        for (int64_t i = 0; i < n; ++i) {
            const auto most = std::max_element(values.begin() + i, values.end()) - values.begin();
            if (values[static_cast<size_t>(most)] == T(0)) break;
            std::swap(values[static_cast<size_t>(i)], values[static_cast<size_t>(most)]);
            u.swapColumns(i, most);
            v.swapColumns(i, most);
        }
    }

private:
    void rotate(Matrix<T>& work)
    {
        const T precision = T(2) * std::numeric_limits<T>::epsilon();
        T most(0);
        for (int64_t i = 0; i < work.rows(); ++i) most = std::max(most, std::abs(work(i, i)));
        for (int sweep = 0; sweep < 1000; ++sweep) {
            bool isDone = true;
            for (int64_t p = 1; p < work.rows(); ++p)
                for (int64_t q = 0; q < p; ++q) {
                    const T threshold = std::max(std::numeric_limits<T>::min(), precision * most);
                    if (!(std::abs(work(p, q)) > threshold || std::abs(work(q, p)) > threshold)) continue;
                    isDone = false;
                    interruptionPoint();
                    const auto [left, right] = rotationsOf(work(p, p), work(p, q), work(q, p), work(q, q));
                    turnRows(work, p, q, left);
                    turnColumns(u, p, q, left.transposed());
                    turnColumns(work, p, q, right);
                    turnColumns(v, p, q, right);
                    most = std::max({most, std::abs(work(p, p)), std::abs(work(q, q))});
                }
            if (isDone) return;
        }
    }
    /// The two that make [[a, b], [c, d]] diagonal.
    static std::pair<Rotation<T>, Rotation<T>> rotationsOf(T a, T b, T c, T d)
    {
        Rotation<T> first{T(1), T(0)};
        const T trace = a + d, skew = c - b;
        if (std::abs(skew) >= std::numeric_limits<T>::min()) {
            const T u = trace / skew, length = std::sqrt(T(1) + u * u);
            first = {u / length, T(1) / length};
        }
        const T x = first.c * a + first.s * c, y = first.c * b + first.s * d, z = -first.s * b + first.c * d;
        Rotation<T> right{T(1), T(0)};
        if (const T two = T(2) * std::abs(y); two >= std::numeric_limits<T>::min()) {
            const T tau = (x - z) / two, w = std::sqrt(tau * tau + T(1)), t = tau > T(0) ? T(1) / (tau + w) : T(1) / (tau - w);
            const T sign = t > T(0) ? T(1) : T(-1), n = T(1) / std::sqrt(t * t + T(1));
            right = {n, -sign * (y / std::abs(y)) * std::abs(t) * n};
        }
        return {first.times(right.transposed()), right};
    }
};

Status runSvd(const KernelArgs& args)
{
    LS_TRY(const Stack in, stackOf(args, false));
    const bool wantsVectors = attributeBool(attributesOf(args), "compute_uv", true);
    const bool isFull = attributeBool(attributesOf(args), "full_matrices", false);
    const int64_t n = std::min(in.rows, in.columns), wide = isFull ? in.rows : n, high = isFull ? in.columns : n;
    LS_CHECK_OK(tfAllocate(args, 0, in.with({n})));
    LS_CHECK_OK(allocateVectors(args, 1, wantsVectors, in.with({in.rows, wide})));
    LS_CHECK_OK(allocateVectors(args, 2, wantsVectors, in.with({in.columns, high})));
    return forDType<Reals>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0; i < in.count; ++i) {
            const Singular<T> factors(Matrix<T>(args.in(0).as<T>() + i * in.rows * in.columns, in.rows, in.columns), isFull);
            std::ranges::copy(factors.values, args.out(0).as<T>() + i * n);
            if (!wantsVectors) continue;
            give(args, 1, i, factors.u, in.rows, wide);
            give(args, 2, i, factors.v, in.columns, high);
        }
        return {};
    });
}

/// x with the least |matrix · x − rhs|² + l2 · |x|², by the singular values: what is as good as 0 of them counts as 0.
std::vector<double> leastSquares(const Singular<double>& factors, const std::vector<double>& rhs, int64_t columns, double epsilon,
                                 double l2)
{
    std::vector<double> x(static_cast<size_t>(columns), 0);
    const double least = factors.values.empty() ? 0 : factors.values[0] * epsilon;
    for (size_t k = 0; k < factors.values.size(); ++k) {
        const double value = factors.values[k];
        if (value <= least) continue;
        double part = 0;
        for (size_t r = 0; r < rhs.size(); ++r) part += factors.u(static_cast<int64_t>(r), static_cast<int64_t>(k)) * rhs[r];
        for (int64_t c = 0; c < columns; ++c)
            x[static_cast<size_t>(c)] += factors.v(c, static_cast<int64_t>(k)) * part * value / (value * value + l2);
    }
    return x;
}

/// A matrix of complex numbers is one of real ones, [[re, −im], [im, re]], its right side [re; im]: the solution is that of the former.
template <typename T> Matrix<double> realMatrix(const T* from, int64_t rows, int64_t columns)
{
    constexpr int64_t kParts = kIsComplex<T> ? 2 : 1;
    Matrix<double> out(kParts * rows, kParts * columns);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
            const T x = from[r * columns + c];
            if constexpr (kIsComplex<T>) {
                out(r, c) = out(rows + r, columns + c) = x.real();
                out(rows + r, c) = x.imag();
                out(r, columns + c) = -x.imag();
            } else {
                out(r, c) = x;
            }
        }
    return out;
}

Status runSolveLs(const KernelArgs& args)
{
    LS_TRY(const Stack in, stackOf(args, false));
    const Shape& rhs = args.in(1).shape;
    if (rhs.rank() != args.in(0).shape.rank() || rhs[rhs.rank() - 2] != in.rows ||
        !(Shape(rhs.dims().first(static_cast<size_t>(rhs.rank() - 2))) == in.outer))
        return invalidArgument("Input matrix and rhs are incompatible: " + toString(args.in(0).shape) + " and " + toString(rhs));
    const int64_t sides = rhs.back();
    if (args.in(2).shape.rank() != 0) return invalidArgument("l2_regularizer must be scalar, got shape " + tfShapeText(args.in(2).shape));
    const double l2 = attributeBool(attributesOf(args), "fast", true) ? *args.in(2).as<double>() : 0; // the slow way knows none
    LS_CHECK_OK(tfAllocate(args, 0, in.with({in.columns, sides})));
    return forDType<Reals, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        using R = decltype(std::abs(T()));
        constexpr size_t kParts = kIsComplex<T> ? 2 : 1;
        const auto rows = static_cast<size_t>(in.rows), columns = static_cast<size_t>(in.columns);
        for (int64_t i = 0; i < in.count; ++i) {
            const Singular<double> factors(realMatrix(args.in(0).as<T>() + i * in.rows * in.columns, in.rows, in.columns), false);
            for (int64_t s = 0; s < sides; ++s) {
                std::vector<double> side(kParts * rows);
                for (size_t r = 0; r < rows; ++r) {
                    const T value = args.in(1).as<T>()[(i * in.rows + static_cast<int64_t>(r)) * sides + s];
                    if constexpr (kIsComplex<T>) side[rows + r] = value.imag();
                    side[r] = std::real(value);
                }
                const std::vector<double> x =
                    leastSquares(factors, side, static_cast<int64_t>(kParts * columns), std::numeric_limits<R>::epsilon(), l2);
                for (size_t c = 0; c < columns; ++c) {
                    T& out = args.out(0).as<T>()[(i * in.columns + static_cast<int64_t>(c)) * sides + s];
                    if constexpr (kIsComplex<T>) out = T(static_cast<R>(x[c]), static_cast<R>(x[columns + c]));
                    else out = static_cast<T>(x[c]);
                }
            }
        }
        return {};
    });
}

constexpr const char* kReals = "f32 f64";

} // namespace

LS_TF_KERNEL(Qr, runQr, "f32 f64 f16")
LS_TF_KERNEL(SelfAdjointEigV2, runSelfAdjointEig, kReals)
LS_TF_KERNEL(Svd, runSvd, kReals)
LS_TF_KERNEL(MatrixSolveLs, runSolveLs, "f32 f64 c64 c128")
