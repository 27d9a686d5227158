// Kernels of TensorFlow's sparse tensors, which are three tensors: indices [n,rank], values [n] and the dense shape [rank]:
// core/kernels/sparse_*_op.cc, segment_reduction_ops_impl.h.
#include "engine/kernels/cpu/sparse/places.h"

#include <algorithm>
#include <cmath>

using namespace loopscope;

namespace {

/// indices may be a number, a vector or a matrix, in order if they are to be validated; the values one number for all.
Status runToDense(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(1)));
    const Shape& indices = args.in(0).shape;
    if (indices.rank() > 2) return invalidArgument("sparse_indices should be a scalar, vector, or matrix, got shape " + toString(indices));
    const int64_t count = indices.rank() > 0 ? indices[0] : 1, depth = indices.rank() > 1 ? indices[1] : 1;
    if (depth != shape.rank())
        return invalidArgument("output_shape has incorrect number of elements: " + std::to_string(shape.rank()) +
                               " should be: " + std::to_string(depth));
    const bool single = args.in(2).shape.rank() == 0;
    if (!single) LS_CHECK_OK(checkSparseValues(args, 2, count));
    if (args.in(3).elementCount() != 1) return invalidArgument("default_value should be a scalar.");
    LS_TRY(const TfSource values, TfSource::of(args.in(2)));
    LS_TRY(const TfSource otherwise, TfSource::of(args.in(3)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const auto size = static_cast<size_t>(out.size());
    for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) std::memcpy(out.at(i), otherwise.at(0), size);
    const std::vector<int64_t> places = tfIntegers(args.in(0));
    const bool validates = attributeBool(attributesOf(args), "validate_indices", true);
    for (int64_t e = 0, before = -1; e < count; ++e) {
        int64_t to = 0;
        for (int64_t d = 0; d < depth; ++d) {
            const int64_t index = places[static_cast<size_t>(e * depth + d)];
            if (index < 0 || index >= shape[static_cast<int>(d)])
                return invalidArgument("indices[" + std::to_string(e) + "] is out of bounds: need 0 <= index < " + toString(shape));
            to = to * shape[static_cast<int>(d)] + index;
        }
        if (validates && to <= before)
            return invalidArgument("indices[" + std::to_string(e) + "] is " +
                                   (to == before ? "repeated" : "out of order. Many sparse ops require sorted indices."));
        before = to;
        std::memcpy(out.at(to), values.at(single ? 0 : e), size);
    }
    return out.finish();
}

/// A · b, each or both adjoint.
Status runDenseMatMul(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces a, sparsePlaces(args, 0, 2));
    LS_CHECK_OK(checkSparseValues(args, 1, a.count));
    const Shape& b = args.in(3).shape;
    if (a.rank() != 2 || b.rank() != 2)
        return invalidArgument("Tensor 'a_shape' must have 2 elements and 'b' must be a matrix, got " + toString(a.shape) + " and " +
                               toString(b));
    const bool ta = attributeBool(attributesOf(args), "adjoint_a", false), tb = attributeBool(attributesOf(args), "adjoint_b", false);
    const int64_t rows = a.shape[ta ? 1 : 0], inner = a.shape[ta ? 0 : 1], columns = b[tb ? 0 : 1];
    if (b[tb ? 1 : 0] != inner)
        return invalidArgument("Cannot multiply A and B because inner dimension does not match: " + std::to_string(inner) + " vs. " +
                               std::to_string(b[tb ? 1 : 0]));
    LS_CHECK_OK(tfAllocate(args, 0, Shape({rows, columns})));
    return forDType<TfFloats, TfSigned, TfComplex>(args.in(1).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        using W = std::conditional_t<std::is_same_v<C, float>, double, C>;
        const auto adjoint = [](W value, bool flips) {
            if constexpr (kIsComplex<C>) return flips ? std::conj(value) : value;
            else return value;
        };
        std::vector<W> sums(static_cast<size_t>(rows * columns), W(0));
        for (int64_t e = 0; e < a.count; ++e) {
            const int64_t row = a.at(e, ta ? 1 : 0), k = a.at(e, ta ? 0 : 1);
            const W x = adjoint(static_cast<W>(Element<T>::load(args.in(1).as<T>()[e])), ta);
            for (int64_t c = 0; c < columns; ++c) {
                const W y = adjoint(static_cast<W>(Element<T>::load(args.in(3).as<T>()[tb ? c * inner + k : k * columns + c])), tb);
                W& sum = sums[static_cast<size_t>(row * columns + c)];
                sum = wrappingAdd(sum, wrappingMul(x, y));
            }
        }
        for (size_t i = 0; i < sums.size(); ++i) args.out(0).as<T>()[i] = Element<T>::store(static_cast<C>(sums[i]));
        return {};
    });
}

