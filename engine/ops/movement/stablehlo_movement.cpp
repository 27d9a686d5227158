// StableHLO operators that move data: pad, slice, dynamic_slice, dynamic_update_slice, concatenate, transpose, reshape,
// broadcast_in_dim, iota, rng_bit_generator; and TFLite's dilate, which is a StableHLO pad.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

Status unknownResult(InferContext& c)
{
    c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
    return {};
}

Status inferPad(InferContext& c)
{
    LS_CHECK_OK(requireSameType(c, 0, 1, 1));
    if (c.input(1).shape.isStatic() && checkedElementCount(c.input(1).shape) != 1)
        return InferContext::violated(1, "elements of the padding value").expected("1");
    const Shape& in = c.input(0).shape;
    const std::vector<int64_t> low = attributeInts(c.attributes(), "edge_padding_low");
    const std::vector<int64_t> high = attributeInts(c.attributes(), "edge_padding_high");
    const std::vector<int64_t> interior = attributeInts(c.attributes(), "interior_padding");
    if (!in.hasRank()) return unknownResult(c);
    const auto rank = static_cast<size_t>(in.rank());
    if (low.size() != rank || high.size() != rank || interior.size() != rank)
        return InferContext::violated(2, "entries of the paddings")
            .found(std::to_string(low.size()))
            .expected(std::to_string(rank) + " each");
    Shape out = in;
    for (int d = 0; d < in.rank(); ++d) {
        const auto at = static_cast<size_t>(d);
        constexpr int64_t kLimit = int64_t{1} << 40;
        const auto tooFar = [](int64_t edge) { return edge < -kLimit || edge > kLimit; };
        if (interior[at] < 0 || interior[at] > kLimit || tooFar(low[at]) || tooFar(high[at]) || in[d] > kLimit)
            return InferContext::violated(2, "padding of dimension " + std::to_string(d)).expected("interior 0 or more, all below 2^40");
        if (in[d] < 0) continue;
        int64_t inside = 0;
        if (in[d] > 0 && __builtin_mul_overflow(in[d] - 1, interior[at] + 1, &inside))
            return InferContext::violated(2, "padding of dimension " + std::to_string(d) + " is too large");
        out[d] = low[at] + high[at] + (in[d] > 0 ? inside + 1 : 0);
        if (out[d] < 0)
            return InferContext::violated(2, "padded dimension " + std::to_string(d)).found(std::to_string(out[d])).expected("0 or more");
    }
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(2, "the result " + toString(out) + " has too many elements");
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferDilate(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_CHECK_OK(requireSameType(c, 0, 2, 1));
    if (c.input(2).shape.isStatic() && checkedElementCount(c.input(2).shape) != 1)
        return InferContext::violated(1, "elements of the padding value").expected("1");
    LS_TRY(const auto dilations, vectorOperand(c, 1, 2));
    const Shape& vector = c.input(1).shape;
    if (!in.hasRank()) return unknownResult(c);
    if (vector.hasRank() && vector[0] >= 0 && vector[0] != in.rank())
        return InferContext::violated(2, "elements of " + describeOperand(c, 1))
            .expected(std::to_string(in.rank()) + ", one for each dimension of the input");
    Shape out = Shape::ofRank(in.rank(), kUnknownDim);
    for (int d = 0; dilations && d < in.rank(); ++d) {
        const int64_t factor = (*dilations)[static_cast<size_t>(d)];
        if (factor < 1 || factor > INT32_MAX || (in[d] > 0 && __builtin_mul_overflow(in[d] - 1, factor, &out[d])))
            return InferContext::violated(2, "dilation of dimension " + std::to_string(d))
                .found(std::to_string(factor))
                .expected("1 or more");
        if (in[d] > 0) ++out[d];
        else if (in[d] == 0) out[d] = 0;
    }
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(2, "the result " + toString(out) + " has too many elements");
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferSlice(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const std::vector<int64_t> start = attributeInts(c.attributes(), "start_indices");
    const std::vector<int64_t> limit = attributeInts(c.attributes(), "limit_indices");
    const std::vector<int64_t> strides = attributeInts(c.attributes(), "strides");
    const auto rank = start.size();
    if (limit.size() != rank || strides.size() != rank || rank > static_cast<size_t>(kMaxRank) ||
        (in.hasRank() && static_cast<size_t>(in.rank()) != rank))
        return InferContext::violated(1, "entries of start, limit and strides")
            .found(std::to_string(rank))
            .expected(in.hasRank() ? std::to_string(in.rank()) + " each" : "one each");
    Shape out;
    for (size_t d = 0; d < rank; ++d) {
        const int64_t extent = in.hasRank() ? in[static_cast<int>(d)] : kUnknownDim;
        if (start[d] < 0 || limit[d] < start[d] || (extent >= 0 && limit[d] > extent) || strides[d] < 1)
            return InferContext::violated(2, "slice of dimension " + std::to_string(d))
                .found(std::to_string(start[d]) + ":" + std::to_string(limit[d]) + ":" + std::to_string(strides[d]));
        out.append(limit[d] == start[d] ? 0 : (limit[d] - start[d] - 1) / strides[d] + 1);
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

/// Start indices of dynamic_slice and dynamic_update_slice: a scalar for each of `rank` dimensions from operand `first` on.
Status requireStarts(const InferContext& c, int first, int rank)
{
    if (c.inputCount() - first != rank)
        return InferContext::violated(1, "start indices")
            .found(std::to_string(c.inputCount() - first))
            .expected(std::to_string(rank) + ", one for each dimension");
    for (int i = first; i < c.inputCount(); ++i) {
        LS_CHECK_OK(requireIndexType(c, i, 1));
        if (c.input(i).shape.isStatic() && checkedElementCount(c.input(i).shape) != 1)
            return InferContext::violated(1, "elements of " + describeOperand(c, i)).expected("1");
    }
    return {};
}

Status inferDynamicSlice(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const std::vector<int64_t> sizes = attributeInts(c.attributes(), "slice_sizes");
    LS_CHECK_OK(requireStarts(c, 1, static_cast<int>(sizes.size())));
    if (in.hasRank() && static_cast<size_t>(in.rank()) != sizes.size())
        return InferContext::violated(1, "slice_sizes")
            .found(std::to_string(sizes.size()))
            .expected(std::to_string(in.rank()) + ", one for each dimension");
    for (int d = 0; d < static_cast<int>(sizes.size()); ++d) {
        const int64_t size = sizes[static_cast<size_t>(d)];
        if (size < 0 || (in.hasRank() && in[d] >= 0 && size > in[d]))
            return InferContext::violated(2, "slice size of dimension " + std::to_string(d))
                .found(std::to_string(size))
                .expected("within " + toString(in));
    }
    c.setOutput(0, c.input(0).dtype, Shape(std::span<const int64_t>(sizes)));
    return {};
}

Status inferDynamicUpdateSlice(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const Shape& update = c.input(1).shape;
    LS_CHECK_OK(requireSameType(c, 0, 1, 2));
    if (in.hasRank()) LS_CHECK_OK(requireStarts(c, 2, in.rank()));
    if (in.hasRank() && update.hasRank()) {
        bool fits = in.rank() == update.rank();
        for (int d = 0; fits && d < in.rank(); ++d) fits = in[d] < 0 || update[d] <= in[d];
        if (!fits) return InferContext::violated(2, "update " + toString(update) + " does not fit into operand " + toString(in));
    }
    c.setOutput(0, c.input(0).dtype, in);
    return {};
}

Status inferTranspose(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const std::vector<int64_t> perm = attributeInts(c.attributes(), "permutation");
    if (!in.hasRank()) return unknownResult(c);
    if (perm.size() != static_cast<size_t>(in.rank()) || !areDistinctDimensions(perm, in.rank()))
        return InferContext::violated(1, "permutation " + listText(perm)).expected("one of " + std::to_string(in.rank()) + " dimensions");
    Shape out;
    for (const int64_t d : perm) out.append(in[static_cast<int>(d)]);
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferConcatenate(InferContext& c)
{
    const int64_t axis = attributeInt(c.attributes(), "dimension", 0);
    Shape out = c.input(0).shape;
    if (!out.hasRank()) return unknownResult(c);
    if (axis < 0 || axis >= out.rank())
        return InferContext::violated(1, "dimension").found(std::to_string(axis)).expected("below " + std::to_string(out.rank()));
    const int at = static_cast<int>(axis);
    for (int i = 1; i < c.inputCount(); ++i) {
        LS_CHECK_OK(requireSameType(c, 0, i, 2));
        const Shape& in = c.input(i).shape;
        if (!in.hasRank()) return unknownResult(c);
        bool fits = in.rank() == out.rank();
        for (int d = 0; fits && d < in.rank(); ++d) fits = d == at || in[d] < 0 || out[d] < 0 || in[d] == out[d];
        if (!fits)
            return InferContext::violated(2, "shape of operand " + std::to_string(i))
                .found(toString(in))
                .expected(toString(out) + " but for dimension " + std::to_string(axis));
        if (in[at] < 0 || out[at] < 0) out[at] = kUnknownDim;
        else if (__builtin_add_overflow(out[at], in[at], &out[at]))
            return InferContext::violated(2, "the sum of the dimensions is too large");
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

OpDef stablehloDef(OpDef def)
{
    def.source = "StableHLO specification";
    return def;
}

/// For operators whose result shape only the declaration says; their kernels check it.
OpDef declaredDef(int inputs, std::string_view operands, std::string_view summary)
{
    OpDef def;
    def.minInputs = def.maxInputs = inputs;
    def.operands = operands;
    def.summary = summary;
    def.source = "StableHLO specification";
    def.floatBound = kExact;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, stablehlo_pad)
{
    // C1: one padding value of the operand's dtype. C2: three paddings for each dimension, interior ones 0 or more; the result is not
    // negative or too large.
    return stablehloDef(
        movementDef<inferPad>(2, "operand, padding_value []", "Padding around and between elements; negative edges crop.", ""));
}

LS_DEFINE_OP(tfl, dilate)
{
    // C1: one padding value of the input's dtype. C2: there is a factor of 1 or more for each dimension.
    return movementDef<inferDilate>(3, "input, dilations [rank], padding_value []", "Moves elements apart and puts the value between them.",
                                    "LiteRT kernels/dilate.cc");
}

LS_DEFINE_OP(tfl, stablehlo_slice)
{
    // C1: start, limit and stride for each dimension. C2: 0 ≤ start ≤ limit ≤ dimension, stride 1 or more.
    return stablehloDef(movementDef<inferSlice>(1, "operand", "Every stride-th element from start to before limit.", ""));
}

LS_DEFINE_OP(tfl, stablehlo_dynamic_slice)
{
    // C1: there is a start index and a size for each dimension. C2: sizes lie within the operand.
    OpDef def = stablehloDef(
        movementDef<inferDynamicSlice>(1, "operand, start []…", "A block of fixed size; its start is moved to where it fits.", ""));
    def.maxInputs = -1;
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_dynamic_update_slice)
{
    // C1: there is a start index for each dimension. C2: the update has the operand's dtype and rank and is nowhere larger.
    OpDef def = stablehloDef(movementDef<inferDynamicUpdateSlice>(
        2, "operand, update, start []…", "The operand with update written at start, which is moved to where it fits.", ""));
    def.maxInputs = -1;
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_transpose)
{
    // C1: permutation is one of the dimensions.
    return stablehloDef(movementDef<inferTranspose>(1, "operand", "Reorders the dimensions.", ""));
}

LS_DEFINE_OP(tfl, stablehlo_concatenate)
{
    // C1: dimension lies within the rank. C2: dtypes and other dimensions agree.
    OpDef def = stablehloDef(movementDef<inferConcatenate>(1, "operands…", "Joins tensors along a dimension.", ""));
    def.maxInputs = -1;
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_reshape)
{
    // C1 (when prepared): the declared result has as many elements.
    return declaredDef(1, "operand", "The elements under the declared shape.");
}

LS_DEFINE_OP(tfl, stablehlo_broadcast_in_dim)
{
    // C1 (when prepared): broadcast_dimensions map the operand's dimensions to different ones of the declared result, of the same size or
    // from 1.
    return declaredDef(1, "operand", "Repeats the operand over the declared shape; its dimensions become the named ones.");
}

LS_DEFINE_OP(tfl, stablehlo_iota)
{
    // C1 (when prepared): iota_dimension lies within the declared result.
    return declaredDef(0, "", "Counts from 0 along a dimension of the declared shape.");
}

LS_DEFINE_OP(tfl, stablehlo_rng_bit_generator)
{
    // C1 (when prepared): the state is u64 [2] (or [3] for Philox). C2: the declared result is i32, u32, i64 or u64.
    OpDef def = declaredDef(1, "state u64[2] or [3]", "Random bits by Philox or ThreeFry, and the state that follows.");
    def.minOutputs = def.maxOutputs = 2;
    def.source = "LiteRT kernels/rng_bit_generator.cc, rng_util.cc";
    return def;
}
