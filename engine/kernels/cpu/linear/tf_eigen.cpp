// Kernels of eigenvalues of any square matrix, and of its square root and logarithm: core/kernels/linalg (eig_op_impl.h,
// matrix_square_root_op.cc, matrix_logarithm_op.cc). All go through the triangular form of a complex matrix, by the steps that Eigen's
// ComplexSchur takes, which converge on any matrix. They are computed in complex f64.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/linear/matrix.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace loopscope;

namespace {

using Complex = std::complex<double>;
using Square = Matrix<Complex>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double size(const Complex& x) { return std::abs(x.real()) + std::abs(x.imag()); }

/// A turn of two rows or columns.
struct Turn {
    Complex c, s;

    /// The turn that takes (p, q) to (r, 0).
    static Turn of(const Complex& p, const Complex& q, Complex* r = nullptr)
    {
        if (q == Complex(0)) {
            const Turn turn{p.real() < 0 ? -1.0 : 1.0, 0};
            if (r != nullptr) *r = turn.c * p;
            return turn;
        }
        if (p == Complex(0)) {
            if (r != nullptr) *r = std::abs(q);
            return {0, -q / std::abs(q)};
        }
        const bool isUpper = size(p) >= size(q);
        const double unit = isUpper ? size(p) : size(q);
        Complex scaled = p / unit;
        const double p2 = std::norm(scaled), q2 = std::norm(q / unit);
        Turn turn;
        if (isUpper) {
            double u = std::sqrt(1 + q2 / p2);
            if (p.real() < 0) u = -u;
            turn.c = 1 / u;
            turn.s = -(q / unit) * std::conj(scaled) * (turn.c / p2);
            if (r != nullptr) *r = p * u;
        } else {
            double u = unit * std::sqrt(p2 + q2);
            if (p.real() < 0) u = -u;
            const double length = std::abs(p);
            scaled = p / length;
            turn.c = length / u;
            turn.s = -std::conj(scaled) * (q / u);
            if (r != nullptr) *r = scaled * u;
        }
        return turn;
    }
    /// Rows p and p + 1 from column `from` on, by the adjoint.
    void rows(Square& m, int64_t p, int64_t from) const
    {
        for (int64_t k = from; k < m.columns(); ++k) {
            const Complex x = m(p, k), y = m(p + 1, k);
            m(p, k) = std::conj(c) * x - std::conj(s) * y;
            m(p + 1, k) = s * x + c * y;
        }
    }
    /// Columns p and p + 1 of the first rows.
    void columns(Square& m, int64_t p, int64_t rowCount) const
    {
        for (int64_t k = 0; k < rowCount; ++k) {
            const Complex x = m(k, p), y = m(k, p + 1);
            m(k, p) = c * x - s * y;
            m(k, p + 1) = std::conj(s) * x + std::conj(c) * y;
        }
    }
};

/// m = u · t · uᴴ with t upper triangular.
struct Schur {
    Square t, u;

