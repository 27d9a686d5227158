// Kernels of TensorFlow's operators on shapes, and of those that make tensors out of shapes and numbers.
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>

using namespace loopscope;

namespace {

/// Result k becomes a vector (or scalar) of integers, i32 or i64.
Status writeIntegers(const KernelArgs& args, int k, const Shape& shape, std::span<const int64_t> numbers)
{
    LS_CHECK_OK(tfAllocate(args, k, shape));
    Tensor& out = args.out(k);
    for (size_t i = 0; i < numbers.size(); ++i) {
        if (out.dtype == DType::i64) out.as<int64_t>()[i] = numbers[i];
        else out.as<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
    }
    return {};
}
Status writeVector(const KernelArgs& args, int k, const std::vector<int64_t>& numbers)
{
    return writeIntegers(args, k, Shape({static_cast<int64_t>(numbers.size())}), numbers);
}

Status runShape(const KernelArgs& args)
{
    for (int k = 0; k < args.outputCount && k < args.inputCount; ++k)
        LS_CHECK_OK(writeIntegers(args, k, Shape({args.in(k).shape.rank()}), args.in(k).shape.dims()));
    return {};
}

Status runRank(const KernelArgs& args)
{
    const int64_t rank = args.in(0).shape.rank();
    return writeIntegers(args, 0, Shape(), {&rank, 1});
}

Status runSize(const KernelArgs& args)
{
    const int64_t size = args.in(0).elementCount();
    return writeIntegers(args, 0, Shape(), {&size, 1});
}

Status runReshape(const KernelArgs& args)
{
    const int64_t count = args.in(0).elementCount();
    if (args.in(1).shape.rank() > 1) return invalidArgument("sizes input must be 1-D, not " + toString(args.in(1).shape));
    Shape shape;
    int unknown = -1;
    bool hasZero = false;
    int64_t product = 1; // zeros left out, so that a -1 beside them can still be found (core/kernels/reshape_op.h)
    for (const int64_t dim : tfIntegers(args.in(1))) {
        if (dim == -1) {
            if (unknown >= 0)
                return invalidArgument("Only one input size may be -1, not both " + std::to_string(unknown) + " and " +
                                       std::to_string(shape.rank()));
            unknown = shape.rank();
        } else if (dim < 0) {
            return invalidArgument("Size " + std::to_string(shape.rank()) + " must be non-negative, not " + std::to_string(dim));
        } else if (dim == 0) {
            hasZero = true;
        } else if (__builtin_mul_overflow(product, dim, &product)) {
            return invalidArgument("the requested shape has too many elements");
        }
        shape.append(dim == -1 ? 1 : dim);
    }
    if (unknown >= 0) {
        int64_t elements = 1;
        bool someZero = false;
        for (const int64_t dim : args.in(0).shape.dims()) {
            if (dim > 0 || !hasZero) elements *= dim;
            else someZero = true;
        }
        shape[unknown] = elements / product;
        if (!someZero && shape[unknown] * product != elements)
            return invalidArgument("Input to reshape is a tensor with " + std::to_string(elements) +
                                   " values, but the requested shape requires a multiple of " + std::to_string(product));
    }
    if (shape.elementCount() != count)
        return invalidArgument("Input to reshape is a tensor with " + std::to_string(count) + " values, but the requested shape has " +
                               std::to_string(shape.elementCount()));
    return tfCopy(args, 0, args.in(0), shape);
}

Status runSqueeze(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    std::vector<bool> dropped(static_cast<size_t>(in.rank()), false);
    std::vector<int64_t> axes = attributeInts(attributesOf(args), "squeeze_dims");
    if (axes.empty()) axes = attributeInts(attributesOf(args), "axis");
    for (const int64_t axis : axes) {
        LS_TRY(const int d, tfAxis(axis, in.rank(), "Tried to squeeze"));
        if (in[d] != 1)
            return invalidArgument("Can not squeeze dim[" + std::to_string(d) + "], expected a dimension of 1, got " +
                                   std::to_string(in[d]));
        dropped[static_cast<size_t>(d)] = true;
    }
    Shape shape;
    for (int d = 0; d < in.rank(); ++d)
        if (axes.empty() ? in[d] != 1 : !dropped[static_cast<size_t>(d)]) shape.append(in[d]);
    return tfCopy(args, 0, args.in(0), shape);
}

Status runExpandDims(const KernelArgs& args)
{
    const Shape& in = args.in(0).shape;
    LS_TRY(const int64_t dim, tfInteger(args, 1, "dim"));
    LS_TRY(const int at, tfAxis(dim, in.rank() + 1, "Tried to expand dim index " + std::to_string(dim)));
    Shape shape;
    for (int d = 0; d <= in.rank(); ++d) {
        if (d == at) shape.append(1);
        if (d < in.rank()) shape.append(in[d]);
    }
    return tfCopy(args, 0, args.in(0), shape);
}

Status runFill(const KernelArgs& args)
{
    if (args.in(0).shape.rank() > 1) return invalidArgument("dims must be a vector of int, got shape " + toString(args.in(0).shape));
    if (args.in(1).elementCount() != 1) return invalidArgument("value must be a scalar, got shape " + toString(args.in(1).shape));
    Shape shape;
    if (args.in(0).shape.rank() == 1) {
        LS_TRY(shape, tfShapeOperand(args.in(0)));
    } else { // one number, as graphs of version 0 had it
        const int64_t count = tfIntegers(args.in(0))[0];
        if (count < 0) return invalidArgument("dims must be non-negative, got " + std::to_string(count));
        shape.append(count);
    }
    LS_TRY(const TfSource value, TfSource::of(args.in(1)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) std::memcpy(out.at(i), value.at(0), static_cast<size_t>(value.size()));
    return out.finish();
}

Status runEmpty(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, true));
    return out.finish();
}

