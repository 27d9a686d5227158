// Operators that change or tell the shape and leave the data as it is: reshape, squeeze, expand_dims, shape, rank, bitcast, densify.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

Status inferReshape(InferContext& c)
{
    const DType dtype = c.input(0).dtype;
    // The operand counts if it is a vector, else the attribute (LiteRT kernels/reshape.cc, ShapeIsVector).
    if (c.has(1) && (!c.input(1).shape.hasRank() || c.input(1).shape.rank() == 1)) {
        LS_CHECK_OK(requireIndexType(c, 1, 3));
        const Shape& vector = c.input(1).shape;
        if (vector.hasRank() && vector[0] > kMaxRank)
            return InferContext::violated(3, "rank of the new shape")
                .found(std::to_string(vector[0]))
                .expected("at most " + std::to_string(kMaxRank));
        const auto wanted = c.intValues(1);
        if (!wanted) {
            c.setOutput(0, dtype,
                        vector.hasRank() && vector[0] >= 0 ? Shape::ofRank(static_cast<int>(vector[0]), kUnknownDim)
                                                           : Shape::unknownRank());
            return {};
        }
        LS_TRY(Shape shape, resolveReshape(c.input(0).shape, *wanted));
        c.setOutput(0, dtype, std::move(shape));
        return {};
    }
    std::vector<int64_t> wanted = attributeInts(c.attributes(), "new_shape");
    if (wanted.size() == 1 && wanted[0] == 0) wanted.clear(); // old writers say [0] for a scalar
    LS_TRY(Shape shape, resolveReshape(c.input(0).shape, wanted));
    c.setOutput(0, dtype, std::move(shape));
    return {};
}

Status inferSqueeze(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const std::vector<int64_t> wanted = attributeInts(c.attributes(), "squeeze_dims");
    if (!in.hasRank()) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    std::vector<bool> drop(static_cast<size_t>(in.rank()));
    for (const int64_t w : wanted) {
        const auto axis = normalAxis(w, in.rank());
        if (!axis)
            return InferContext::violated(1, "squeeze_dims")
                .found(std::to_string(w))
                .expected("within the " + std::to_string(in.rank()) + " dimensions of the input");
        if (in[*axis] != 1 && in[*axis] >= 0)
            return InferContext::violated(2, "dimension " + std::to_string(*axis) + " of the input, which is to be dropped,")
                .found(std::to_string(in[*axis]))
                .expected("1");
        drop[static_cast<size_t>(*axis)] = true;
    }
    Shape out;
    for (int i = 0; i < in.rank(); ++i) {
        if (wanted.empty() && in[i] < 0) {
            out = Shape::unknownRank(); // it may be a 1, which would go
            break;
        }
        if (wanted.empty() ? in[i] != 1 : !drop[static_cast<size_t>(i)]) out.append(in[i]);
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferExpandDims(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_TRY(const auto axisValue, scalarOperand(c, 1, 1));
    if (!in.hasRank()) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    if (!axisValue) {
        c.setOutput(0, c.input(0).dtype, Shape::ofRank(in.rank() + 1, kUnknownDim));
        return {};
    }
    const auto axis = normalAxis(*axisValue, in.rank() + 1);
    if (!axis)
        return InferContext::violated(1, "axis")
            .found(std::to_string(*axisValue))
            .expected(std::to_string(-in.rank() - 1) + " to " + std::to_string(in.rank()));
    Shape out;
    for (int i = 0; i <= in.rank(); ++i) out.append(i == *axis ? 1 : in[i < *axis ? i : i - 1]);
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferShape(InferContext& c)
{
    const DType out = attributeDType(c.attributes(), "out_type", DType::i32);
    if (out != DType::i32 && out != DType::i64)
        return InferContext::violated(1, "out_type").found(std::string(dtypeName(out))).expected("i32 or i64");
    const Shape& in = c.input(0).shape;
    c.setOutput(0, out, Shape{in.hasRank() ? in.rank() : kUnknownDim});
    return {};
}

Status inferRank(InferContext& c)
{
    c.setOutput(0, DType::i32, Shape());
    return {};
}

Status inferBitcast(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const int from = bitWidth(c.input(0).dtype);
    const DType dtype = c.output(0).dtype; // as declared: nothing else says it
    const int to = bitWidth(dtype);
    if (c.input(0).dtype == DType::unknown || dtype == DType::unknown) return {};
    if (from < 8 || to < 8)
        return InferContext::violated(1, "bitcast from " + std::string(dtypeName(c.input(0).dtype)) + " to " +
                                             std::string(dtypeName(dtype)) + ": elements must be whole bytes");
    Shape out = in;
    if (in.hasRank() && from > to) out.append(from / to);
    if (in.hasRank() && from < to) {
        const int64_t factor = to / from;
        if (in.rank() == 0 || (in.back() >= 0 && in.back() != factor))
            return InferContext::violated(2, "last dimension of the input " + toString(in)).expected(std::to_string(factor));
        out.resize(in.rank() - 1, 0);
    }
    c.setOutput(0, dtype, std::move(out));
    return {};
}

Status inferSame(InferContext& c)
{
    c.setOutput(0, c.input(0).dtype, c.input(0).shape);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, reshape)
{
    // C1: at most one dimension of the new shape is −1, none is below. C2: the number of elements stays. C3: the shape operand is i32
    // or i64, of at most 64 dimensions.
    OpDef def = movementDef<inferReshape, 1>(2, "input, new_shape? [rank]",
                                             "Gives the elements another shape; one dimension may be -1: whatever is left.",
                                             "LiteRT kernels/reshape.cc");
    def.minInputs = 1;
    return def;
}

LS_DEFINE_OP(tfl, squeeze)
{
    // C1: squeeze_dims lie within the rank. C2: the dimensions dropped are 1.
    return movementDef<inferSqueeze>(1, "input", "Drops the dimensions of size 1, or those named.", "LiteRT kernels/squeeze.cc");
}

LS_DEFINE_OP(tfl, expand_dims)
{
    // C1: axis is one integer from −rank−1 to rank.
    return movementDef<inferExpandDims>(2, "input, axis []", "Puts in a dimension of size 1 before axis.", "LiteRT kernels/expand_dims.cc");
}

LS_DEFINE_OP(tfl, shape)
{
    // C1: out_type is i32 or i64.
    return movementDef<inferShape>(1, "input", "The dimensions of the input as a vector.", "LiteRT kernels/shape.cc");
}

LS_DEFINE_OP(tfl, rank) { return movementDef<inferRank>(1, "input", "The number of dimensions of the input.", "LiteRT kernels/rank.cc"); }

LS_DEFINE_OP(tfl, bitcast)
{
    // C1: elements of both dtypes are whole bytes. C2: going to a wider dtype, the last dimension is the ratio of the widths.
    return movementDef<inferBitcast>(
        1, "input", "The same bytes read as another dtype; the ratio of the widths becomes, or is taken from, the last dimension.",
        "LiteRT kernels/bitcast.cc");
}

LS_DEFINE_OP(tfl, densify)
{
    return movementDef<inferSame>(1, "input", "A sparse constant as a dense tensor.", "LiteRT kernels/densify.cc");
}
