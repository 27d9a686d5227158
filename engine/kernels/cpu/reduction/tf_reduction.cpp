// Kernels of TensorFlow's reductions, running sums, sums of many tensors and matrix products. Sum, Mean and products add in the order of
// TensorFlow's build for AVX; other sums of f32 are kept in f64 and rounded once.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/reduction/eigen_sum.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/cpu/tf_variant.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

using namespace loopscope;

namespace {

/// What sums of T are kept in.
template <typename C> struct Wide {
    using Type = C;
};
template <> struct Wide<float> {
    using Type = double;
};
template <> struct Wide<std::complex<float>> {
    using Type = std::complex<double>;
};

enum class Fold { sum, mean, product, maximum, minimum, norm };

/// For each element of the input the element of the result that it goes to.
struct Reduction {
    Shape result;                 ///< as the operator gives it
    std::vector<int64_t> strides; ///< by input dimension, in result elements; 0: reduced
    int64_t each = 1;             ///< input elements of one result
};

Result<Reduction> planReduction(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    std::vector<bool> reduced(static_cast<size_t>(in.rank()), false);
    for (const int64_t axis : tfIntegers(args.in(1))) {
        if (axis < -in.rank() || axis >= in.rank())
            return invalidArgument("Invalid reduction dimension (" + std::to_string(axis) + " for input with " + std::to_string(in.rank()) +
                                   " dimension(s)");
        reduced[static_cast<size_t>(axis < 0 ? axis + in.rank() : axis)] = true;
    }
    const bool keep = attributeBool(attributesOf(args), "keep_dims", false);
    Reduction plan;
    plan.strides.resize(static_cast<size_t>(in.rank()), 0);
    int64_t stride = 1;
    for (int d = in.rank() - 1; d >= 0; --d) {
        if (reduced[static_cast<size_t>(d)]) {
            plan.each *= in[d];
            continue;
        }
        plan.strides[static_cast<size_t>(d)] = stride;
        stride *= in[d];
    }
    for (int d = 0; d < in.rank(); ++d) {
        if (!reduced[static_cast<size_t>(d)]) plan.result.append(in[d]);
        else if (keep) plan.result.append(1);
    }
    return plan;
}

/// Calls visit(input element, result element) in the order of the input.
template <typename F> void walk(const Shape& in, const std::vector<int64_t>& strides, F&& visit)
{
    const int64_t count = in.elementCount();
    const int rank = in.rank();
    std::vector<int64_t> index(static_cast<size_t>(rank), 0);
    int64_t to = 0;
    LoopPace pace;
    for (int64_t i = 0; i < count; ++i) {
        visit(i, to);
        pace.did(1);
        for (int d = rank - 1; d >= 0; --d) {
            const auto at = static_cast<size_t>(d);
            to += strides[at];
            if (++index[at] < in[d]) break;
            to -= strides[at] * in[d];
            index[at] = 0;
        }
    }
}

/// The input's dimensions merged to runs that are in turn kept and reduced, as TensorFlow reshapes it (reduction_ops_common.cc, Simplify).
/// Dimensions of size 1 belong to the run they stand in.
struct Runs {
    std::vector<int64_t> sizes;
    bool firstIsReduced = false;

