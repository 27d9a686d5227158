// Kernels of TensorFlow's operators that join, split, cut, repeat and turn tensors. Elements are moved as pieces of memory, so that every
// dtype, strings and variants included, goes the same way.
#include "engine/kernels/cpu/movement/tf_slice.h"

#include <algorithm>

using namespace loopscope;

namespace {

std::string numbered(const char* what, int64_t i) { return std::string(what) + std::to_string(i) + "]"; }

/// Joins operands `first` … `last − 1` along `axis`.
Status concatenate(const KernelArgs& args, int first, int last, int64_t axisOperand)
{
    const Shape& like = args.in(first).shape;
    LS_TRY(const int axis, tfAxis(axisOperand, std::max(like.rank(), 1), "ConcatOp : Expected concatenating"));
    Shape shape = like;
    if (like.rank() == 0) return invalidArgument("ConcatOp : Can't concatenate scalars (use tf.stack instead)");
    shape[axis] = 0;
    for (int i = first; i < last; ++i) {
        const Shape& each = args.in(i).shape;
        bool fits = each.rank() == like.rank();
        for (int d = 0; fits && d < like.rank(); ++d) fits = d == axis || each[d] == like[d];
        if (!fits)
            return invalidArgument("ConcatOp : Dimension " + std::to_string(axis) +
                                   " in both shapes must be equal: " + numbered("shape[", 0) + " = " + toString(like) + " vs. " +
                                   numbered("shape[", i - first) + " = " + toString(each));
        shape[axis] += each[axis];
    }
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t outer = shape.countOf(0, axis);
    const int64_t inner = shape.countOf(axis + 1, shape.rank());
    int64_t at = 0;
    for (int i = first; i < last; ++i) {
        LS_TRY(const TfSource in, TfSource::of(args.in(i)));
        const int64_t row = args.in(i).shape[axis] * inner;
        for (int64_t o = 0; o < outer && row > 0; ++o)
            std::memcpy(out.at(o * shape[axis] * inner + at), in.at(o * row), static_cast<size_t>(row * in.size()));
        at += row;
    }
    return out.finish();
}

Status runConcatV2(const KernelArgs& args)
{
    LS_TRY(const int64_t axis, tfInteger(args, args.inputCount - 1, "axis"));
    return concatenate(args, 0, args.inputCount - 1, axis);
}

Status runConcat(const KernelArgs& args)
{
    LS_TRY(const int64_t axis, tfInteger(args, 0, "concat_dim"));
    return concatenate(args, 1, args.inputCount, axis);
}

Status runPack(const KernelArgs& args)
{
    const Shape& each = args.in(0).shape;
    LS_TRY(const int axis, tfAxis(attributeInt(attributesOf(args), "axis", 0), each.rank() + 1,
                                  "axis = " + std::to_string(attributeInt(attributesOf(args), "axis", 0)) + " not in range"));
    for (int i = 1; i < args.inputCount; ++i)
        if (!(args.in(i).shape == each))
            return invalidArgument("Shapes of all inputs must match: values[0].shape = " + toString(each) + " != values[" +
                                   std::to_string(i) + "].shape = " + toString(args.in(i).shape));
    Shape shape;
    for (int d = 0; d <= each.rank(); ++d) {
        if (d == axis) shape.append(args.inputCount);
        if (d < each.rank()) shape.append(each[d]);
    }
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t outer = each.countOf(0, axis);
    const int64_t inner = each.countOf(axis, each.rank());
    for (int i = 0; i < args.inputCount; ++i) {
        LS_TRY(const TfSource in, TfSource::of(args.in(i)));
        for (int64_t o = 0; o < outer && inner > 0; ++o)
            std::memcpy(out.at((o * args.inputCount + i) * inner), in.at(o * inner), static_cast<size_t>(inner * in.size()));
    }
    return out.finish();
}

/// Pieces of the given sizes along `axis`; each loses the axis if `drop` says so.
Status split(const KernelArgs& args, const Tensor& value, int axis, std::span<const int64_t> sizes, bool drop)
{
    LS_TRY(const TfSource in, TfSource::of(value));
    const Shape& from = value.shape;
    const int64_t outer = from.countOf(0, axis);
    const int64_t inner = from.countOf(axis + 1, from.rank());
    int64_t at = 0;
    for (int k = 0; k < args.outputCount; ++k) {
        const int64_t size = sizes[static_cast<size_t>(k)];
        Shape shape;
        for (int d = 0; d < from.rank(); ++d) {
            if (d != axis) shape.append(from[d]);
            else if (!drop) shape.append(size);
        }
        TfTarget out;
        LS_CHECK_OK(out.begin(args, k, shape));
        for (int64_t o = 0; o < outer && size * inner > 0; ++o)
            std::memcpy(out.at(o * size * inner), in.at((o * from[axis] + at) * inner), static_cast<size_t>(size * inner * in.size()));
        LS_CHECK_OK(out.finish());
        at += size;
    }
    return {};
}

Status runUnpack(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const int axis, tfAxis(attributeInt(attributesOf(args), "axis", 0), shape.rank(), "axis not in range"));
    if (shape[axis] != args.outputCount)
        return invalidArgument("Input shape axis " + std::to_string(axis) + " must equal " + std::to_string(args.outputCount) +
                               ", got shape " + toString(shape));
    return split(args, args.in(0), axis, std::vector<int64_t>(static_cast<size_t>(args.outputCount), 1), true);
}