    explicit Schur(Square m) : t(std::move(m)), u(Square::identity(t.rows(), t.rows()))
    {
        if (t.rows() < 2) return;
        toHessenberg();
        toTriangle();
    }

private:
    /// Reflections take what lies below the first subdiagonal to 0.
    void toHessenberg()
    {
        const int64_t n = t.rows();
        for (int64_t i = 0; i + 1 < n; ++i) {
            interruptionPoint();
            const Complex head = t(i + 1, i);
            double tail = 0;
            for (int64_t k = i + 2; k < n; ++k) tail += std::norm(t(k, i));
            std::vector<Complex> v(static_cast<size_t>(n - i - 1), Complex(0));
            v[0] = 1;
            Complex tau(0), beta = head.real();
            if (tail > std::numeric_limits<double>::min() || head.imag() * head.imag() > std::numeric_limits<double>::min()) {
                double length = std::sqrt(std::norm(head) + tail);
                if (head.real() >= 0) length = -length;
                for (int64_t k = i + 2; k < n; ++k) v[static_cast<size_t>(k - i - 1)] = t(k, i) / (head - length);
                tau = std::conj((length - head) / length);
                beta = length;
            }
            t(i + 1, i) = beta;
            for (int64_t k = i + 2; k < n; ++k) t(k, i) = 0;
            reflectRows(t, v, tau, i + 1, i + 1);
            reflectColumns(t, v, std::conj(tau), i + 1);
            reflectColumns(u, v, std::conj(tau), i + 1);
        }
    }
    static void reflectRows(Square& m, const std::vector<Complex>& v, const Complex& tau, int64_t row, int64_t column)
    {
        for (int64_t c = column; c < m.columns(); ++c) {
            Complex sum(0);
            for (size_t k = 0; k < v.size(); ++k) sum += std::conj(v[k]) * m(row + static_cast<int64_t>(k), c);
            for (size_t k = 0; k < v.size(); ++k) m(row + static_cast<int64_t>(k), c) -= tau * v[k] * sum;
        }
    }
    static void reflectColumns(Square& m, const std::vector<Complex>& v, const Complex& tau, int64_t column)
    {
        for (int64_t r = 0; r < m.rows(); ++r) {
            Complex sum(0);
            for (size_t k = 0; k < v.size(); ++k) sum += m(r, column + static_cast<int64_t>(k)) * v[k];
            for (size_t k = 0; k < v.size(); ++k) m(r, column + static_cast<int64_t>(k)) -= tau * sum * std::conj(v[k]);
        }
    }
    bool isDeflated(int64_t i)
    {
        if (size(t(i + 1, i)) > kEpsilon * (size(t(i, i)) + size(t(i + 1, i + 1)))) return false;
        t(i + 1, i) = 0;
        return true;
    }
    /// The eigenvalue of the last block of two that is nearer to its last element.
    Complex shiftAt(int64_t last, int64_t step) const
    {
        if ((step == 10 || step == 20) && last > 1) return std::abs(t(last, last - 1).real()) + std::abs(t(last - 1, last - 2).real());
        Complex a = t(last - 1, last - 1), b = t(last - 1, last), c = t(last, last - 1), d = t(last, last);
        const double unit = std::abs(a) + std::abs(b) + std::abs(c) + std::abs(d);
        a /= unit, b /= unit, c /= unit, d /= unit;
        const Complex root = std::sqrt((a - d) * (a - d) + 4.0 * b * c), determinant = a * d - b * c;
        Complex one = (a + d + root) / 2.0, two = (a + d - root) / 2.0;
        if (size(one) > size(two)) two = determinant / one;
        else if (size(two) != 0) one = determinant / two;
        return unit * (size(one - d) < size(two - d) ? one : two);
    }
    void toTriangle()
    {
        const int64_t n = t.rows();
        int64_t step = 0;
        for (int64_t last = n - 1, all = 0; all < 30 * n; ++all) {
            interruptionPoint();
            while (last > 0 && isDeflated(last - 1)) {
                step = 0;
                --last;
            }
            if (last == 0) break;
            ++step;
            int64_t first = last - 1;
            while (first > 0 && !isDeflated(first - 1)) --first;
            Turn turn = Turn::of(t(first, first) - shiftAt(last, step), t(first + 1, first));
            for (int64_t i = first; i < last; ++i) {
                if (i > first) {
                    turn = Turn::of(t(i, i - 1), t(i + 1, i - 1), &t(i, i - 1));
                    t(i + 1, i - 1) = 0;
                }
                turn.rows(t, i, i);
                turn.columns(t, i, std::min(i + 2, last) + 1);
                turn.columns(u, i, n);
            }
        }
    }
};

Square times(const Square& a, const Square& b)
{
    Square out(a.rows(), b.columns());
    for (int64_t r = 0; r < a.rows(); ++r) {
        interruptionPoint();
        for (int64_t k = 0; k < a.columns(); ++k)
            for (int64_t c = 0; c < b.columns(); ++c) out(r, c) += a(r, k) * b(k, c);
    }
    return out;
}

/// u · m · uᴴ.
Square turnedBack(const Square& u, const Square& m)
{
    Square adjoint(u.columns(), u.rows());
    for (int64_t r = 0; r < u.rows(); ++r)
        for (int64_t c = 0; c < u.columns(); ++c) adjoint(c, r) = std::conj(u(r, c));
    return times(times(u, m), adjoint);
}

/// The square root of a triangular matrix, diagonal by diagonal.
Square triangleRoot(const Square& t)
{
    const int64_t n = t.rows();
    Square root(n, n);
    for (int64_t j = 0; j < n; ++j) {
        interruptionPoint();
        root(j, j) = std::sqrt(t(j, j));
        for (int64_t i = j - 1; i >= 0; --i) {
            Complex sum = t(i, j);
            for (int64_t k = i + 1; k < j; ++k) sum -= root(i, k) * root(k, j);
            root(i, j) = sum == Complex(0) ? Complex(0) : sum / (root(i, i) + root(j, j));
        }
    }
    return root;
}

/// The logarithm of a triangular matrix: roots until it is near 1, then log(1 + x) as a sum of x · (1 + aₖ x)⁻¹ by Gauss's rule for ∫ from
/// 0 to 1.
Square triangleLogarithm(Square t)
{
    const int64_t n = t.rows();
    const Square given = t;
    double factor = 1;
    for (int k = 0; k < 100; ++k) {
        double norm = 0;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = i; j < n; ++j) norm = std::max(norm, std::abs(t(i, j) - (i == j ? 1.0 : 0.0)));
        if (!(norm * static_cast<double>(n) > 0.05)) break;
        t = triangleRoot(t);
        factor *= 2;
    }
    constexpr double kNodes[] = {0.0469100770306680, 0.2307653449471585, 0.5, 0.7692346550528415, 0.9530899229693320};
    constexpr double kWeights[] = {0.1184634425280945, 0.2393143352496832, 0.2844444444444444, 0.2393143352496832, 0.1184634425280945};
    Square out(n, n);
    for (size_t k = 0; k < std::size(kNodes); ++k)
        for (int64_t j = 0; j < n; ++j) {
            interruptionPoint();
            std::vector<Complex> column(static_cast<size_t>(j + 1)); // of (1 + a x)⁻¹ x, from below
            for (int64_t i = j; i >= 0; --i) {
                Complex sum = t(i, j) - (i == j ? 1.0 : 0.0);
                for (int64_t m = i + 1; m <= j; ++m) sum -= kNodes[k] * t(i, m) * column[static_cast<size_t>(m)];
                column[static_cast<size_t>(i)] = sum / (1.0 + kNodes[k] * (t(i, i) - 1.0));
                out(i, j) += factor * kWeights[k] * column[static_cast<size_t>(i)];
            }
        }
    for (int64_t i = 0; i < n; ++i) out(i, i) = std::log(given(i, i));
    return out;
}

