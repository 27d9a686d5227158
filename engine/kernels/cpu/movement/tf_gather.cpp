// Kernels of TensorFlow's operators that choose elements by index, and that put them where an index says.
#include "engine/base/interruption.h"
#include "engine/kernels/cpu/movement/scatter.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/ops/movement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

using namespace loopscope;

namespace {

/// `indices[1,2] = 7 is not in [0, 5)`
Error badIndex(const Shape& shape, int64_t flat, int64_t index, int64_t limit)
{
    const std::string place = shape.rank() == 0 ? "indices" : "indices" + indexText(shape, flat);
    return invalidArgument(place + " = " + std::to_string(index) + " is not in [0, " + std::to_string(limit) + ")");
}

/// Slices of operand 0 along `axis`, the first `batch` dimensions taken from both operands alike.
Status gather(const KernelArgs& args, int64_t axisOperand, int64_t batchOperand)
{
    const Shape& params = args.in(0).shape;
    const Shape& indices = args.in(1).shape;
    if (params.rank() == 0) return invalidArgument("params must be at least 1 dimensional");
    LS_TRY(const int axis, tfAxis(axisOperand, params.rank(), "Expected axis"));
    const int64_t wantedBatch = batchOperand < 0 ? batchOperand + indices.rank() : batchOperand;
    if (wantedBatch < 0 || wantedBatch > indices.rank() || wantedBatch > axis)
        return invalidArgument("batch_dims (" + std::to_string(batchOperand) + ") must be less than or equal to axis (" +
                               std::to_string(axis) + ").");
    const auto batch = static_cast<int>(wantedBatch);
    Shape shape;
    for (int d = 0; d < axis; ++d) {
        if (d < batch && params[d] != indices[d])
            return invalidArgument("params.shape[" + std::to_string(d) + "]: " + std::to_string(params[d]) +
                                   " should be equal to indices.shape[" + std::to_string(d) + "]: " + std::to_string(indices[d]));
        shape.append(params[d]);
    }
    for (int d = batch; d < indices.rank(); ++d) shape.append(indices[d]);
    for (int d = axis + 1; d < params.rank(); ++d) shape.append(params[d]);
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t batches = params.countOf(0, batch);
    const int64_t outer = params.countOf(batch, axis);
    const int64_t limit = params[axis];
    const int64_t inner = params.countOf(axis + 1, params.rank());
    const int64_t count = indices.countOf(batch, indices.rank());
    const std::vector<int64_t> chosen = tfIntegers(args.in(1));
    for (size_t i = 0; i < chosen.size(); ++i)
        if (chosen[i] < 0 || chosen[i] >= limit) return badIndex(indices, static_cast<int64_t>(i), chosen[i], limit);
    int64_t to = 0;
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t o = 0; o < outer; ++o)
            for (int64_t i = 0; i < count; ++i, to += inner) {
                const int64_t from = ((b * outer + o) * limit + chosen[static_cast<size_t>(b * count + i)]) * inner;
                if (inner > 0) std::memcpy(out.at(to), in.at(from), static_cast<size_t>(inner * in.size()));
            }
    return out.finish();
}

Status runGather(const KernelArgs& args) { return gather(args, 0, 0); }

Status runGatherV2(const KernelArgs& args)
{
    LS_TRY(const int64_t axis, tfInteger(args, 2, "axis"));
    return gather(args, axis, attributeInt(attributesOf(args), "batch_dims", 0));
}

Status runGatherNd(const KernelArgs& args)
{
    const Shape& params = args.in(0).shape;
    LS_TRY(const IndexVectors vectors, indexVectors(args.in(1), params));
    Shape shape;
    for (int d = 0; d + 1 < args.in(1).shape.rank(); ++d) shape.append(args.in(1).shape[d]);
    for (int d = static_cast<int>(args.in(1).shape.back()); d < params.rank(); ++d) shape.append(params[d]);
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    for (int64_t v = 0; v < vectors.count && vectors.slice > 0; ++v)
        std::memcpy(out.at(v * vectors.slice), in.at(vectors.starts[static_cast<size_t>(v)]),
                    static_cast<size_t>(vectors.slice * in.size()));
    return out.finish();
}

