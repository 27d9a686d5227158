// Operators that make a tensor larger around or by repetition: pad, padv2, mirror_pad, tile, broadcast_to, broadcast_args.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

#include <algorithm>

using namespace loopscope;

namespace {

/// The shape with operand 1, [rank,2], added before and after. `most` limits both for a dimension (mirror_pad), −1: no limit.
/// Errors: C1, C2, C3 of pad.
Result<Shape> padded(const InferContext& c, int64_t (*most)(int64_t extent, const AttributeList&))
{
    const Shape& in = c.input(0).shape;
    const Shape& paddings = c.input(1).shape;
    const DType dtype = c.input(1).dtype;
    if (dtype != DType::i8 && dtype != DType::i16) LS_CHECK_OK(requireIndexType(c, 1, 1));
    LS_CHECK_OK(requireRank(c, 1, 2, 1));
    if (paddings.hasRank()) {
        if ((paddings[1] >= 0 && paddings[1] != 2) || (in.hasRank() && paddings[0] >= 0 && paddings[0] != in.rank()))
            return InferContext::violated(1, "shape of the paddings")
                .found(toString(paddings))
                .expected("[" + (in.hasRank() ? std::to_string(in.rank()) : "rank") + ",2]");
        if (!in.hasRank() && paddings[0] >= 0 && paddings[0] <= kMaxRank) return Shape::ofRank(static_cast<int>(paddings[0]), kUnknownDim);
    }
    if (!in.hasRank()) return Shape::unknownRank();
    const auto values = c.intValues(1);
    if (!values) return Shape::ofRank(in.rank(), kUnknownDim);
    Shape out = in;
    for (int d = 0; d < in.rank(); ++d) {
        const int64_t before = (*values)[static_cast<size_t>(2 * d)];
        const int64_t after = (*values)[static_cast<size_t>(2 * d + 1)];
        const int64_t limit = most && in[d] >= 0 ? most(in[d], c.attributes()) : INT32_MAX;
        if (before < 0 || after < 0 || before > limit || after > limit)
            return InferContext::violated(2, "paddings of dimension " + std::to_string(d))
                .found(std::to_string(before) + " and " + std::to_string(after))
                .expected("0 to " + std::to_string(limit));
        if (in[d] >= 0) out[d] = in[d] + before + after;
    }
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(2, "the padded shape " + toString(out) + " has too many elements");
    return out;
}

Status inferPad(InferContext& c)
{
    if (c.has(2)) {
        LS_CHECK_OK(requireSameType(c, 0, 2, 3));
        if (c.input(2).shape.isStatic() && checkedElementCount(c.input(2).shape) != 1)
            return InferContext::violated(3, "elements of the pad value " + toString(c.input(2).shape)).expected("1");
    }
    LS_TRY(Shape out, padded(c, nullptr));
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

/// REFLECT leaves out the edge, SYMMETRIC repeats it.
int64_t mirrorLimit(int64_t extent, const AttributeList& attributes)
{
    return attributeWord(attributes, "mode", "REFLECT") == "SYMMETRIC" ? extent : std::max<int64_t>(0, extent - 1);
}

Status inferMirrorPad(InferContext& c)
{
    const Attribute* const given = findAttribute(c.attributes(), "mode");
    if (const auto* const number = given != nullptr ? given->as<int64_t>() : nullptr) // a file may hold what the schema does not name
        return InferContext::violated(3, "mode").found(std::to_string(*number)).expected("REFLECT or SYMMETRIC");
    const std::string_view mode = attributeWord(c.attributes(), "mode", "REFLECT");
    if (mode != "REFLECT" && mode != "SYMMETRIC")
        return InferContext::violated(3, "mode").found(std::string(mode)).expected("REFLECT or SYMMETRIC");
    LS_TRY(Shape out, padded(c, mirrorLimit));
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferTile(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_TRY(const auto multiples, vectorOperand(c, 1, 1));
    const Shape& vector = c.input(1).shape;
    if (in.hasRank() && vector.hasRank() && vector[0] >= 0 && vector[0] != in.rank())
        return InferContext::violated(1, "elements of " + describeOperand(c, 1))
            .expected(std::to_string(in.rank()) + ", one for each dimension of the input");
    if (!in.hasRank()) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    Shape out = Shape::ofRank(in.rank(), kUnknownDim);
    for (int d = 0; multiples && d < in.rank(); ++d) {
        const int64_t times = (*multiples)[static_cast<size_t>(d)];
        if (times < 0 || (in[d] >= 0 && __builtin_mul_overflow(in[d], times, &out[d])))
            return InferContext::violated(2, "multiple of dimension " + std::to_string(d))
                .found(std::to_string(times))
                .expected("0 or more");
    }
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(2, "the result " + toString(out) + " has too many elements");
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferBroadcastTo(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_TRY(Shape out, shapeFromOperand(c, 1, 1));
    if (in.hasRank() && out.hasRank()) {
        bool fits = in.rank() <= out.rank();
        for (int i = 1; fits && i <= in.rank(); ++i) {
            const int64_t from = in[in.rank() - i];
            const int64_t to = out[out.rank() - i];
            fits = from == 1 || from == to || from < 0 || to < 0;
        }
        if (!fits)
            return InferContext::violated(2, "shape of the input").found(toString(in)).expected("one that broadcasts to " + toString(out));
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferBroadcastArgs(InferContext& c)
{
    LS_CHECK_OK(requireSameType(c, 0, 1, 1));
    LS_TRY(const auto a, vectorOperand(c, 0, 1));
    LS_TRY(const auto b, vectorOperand(c, 1, 1));
    for (size_t i = 1; a && b && i <= std::min(a->size(), b->size()); ++i) {
        const int64_t x = (*a)[a->size() - i];
        const int64_t y = (*b)[b->size() - i];
        if (x != y && x != 1 && y != 1)
            return InferContext::violated(2, "dimension " + std::to_string(i) + " from the end")
                .found(std::to_string(x) + " and " + std::to_string(y))
                .expected("equal ones, or a 1");
    }
    const Shape& sa = c.input(0).shape;
    const Shape& sb = c.input(1).shape;
    const bool known = sa.hasRank() && sb.hasRank() && sa[0] >= 0 && sb[0] >= 0;
    c.setOutput(0, c.input(0).dtype, Shape{known ? std::max(sa[0], sb[0]) : kUnknownDim});
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, tile)
{
    // C1: there is an i32 or i64 multiple for each dimension. C2: none is negative, and the result is not too large.
    return movementDef<inferTile>(2, "input, multiples [rank]", "Repeats the input along each dimension.", "LiteRT kernels/tile.cc");
}

LS_DEFINE_OP(tfl, broadcast_to)
{
    // C1: the shape is a vector of dimensions. C2: the input's dimensions, counted from the last, are those of the shape or 1.
    return movementDef<inferBroadcastTo>(2, "input, shape [rank]", "Repeats dimensions of size 1 to fill the shape.",
                                         "LiteRT kernels/broadcast_to.cc");
}

LS_DEFINE_OP(tfl, broadcast_args)
{
    // C1: two vectors of one dtype, i32 or i64. C2: counted from the last, dimensions are equal or one of them is 1.
    return movementDef<inferBroadcastArgs>(2, "shape [a], shape [b]", "The shape that two shapes broadcast to.",
                                           "LiteRT kernels/broadcast_args.cc");
}

LS_DEFINE_OP(tfl, pad)
{
    // C1: paddings are [rank,2] integers. C2: none is negative, and the result is not too large. C3: the value is one of the input's
    // dtype. C4 (when prepared): a quantized value has the result's scale and zero point.
    OpDef def = movementDef<inferPad, 2>(2, "input, paddings [rank,2], value? []",
                                         "Puts zeros (the zero point of quantized tensors), or value, before and after each dimension.",
                                         "LiteRT kernels/pad.cc");
    def.maxInputs = 3;
    return def;
}

LS_DEFINE_OP(tfl, padv2)
{
    // Constraints as of pad; LiteRT runs both with one kernel.
    OpDef def = movementDef<inferPad, 2>(2, "input, paddings [rank,2], value? []", "Puts value before and after each dimension.",
                                         "LiteRT kernels/pad.cc");
    def.maxInputs = 3;
    return def;
}

LS_DEFINE_OP(tfl, mirror_pad)
{
    // C1: paddings are [rank,2] integers. C2: none is negative or more than there is to mirror. C3: the mode is REFLECT or SYMMETRIC.
    return movementDef<inferMirrorPad>(2, "input, paddings [rank,2]",
                                       "Continues each dimension with its mirror image, without (REFLECT) or with (SYMMETRIC) the edge.",
                                       "LiteRT kernels/mirror_pad.cc");
}
