// Kernels of TensorFlow's linear algebra: core/kernels/linalg (matrix_inverse_op.cc, determinant_op.cc, cholesky_op.cc, matrix_solve_op.cc,
// matrix_triangular_solve_op_impl.h, lu_op.cc), core/kernels/cross_op.cc.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/linear/matrix.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

using namespace loopscope;

namespace {

using TfSolvable = TypeList<float, double, std::complex<float>, std::complex<double>>;

template <typename T> T conjugate(T x)
{
    if constexpr (kIsComplex<T>) return std::conj(x);
    else return x;
}

/// The size N of square matrices [..,N,N]. Errors: InvalidArgument.
Result<int64_t> squareSize(const Tensor& matrices)
{
    const Shape& shape = matrices.shape;
    if (shape.rank() < 2) return invalidArgument("Input tensor 0 must have rank >= 2");
    if (shape.back() != shape[shape.rank() - 2])
        return invalidArgument("Input matrix must be square, got " + std::to_string(shape[shape.rank() - 2]) +
                               " != " + std::to_string(shape.back()));
    return shape.back();
}

template <typename T> Matrix<T> adjointOf(const T* from, int64_t n)
{
    Matrix<T> out(n, n);
    for (int64_t r = 0; r < n; ++r)
        for (int64_t c = 0; c < n; ++c) out(c, r) = conjugate(from[r * n + c]);
    return out;
}

/// P · A = L · U by Gauss with the largest pivot of each column.
template <typename T> struct Decomposition {
    Matrix<T> lu;
    std::vector<int64_t> rows; ///< of the input, in the order of `lu`
    bool isOdd = false;        ///< rows were exchanged an odd number of times
    bool isSingular = false;

    Decomposition(Matrix<T> input, int64_t n) : lu(std::move(input)), rows(static_cast<size_t>(n))
    {
        for (int64_t i = 0; i < n; ++i) rows[static_cast<size_t>(i)] = i;
        for (int64_t k = 0; k < n; ++k) {
            interruptionPoint();
            int64_t pivot = k;
            for (int64_t r = k + 1; r < n; ++r)
                if (std::abs(lu(r, k)) > std::abs(lu(pivot, k))) pivot = r;
            if (pivot != k) {
                isOdd = !isOdd;
                std::swap(rows[static_cast<size_t>(k)], rows[static_cast<size_t>(pivot)]);
                for (int64_t c = 0; c < n; ++c) std::swap(lu(k, c), lu(pivot, c));
            }
            if (lu(k, k) == T(0)) {
                isSingular = true;
                continue;
            }
            for (int64_t r = k + 1; r < n; ++r) {
                const T factor = lu(r, k) /= lu(k, k);
                for (int64_t c = k + 1; c < n; ++c) lu(r, c) -= factor * lu(k, c);
            }
        }
    }

    /// Solves for `columns` right-hand sides, row by row.
    void solve(const T* rhs, int64_t n, int64_t columns, T* out) const
    {
        for (int64_t c = 0; c < columns; ++c) {
            interruptionPoint();
            for (int64_t r = 0; r < n; ++r) {
                T sum = rhs[rows[static_cast<size_t>(r)] * columns + c];
                for (int64_t k = 0; k < r; ++k) sum -= lu(r, k) * out[k * columns + c];
                out[r * columns + c] = sum;
            }
            for (int64_t r = n - 1; r >= 0; --r) {
                T sum = out[r * columns + c];
                for (int64_t k = r + 1; k < n; ++k) sum -= lu(r, k) * out[k * columns + c];
                out[r * columns + c] = sum / lu(r, r);
            }
        }
    }
};

/// A matrix of the operand, adjoint where the operator says so.
template <typename T> Matrix<T> matrixAt(const KernelArgs& args, const T* from, int64_t n)
{
    return attributeBool(attributesOf(args), "adjoint", false) ? adjointOf(from, n) : Matrix<T>(from, n, n);
}

/// In f32, rounded once.
Status inverseOfHalves(const KernelArgs& args, int64_t n)
{
    const std::vector<float> identity = Matrix<float>::identity(n, n).elements();
    const bool isAdjoint = attributeBool(attributesOf(args), "adjoint", false);
    std::vector<float> inverse(identity.size());
    for (int64_t at = 0, end = args.in(0).elementCount(); at < end; at += n * n) {
        Matrix<float> matrix(n, n);
        for (int64_t r = 0; r < n; ++r)
            for (int64_t c = 0; c < n; ++c)
                (isAdjoint ? matrix(c, r) : matrix(r, c)) = Element<Half>::load(args.in(0).as<Half>()[at + r * n + c]);
        const Decomposition<float> lu(std::move(matrix), n);
        if (lu.isSingular) return invalidArgument("Input is not invertible.");
        lu.solve(identity.data(), n, n, inverse.data());
        std::transform(inverse.begin(), inverse.end(), args.out(0).as<Half>() + at, Element<Half>::store);
    }
    return {};
}

Status runInverse(const KernelArgs& args)
{
    LS_TRY(const int64_t n, squareSize(args.in(0)));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    if (args.in(0).dtype == DType::f16) return inverseOfHalves(args, n);
    return forDType<TfSolvable>(args.in(0).dtype, [&]<typename T>() -> Status {
        const std::vector<T> identity = Matrix<T>::identity(n, n).elements();
        for (int64_t at = 0, end = args.in(0).elementCount(); at < end; at += n * n) {
            const Decomposition<T> lu(matrixAt(args, args.in(0).as<T>() + at, n), n);
            if (lu.isSingular) return invalidArgument("Input is not invertible.");
            lu.solve(identity.data(), n, n, args.out(0).as<T>() + at);
        }
        return {};
    });
}

Shape withoutLast(const Shape& shape, int count)
{
    Shape out;
    for (int d = 0; d < shape.rank() - count; ++d) out.append(shape[d]);
    return out;
}

template <bool isLogarithmic> Status runDeterminant(const KernelArgs& args)
{
    LS_TRY(const int64_t n, squareSize(args.in(0)));
    const Shape shape = withoutLast(args.in(0).shape, 2);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    if (isLogarithmic) LS_CHECK_OK(tfAllocate(args, 1, shape));
    return forDType<TfSolvable>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, count = shape.elementCount(); i < count; ++i) {
            const Decomposition<T> lu(Matrix<T>(args.in(0).as<T>() + i * n * n, n, n), n);
            T sign = lu.isOdd ? T(-1) : T(1);
            T product = sign;
            auto logarithm = std::abs(T(0));
            for (int64_t k = 0; k < n; ++k) {
                const T diagonal = lu.lu(k, k);
                product *= diagonal;
                sign = lu.isSingular ? T(0) : sign * (diagonal / std::abs(diagonal));
                logarithm += std::log(std::abs(diagonal));
            }
            args.out(0).as<T>()[i] = isLogarithmic ? sign : product;
            if (isLogarithmic) args.out(1).as<T>()[i] = T(logarithm);
        }
        return {};
    });
}