Status runSplit(const KernelArgs& args)
{
    LS_TRY(const int64_t operand, tfInteger(args, 0, "split_dim"));
    const Shape& shape = args.in(1).shape;
    LS_TRY(const int axis, tfAxis(operand, shape.rank(), "-input rank(-" + std::to_string(shape.rank()) + ") <= split_dim"));
    if (shape[axis] % args.outputCount != 0)
        return invalidArgument("Number of ways to split should evenly divide the split dimension, but got split_dim " +
                               std::to_string(axis) + " (size = " + std::to_string(shape[axis]) + ") and num_split " +
                               std::to_string(args.outputCount));
    return split(args, args.in(1), axis, std::vector<int64_t>(static_cast<size_t>(args.outputCount), shape[axis] / args.outputCount),
                 false);
}

Status runSplitV(const KernelArgs& args)
{
    LS_TRY(const int64_t operand, tfInteger(args, 2, "split_dim"));
    const Shape& shape = args.in(0).shape;
    LS_TRY(const int axis, tfAxis(operand, shape.rank(), "split_dim"));
    std::vector<int64_t> sizes = tfIntegers(args.in(1));
    if (sizes.size() != static_cast<size_t>(args.outputCount)) return invalidArgument("size_splits must have as many entries as results");
    int64_t sum = 0;
    int open = -1;
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == -1 && open < 0) open = static_cast<int>(i);
        else if (sizes[i] < 0 || sizes[i] > shape[axis])
            return invalidArgument("Split size at index " + std::to_string(i) + " must be >= 0. Got: " + std::to_string(sizes[i]));
        else sum += sizes[i];
    }
    if (open >= 0 ? sum > shape[axis] : sum != shape[axis])
        return invalidArgument("Determined shape must either match input shape along split_dim exactly if fully specified, or be less than "
                               "the size of the input along split_dim if not fully specified. Got: " +
                               std::to_string(sum));
    if (open >= 0) sizes[static_cast<size_t>(open)] = shape[axis] - sum;
    return split(args, args.in(0), axis, sizes, false);
}

Status runTile(const KernelArgs& args)
{
    const Shape& from = args.in(0).shape;
    const std::vector<int64_t> multiples = tfIntegers(args.in(1));
    if (static_cast<int>(multiples.size()) != from.rank())
        return invalidArgument("Expected multiples argument to be a vector of length " + std::to_string(from.rank()) + " but got length " +
                               std::to_string(multiples.size()));
    Shape shape = from;
    for (int d = 0; d < from.rank(); ++d) {
        const int64_t times = multiples[static_cast<size_t>(d)];
        if (times < 0) return invalidArgument(numbered("Expected multiples[", d) + " >= 0, but got " + std::to_string(times));
        if (__builtin_mul_overflow(from[d], times, &shape[d])) return invalidArgument("the result would have too many elements");
    }
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    StridedCopy copy;
    for (int d = 0; d < from.rank(); ++d) {
        copy.add(multiples[static_cast<size_t>(d)], 0, from[d] * strideOf(shape, d));
        copy.add(from[d], strideOf(from, d), strideOf(shape, d));
    }
    LS_CHECK_OK(copy.runChecked(in.data(), out.data(), in.size()));
    return out.finish();
}