/// Writes operand `updates` to result 0 at index vectors; what is there already stays where none points.
Status scatterInto(const KernelArgs& args, const Tensor& indices, const Tensor& updates, const Shape& shape, Scatter how)
{
    LS_TRY(const IndexVectors vectors, indexVectors(indices, shape));
    if (updates.elementCount() != vectors.count * vectors.slice)
        return invalidArgument("Dimensions [0," + std::to_string(indices.shape.rank() - 1) +
                               ") of indices[shape=" + toString(indices.shape) + "] must match dimensions [0," +
                               std::to_string(indices.shape.rank() - 1) + ") of updates[shape=" + toString(updates.shape) + "]");
    return scatterSlices(how, args.out(0).dtype, vectors, updates.data, false, args.out(0).data);
}

Status runScatterNd(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(2)));
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    if (args.out(0).bytes > 0) std::memset(args.out(0).data, 0, args.out(0).bytes);
    return scatterInto(args, args.in(0), args.in(1), shape, Scatter::add);
}

template <Scatter how> Status runTensorScatter(const KernelArgs& args)
{
    if (bitWidth(args.in(0).dtype) < 8)
        return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(args.in(0).dtype)));
    LS_CHECK_OK(tfCopy(args, 0, args.in(0), args.in(0).shape));
    return scatterInto(args, args.in(1), args.in(2), args.in(0).shape, how);
}

Status runDynamicStitch(const KernelArgs& args)
{
    const int n = args.inputCount / 2;
    int64_t rows = 0;
    Shape slice;
    for (int d = args.in(0).shape.rank(); d < args.in(n).shape.rank(); ++d) slice.append(args.in(n).shape[d]);
    for (int k = 0; k < n; ++k) {
        for (const int64_t index : tfIntegers(args.in(k))) {
            if (index < 0) return invalidArgument("indices[" + std::to_string(k) + "] is out of range");
            rows = std::max(rows, index + 1);
        }
        if (args.in(n + k).elementCount() != args.in(k).elementCount() * slice.elementCount())
            return invalidArgument("data[" + std::to_string(k) + "].shape = " + toString(args.in(n + k).shape) +
                                   " does not start with indices[" + std::to_string(k) + "].shape = " + toString(args.in(k).shape));
    }
    Shape shape({rows});
    for (const int64_t d : slice.dims()) shape.append(d);
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, true));
    const int64_t inner = slice.elementCount();
    for (int k = 0; k < n; ++k) {
        LS_TRY(const TfSource in, TfSource::of(args.in(n + k)));
        const std::vector<int64_t> indices = tfIntegers(args.in(k));
        for (size_t i = 0; i < indices.size() && inner > 0; ++i)
            std::memcpy(out.at(indices[i] * inner), in.at(static_cast<int64_t>(i) * inner), static_cast<size_t>(inner * in.size()));
    }
    return out.finish();
}

Status runDynamicPartition(const KernelArgs& args)
{
    const Shape& data = args.in(0).shape;
    const Shape& partitions = args.in(1).shape;
    for (int d = 0; d < partitions.rank(); ++d)
        if (d >= data.rank() || data[d] != partitions[d])
            return invalidArgument("data.shape must start with partitions.shape, got data.shape = " + toString(data) +
                                   ", partitions.shape = " + toString(partitions));
    const std::vector<int64_t> which = tfIntegers(args.in(1));
    for (size_t i = 0; i < which.size(); ++i)
        if (which[i] < 0 || which[i] >= args.outputCount)
            return invalidArgument("partitions" + indexText(partitions, static_cast<int64_t>(i)) + " = " + std::to_string(which[i]) +
                                   " is not in [0, " + std::to_string(args.outputCount) + ")");
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    const int64_t inner = data.countOf(partitions.rank(), data.rank());
    for (int k = 0; k < args.outputCount; ++k) {
        Shape shape({std::count(which.begin(), which.end(), k)});
        for (int d = partitions.rank(); d < data.rank(); ++d) shape.append(data[d]);
        TfTarget out;
        LS_CHECK_OK(out.begin(args, k, shape));
        int64_t to = 0;
        for (size_t i = 0; i < which.size(); ++i) {
            if (which[i] != k) continue;
            if (inner > 0) std::memcpy(out.at(to), in.at(static_cast<int64_t>(i) * inner), static_cast<size_t>(inner * in.size()));
            to += inner;
        }
        LS_CHECK_OK(out.finish());
    }
    return {};
}