    Runs(const Shape& shape, const std::vector<int64_t>& strides)
    {
        bool reduced = false;
        for (int d = 0; d < shape.rank(); ++d) {
            if (sizes.empty() && shape[d] == 1) continue;
            const bool own = shape[d] == 1 ? reduced : strides[static_cast<size_t>(d)] == 0;
            if (sizes.empty()) firstIsReduced = own;
            if (sizes.empty() || own != reduced) sizes.push_back(shape[d]);
            else sizes.back() *= shape[d];
            reduced = own;
        }
    }
    bool is(size_t count, bool reducedFirst) const { return sizes.size() == count && firstIsReduced == reducedFirst; }
};

/// The sum of every result's elements, in Eigen's order. `emit(result, sum)` takes them.
template <typename T, typename Emit> void sumRuns(const T* x, const Runs& runs, Emit&& emit)
{
    const std::vector<int64_t>& n = runs.sizes;
    constexpr int64_t kWidth = eigen::kLanes<T>;
    if (runs.is(1, true) || runs.is(2, false)) { // whole rows
        const int64_t rows = runs.firstIsReduced ? 1 : n[0], width = n.back();
        for (int64_t r = 0; r < rows; ++r) emit(r, eigen::sumInnermost<T>(r * width, width, [x](int64_t i) { return x[i]; }));
    } else if (runs.is(2, true) || runs.is(3, false)) { // columns of each of n[0] matrices
        const int64_t matrices = runs.firstIsReduced ? 1 : n[0], rows = runs.firstIsReduced ? n[0] : n[1], columns = n.back();
        const int64_t results = matrices * columns;
        for (int64_t r = 0; r < results; ++r) {
            // A vector of results that does not lie in one row of the matrix is computed one by one.
            const int64_t packet = r / kWidth * kWidth;
            const bool inVector = packet + kWidth <= results && packet % columns + kWidth <= columns;
            const T* from = x + r / columns * rows * columns + r % columns;
            emit(r, eigen::sumColumn<T>(rows, inVector, [from, columns](int64_t i) { return from[i * columns]; }));
        }
    } else if (runs.is(3, true)) {
        for (int64_t r = 0; r < n[1]; ++r) {
            T sum(0);
            for (int64_t k = 0; k < n[2]; ++k)
                for (int64_t i = 0; i < n[0]; ++i) sum += x[(i * n[1] + r) * n[2] + k];
            emit(r, sum);
        }
    }
}

/// The input with what is reduced last, for reductions of more than three runs.
template <typename T> std::vector<T> reducedLast(const T* x, const Runs& runs)
{
    Shape kept, reduced;
    for (size_t d = 0; d < runs.sizes.size(); ++d) ((d % 2 == 0) == runs.firstIsReduced ? reduced : kept).append(runs.sizes[d]);
    const int64_t width = reduced.elementCount();
    std::vector<T> moved(static_cast<size_t>(kept.elementCount() * width));
    std::vector<int64_t> strides(runs.sizes.size());
    int64_t keptStride = width, reducedStride = 1;
    for (size_t d = runs.sizes.size(); d-- > 0;) {
        int64_t& stride = (d % 2 == 0) == runs.firstIsReduced ? reducedStride : keptStride;
        strides[d] = stride;
        stride *= runs.sizes[d];
    }
    walk(Shape(runs.sizes), strides, [&](int64_t from, int64_t to) { moved[static_cast<size_t>(to)] = x[from]; });
    return moved;
}

/// Sum and Mean of f32 and f64. Source: core/kernels/reduction_ops_common.h, Eigen's TensorReduction.h.
template <typename T> void runFloatSum(const KernelArgs& args, const Reduction& plan, bool mean)
{
    const Runs runs(args.in(0).shape, plan.strides);
    const T* x = args.in(0).as<T>();
    T* out = args.out(0).as<T>();
    const T each = static_cast<T>(plan.each);
    const auto emit = [&](int64_t r, T sum) { out[r] = mean ? sum / each : sum; };
    const int64_t results = plan.result.elementCount();
    if (args.in(0).elementCount() == 0 || runs.sizes.empty() || runs.is(1, false)) {
        for (int64_t r = 0; r < results; ++r) emit(r, args.in(0).elementCount() == 0 ? T(0) : x[r]);
    } else if (runs.sizes.size() <= 3) {
        sumRuns(x, runs, emit);
    } else {
        const std::vector<T> moved = reducedLast(x, runs);
        const auto width = static_cast<int64_t>(moved.size()) / results;
        for (int64_t r = 0; r < results; ++r)
            emit(r, eigen::sumInnermost<T>(r * width, width, [&](int64_t i) { return moved[static_cast<size_t>(i)]; }));
    }
}

template <Fold how> Status runReduce(const KernelArgs& args)
{
    LS_TRY(const Reduction plan, planReduction(args));
    LS_CHECK_OK(tfAllocate(args, 0, plan.result));
    if constexpr (how == Fold::sum || how == Fold::mean) {
        if (args.in(0).dtype == DType::f32) return runFloatSum<float>(args, plan, how == Fold::mean), Status();
        if (args.in(0).dtype == DType::f64) return runFloatSum<double>(args, plan, how == Fold::mean), Status();
    }
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        using Sum = typename Wide<C>::Type; // the sum of a mean of integers does not wrap
        using W =
            std::conditional_t<how == Fold::mean && std::is_integral_v<C>, std::conditional_t<std::is_signed_v<C>, int64_t, uint64_t>, Sum>;
        if constexpr (kIsComplex<C> && (how == Fold::maximum || how == Fold::minimum)) {
            return Error(ErrorCode::unsupported, "complex numbers have no order");
        } else {
            W neutral(0);
            if constexpr (how == Fold::product) neutral = W(1);
            if constexpr (how == Fold::maximum)
                neutral = std::is_floating_point_v<C> ? -std::numeric_limits<W>::infinity() : std::numeric_limits<W>::lowest();
            if constexpr (how == Fold::minimum)
                neutral = std::is_floating_point_v<C> ? std::numeric_limits<W>::infinity() : std::numeric_limits<W>::max();
            std::vector<W> sums(static_cast<size_t>(plan.result.elementCount()), neutral);
            const T* in = args.in(0).as<T>();
            walk(args.in(0).shape, plan.strides, [&](int64_t from, int64_t to) {
                W& sum = sums[static_cast<size_t>(to)];
                const auto x = static_cast<W>(Element<T>::load(in[from]));
                if constexpr (how == Fold::product) sum = wrappingMul(sum, x);
                else if constexpr (how == Fold::maximum) sum = sum != sum || !(x == x) ? (sum != sum ? sum : x) : std::max(sum, x);
                else if constexpr (how == Fold::minimum) sum = sum != sum || !(x == x) ? (sum != sum ? sum : x) : std::min(sum, x);
                else if constexpr (how == Fold::norm && kIsComplex<C>) sum += W(std::norm(x));
                else if constexpr (how == Fold::norm) sum = wrappingAdd(sum, wrappingMul(x, x));
                else sum = wrappingAdd(sum, x);
            });
            for (size_t i = 0; i < sums.size(); ++i) {
                W value = sums[i];
                if constexpr (how == Fold::mean) {
                    if constexpr (std::is_integral_v<W>) value = plan.each == 0 ? W(0) : static_cast<W>(value / static_cast<W>(plan.each));
                    else value = value / static_cast<W>(static_cast<double>(plan.each));
                }
                if constexpr (how == Fold::norm) {
                    if constexpr (std::is_integral_v<W>) value = static_cast<W>(std::sqrt(static_cast<double>(value)));
                    else value = std::sqrt(value);
                }
                args.out(0).as<T>()[i] = Element<T>::store(static_cast<C>(value));
            }
            return {};
        }
    });
}