Status runTranspose(const KernelArgs& args)
{
    const Shape& from = args.in(0).shape;
    const std::vector<int64_t> perm = tfIntegers(args.in(1));
    if (static_cast<int>(perm.size()) != from.rank())
        return invalidArgument("transpose expects a vector of size " + std::to_string(from.rank()) + ". But input(1) is a vector of size " +
                               std::to_string(perm.size()));
    Shape shape;
    std::vector<bool> used(perm.size(), false);
    for (const int64_t p : perm) {
        LS_TRY(const int d, tfAxis(p, from.rank(), "perm"));
        if (used[static_cast<size_t>(d)]) return invalidArgument(std::to_string(d) + " is missing from {" + toString(Shape(perm)) + "}.");
        used[static_cast<size_t>(d)] = true;
        shape.append(from[d]);
    }
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    StridedCopy copy;
    for (int d = 0; d < shape.rank(); ++d) {
        const auto source =
            static_cast<int>(perm[static_cast<size_t>(d)] < 0 ? perm[static_cast<size_t>(d)] + from.rank() : perm[static_cast<size_t>(d)]);
        copy.add(shape[d], strideOf(from, source), strideOf(shape, d));
    }
    LS_CHECK_OK(copy.runChecked(in.data(), out.data(), in.size()));
    return out.finish();
}

Status runSlice(const KernelArgs& args)
{
    const Shape& from = args.in(0).shape;
    const std::vector<int64_t> begin = tfIntegers(args.in(1));
    const std::vector<int64_t> size = tfIntegers(args.in(2));
    if (static_cast<int>(begin.size()) != from.rank() || begin.size() != size.size())
        return invalidArgument("Expected begin and size arguments to be 1-D tensors of size " + std::to_string(from.rank()) +
                               ", but got shapes " + toString(args.in(1).shape) + " and " + toString(args.in(2).shape) + " instead.");
    Shape shape;
    int64_t origin = 0;
    for (int d = 0; d < from.rank(); ++d) {
        const int64_t b = begin[static_cast<size_t>(d)];
        const int64_t s = size[static_cast<size_t>(d)] == -1 ? from[d] - b : size[static_cast<size_t>(d)];
        if (b < 0 || b > from[d])
            return invalidArgument(numbered("Expected begin[", d) + " in [0, " + std::to_string(from[d]) + "], but got " +
                                   std::to_string(b));
        if (s < 0 || s > from[d] - b)
            return invalidArgument(numbered("Expected size[", d) + " in [0, " + std::to_string(from[d] - b) + "], but got " +
                                   std::to_string(s));
        shape.append(s);
        origin += b * strideOf(from, d);
    }
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    if (shape.elementCount() == 0) return out.finish();
    StridedCopy copy;
    for (int d = 0; d < from.rank(); ++d) copy.add(shape[d], strideOf(from, d), strideOf(shape, d));
    LS_CHECK_OK(copy.runChecked(in.at(origin), out.data(), in.size()));
    return out.finish();
}

Status runStridedSlice(const KernelArgs& args)
{
    LS_TRY(const StridedSlicePlan plan, tfPlanSlice(args, args.in(0).shape, 1));
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, plan.result()));
    tfCopySlice(plan, args.in(0).shape, in.data(), out.data(), in.size(), false);
    return out.finish();
}

Status runStridedSliceGrad(const KernelArgs& args)
{
    LS_TRY(const Shape shape, tfShapeOperand(args.in(0)));
    LS_TRY(const StridedSlicePlan plan, tfPlanSlice(args, shape, 1));
    if (!(plan.result() == args.in(4).shape))
        return invalidArgument("shape of dy was " + toString(args.in(4).shape) + " instead of " + toString(plan.result()));
    LS_TRY(const TfSource dy, TfSource::of(args.in(4)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, true));
    tfCopySlice(plan, shape, dy.data(), out.data(), dy.size(), true);
    return out.finish();
}