Status runOneHot(const KernelArgs& args)
{
    LS_TRY(const int64_t depth, tfInteger(args, 1, "depth"));
    if (depth < 0) return invalidArgument("depth must be non-negative, got: " + std::to_string(depth));
    const Shape& indices = args.in(0).shape;
    const int64_t wanted = attributeInt(attributesOf(args), "axis", -1);
    LS_TRY(const int axis,
           tfAxis(wanted, indices.rank() + 1, "Expected axis to be -1 or between [0, " + std::to_string(indices.rank()) + "]"));
    Shape shape;
    for (int d = 0; d <= indices.rank(); ++d) {
        if (d == axis) shape.append(depth);
        if (d < indices.rank()) shape.append(indices[d]);
    }
    for (const int k : {2, 3})
        if (args.in(k).shape.rank() != 0)
            return invalidArgument((k == 2 ? "on_value must be a scalar, but got: " : "off_value must be a scalar, but got: ") +
                                   tfShapeText(args.in(k).shape));
    LS_TRY(const TfSource on, TfSource::of(args.in(2)));
    LS_TRY(const TfSource off, TfSource::of(args.in(3)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const std::vector<int64_t> hot = tfIntegers(args.in(0));
    const int64_t inner = indices.countOf(axis, indices.rank());
    for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) {
        const int64_t o = i / (inner * depth);
        const bool isHot = hot[static_cast<size_t>(o * inner + i % inner)] == i / inner % depth;
        std::memcpy(out.at(i), (isHot ? on : off).at(0), static_cast<size_t>(on.size()));
    }
    return out.finish();
}

Status runWhere(const KernelArgs& args)
{
    const Tensor& condition = args.in(0);
    if (condition.shape.rank() == 0) return invalidArgument("WhereOp : Unhandled input dimensions: 0");
    std::vector<int64_t> found;
    LS_CHECK_OK((forDType<TfFloats, TfSigned, TfUnsigned, TfComplex, TypeList<bool>>(condition.dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        for (int64_t i = 0, n = condition.elementCount(); i < n; ++i)
            if (Element<T>::load(condition.as<T>()[i]) != C(0)) found.push_back(i);
        return {};
    })));
    const int rank = condition.shape.rank();
    LS_CHECK_OK(tfAllocate(args, 0, Shape({static_cast<int64_t>(found.size()), rank})));
    int64_t* out = args.out(0).as<int64_t>();
    for (const int64_t flat : found)
        for (int d = 0; d < rank; ++d) *out++ = flat / strideOf(condition.shape, d) % condition.shape[d];
    return {};
}

Status runTopK(const KernelArgs& args)
{
    LS_TRY(const int64_t k, tfInteger(args, 1, "k"));
    Shape shape = args.in(0).shape;
    if (shape.rank() < 1) return invalidArgument("input must be >= 1-D, got shape []");
    const int64_t width = shape.back();
    if (k < 0) return invalidArgument("Need k >= 0, got " + std::to_string(k));
    if (width < k)
        return invalidArgument("input must have at least k columns. Had " + std::to_string(width) + ", needed " + std::to_string(k));
    const int64_t rows = shape.countOf(0, shape.rank() - 1);
    shape[shape.rank() - 1] = k;
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    LS_CHECK_OK(tfAllocate(args, 1, shape));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<int64_t> order(static_cast<size_t>(width));
        LoopPace pace; // of comparisons
        for (int64_t r = 0; r < rows; ++r) {
            const T* row = args.in(0).as<T>() + r * width;
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
                pace.did(1);
                return Element<T>::load(row[a]) > Element<T>::load(row[b]);
            });
            for (int64_t i = 0; i < k; ++i) {
                args.out(0).as<T>()[r * k + i] = row[order[static_cast<size_t>(i)]];
                if (args.out(1).dtype == DType::i64) args.out(1).as<int64_t>()[r * k + i] = order[static_cast<size_t>(i)];
                else args.out(1).as<int32_t>()[r * k + i] = static_cast<int32_t>(order[static_cast<size_t>(i)]);
            }
        }
        return {};
    });
}