template <bool all> Status runLogic(const KernelArgs& args)
{
    LS_TRY(const Reduction plan, planReduction(args));
    LS_CHECK_OK(tfAllocate(args, 0, plan.result));
    bool* out = args.out(0).as<bool>();
    std::fill_n(out, plan.result.elementCount(), all);
    const bool* in = args.in(0).as<bool>();
    walk(args.in(0).shape, plan.strides, [&](int64_t from, int64_t to) { out[to] = all ? out[to] && in[from] : out[to] || in[from]; });
    return {};
}

template <bool largest> Status runArg(const KernelArgs& args)
{
    if (args.in(1).shape.rank() != 0)
        return invalidArgument("dim must be a scalar, but received tensor of shape: " + tfShapeText(args.in(1).shape));
    LS_TRY(const int64_t dimension, tfInteger(args, 1, "dim"));
    const Shape& in = args.in(0).shape;
    LS_TRY(const int axis, tfAxis(dimension, in.rank(), "Expected dimension"));
    if (in[axis] == 0) return invalidArgument("Reduction axis " + std::to_string(axis) + " is empty in shape " + toString(in));
    Shape shape;
    for (int d = 0; d < in.rank(); ++d)
        if (d != axis) shape.append(in[d]);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t inner = strideOf(in, axis);
    const int64_t size = in[axis];
    Tensor& out = args.out(0);
    return forDType<TfFloats, TfSigned, TfUnsigned, TypeList<bool>>(args.in(0).dtype, [&]<typename T>() -> Status {
        const T* x = args.in(0).as<T>();
        for (int64_t r = 0, n = shape.elementCount(); r < n; ++r) {
            const int64_t base = r / inner * size * inner + r % inner;
            int64_t best = 0;
            for (int64_t i = 1; i < size; ++i) {
                const auto a = Element<T>::load(x[base + i * inner]);
                const auto b = Element<T>::load(x[base + best * inner]);
                if (largest ? a > b : a < b) best = i;
            }
            if (out.dtype == DType::i32) out.as<int32_t>()[r] = static_cast<int32_t>(best);
            else if (bitWidth(out.dtype) == 16) out.as<int16_t>()[r] = static_cast<int16_t>(best);
            else out.as<int64_t>()[r] = best;
        }
        return {};
    });
}