Status runTensorStridedSliceUpdate(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const StridedSlicePlan plan, tfPlanSlice(args, shape, 1));
    if (!(plan.result() == args.in(4).shape))
        return Error(ErrorCode::unsupported, "a value that is broadcast to the slice")
            .found(toString(args.in(4).shape))
            .expected(toString(plan.result()));
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    LS_TRY(const TfSource value, TfSource::of(args.in(4)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    if (shape.elementCount() > 0) std::memcpy(out.data(), in.data(), static_cast<size_t>(shape.elementCount() * in.size()));
    tfCopySlice(plan, shape, value.data(), out.data(), value.size(), true);
    return out.finish();
}

Status reverse(const KernelArgs& args, const std::vector<bool>& turned)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    if (shape.elementCount() == 0) return out.finish();
    StridedCopy copy;
    int64_t origin = 0;
    for (int d = 0; d < shape.rank(); ++d) {
        const int64_t stride = strideOf(shape, d);
        if (turned[static_cast<size_t>(d)]) origin += (shape[d] - 1) * stride;
        copy.add(shape[d], turned[static_cast<size_t>(d)] ? -stride : stride, stride);
    }
    LS_CHECK_OK(copy.runChecked(in.at(origin), out.data(), in.size()));
    return out.finish();
}

/// A scalar stays as it is, whatever is to be turned. Errors: InvalidArgument.
Status checkTurned(const KernelArgs& args)
{
    if (args.in(1).shape.rank() == 1) return {};
    return invalidArgument("'dims' must be 1-dimension, not " + std::to_string(args.in(1).shape.rank()));
}

Status runReverseV2(const KernelArgs& args)
{
    if (args.in(0).shape.rank() == 0) return tfCopy(args, 0, args.in(0), Shape());
    LS_CHECK_OK(checkTurned(args));
    std::vector<bool> turned(static_cast<size_t>(args.in(0).shape.rank()), false);
    for (const int64_t axis : tfIntegers(args.in(1))) {
        LS_TRY(const int d, tfAxis(axis, args.in(0).shape.rank(), "'axis'[" + std::to_string(axis) + "]"));
        if (turned[static_cast<size_t>(d)]) return invalidArgument("axis " + std::to_string(d) + " specified more than once.");
        turned[static_cast<size_t>(d)] = true;
    }
    return reverse(args, turned);
}

Status runReverse(const KernelArgs& args)
{
    if (args.in(0).shape.rank() == 0) return tfCopy(args, 0, args.in(0), Shape());
    LS_CHECK_OK(checkTurned(args));
    const std::vector<int64_t> dims = tfIntegers(args.in(1));
    if (static_cast<int>(dims.size()) != args.in(0).shape.rank())
        return invalidArgument("'dims' must have length equal to the rank of 'tensor'");
    return reverse(args, std::vector<bool>(dims.begin(), dims.end()));
}

Status runReverseSequence(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    LS_TRY(const int seq, tfAxis(attributeInt(attributesOf(args), "seq_dim", 0), shape.rank(), "seq_dim"));
    LS_TRY(const int batch, tfAxis(attributeInt(attributesOf(args), "batch_dim", 0), shape.rank(), "batch_dim"));
    const std::vector<int64_t> lengths = tfIntegers(args.in(1));
    if (static_cast<int64_t>(lengths.size()) != shape[batch])
        return invalidArgument("Length of seq_lengths != input.dims(" + std::to_string(batch) + "), (" + std::to_string(lengths.size()) +
                               " vs. " + std::to_string(shape[batch]) + ")");
    for (const int64_t length : lengths)
        if (length < 0 || length > shape[seq])
            return invalidArgument("seq_lengths(" + std::to_string(length) + ") > input.dims(" + std::to_string(seq) + ")");
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    const int64_t seqStride = strideOf(shape, seq);
    const int64_t batchStride = strideOf(shape, batch);
    for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) {
        const int64_t s = i / seqStride % shape[seq];
        const int64_t length = lengths[static_cast<size_t>(i / batchStride % shape[batch])];
        const int64_t from = s < length ? i + (length - 1 - 2 * s) * seqStride : i;
        std::memcpy(out.at(i), in.at(from), static_cast<size_t>(in.size()));
    }
    return out.finish();
}