/// On a CPU the k best are the true ones, along any dimension; is_max_k says which are best.
Status runApproxTopK(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    const int64_t k = attributeInt(attributes, "k", 0);
    const Shape& in = args.in(0).shape;
    LS_TRY(const int axis, tfAxis(attributeInt(attributes, "reduction_dimension", -1), in.rank(), "reduction_dimension"));
    if (k < 0 || k > in[axis])
        return invalidArgument("input must have at least k elements along its reduction dimension. Had " + std::to_string(in[axis]) +
                               ", needed " + std::to_string(k));
    if (!attributeBool(attributes, "aggregate_to_topk", true))
        return Error(ErrorCode::unsupported, "best elements that are not aggregated");
    Shape shape = in;
    shape[axis] = k;
    for (const int result : {0, 1}) LS_CHECK_OK(tfAllocate(args, result, shape));
    const bool isMax = attributeBool(attributes, "is_max_k", true);
    const int64_t inner = strideOf(in, axis), width = in[axis], outer = in.countOf(0, axis);
    return forDType<TypeList<float, Half, BFloat16>>(args.in(0).dtype, [&]<typename T>() -> Status {
        std::vector<int64_t> order(static_cast<size_t>(width));
        LoopPace pace; // of comparisons
        for (int64_t row = 0; row < outer * inner; ++row) {
            const T* x = args.in(0).as<T>() + row / inner * width * inner + row % inner;
            const auto at = [&](int64_t i) { return Element<T>::load(x[i * inner]); };
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
                pace.did(1);
                return isMax ? at(a) > at(b) : at(a) < at(b);
            });
            for (int64_t i = 0; i < k; ++i) {
                const int64_t to = (row / inner * k + i) * inner + row % inner, from = order[static_cast<size_t>(i)];
                args.out(0).as<T>()[to] = x[from * inner];
                args.out(1).as<int32_t>()[to] = static_cast<int32_t>(from);
            }
        }
        return {};
    });
}

enum class Fold { sum, product, maximum, minimum, mean };

/// The smallest or largest finite value of a dtype.
template <typename T> typename Element<T>::Compute extremeOf(bool isLargest)
{
    using C = typename Element<T>::Compute;
    C largest = std::numeric_limits<C>::max();
    if constexpr (std::is_same_v<T, Half>) largest = C(65504);
    else if constexpr (std::is_same_v<T, BFloat16>) largest = std::bit_cast<float>(uint32_t{0x7f7f0000});
    if (isLargest) return largest;
    if constexpr (std::is_floating_point_v<C>) return -largest;
    else return std::numeric_limits<C>::lowest();
}