/// Entries in the order of a dense tensor.
Status runReorder(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 0, 2));
    LS_CHECK_OK(checkSparseValues(args, 1, in.count));
    const std::vector<int64_t> order = in.order();
    std::vector<int64_t> indices;
    for (const int64_t entry : order)
        for (int d = 0; d < in.rank(); ++d) indices.push_back(in.at(entry, d));
    LS_CHECK_OK(giveChosen(args, 1, 1, order));
    return giveSparseIntegers(args, 0, args.in(0).shape, indices);
}

/// The same entries in a shape of as many elements; −1 stands for what is left.
Status runReshape(const KernelArgs& args)
{
    LS_TRY(const SparsePlaces in, sparsePlaces(args, 0, 1));
    std::vector<int64_t> dims = tfIntegers(args.in(2));
    if (args.in(2).shape.rank() != 1)
        return invalidArgument("Target shape should be a vector but received shape " + toString(args.in(2).shape));
    const int64_t elements = in.shape.elementCount();
    int64_t known = 1;
    for (const int64_t dim : dims) {
        if (dim < -1) return invalidArgument("size " + std::to_string(dim) + " must be non-negative");
        if (dim >= 0 && (dim > 0 && known > (int64_t{1} << 60) / dim)) return invalidArgument("the requested shape has too many elements");
        if (dim >= 0) known *= dim;
    }
    if (std::ranges::count(dims, -1) > 1) return invalidArgument("only one output dimension may be -1");
    if (const auto open = std::ranges::find(dims, -1); open != dims.end()) *open = known > 0 ? elements / known : 0;
    LS_TRY(const Shape shape, [&]() -> Result<Shape> {
        const Shape asked{std::span<const int64_t>(dims)};
        if (checkedElementCount(asked) != elements)
            return invalidArgument("Input to reshape is a tensor with " + std::to_string(elements) +
                                   " dense values, but the requested shape has " + std::to_string(checkedElementCount(asked).value_or(-1)));
        return asked;
    }());
    std::vector<int64_t> indices;
    for (int64_t e = 0; e < in.count; ++e) {
        int64_t flat = 0;
        for (int d = 0; d < in.rank(); ++d) flat = flat * in.shape[d] + in.at(e, d);
        for (int d = 0; d < shape.rank(); ++d) indices.push_back(flat / strideOf(shape, d) % shape[d]);
    }
    LS_CHECK_OK(giveSparseIntegers(args, 0, Shape({in.count, shape.rank()}), indices));
    return giveSparseIntegers(args, 1, Shape({shape.rank()}), dims);
}

enum class Segments { sum, mean, squareRoot };

/// Which rows are summed to which segments: operands 1 and 2. Errors: InvalidArgument.
struct SegmentRows {
    std::vector<int64_t> indices, segments;
    int64_t count = 0;           ///< of segments
    std::vector<int64_t> counts; ///< rows by segment, if rows have elements
};
Result<SegmentRows> segmentRows(const KernelArgs& args, int64_t rows, int64_t segments, int64_t width)
{
    if (args.in(1).shape.rank() != 1) return invalidArgument("indices should be a vector.");
    if (args.in(2).shape.rank() != 1) return invalidArgument("segment_ids should be a vector.");
    SegmentRows in{tfIntegers(args.in(1)), tfIntegers(args.in(2)), 0, {}};
    if (in.indices.size() != in.segments.size()) return invalidArgument("segment_ids and indices should have same size.");
    if (!std::ranges::is_sorted(in.segments) || (!in.segments.empty() && in.segments.front() < 0))
        return invalidArgument("segment ids are not increasing");
    const int64_t needed = in.segments.empty() ? 0 : in.segments.back() + 1;
    if (segments >= 0 && needed > segments) return invalidArgument("segment ids must be < num_segments");
    for (size_t i = 0; i < in.indices.size(); ++i)
        if (in.indices[i] < 0 || in.indices[i] >= rows)
            return invalidArgument("Bad: indices[" + std::to_string(i) + "] == " + std::to_string(in.indices[i]) + " out of range [0, " +
                                   std::to_string(rows) + ")");
    in.count = segments < 0 ? needed : segments;
    if (width == 0) return in;
    in.counts.resize(static_cast<size_t>(in.count), 0);
    for (const int64_t segment : in.segments) ++in.counts[static_cast<size_t>(segment)];
    return in;
}