Status runRoll(const KernelArgs& args)
{
    const Shape& shape = args.in(0).shape;
    const std::vector<int64_t> shifts = tfIntegers(args.in(1));
    const std::vector<int64_t> axes = tfIntegers(args.in(2));
    if (shifts.size() != axes.size()) return invalidArgument("shift and axis must have the same size");
    std::vector<int64_t> moved(static_cast<size_t>(shape.rank()), 0);
    for (size_t i = 0; i < axes.size(); ++i) {
        LS_TRY(const int d, tfAxis(axes[i], shape.rank(), "axis"));
        if (shape[d] > 0) moved[static_cast<size_t>(d)] = ((moved[static_cast<size_t>(d)] + shifts[i]) % shape[d] + shape[d]) % shape[d];
    }
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape));
    for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) {
        int64_t to = i;
        for (int d = 0; d < shape.rank(); ++d) {
            const int64_t stride = strideOf(shape, d);
            const int64_t at = i / stride % shape[d];
            to += ((at + moved[static_cast<size_t>(d)]) % shape[d] - at) * stride;
        }
        std::memcpy(out.at(to), in.at(i), static_cast<size_t>(in.size()));
    }
    return out.finish();
}

/// The shape with the paddings of operand 1 and how much comes before each dimension. Errors: InvalidArgument.
Result<Shape> paddedShape(const KernelArgs& args, std::vector<int64_t>& before)
{
    const Shape& from = args.in(0).shape;
    const std::vector<int64_t> paddings = tfIntegers(args.in(1));
    if (args.in(1).shape.rank() != 2 || paddings.size() != 2 * static_cast<size_t>(from.rank()))
        return invalidArgument("The first dimension of paddings must be the rank of inputs" + toString(args.in(1).shape) + " " +
                               toString(from));
    Shape shape = from;
    for (int d = 0; d < from.rank(); ++d) {
        const int64_t low = paddings[2 * static_cast<size_t>(d)];
        const int64_t high = paddings[2 * static_cast<size_t>(d) + 1];
        if (low < 0 || high < 0 || low > (int64_t{1} << 40) || high > (int64_t{1} << 40))
            return invalidArgument("Paddings must be non-negative: " + std::to_string(low) + " " + std::to_string(high));
        before.push_back(low);
        shape[d] += low + high;
    }
    return shape;
}

Status runPad(const KernelArgs& args)
{
    std::vector<int64_t> before;
    LS_TRY(const Shape shape, paddedShape(args, before));
    const Shape& from = args.in(0).shape;
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, shape, true));
    if (args.inputCount > 2) {
        LS_TRY(const TfSource value, TfSource::of(args.in(2)));
        if (args.in(2).shape.rank() != 0)
            return invalidArgument("constant_values must be a scalar. Found: " + tfShapeText(args.in(2).shape));
        for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) std::memcpy(out.at(i), value.at(0), static_cast<size_t>(value.size()));
    }
    if (from.elementCount() == 0) return out.finish();
    StridedCopy copy;
    int64_t origin = 0;
    for (int d = 0; d < from.rank(); ++d) {
        origin += before[static_cast<size_t>(d)] * strideOf(shape, d);
        copy.add(from[d], strideOf(from, d), strideOf(shape, d));
    }
    LS_CHECK_OK(copy.runChecked(in.data(), out.at(origin), in.size()));
    return out.finish();
}

/// Which element of a tensor a mirrored border repeats.
struct Mirror {
    Shape inner, padded;
    std::vector<int64_t> before;
    int64_t offset = 1; ///< 1: the border element itself is not repeated

    /// Where element `i` of the padded tensor comes from.
    int64_t source(int64_t i) const
    {
        int64_t source = 0;
        for (int d = 0; d < padded.rank(); ++d) {
            int64_t at = i / strideOf(padded, d) % padded[d] - before[static_cast<size_t>(d)];
            if (at < 0) at = -at - 1 + offset;
            else if (at >= inner[d]) at = 2 * inner[d] - at - 1 - offset;
            source += at * strideOf(inner, d);
        }
        return source;
    }
    Status check() const
    {
        for (int d = 0; d < inner.rank(); ++d)
            if (const int64_t most = inner[d] - offset;
                inner[d] < 0 || before[static_cast<size_t>(d)] > most || padded[d] - inner[d] - before[static_cast<size_t>(d)] > most)
                return invalidArgument("paddings must be no greater than the dimension size: " +
                                       std::to_string(before[static_cast<size_t>(d)]) + " greater than " + std::to_string(inner[d]));
        return {};
    }
};

int64_t mirrorOffset(const KernelArgs& args) { return attributeString(attributesOf(args), "mode", "REFLECT") == "SYMMETRIC" ? 0 : 1; }