/// Slices of operand 0 folded by segment. Empty segments: 0, 1, or the dtype's smallest or largest value; of sorted ids `sortedEmpty`.
template <Fold how> Status foldSegments(const KernelArgs& args, int64_t segments, bool sorted)
{
    const Shape& data = args.in(0).shape;
    const Shape& ids = args.in(1).shape;
    for (int d = 0; d < ids.rank(); ++d)
        if (d >= data.rank() || data[d] != ids[d])
            return invalidArgument("data.shape = " + toString(data) + " does not start with segment_ids.shape = " + toString(ids));
    if (segments < 0) return invalidArgument("Input num_segments == " + std::to_string(segments) + " must not be negative.");
    Shape shape({segments});
    for (int d = ids.rank(); d < data.rank(); ++d) shape.append(data[d]);
    LS_CHECK_OK(tfAllocate(args, 0, shape));
    const int64_t inner = data.countOf(ids.rank(), data.rank());
    const std::vector<int64_t> which = tfIntegers(args.in(1));
    for (size_t i = 0; i < which.size(); ++i)
        if (which[i] >= segments)
            return invalidArgument("segment_ids" + indexText(ids, static_cast<int64_t>(i)) + " = " + std::to_string(which[i]) +
                                   " is out of range [0, " + std::to_string(segments) + ")");
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        if constexpr (kIsComplex<C> && (how == Fold::maximum || how == Fold::minimum)) {
            return Error(ErrorCode::unsupported, "complex numbers have no order");
        } else {
            C neutral(0);
            if constexpr (how == Fold::product) neutral = C(1);
            else if constexpr (how == Fold::maximum) neutral = extremeOf<T>(false);
            else if constexpr (how == Fold::minimum) neutral = extremeOf<T>(true);
            std::vector<C> sums(static_cast<size_t>(shape.elementCount()), neutral);
            std::vector<int64_t> counts(static_cast<size_t>(segments), 0);
            const T* in = args.in(0).as<T>();
            for (size_t s = 0; s < which.size(); ++s) {
                if (which[s] < 0) continue; // dropped
                ++counts[static_cast<size_t>(which[s])];
                for (int64_t i = 0; i < inner; ++i) {
                    C& sum = sums[static_cast<size_t>(which[s] * inner + i)];
                    const C x = Element<T>::load(in[static_cast<int64_t>(s) * inner + i]);
                    if constexpr (how == Fold::product) sum = wrappingMul(sum, x);
                    else if constexpr (how == Fold::maximum) sum = sum > x ? sum : x; // a NaN lasts until the next number, as in TensorFlow
                    else if constexpr (how == Fold::minimum) sum = sum < x ? sum : x;
                    else sum = wrappingAdd(sum, x);
                }
            }
            for (size_t i = 0; i < sums.size(); ++i) {
                const int64_t count = counts[i / static_cast<size_t>(std::max<int64_t>(inner, 1))];
                C value = sums[i];
                if (sorted && count == 0) value = C(how == Fold::product ? 1 : 0);
                if (how == Fold::mean && count > 0) value = value / static_cast<C>(count);
                args.out(0).as<T>()[i] = Element<T>::store(value);
            }
            return {};
        }
    });
}

template <Fold how> Status runUnsortedSegments(const KernelArgs& args)
{
    if (args.in(2).shape.rank() != 0) return invalidArgument("num_segments should be a scalar, not shape " + tfShapeText(args.in(2).shape));
    LS_TRY(const int64_t segments, tfInteger(args, 2, "num_segments"));
    return foldSegments<how>(args, segments, false);
}

template <Fold how> Status runSortedSegments(const KernelArgs& args)
{
    const std::vector<int64_t> ids = tfIntegers(args.in(1));
    if (args.in(1).shape.rank() != 1) return invalidArgument("segment_ids should be a vector.");
    for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] < 0) return invalidArgument("segment ids must be >= 0");
        if (i > 0 && ids[i] < ids[i - 1]) return invalidArgument("segment ids are not increasing");
    }
    return foldSegments<how>(args, ids.empty() ? 0 : ids.back() + 1, true);
}