/// Stacks of square matrices. Errors: InvalidArgument.
Status checkSquare(const Shape& shape)
{
    if (shape.rank() < 2) return invalidArgument("Input tensor 0 must have rank >= 2");
    if (shape.back() != shape[shape.rank() - 2])
        return invalidArgument("Input matrix must be square, got " + std::to_string(shape[shape.rank() - 2]) +
                               " != " + std::to_string(shape.back()));
    return {};
}

template <typename T> Square readMatrix(const Tensor& tensor, int64_t i)
{
    const int64_t n = tensor.shape.back();
    Square out(n, n);
    const T* from = tensor.as<T>() + i * n * n;
    for (int64_t k = 0; k < n * n; ++k) out(k / n, k % n) = Complex(from[k]);
    return out;
}

template <typename T> void writeMatrix(Tensor& tensor, int64_t i, const Square& m)
{
    T* to = tensor.as<T>() + i * m.rows() * m.columns();
    for (int64_t k = 0; k < m.rows() * m.columns(); ++k) {
        const Complex x = m(k / m.columns(), k % m.columns());
        if constexpr (kIsComplex<T>) to[k] = T(x);
        else to[k] = static_cast<T>(x.real());
    }
}

using Elements = TypeList<float, double, std::complex<float>, std::complex<double>>;
constexpr std::string_view kElements = "f32 f64 c64 c128";