/// What the sum of so many rows is divided by.
double divisorOf(Segments how, int64_t count)
{
    const auto rows = static_cast<double>(std::max<int64_t>(count, 1));
    return how == Segments::sum ? 1 : how == Segments::mean ? rows : std::sqrt(rows);
}

/// Rows of data by index, summed by segment; means over the number of rows of a segment, or its square root.
template <Segments how> Status runSegments(const KernelArgs& args)
{
    const Shape& data = args.in(0).shape;
    if (data.rank() < 1) return invalidArgument("data must be at least rank 1");
    int64_t segments = -1;
    if (args.inputCount > 3) {
        LS_TRY(segments, tfInteger(args, 3, "num_segments"));
        if (segments < 0) return invalidArgument("num_segments must be non-negative, got " + std::to_string(segments));
    }
    LS_TRY(const SegmentRows in, segmentRows(args, data[0], segments, strideOf(data, 0)));
    Shape shape = data;
    shape[0] = in.count;
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t width = strideOf(data, 0);
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        using W = std::conditional_t<std::is_same_v<C, float>, double, C>;
        std::vector<W> sums(static_cast<size_t>(shape.elementCount()), W(0));
        for (size_t i = 0; i < in.indices.size(); ++i)
            for (int64_t c = 0; c < width; ++c) {
                W& sum = sums[static_cast<size_t>(in.segments[i] * width + c)];
                sum = wrappingAdd(sum, static_cast<W>(Element<T>::load(args.in(0).as<T>()[in.indices[i] * width + c])));
            }
        for (size_t i = 0; i < sums.size(); ++i) {
            W value = sums[i];
            if constexpr (how != Segments::sum)
                value = static_cast<W>(static_cast<double>(value) / divisorOf(how, in.counts[i / static_cast<size_t>(width)]));
            args.out(0).as<T>()[i] = Element<T>::store(static_cast<C>(value));
        }
        return {};
    });
}

/// The gradient of the rows: that of each one's segment, by its share.
template <Segments how> Status runSegmentsGrad(const KernelArgs& args)
{
    const Shape& gradient = args.in(0).shape;
    LS_TRY(const int64_t rows, tfInteger(args, 3, "output_dim0"));
    if (gradient.rank() < 1 || rows < 0) return invalidArgument("grad must be at least rank 1, and output_dim0 not negative");
    LS_TRY(const SegmentRows in, segmentRows(args, rows, gradient[0], strideOf(gradient, 0)));
    Shape shape = gradient;
    shape[0] = rows;
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t width = strideOf(gradient, 0);
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(shape.elementCount()), 0);
        for (size_t i = 0; i < in.indices.size() && width > 0; ++i) {
            const double divisor = divisorOf(how, in.counts[static_cast<size_t>(in.segments[i])]);
            for (int64_t c = 0; c < width; ++c)
                sums[static_cast<size_t>(in.indices[i] * width + c)] +=
                    static_cast<double>(Element<T>::load(args.in(0).as<T>()[in.segments[i] * width + c])) / divisor;
        }
        for (size_t i = 0; i < sums.size(); ++i)
            args.out(0).as<T>()[i] = Element<T>::store(static_cast<typename Element<T>::Compute>(sums[i]));
        return {};
    });
}