/// How often each number stands there: in all of the operand, or in each row of a matrix.
template <bool kPerRow> Status runBincount(const KernelArgs& args)
{
    LS_TRY(const int64_t size, tfInteger(args, 1, "size"));
    if (size < 0) return invalidArgument("size (" + std::to_string(size) + ") must be non-negative");
    const Shape& in = args.in(0).shape;
    const bool weighted = args.in(2).elementCount() > 0;
    if (weighted && args.in(2).elementCount() != in.elementCount())
        return invalidArgument(
            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights equal to 1.");
    const bool binary = attributeBool(attributesOf(args), "binary_output", false);
    const bool byRow = kPerRow && in.rank() == 2;
    const int64_t rows = byRow ? in[0] : 1;
    LS_CHECK_OK(tfAllocate(args, 0, byRow ? Shape({rows, size}) : Shape({size})));
    const std::vector<int64_t> numbers = tfIntegers(args.in(0));
    for (const int64_t n : numbers)
        if (n < 0) return invalidArgument("Input arr must be non-negative!");
    const int64_t width = rows == 0 ? 0 : static_cast<int64_t>(numbers.size()) / rows;
    return forDType<TypeList<float, double, int32_t, int64_t>>(args.out(0).dtype, [&]<typename T>() -> Status {
        T* out = args.out(0).as<T>();
        std::fill_n(out, rows * size, T(0));
        for (size_t i = 0; i < numbers.size(); ++i) {
            if (numbers[i] >= size) continue;
            T& bin = out[(width == 0 ? 0 : static_cast<int64_t>(i) / width) * size + numbers[i]];
            if (binary) bin = T(1);
            else bin = wrappingAdd(bin, weighted ? args.in(2).as<T>()[i] : T(1));
        }
        return {};
    });
}

} // namespace

LS_TF_KERNEL(Gather, runGather, kAllDTypes)
LS_TF_KERNEL(GatherV2, runGatherV2, kAllDTypes)
LS_TF_KERNEL(GatherNd, runGatherNd, kAllDTypes)
LS_TF_KERNEL(ScatterNd, runScatterNd, "numbers bool")
LS_TF_KERNEL(TensorScatterUpdate, runTensorScatter<Scatter::update>, "numbers bool")
LS_TF_KERNEL(TensorScatterAdd, runTensorScatter<Scatter::add>, kTfNumbers)
LS_TF_KERNEL(ScatterNdNonAliasingAdd, runTensorScatter<Scatter::add>, kTfNumbers)
LS_TF_KERNEL(TensorScatterSub, runTensorScatter<Scatter::subtract>, kTfNumbers)
LS_TF_KERNEL(TensorScatterMax, runTensorScatter<Scatter::maximum>, kTfReals)
LS_TF_KERNEL(TensorScatterMin, runTensorScatter<Scatter::minimum>, kTfReals)
LS_TF_KERNEL(DynamicStitch, runDynamicStitch, kAllDTypes)
LS_TF_KERNEL(ParallelDynamicStitch, runDynamicStitch, kAllDTypes)
LS_TF_KERNEL(DynamicPartition, runDynamicPartition, kAllDTypes)
LS_TF_KERNEL(OneHot, runOneHot, kAllDTypes)
LS_TF_KERNEL(Where, runWhere, "numbers bool")
LS_TF_KERNEL(TopKV2, runTopK, kTfReals)
LS_TF_KERNEL(UnsortedSegmentSum, runUnsortedSegments<Fold::sum>, kTfNumbers)
LS_TF_KERNEL(UnsortedSegmentProd, runUnsortedSegments<Fold::product>, kTfNumbers)
LS_TF_KERNEL(UnsortedSegmentMax, runUnsortedSegments<Fold::maximum>, kTfReals)
LS_TF_KERNEL(UnsortedSegmentMin, runUnsortedSegments<Fold::minimum>, kTfReals)
LS_TF_KERNEL(SegmentSum, runSortedSegments<Fold::sum>, kTfNumbers)
LS_TF_KERNEL(SegmentProd, runSortedSegments<Fold::product>, kTfNumbers)
LS_TF_KERNEL(SegmentMax, runSortedSegments<Fold::maximum>, kTfReals)
LS_TF_KERNEL(SegmentMin, runSortedSegments<Fold::minimum>, kTfReals)
LS_TF_KERNEL(SegmentMean, runSortedSegments<Fold::mean>, kTfNumbers)
LS_TF_KERNEL(Bincount, runBincount<false>, "f32 f64 i32 i64")
LS_TF_KERNEL(DenseBincount, runBincount<true>, "f32 f64 i32 i64")
LS_TF_KERNEL(ApproxTopK, runApproxTopK, "f32 f16 bf16")