template <Square (*function)(const Schur&)> Status runFunction(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_CHECK_OK(checkSquare(shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<Elements>(args.in(0).dtype, [&]<typename T>() -> Status {
        const int64_t count = shape.back() == 0 ? 0 : shape.elementCount() / (shape.back() * shape.back());
        for (int64_t i = 0; i < count; ++i) writeMatrix<T>(args.out(0), i, function(Schur(readMatrix<T>(args.in(0), i))));
        return {};
    });
}

Square rootOf(const Schur& schur) { return turnedBack(schur.u, triangleRoot(schur.t)); }
Square logarithmOf(const Schur& schur) { return turnedBack(schur.u, triangleLogarithm(schur.t)); }

/// The vectors of the triangle, turned back and of length 1.
Square vectorsOf(const Schur& schur)
{
    const int64_t n = schur.t.rows();
    double norm = 0;
    for (const Complex& x : schur.t.elements()) norm += std::norm(x);
    norm = std::sqrt(norm);
    Square x(n, n);
    for (int64_t k = n - 1; k >= 0; --k) {
        interruptionPoint();
        x(k, k) = 1;
        for (int64_t i = k - 1; i >= 0; --i) {
            x(i, k) = -schur.t(i, k);
            for (int64_t m = i + 1; m < k; ++m) x(i, k) -= schur.t(i, m) * x(m, k);
            Complex apart = schur.t(i, i) - schur.t(k, k);
            if (apart == Complex(0)) apart = kEpsilon * norm;
            x(i, k) /= apart;
        }
    }
    Square vectors = times(schur.u, x);
    for (int64_t c = 0; c < n; ++c) {
        double length = 0;
        for (int64_t r = 0; r < n; ++r) length += std::norm(vectors(r, c));
        for (int64_t r = 0; r < n; ++r) vectors(r, c) /= std::sqrt(length);
    }
    return vectors;
}

/// Eigenvalues by size, and their vectors as columns.
Status runEig(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_CHECK_OK(checkSquare(shape));
    const bool hasVectors = attributeBool(attributesOf(args), "compute_v", true);
    const int64_t n = shape.back(), count = n == 0 ? 0 : shape.elementCount() / (n * n);
    LS_CHECK_OK(tfAllocate(args, 0, Shape(shape.dims().first(static_cast<size_t>(shape.rank() - 1)))));
    LS_CHECK_OK(tfAllocate(args, 1, hasVectors ? shape : Shape({0})));
    return forDType<Elements>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0; i < count; ++i) {
            const Schur schur(readMatrix<T>(args.in(0), i));
            Square vectors = hasVectors ? vectorsOf(schur) : Square(0, 0);
            Square values(1, n);
            for (int64_t k = 0; k < n; ++k) values(0, k) = schur.t(k, k);
            for (int64_t k = 0; k < n; ++k) {
                int64_t least = k;
                for (int64_t m = k + 1; m < n; ++m)
                    if (std::abs(values(0, m)) < std::abs(values(0, least))) least = m;
                if (least == k) continue;
                values.swapColumns(k, least);
                vectors.swapColumns(k, least);
            }
            LS_CHECK_OK((forDType<TfComplex>(args.out(0).dtype, [&]<typename C>() -> Status {
                for (int64_t k = 0; k < n; ++k) args.out(0).as<C>()[i * n + k] = C(values(0, k));
                if (hasVectors) writeMatrix<C>(args.out(1), i, vectors);
                return {};
            })));
        }
        return {};
    });
}

} // namespace

LS_TF_KERNEL(Eig, runEig, kElements)
LS_TF_KERNEL(MatrixSquareRoot, runFunction<rootOf>, kElements)
LS_TF_KERNEL(MatrixLogarithm, runFunction<logarithmOf>, "c64 c128")
