// Kernels of matrices that are a few diagonals: core/kernels/linalg (tridiagonal_solve_op.cc, tridiagonal_matmul_op.cc,
// banded_triangular_solve_op.cc).
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>

using namespace loopscope;

namespace {

using Elements = TypeList<float, double, std::complex<float>, std::complex<double>>;
constexpr std::string_view kElements = "f32 f64 c64 c128";

std::string shapesText(const Shape& a, const Shape& b) { return toString(a) + " vs. " + toString(b); }

/// The diagonals [..,3,n] and the right sides [..,n,k] of as many systems. Errors: InvalidArgument.
struct Systems {
    int64_t count = 0, size = 0, columns = 0;
};
Result<Systems> systemsOf(const Shape& diagonals, const Shape& right)
{
    if (diagonals.rank() < 2 || right.rank() != diagonals.rank())
        return invalidArgument("diagonals and rhs must have the same rank, at least 2: " + shapesText(diagonals, right));
    for (int d = 0; d + 2 < right.rank(); ++d)
        if (diagonals[d] != right[d]) return invalidArgument("All input tensors must have the same outer dimensions.");
    if (diagonals[diagonals.rank() - 2] != 3)
        return invalidArgument("Expected diagonals to have 3 rows, got " + std::to_string(diagonals[diagonals.rank() - 2]));
    if (diagonals.back() != right[right.rank() - 2])
        return invalidArgument("The length of diagonals and the rows of rhs must agree: " + shapesText(diagonals, right));
    return Systems{diagonals.countOf(0, diagonals.rank() - 2), diagonals.back(), right.back()};
}

/// The factors of a system with three diagonals. With pivots rows are exchanged where the next one is larger, so that a second
/// superdiagonal may fill (LAPACK's gtsv).
template <typename T> Status solveTridiagonal(const T* diagonals, T* x, const Systems& systems, bool pivots)
{
    const int64_t n = systems.size, columns = systems.columns;
    std::vector<T> upper(diagonals, diagonals + n), main(diagonals + n, diagonals + 2 * n), lower(diagonals + 2 * n, diagonals + 3 * n);
    std::vector<T> second(static_cast<size_t>(n), T(0));
    const auto at = [](std::vector<T>& list, int64_t i) -> T& { return list[static_cast<size_t>(i)]; };
    const auto singular = [] { return invalidArgument("The first element of diagonals is zero, or a pivot is: the system is singular."); };
    for (int64_t i = 0; i + 1 < n; ++i) {
        interruptionPoint();
        if (pivots && std::abs(at(lower, i + 1)) > std::abs(at(main, i))) {
            std::swap(at(main, i), at(lower, i + 1));
            std::swap(at(upper, i), at(main, i + 1));
            if (i + 2 < n) std::swap(at(second, i), at(upper, i + 1));
            for (int64_t c = 0; c < columns; ++c) std::swap(x[i * columns + c], x[(i + 1) * columns + c]);
        }
        if (at(main, i) == T(0)) return singular();
        const T factor = at(lower, i + 1) / at(main, i);
        at(main, i + 1) -= factor * at(upper, i);
        if (i + 2 < n) at(upper, i + 1) -= factor * at(second, i);
        for (int64_t c = 0; c < columns; ++c) x[(i + 1) * columns + c] -= factor * x[i * columns + c];
    }
    if (n > 0 && at(main, n - 1) == T(0)) return singular();
    for (int64_t i = n - 1; i >= 0; --i) {
        interruptionPoint();
        for (int64_t c = 0; c < columns; ++c) {
            T& value = x[i * columns + c];
            if (i + 1 < n) value -= at(upper, i) * x[(i + 1) * columns + c];
            if (i + 2 < n) value -= at(second, i) * x[(i + 2) * columns + c];
            value /= at(main, i);
        }
    }
    return {};
}

Status runTridiagonalSolve(const KernelArgs& args)
{
    LS_TRY(const Systems systems, systemsOf(args.in(0).shape, args.in(1).shape));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(1).shape));
    const bool pivots = attributeBool(attributesOf(args), "partial_pivoting", true);
    return forDType<Elements>(args.in(0).dtype, [&]<typename T>() -> Status {
        const int64_t each = systems.size * systems.columns;
        std::copy_n(args.in(1).as<T>(), systems.count * each, args.out(0).as<T>());
        for (int64_t b = 0; b < systems.count; ++b)
            LS_CHECK_OK(solveTridiagonal(args.in(0).as<T>() + b * 3 * systems.size, args.out(0).as<T>() + b * each, systems, pivots));
        return {};
    });
}