template <bool product> Status runScan(const KernelArgs& args)
{
    if (args.in(1).shape.rank() != 0) return invalidArgument("ScanOp: axis must be a scalar, not " + tfShapeText(args.in(1).shape));
    LS_TRY(const int64_t operand, tfInteger(args, 1, "axis"));
    const Shape& shape = args.in(0).shape;
    LS_TRY(const int axis, tfAxis(operand, shape.rank(), "ScanOp: Expected scan axis"));
    const bool exclusive = attributeBool(attributesOf(args), "exclusive", false);
    const bool backwards = attributeBool(attributesOf(args), "reverse", false);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t inner = strideOf(shape, axis);
    const int64_t size = shape[axis];
    const int64_t lines = size == 0 ? 0 : shape.elementCount() / size;
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        using W = typename Wide<typename Element<T>::Compute>::Type;
        using C = typename Element<T>::Compute;
        for (int64_t line = 0; line < lines; ++line) {
            const int64_t base = line / inner * size * inner + line % inner;
            W sum(product ? 1 : 0);
            for (int64_t i = 0; i < size; ++i) {
                const int64_t at = base + (backwards ? size - 1 - i : i) * inner;
                const auto x = static_cast<W>(Element<T>::load(args.in(0).as<T>()[at]));
                const W next = product ? wrappingMul(sum, x) : wrappingAdd(sum, x);
                args.out(0).as<T>()[at] = Element<T>::store(static_cast<C>(exclusive ? sum : next));
                sum = next;
            }
        }
        return {};
    });
}

Status runAddN(const KernelArgs& args)
{
    if (args.in(0).dtype == DType::variant) return addVariants(args);
    const Shape& shape = args.in(0).shape;
    for (int i = 1; i < args.inputCount; ++i)
        if (!(args.in(i).shape == shape))
            return invalidArgument("Inputs to operation " + nodeOf(args) + " of type AddN must have the same size and shape.  Input 0: " +
                                   toString(shape) + " != input " + std::to_string(i) + ": " + toString(args.in(i).shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        T* out = args.out(0).as<T>();
        for (int64_t e = 0, n = shape.elementCount(); e < n; ++e) {
            auto sum = Element<T>::load(args.in(0).as<T>()[e]);
            for (int i = 1; i < args.inputCount; ++i) sum = wrappingAdd(sum, Element<T>::load(args.in(i).as<T>()[e]));
            out[e] = Element<T>::store(sum);
        }
        return {};
    });
}