Status runMirrorPad(const KernelArgs& args)
{
    Mirror mirror{args.in(0).shape, {}, {}, mirrorOffset(args)};
    LS_TRY(mirror.padded, paddedShape(args, mirror.before));
    LS_CHECK_OK(mirror.check());
    LS_TRY(const TfSource in, TfSource::of(args.in(0)));
    TfTarget out;
    LS_CHECK_OK(out.begin(args, 0, mirror.padded));
    for (int64_t i = 0, n = mirror.padded.elementCount(); i < n; ++i)
        std::memcpy(out.at(i), in.at(mirror.source(i)), static_cast<size_t>(in.size()));
    return out.finish();
}

/// Adds up what the borders repeat.
Status runMirrorPadGrad(const KernelArgs& args)
{
    Mirror mirror{{}, args.in(0).shape, {}, mirrorOffset(args)};
    const std::vector<int64_t> paddings = tfIntegers(args.in(1));
    if (static_cast<int>(paddings.size()) != 2 * mirror.padded.rank())
        return invalidArgument("paddings must be a matrix with 2 columns: " + toString(args.in(1).shape));
    for (int d = 0; d < mirror.padded.rank(); ++d) {
        const int64_t before = paddings[static_cast<size_t>(2 * d)], after = paddings[static_cast<size_t>(2 * d + 1)];
        if (before < 0 || after < 0)
            return invalidArgument("Paddings must be non-negative: " + std::to_string(before) + ", " + std::to_string(after));
        mirror.before.push_back(before);
        mirror.inner.append(before > mirror.padded[d] || after > mirror.padded[d] ? -1 : mirror.padded[d] - before - after);
    }
    LS_CHECK_OK(mirror.check());
    LS_CHECK_OK(tfAllocate(args, 0, mirror.inner));
    return forDType<TfFloats, TfSigned, TfUnsigned, TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        T* out = args.out(0).as<T>();
        std::fill_n(out, args.out(0).elementCount(), T());
        for (int64_t i = 0, n = mirror.padded.elementCount(); i < n; ++i) {
            T& sum = out[mirror.source(i)];
            sum = Element<T>::store(wrappingAdd(Element<T>::load(sum), Element<T>::load(args.in(0).as<T>()[i])));
        }
        return {};
    });
}

Status runConjugateTranspose(const KernelArgs& args)
{
    LS_CHECK_OK(runTranspose(args));
    Tensor& out = args.out(0);
    if (dtypeClass(out.dtype) != DTypeClass::complex) return {};
    return forDType<TfComplex>(out.dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = out.elementCount(); i < n; ++i) out.as<T>()[i] = std::conj(out.as<T>()[i]);
        return {};
    });
}

} // namespace

LS_TF_KERNEL(Pack, runPack, kAllDTypes)
LS_TF_KERNEL(Unpack, runUnpack, kAllDTypes)
LS_TF_KERNEL(ConcatV2, runConcatV2, kAllDTypes)
LS_TF_KERNEL(Concat, runConcat, kAllDTypes)
LS_TF_KERNEL(Split, runSplit, kAllDTypes)
LS_TF_KERNEL(SplitV, runSplitV, kAllDTypes)
LS_TF_KERNEL(Tile, runTile, kAllDTypes)
LS_TF_KERNEL(Transpose, runTranspose, kAllDTypes)
LS_TF_KERNEL(ConjugateTranspose, runConjugateTranspose, kAllDTypes)
LS_TF_KERNEL(Slice, runSlice, kAllDTypes)
LS_TF_KERNEL(StridedSlice, runStridedSlice, kAllDTypes)
LS_TF_KERNEL(StridedSliceGrad, runStridedSliceGrad, kAllDTypes)
LS_TF_KERNEL(TensorStridedSliceUpdate, runTensorStridedSliceUpdate, kAllDTypes)
LS_TF_KERNEL(ReverseV2, runReverseV2, kAllDTypes)
LS_TF_KERNEL(Reverse, runReverse, kAllDTypes)
LS_TF_KERNEL(ReverseSequence, runReverseSequence, kAllDTypes)
LS_TF_KERNEL(Roll, runRoll, kAllDTypes)
LS_TF_KERNEL(Pad, runPad, kAllDTypes)
LS_TF_KERNEL(PadV2, runPad, kAllDTypes)
LS_TF_KERNEL(MirrorPad, runMirrorPad, kAllDTypes)
LS_TF_KERNEL(MirrorPadGrad, runMirrorPadGrad, "numbers")