/// Three diagonals, each an operand [..,1,n], times a matrix [..,n,k].
Status runTridiagonalProduct(const KernelArgs& args)
{
    const Shape& right = args.in(3).shape;
    if (right.rank() < 2) return invalidArgument("Input tensor 3 must have rank >= 2");
    const int64_t n = right[right.rank() - 2], columns = right.back();
    for (int i = 0; i < 3; ++i) {
        Shape expected = right;
        expected[right.rank() - 2] = 1;
        expected[right.rank() - 1] = n;
        if (!(args.in(i).shape == expected))
            return invalidArgument("diagonal " + std::to_string(i) + " must have shape " + toString(expected) + ", got " +
                                   toString(args.in(i).shape));
    }
    LS_CHECK_OK(tfAllocate(args, 0, right));
    return forDType<Elements>(args.in(0).dtype, [&]<typename T>() -> Status {
        LoopPace pace;
        for (int64_t row = 0, rows = right.countOf(0, right.rank() - 1); row < rows; ++row) {
            const int64_t i = row % n;
            const T* x = args.in(3).as<T>() + row * columns;
            T* y = args.out(0).as<T>() + row * columns;
            pace.did(columns);
            for (int64_t c = 0; c < columns; ++c) {
                T sum = args.in(1).as<T>()[row] * x[c];
                if (i + 1 < n) sum += args.in(0).as<T>()[row] * x[c + columns];
                if (i > 0) sum += args.in(2).as<T>()[row] * x[c - columns];
                y[c] = sum;
            }
        }
        return {};
    });
}

/// Bands [..,k,n] of triangular matrices: for lower ones the last row has the farthest diagonal, for upper ones the first; both are laid
/// out so that an element stands in its column (upper) or in its row (lower).
Status runBandedSolve(const KernelArgs& args)
{
    const Shape &bands = args.in(0).shape, &right = args.in(1).shape;
    if (bands.rank() < 2 || right.rank() < 2) return invalidArgument("In[0] and In[1] must have rank >= 2: " + shapesText(bands, right));
    const int64_t width = bands[bands.rank() - 2], n = bands.back(), columns = right.back();
    if (right[right.rank() - 2] != n) return invalidArgument("In[0] mismatch In[1]: " + shapesText(bands, right));
    if (width == 0) return invalidArgument("number of bands must be nonzero.");
    const Shape outerBands(bands.dims().first(static_cast<size_t>(bands.rank() - 2)));
    const Shape outerRight(right.dims().first(static_cast<size_t>(right.rank() - 2)));
    LS_TRY(Shape shape, tfBroadcast(outerBands, outerRight));
    const int64_t count = shape.elementCount();
    const Shape outer = shape;
    shape.append(n);
    shape.append(columns);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const bool isLower = attributeBool(attributesOf(args), "lower", true), isAdjoint = attributeBool(attributesOf(args), "adjoint", false);
    /// The block of an operand that stands at block b of the result.
    const auto blockOf = [&](const Shape& own, int64_t b) {
        int64_t flat = 0;
        for (int d = 0; d < own.rank(); ++d) {
            const int from = d + outer.rank() - own.rank();
            flat = flat * own[d] + (own[d] == 1 ? 0 : b / strideOf(outer, from) % outer[from]);
        }
        return flat;
    };
    return forDType<Elements>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t b = 0; b < count; ++b) {
            const T* band = args.in(0).as<T>() + blockOf(outerBands, b) * width * n;
            T* x = args.out(0).as<T>() + b * n * columns;
            std::copy_n(args.in(1).as<T>() + blockOf(outerRight, b) * n * columns, n * columns, x);
            /// Element (r, c), which lies in the band.
            const auto element = [&](int64_t r, int64_t c) {
                if (isAdjoint) std::swap(r, c);
                const T value = isLower ? band[(r - c) * n + r] : band[(width - 1 - (c - r)) * n + r];
                if constexpr (kIsComplex<T>) return isAdjoint ? std::conj(value) : value;
                else return value;
            };
            const bool isForward = isLower != isAdjoint;
            for (int64_t step = 0; step < n; ++step) {
                interruptionPoint();
                const int64_t r = isForward ? step : n - 1 - step;
                if (element(r, r) == T(0)) return invalidArgument("Input matrix is not invertible.");
                for (int64_t away = std::min(width - 1, step); away > 0; --away) {
                    const int64_t c = isForward ? r - away : r + away;
                    const T factor = element(r, c);
                    for (int64_t k = 0; k < columns; ++k) x[r * columns + k] -= factor * x[c * columns + k];
                }
                for (int64_t k = 0; k < columns; ++k) x[r * columns + k] /= element(r, r);
            }
        }
        return {};
    });
}

} // namespace

LS_TF_KERNEL(TridiagonalSolve, runTridiagonalSolve, kElements)
LS_TF_KERNEL(TridiagonalMatMul, runTridiagonalProduct, kElements)
LS_TF_KERNEL(BandedTriangularSolve, runBandedSolve, kElements)