Status runL2Loss(const KernelArgs& args)
{
    LS_CHECK_OK(tfAllocate(args, 0, Shape()));
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        double sum = 0;
        for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i) {
            const double x = Element<T>::load(args.in(0).as<T>()[i]);
            sum += x * x;
        }
        *args.out(0).as<T>() = Element<T>::store(static_cast<typename Element<T>::Compute>(sum / 2));
        return {};
    });
}

/// One operand of a matrix product: where its element (row, column) lies.
template <typename T> struct MatrixView {
    const T* data;
    int64_t rowStep, columnStep;
    bool conjugate;
    auto at(int64_t r, int64_t c) const
    {
        const auto x = Element<T>::load(data[r * rowStep + c * columnStep]);
        if constexpr (kIsComplex<T>) return conjugate ? std::conj(x) : x;
        else return x;
    }
};

/// TensorFlow multiplies matrices of f32 with oneDNN, which adds products without rounding them first; but vectors, and many small matrices
/// at once, with Eigen, which rounds every product (core/kernels/matmul_op_impl.h, LaunchBatchMatMul).
bool multipliesFused(int64_t batches, int64_t m, int64_t k, int64_t n)
{
    constexpr int64_t kSmallProduct = 128 * 128;
    return std::min({m, k, n}) > 1 && (batches == 1 || m * k * n > kSmallProduct);
}

/// out[m,n] = a[m,k] · b[k,n] in f32, products unrounded.
void multiplyFused(const MatrixView<float>& a, const MatrixView<float>& b, float* out, int64_t m, int64_t k, int64_t n)
{
    std::vector<float> packed;
    const float* rows = b.data;
    int64_t rowStep = b.rowStep;
    if (b.columnStep != 1) {
        packed.resize(static_cast<size_t>(k * n));
        for (int64_t j = 0; j < n; ++j)
            for (int64_t p = 0; p < k; ++p) packed[static_cast<size_t>(p * n + j)] = b.at(p, j);
        rows = packed.data();
        rowStep = n;
    }
    std::fill(out, out + m * n, 0.0F);
    for (int64_t i = 0; i < m; ++i) {
        interruptionPoint();
        for (int64_t p = 0; p < k; ++p) fusedMultiplyAdd(a.at(i, p), rows + p * rowStep, n, out + i * n);
    }
}

/// out[m,n] = a[m,k] · b[k,n], row by row of b, so that the inner loop runs along memory.
template <typename T> void multiply(const MatrixView<T>& a, const MatrixView<T>& b, T* out, int64_t m, int64_t k, int64_t n, bool fused)
{
    if constexpr (std::is_same_v<T, float>) {
        if (fused) return multiplyFused(a, b, out, m, k, n);
    }
    using C = typename Element<T>::Compute;
    std::vector<C> row(static_cast<size_t>(n));
    for (int64_t i = 0; i < m; ++i) {
        interruptionPoint();
        std::fill(row.begin(), row.end(), C(0));
        for (int64_t p = 0; p < k; ++p) {
            const C left = a.at(i, p);
            for (int64_t j = 0; j < n; ++j)
                row[static_cast<size_t>(j)] = wrappingAdd(row[static_cast<size_t>(j)], wrappingMul(left, b.at(p, j)));
        }
        for (int64_t j = 0; j < n; ++j) out[i * n + j] = Element<T>::store(row[static_cast<size_t>(j)]);
    }
}