/// The same for the rows that were taken alone, in ascending order, and which these are.
template <Segments how> Status runSegmentsGradRows(const KernelArgs& args)
{
    const Shape& gradient = args.in(0).shape;
    LS_TRY(const int64_t rows, tfInteger(args, 3, "dense_output_dim0"));
    if (gradient.rank() < 1 || rows < 0) return invalidArgument("grad must be at least rank 1, and dense_output_dim0 not negative");
    const int64_t width = strideOf(gradient, 0);
    for (const int64_t index : tfIntegers(args.in(1)))
        if (index < 0 || index >= rows)
            return invalidArgument("Index " + std::to_string(index) + " out of range [0, " + std::to_string(rows) + ").");
    LS_TRY(const SegmentRows in, segmentRows(args, rows, gradient[0], std::max<int64_t>(width, 1)));
    std::vector<int64_t> taken = in.indices;
    std::ranges::sort(taken);
    taken.erase(std::ranges::unique(taken).begin(), taken.end());
    Shape shape = gradient;
    shape[0] = static_cast<int64_t>(taken.size());
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    LS_CHECK_OK(tfAllocate(args, 1, Shape({shape[0]})));
    for (size_t i = 0; i < taken.size(); ++i) {
        if (args.out(1).dtype == DType::i64) args.out(1).as<int64_t>()[i] = taken[i];
        else args.out(1).as<int32_t>()[i] = static_cast<int32_t>(taken[i]);
    }
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<double> sums(static_cast<size_t>(shape.elementCount()), 0);
        for (size_t i = 0; i < in.indices.size() && width > 0; ++i) {
            const double divisor = divisorOf(how, in.counts[static_cast<size_t>(in.segments[i])]);
            const int64_t row = std::ranges::lower_bound(taken, in.indices[i]) - taken.begin();
            for (int64_t c = 0; c < width; ++c)
                sums[static_cast<size_t>(row * width + c)] +=
                    static_cast<double>(Element<T>::load(args.in(0).as<T>()[in.segments[i] * width + c])) / divisor;
        }
        for (size_t i = 0; i < sums.size(); ++i)
            args.out(0).as<T>()[i] = Element<T>::store(static_cast<typename Element<T>::Compute>(sums[i]));
        return {};
    });
}

} // namespace

LS_TF_KERNEL(SparseToDense, runToDense, kAllDTypes)
LS_TF_KERNEL(SparseTensorDenseMatMul, runDenseMatMul, "f32 f64 f16 bf16 i8 i16 i32 i64 c64 c128")
LS_TF_KERNEL(SparseReorder, runReorder, kAllDTypes)
LS_TF_KERNEL(SparseReshape, runReshape, "i64")
LS_TF_KERNEL(SparseSegmentSum, runSegments<Segments::sum>, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64")
LS_TF_KERNEL(SparseSegmentMean, runSegments<Segments::mean>, "f32 f64 f16 bf16")
LS_TF_KERNEL(SparseSegmentSqrtN, runSegments<Segments::squareRoot>, "f32 f64 f16 bf16")
LS_TF_KERNEL(SparseSegmentSumWithNumSegments, runSegments<Segments::sum>, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64")
LS_TF_KERNEL(SparseSegmentMeanWithNumSegments, runSegments<Segments::mean>, "f32 f64 f16 bf16")
LS_TF_KERNEL(SparseSegmentSqrtNWithNumSegments, runSegments<Segments::squareRoot>, "f32 f64 f16 bf16")
LS_TF_KERNEL(SparseSegmentSumGrad, runSegmentsGrad<Segments::sum>, "f32 f64 f16 bf16")
LS_TF_KERNEL(SparseSegmentMeanGrad, runSegmentsGrad<Segments::mean>, "f32 f64 f16 bf16")
LS_TF_KERNEL(SparseSegmentSqrtNGrad, runSegmentsGrad<Segments::squareRoot>, "f32 f64 f16 bf16")
LS_TF_KERNEL(SparseSegmentSumGradV2, runSegmentsGradRows<Segments::sum>, "f32 f64 f16 bf16")
LS_TF_KERNEL(SparseSegmentMeanGradV2, runSegmentsGradRows<Segments::mean>, "f32 f64 f16 bf16")
LS_TF_KERNEL(SparseSegmentSqrtNGradV2, runSegmentsGradRows<Segments::squareRoot>, "f32 f64 f16 bf16")