Status runRange(const KernelArgs& args)
{
    for (int i = 0; i < 3; ++i)
        if (args.in(i).elementCount() != 1)
            return invalidArgument("start, limit and delta must be scalars, got " + toString(args.in(i).shape));
    return forDType<TfFloats, TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        const C start = Element<T>::load(*args.in(0).as<T>());
        const C limit = Element<T>::load(*args.in(1).as<T>());
        const C delta = Element<T>::load(*args.in(2).as<T>());
        if (delta == C(0)) return invalidArgument("Requires delta != 0: " + std::to_string(static_cast<double>(delta)));
        if (delta > C(0) ? start > limit : start < limit)
            return invalidArgument(std::string("Requires start ") + (delta > C(0) ? "<=" : ">=") + " limit when delta " +
                                   (delta > C(0) ? ">" : "<") + " 0");
        int64_t count = 0;
        if constexpr (std::is_integral_v<C>) {
            const auto span = static_cast<uint64_t>(delta > C(0) ? limit : start) - static_cast<uint64_t>(delta > C(0) ? start : limit);
            const auto step = delta > C(0) ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
            count = static_cast<int64_t>(span / step + (span % step != 0 ? 1 : 0));
        } else {
            const double steps =
                std::ceil(std::abs((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta)));
            if (!(steps < 1e15)) return invalidArgument("the range has too many elements");
            count = static_cast<int64_t>(steps);
        }
        LS_CHECK_OK(tfAllocate(args, 0, Shape({count})));
        T* out = args.out(0).as<T>();
        C value = start; // summed up, as TensorFlow does
        for (int64_t i = 0; i < count; ++i) {
            out[i] = Element<T>::store(value);
            value = wrappingAdd(value, delta);
        }
        return {};
    });
}

Status runLinSpace(const KernelArgs& args)
{
    LS_TRY(const int64_t count, tfInteger(args, 2, "num"));
    if (count <= 0) return invalidArgument("Requires num > 0: " + std::to_string(count));
    if (args.in(0).elementCount() != 1 || args.in(1).elementCount() != 1) return invalidArgument("start and stop must be scalars");
    LS_CHECK_OK(tfAllocate(args, 0, Shape({count})));
    return forDType<TfFloats>(args.in(0).dtype, [&]<typename T>() -> Status {
        using C = typename Element<T>::Compute;
        const C start = Element<T>::load(*args.in(0).as<T>());
        const C stop = Element<T>::load(*args.in(1).as<T>());
        T* out = args.out(0).as<T>();
        const C step = count > 1 ? (stop - start) / static_cast<C>(count - 1) : C(0);
        out[0] = Element<T>::store(start);
        for (int64_t i = 1; i + 1 < count; ++i) out[i] = Element<T>::store(start + step * static_cast<C>(i));
        if (count > 1) out[count - 1] = Element<T>::store(stop);
        return {};
    });
}

Status runBroadcastTo(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(1)));
    const std::optional<Shape> both = broadcastShapes(args.in(0).shape, shape);
    if (!both || !(*both == shape))
        return invalidArgument("Incompatible shapes: " + toString(args.in(0).shape) + " vs. " + toString(shape));
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const BroadcastLoop<1> loop(shape, {&args.in(0).shape});
    loop.forEachRow([&](int64_t o, const int64_t(&offset)[1]) {
        for (int64_t i = 0; i < loop.rowLength(); ++i)
            std::memcpy(out.at(o + i), in.at(offset[0] + i * loop.rowStride(0)), static_cast<size_t>(in.size()));
    });
    return out.finish();
}