Status runMatMul(const KernelArgs& args)
{
    const Shape& a = args.in(0).shape;
    const Shape& b = args.in(1).shape;
    if (a.rank() != 2) return invalidArgument("In[0] is not a matrix. Instead it has shape " + toString(a));
    if (b.rank() != 2) return invalidArgument("In[1] is not a matrix. Instead it has shape " + toString(b));
    const bool ta = attributeBool(attributesOf(args), "transpose_a", false);
    const bool tb = attributeBool(attributesOf(args), "transpose_b", false);
    const int64_t m = a[ta ? 1 : 0];
    const int64_t k = a[ta ? 0 : 1];
    const int64_t n = b[tb ? 0 : 1];
    if (b[tb ? 1 : 0] != k) return invalidArgument("Matrix size-incompatible: In[0]: " + toString(a) + ", In[1]: " + toString(b));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({m, n})));
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        const MatrixView<T> left{args.in(0).as<T>(), ta ? 1 : k, ta ? m : 1, false};
        const MatrixView<T> right{args.in(1).as<T>(), tb ? 1 : n, tb ? k : 1, false};
        multiply(left, right, args.out(0).as<T>(), m, k, n, multipliesFused(1, m, k, n));
        return {};
    });
}

Status runBatchMatMul(const KernelArgs& args)
{
    const Shape& a = args.in(0).shape;
    const Shape& b = args.in(1).shape;
    if (a.rank() < 2) return invalidArgument("In[0] ndims must be >= 2: " + std::to_string(a.rank()));
    if (b.rank() < 2) return invalidArgument("In[1] ndims must be >= 2: " + std::to_string(b.rank()));
    const auto isByte = [](DType dtype) { return dtype == DType::i8 || dtype == DType::u8; };
    const bool isWidened = isByte(args.in(0).dtype) && isByte(args.in(1).dtype) && args.out(0).dtype == DType::i32;
    if (!isWidened && (args.in(0).dtype != args.in(1).dtype || args.in(0).dtype != args.out(0).dtype))
        return Error(ErrorCode::unsupported, "a product of matrices of different dtypes");
    const bool ta = attributeBool(attributesOf(args), "adj_x", false);
    const bool tb = attributeBool(attributesOf(args), "adj_y", false);
    const int64_t m = a[a.rank() - (ta ? 1 : 2)];
    const int64_t k = a[a.rank() - (ta ? 2 : 1)];
    const int64_t n = b[b.rank() - (tb ? 2 : 1)];
    if (b[b.rank() - (tb ? 1 : 2)] != k)
        return invalidArgument("Matrix size-incompatible: In[0]: " + toString(a) + ", In[1]: " + toString(b));
    const Shape batchA(a.dims().first(static_cast<size_t>(a.rank() - 2)));
    const Shape batchB(b.dims().first(static_cast<size_t>(b.rank() - 2)));
    const std::optional<Shape> both = broadcastShapes(batchA, batchB);
    if (!both) return invalidArgument("In[0] and In[1] must have compatible batch dimensions: " + toString(a) + " vs. " + toString(b));
    Shape shape = *both;
    shape.append(m);
    shape.append(n);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const bool fused = multipliesFused(both->elementCount(), m, k, n);
    std::array<std::vector<int32_t>, 2> wide; // of bytes, whose products do not fit them
    if (isWidened)
        for (const int i : {0, 1})
            for (const int64_t x : tfIntegers(args.in(i))) wide[static_cast<size_t>(i)].push_back(static_cast<int32_t>(x));
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.out(0).dtype, [&]<typename T>() -> Status {
        std::array<const T*, 2> operands = {args.in(0).as<T>(), args.in(1).as<T>()};
        if constexpr (std::is_same_v<T, int32_t>)
            if (isWidened) operands = {wide[0].data(), wide[1].data()};
        const BroadcastLoop<2> loop(*both, {&batchA, &batchB});
        loop.forEachRow([&](int64_t o, const int64_t(&offset)[2]) {
            for (int64_t i = 0; i < loop.rowLength(); ++i) {
                const T* x = operands[0] + (offset[0] + i * loop.rowStride(0)) * m * k;
                const T* y = operands[1] + (offset[1] + i * loop.rowStride(1)) * k * n;
                multiply(MatrixView<T>{x, ta ? 1 : k, ta ? m : 1, ta}, MatrixView<T>{y, tb ? 1 : n, tb ? k : 1, tb},
                         args.out(0).as<T>() + (o + i) * m * n, m, k, n, fused);
            }
        });
        return {};
    });
}