/// Fills the lower triangle of `out` with L, L · Lᴴ = in; false where in has no such form.
template <typename T> bool factorCholesky(const T* in, T* out, int64_t n)
{
    LoopPace pace;
    for (int64_t r = 0; r < n; ++r)
        for (int64_t c = 0; c <= r; ++c) {
            pace.did(c + 1);
            T sum = in[r * n + c];
            for (int64_t k = 0; k < c; ++k) sum -= out[r * n + k] * conjugate(out[c * n + k]);
            if (r == c && !(std::real(sum) > 0)) return false;
            out[r * n + c] = r > c ? sum / out[c * n + c] : T(std::sqrt(std::real(sum)));
        }
    return true;
}

/// A matrix that is not positive definite gives NaN in its lower triangle, and TensorFlow's NaN of complex numbers is 0
/// (std::numeric_limits knows none of them); there is no error (core/kernels/linalg/cholesky_op.cc).
Status runCholesky(const KernelArgs& args)
{
    LS_TRY(const int64_t n, squareSize(args.in(0)));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    return forDType<TfSolvable>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t at = 0, end = args.in(0).elementCount(); at < end; at += n * n) {
            const T* in = args.in(0).as<T>() + at;
            T* out = args.out(0).as<T>() + at;
            std::fill(out, out + n * n, T(0));
            if (factorCholesky(in, out, n)) continue;
            for (int64_t r = 0; r < n; ++r) std::fill(out + r * n, out + r * n + r + 1, std::numeric_limits<T>::quiet_NaN());
        }
        return {};
    });
}

Status runSolve(const KernelArgs& args)
{
    LS_TRY(const int64_t n, squareSize(args.in(0)));
    const Shape& matrices = args.in(0).shape;
    const Shape& rhs = args.in(1).shape;
    if (rhs.rank() != matrices.rank() || withoutLast(rhs, 2) != withoutLast(matrices, 2) || rhs[rhs.rank() - 2] != n)
        return invalidArgument("Input matrix and rhs are incompatible: " + toString(matrices) + " and " + toString(rhs));
    LS_CHECK_OK(tfAllocate(args, 0, rhs));
    const int64_t columns = rhs.back();
    return forDType<TfSolvable>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, count = withoutLast(matrices, 2).elementCount(); i < count; ++i) {
            const Decomposition<T> lu(matrixAt(args, args.in(0).as<T>() + i * n * n, n), n);
            if (lu.isSingular) return invalidArgument("Input matrix is not invertible.");
            lu.solve(args.in(1).as<T>() + i * n * columns, n, columns, args.out(0).as<T>() + i * n * columns);
        }
        return {};
    });
}