Status runBroadcastArgs(const KernelArgs& args)
{
    LS_TRY(const Shape a, tfShapeOperand(args.in(0)));
    LS_TRY(const Shape b, tfShapeOperand(args.in(1)));
    LS_TRY(const Shape both, tfBroadcast(a, b));
    return writeIntegers(args, 0, Shape({both.rank()}), both.dims());
}

Status runBroadcastGradientArgs(const KernelArgs& args)
{
    const std::vector<int64_t> a = tfIntegers(args.in(0));
    const std::vector<int64_t> b = tfIntegers(args.in(1));
    std::vector<int64_t> sums[2];
    const size_t rank = a == b ? 0 : std::max(a.size(), b.size());
    for (size_t d = 0; d < rank; ++d) {
        const int64_t da = d + a.size() < rank ? 1 : a[d + a.size() - rank];
        const int64_t db = d + b.size() < rank ? 1 : b[d + b.size() - rank];
        if (da != db && da != 1 && db != 1)
            return invalidArgument("Incompatible shapes: " + toString(Shape(a)) + " vs. " + toString(Shape(b)));
        if (da == 1) sums[0].push_back(static_cast<int64_t>(d)); // of 1 on both sides: on both (util/bcast.h)
        if (db == 1) sums[1].push_back(static_cast<int64_t>(d));
    }
    LS_CHECK_OK(writeVector(args, 0, sums[0]));
    return writeVector(args, 1, sums[1]);
}

Status runConcatOffset(const KernelArgs& args)
{
    LS_TRY(const int64_t axis, tfInteger(args, 0, "concat_dim"));
    std::vector<int64_t> offsets(static_cast<size_t>(args.in(1).elementCount()), 0);
    LS_TRY(const int dim, tfAxis(axis, static_cast<int>(offsets.size()), "ConcatOffset"));
    const std::vector<int64_t> first = tfIntegers(args.in(1));
    for (int i = 1; i < args.inputCount; ++i) {
        const std::vector<int64_t> shape = tfIntegers(args.in(i));
        if (shape.size() != offsets.size())
            return invalidArgument("input " + std::to_string(i) + " should contain as many elements as input 1");
        for (size_t d = 0; d < shape.size(); ++d)
            if (d != static_cast<size_t>(dim) && shape[d] != first[d])
                return invalidArgument("All dimensions except " + std::to_string(dim) + " must match. Input " + std::to_string(i) +
                                       " has shape " + toString(Shape(shape)) + " and doesn't match input 1 with shape " +
                                       toString(Shape(first)));
        LS_CHECK_OK(writeVector(args, i - 1, offsets));
        offsets[static_cast<size_t>(dim)] += shape[static_cast<size_t>(dim)];
    }
    return {};
}

Status runInvertPermutation(const KernelArgs& args)
{
    const std::vector<int64_t> x = tfIntegers(args.in(0));
    const auto count = static_cast<int64_t>(x.size());
    std::vector<int64_t> y(x.size(), -1);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t d = x[static_cast<size_t>(i)];
        if (d < 0 || d >= count) return invalidArgument(std::to_string(d) + " is not between 0 and " + std::to_string(count));
        if (y[static_cast<size_t>(d)] != -1) return invalidArgument(std::to_string(d) + " is duplicated in the input.");
        y[static_cast<size_t>(d)] = i;
    }
    return writeVector(args, 0, y);
}

constexpr std::string_view kInts = "i32 i64";

} // namespace

LS_TF_KERNEL(Shape, runShape, "all")
LS_TF_KERNEL(ShapeN, runShape, "all")
LS_TF_KERNEL(Rank, runRank, "all")
LS_TF_KERNEL(Size, runSize, "all")
LS_TF_KERNEL(Reshape, runReshape, "all")
LS_TF_KERNEL(Squeeze, runSqueeze, "all")
LS_TF_KERNEL(ExpandDims, runExpandDims, "all")
LS_TF_KERNEL(Fill, runFill, "all")
LS_TF_KERNEL(Empty, runEmpty, "all")
LS_TF_KERNEL(Range, runRange, "f32 f64 f16 bf16 i8 i16 i32 i64 u8 u16 u32 u64")
LS_TF_KERNEL(LinSpace, runLinSpace, "f32 f64 f16 bf16")
LS_TF_KERNEL(BroadcastTo, runBroadcastTo, "all")
LS_TF_KERNEL(BroadcastArgs, runBroadcastArgs, kInts)
LS_TF_KERNEL(BroadcastGradientArgs, runBroadcastGradientArgs, kInts)
LS_TF_KERNEL(ConcatOffset, runConcatOffset, kInts)
LS_TF_KERNEL(InvertPermutation, runInvertPermutation, kInts)