/// The dimension of the channels, and elements from one channel to the next.
int channelDim(const KernelArgs& args, const Shape& shape)
{
    return attributeString(attributesOf(args), "data_format", "NHWC") == "NCHW" ? 1 : shape.rank() - 1;
}

Status runBiasAdd(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    const Shape& bias = args.in(1).shape;
    if (shape.rank() < 2) return invalidArgument("Input tensor must be at least 2D: " + toString(shape));
    if (bias.rank() != 1) return invalidArgument("Biases must be 1D: " + toString(bias));
    const int channel = channelDim(args, shape);
    if (shape[channel] != bias[0])
        return invalidArgument("Must provide as many biases as the last dimension of the input tensor: " + toString(bias) + " vs. " +
                               toString(shape));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t inner = strideOf(shape, channel);
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = shape.elementCount(); i < n; ++i)
            args.out(0).as<T>()[i] = Element<T>::store(
                wrappingAdd(Element<T>::load(args.in(0).as<T>()[i]), Element<T>::load(args.in(1).as<T>()[i / inner % bias[0]])));
        return {};
    });
}

Status runBiasAddGrad(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    if (shape.rank() < 2) return invalidArgument("Input tensor must be at least 2D: " + toString(shape));
    const int channel = channelDim(args, shape);
    LS_CHECK_OK(tfAllocate(args, 0, Shape({shape[channel]})));
    const int64_t inner = strideOf(shape, channel);
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        using W = std::conditional_t<std::is_same_v<T, float>, float, typename Wide<C>::Type>; // f32 as TensorFlow's redux_functor.h
        std::vector<W> sums(static_cast<size_t>(shape[channel]), W(0));
        for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) {
            W& sum = sums[static_cast<size_t>(i / inner % shape[channel])];
            sum = wrappingAdd(sum, static_cast<W>(Element<T>::load(args.in(0).as<T>()[i])));
        }
        for (size_t i = 0; i < sums.size(); ++i) args.out(0).as<T>()[i] = Element<T>::store(static_cast<C>(sums[i]));
        return {};
    });
}

} // namespace

LS_TF_KERNEL(Sum, runReduce<Fold::sum>, kTfNumbers)
LS_TF_KERNEL(Mean, runReduce<Fold::mean>, kTfNumbers)
LS_TF_KERNEL(Prod, runReduce<Fold::product>, kTfNumbers)
LS_TF_KERNEL(Max, runReduce<Fold::maximum>, kTfReals)
LS_TF_KERNEL(Min, runReduce<Fold::minimum>, kTfReals)
LS_TF_KERNEL(EuclideanNorm, runReduce<Fold::norm>, kTfNumbers)
LS_TF_KERNEL(All, runLogic<true>, "bool")
LS_TF_KERNEL(Any, runLogic<false>, "bool")
LS_TF_KERNEL(ArgMax, runArg<true>, kTfReals)
LS_TF_KERNEL(ArgMin, runArg<false>, kTfReals)
LS_TF_KERNEL(Cumsum, runScan<false>, kTfNumbers)
LS_TF_KERNEL(Cumprod, runScan<true>, kTfNumbers)
LS_TF_KERNEL(AddN, runAddN, "numbers variant")
LS_TF_KERNEL(AccumulateNV2, runAddN, kTfNumbers)
LS_TF_KERNEL(L2Loss, runL2Loss, "f32 f64 f16 bf16")
LS_TF_KERNEL(MatMul, runMatMul, kTfNumbers)
LS_TF_KERNEL(BatchMatMul, runBatchMatMul, kTfNumbers)
LS_TF_KERNEL(BatchMatMulV2, runBatchMatMul, kTfNumbers)
LS_TF_KERNEL(BatchMatMulV3, runBatchMatMul, kTfNumbers)
LS_TF_KERNEL(BiasAdd, runBiasAdd, kTfNumbers)
LS_TF_KERNEL(BiasAddGrad, runBiasAddGrad, kTfNumbers)