/// Both triangles in one matrix, and the row of the input that each of its rows was.
Status runLu(const KernelArgs& args)
{
    LS_TRY(const int64_t n, squareSize(args.in(0)));
    Shape rows = withoutLast(args.in(0).shape, 2);
    rows.append(n);
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    LS_CHECK_OK(tfAllocate(args, 1, rows));
    return forDType<TfSolvable>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t at = 0, end = args.in(0).elementCount(); at < end; at += n * n) {
            const Decomposition<T> lu(Matrix<T>(args.in(0).as<T>() + at, n, n), n);
            if (lu.isSingular) return invalidArgument("Input is not invertible.");
            std::copy(lu.lu.elements().begin(), lu.lu.elements().end(), args.out(0).as<T>() + at);
            for (int64_t r = 0; r < n; ++r) {
                if (args.out(1).dtype == DType::i64) args.out(1).as<int64_t>()[at / n + r] = lu.rows[static_cast<size_t>(r)];
                else args.out(1).as<int32_t>()[at / n + r] = static_cast<int32_t>(lu.rows[static_cast<size_t>(r)]);
            }
        }
        return {};
    });
}

Status runTriangularSolve(const KernelArgs& args)
{
    LS_TRY(const int64_t n, squareSize(args.in(0)));
    const Shape& rhs = args.in(1).shape;
    if (rhs.rank() < 2 || rhs[rhs.rank() - 2] != n)
        return invalidArgument("In[0] mismatch In[1] shape: " + toString(args.in(0).shape) + " vs. " + toString(rhs));
    const Shape matrices = withoutLast(args.in(0).shape, 2), sides = withoutLast(rhs, 2);
    LS_TRY(const Shape stack, tfBroadcast(matrices, sides));
    const int64_t columns = rhs.back();
    Shape shape = stack;
    shape.append(n);
    shape.append(columns);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const bool isAdjoint = attributeBool(attributesOf(args), "adjoint", false);
    const bool startsAtTop = attributeBool(attributesOf(args), "lower", true) != isAdjoint;
    /// Where the matrix of `from` lies that entry `i` of the stack uses.
    const auto source = [&](const Shape& from, int64_t i) {
        int64_t at = 0;
        for (int d = 0; d < from.rank(); ++d) {
            const int axis = stack.rank() - from.rank() + d;
            if (from[d] != 1) at += i / strideOf(stack, axis) % stack[axis] * strideOf(from, d);
        }
        return at;
    };
    return forDType<TfSolvable>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, count = stack.elementCount(); i < count; ++i) {
            const Matrix<T> matrix = matrixAt(args, args.in(0).as<T>() + source(matrices, i) * n * n, n);
            const T* side = args.in(1).as<T>() + source(sides, i) * n * columns;
            T* out = args.out(0).as<T>() + i * n * columns;
            for (int64_t step = 0; step < n; ++step) {
                const int64_t r = startsAtTop ? step : n - 1 - step;
                for (int64_t c = 0; c < columns; ++c) {
                    T sum = side[r * columns + c];
                    for (int64_t k = startsAtTop ? 0 : r + 1, end = startsAtTop ? r : n; k < end; ++k)
                        sum -= matrix(r, k) * out[k * columns + c];
                    out[r * columns + c] = sum / matrix(r, r);
                }
            }
        }
        return {};
    });
}

Status runCross(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (!(shape == args.in(1).shape))
        return invalidArgument("Both inputs must be of same shape: " + toString(shape) + " vs. " + toString(args.in(1).shape));
    if (shape.rank() < 1) return invalidArgument("Input must be at least 1D: " + tfShapeText(shape));
    if (shape.back() != 3) return tfError(TfCode::failedPrecondition, "Cross-products are only defined for 3-element vectors.");
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        for (int64_t at = 0, end = shape.elementCount(); at < end; at += 3)
            for (int64_t k = 0; k < 3; ++k) {
                const int64_t i = at + (k + 1) % 3, j = at + (k + 2) % 3;
                const auto a = [&](int64_t e) { return Element<T>::load(args.in(0).as<T>()[e]); };
                const auto b = [&](int64_t e) { return Element<T>::load(args.in(1).as<T>()[e]); };
                args.out(0).as<T>()[at + k] = Element<T>::store(wrappingSub<C>(wrappingMul<C>(a(i), b(j)), wrappingMul<C>(a(j), b(i))));
            }
        return {};
    });
}

constexpr const char* kSolvable = "f32 f64 c64 c128";

} // namespace

LS_TF_KERNEL(MatrixInverse, runInverse, "f32 f64 f16 c64 c128")
LS_TF_KERNEL(MatrixDeterminant, runDeterminant<false>, kSolvable)
LS_TF_KERNEL(LogMatrixDeterminant, runDeterminant<true>, kSolvable)
LS_TF_KERNEL(Cholesky, runCholesky, kSolvable)
LS_TF_KERNEL(MatrixSolve, runSolve, kSolvable)
LS_TF_KERNEL(Lu, runLu, "f32 f64 c64 c128 i32 i64")
LS_TF_KERNEL(MatrixTriangularSolve, runTriangularSolve, kSolvable)
LS_TF_KERNEL(Cross, runCross, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64")
