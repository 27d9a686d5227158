// Operators that take part of a tensor, write into part of one, or turn one around: slice, strided_slice, dynamic_update_slice,
// reverse_v2, reverse_sequence.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"
#include "engine/ops/movement/strided_slice.h"

#include <algorithm>

using namespace loopscope;

namespace loopscope {

StridedSliceMasks stridedSliceMasks(const AttributeList& attributes)
{
    const auto mask = [&](std::string_view key) { return static_cast<uint32_t>(attributeInt(attributes, key, 0)); };
    return {mask("begin_mask"),    mask("end_mask"),         mask("ellipsis_mask"),
            mask("new_axis_mask"), mask("shrink_axis_mask"), attributeBool(attributes, "offset", false)};
}

Shape StridedSlicePlan::result() const
{
    Shape shape;
    for (int i = 0; i < rank; ++i)
        if (!dims[static_cast<size_t>(i)].shrink) shape.append(dims[static_cast<size_t>(i)].count);
    return shape;
}

namespace {

/// Begin and count of one ordinary dimension of `extent` elements.
Status resolveDim(StridedSliceDim& dim, int axis, int64_t extent, bool beginMask, bool endMask, bool offset, std::optional<int64_t> begin,
                  std::optional<int64_t> end, std::optional<int64_t> stride)
{
    if (dim.shrink) dim.count = 1;
    if (stride) {
        if (*stride == 0)
            return InferContext::violated(3, "stride of dimension " + std::to_string(axis)).found("0").expected("another value");
        if (dim.shrink && *stride < 0)
            return InferContext::violated(3, "stride of dimension " + std::to_string(axis) + ", of which one index is taken,")
                .found(std::to_string(*stride))
                .expected("1");
        if (*stride == INT64_MIN)
            return InferContext::violated(3, "stride of dimension " + std::to_string(axis))
                .found(std::to_string(*stride))
                .expected("one that can be turned around");
        dim.stride = *stride;
    }
    if (offset && !dim.shrink && end && stride) {
        // The result's size does not depend on where it begins; whether it fits is found out when that is known.
        dim.count = *end <= 0 || *stride < 0 ? 0 : (*end - 1) / *stride + 1;
    }
    if (extent < 0 || !stride) return {};
    const bool forward = *stride > 0;
    if (beginMask) dim.begin = forward ? 0 : extent - 1;
    else if (!begin) return {};
    else dim.begin = std::clamp(*begin < 0 ? *begin + extent : *begin, forward ? int64_t{0} : int64_t{-1}, forward ? extent : extent - 1);
    if (extent == 0) dim.begin = 0;

    if (dim.shrink) {
        if (dim.begin >= extent)
            return InferContext::violated(4, "index into dimension " + std::to_string(axis))
                .found(std::to_string(begin.value_or(0)))
                .expected("below " + std::to_string(extent));
        dim.stride = 1;
        return {};
    }
    if (offset) {
        if (dim.count > 0 && (dim.begin >= extent || (dim.count - 1) * dim.stride > extent - 1 - dim.begin))
            return InferContext::violated(4, "slice of dimension " + std::to_string(axis))
                .found("from " + std::to_string(dim.begin) + ", " + std::to_string(*end) + " long")
                .expected("within " + std::to_string(extent));
        if (dim.count <= 1) dim.stride = 1;
        return {};
    }
    if (!endMask && !end) return {};
    const int64_t last =
        endMask ? (forward ? extent : -1)
                : std::clamp(*end < 0 ? *end + extent : *end, forward ? int64_t{0} : int64_t{-1}, forward ? extent : extent - 1);
    const int64_t distance = forward ? last - dim.begin : dim.begin - last;
    const int64_t pace = forward ? *stride : -*stride;
    dim.count = distance <= 0 || extent == 0 ? 0 : (distance - 1) / pace + 1;
    if (dim.count <= 1) dim.stride = 1; // a step that is never taken must not overflow later
    return {};
}

} // namespace

Result<StridedSlicePlan> planStridedSlice(const Shape& input, const StridedSliceMasks& masks, int specs,
                                          std::optional<std::span<const int64_t>> begin, std::optional<std::span<const int64_t>> end,
                                          std::optional<std::span<const int64_t>> strides)
{
    const auto bit = [](uint32_t mask, int i) { return ((mask >> i) & 1U) != 0; };
    if (specs > 31) return InferContext::violated(2, "number of indices").found(std::to_string(specs)).expected("at most 31");
    int newAxes = 0;
    for (int i = 0; i < specs; ++i)
        if (bit(masks.newAxis, i) && !bit(masks.ellipsis, i)) ++newAxes;
    StridedSlicePlan plan;
    plan.rank = input.rank() + newAxes;
    if (plan.rank > StridedSlicePlan::kLimit - 1)
        return InferContext::violated(2, "number of dimensions")
            .found(std::to_string(plan.rank))
            .expected("at most " + std::to_string(StridedSlicePlan::kLimit - 1));

    int axis = 0; // of the input
    int out = 0;  // of plan.dims
    const auto whole = [&] {
        StridedSliceDim& dim = plan.dims[static_cast<size_t>(out++)];
        dim.count = input[axis++];
    };
    for (int spec = 0; spec < specs; ++spec) {
        if (bit(masks.ellipsis, spec)) {
            // As many whole dimensions as the other indices leave, also none.
            const int taken = specs - 1 - newAxes;
            const int spanned = std::max(0, input.rank() - taken);
            for (int i = 0; i < spanned && axis < input.rank(); ++i) whole();
            continue;
        }
        if (bit(masks.newAxis, spec)) {
            StridedSliceDim& dim = plan.dims[static_cast<size_t>(out++)];
            dim.newAxis = true;
            dim.count = 1;
            continue;
        }
        if (axis >= input.rank())
            return InferContext::violated(2, "number of indices")
                .found(std::to_string(specs))
                .expected("at most one for each of the " + std::to_string(input.rank()) + " dimensions");
        StridedSliceDim& dim = plan.dims[static_cast<size_t>(out++)];
        dim.shrink = bit(masks.shrink, spec);
        const auto at = [&](const std::optional<std::span<const int64_t>>& values) {
            return values ? std::optional<int64_t>((*values)[static_cast<size_t>(spec)]) : std::nullopt;
        };
        LS_CHECK_OK(resolveDim(dim, axis, input[axis], bit(masks.begin, spec), bit(masks.end, spec), masks.offset, at(begin), at(end),
                               at(strides)));
        ++axis;
    }
    while (axis < input.rank()) whole();
    plan.rank = out;
    return plan;
}

} // namespace loopscope

namespace {

/// Errors: C1 unless operand `i` is an index vector with an entry for each of `rank` dimensions.
Result<std::optional<std::vector<int64_t>>> perDimension(const InferContext& c, int i, const Shape& input)
{
    LS_TRY(auto values, vectorOperand(c, i, 1));
    const Shape& vector = c.input(i).shape;
    if (input.hasRank() && vector.hasRank() && vector[0] >= 0 && vector[0] != input.rank())
        return InferContext::violated(1, "elements of " + describeOperand(c, i))
            .expected(std::to_string(input.rank()) + ", one for each dimension of the input");
    return values;
}

Status inferSlice(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_TRY(const auto begin, perDimension(c, 1, in));
    LS_TRY(const auto size, perDimension(c, 2, in));
    int rank = in.hasRank() ? in.rank() : -1;
    for (int i = 1; rank < 0 && i <= 2; ++i)
        if (c.input(i).shape.hasRank() && c.input(i).shape[0] >= 0 && c.input(i).shape[0] <= kMaxRank)
            rank = static_cast<int>(c.input(i).shape[0]);
    if (rank < 0) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    Shape out = Shape::ofRank(rank, kUnknownDim);
    for (int d = 0; d < rank; ++d) {
        const auto at = [&](const std::optional<std::vector<int64_t>>& v) {
            return v ? std::optional<int64_t>((*v)[static_cast<size_t>(d)]) : std::nullopt;
        };
        const auto first = at(begin);
        const auto count = at(size);
        const int64_t extent = in.hasRank() ? in[d] : kUnknownDim;
        if (first && (*first < 0 || (extent >= 0 && *first > extent)))
            return InferContext::violated(2, "begin of dimension " + std::to_string(d))
                .found(std::to_string(*first))
                .expected(extent >= 0 ? "0 to " + std::to_string(extent) : "0 or more");
        if (!count) continue;
        if (*count < -1)
            return InferContext::violated(3, "size of dimension " + std::to_string(d)).found(std::to_string(*count)).expected("-1 or more");
        if (*count == -1) {
            if (first && extent >= 0) out[d] = extent - *first;
            continue;
        }
        if (extent >= 0 && *count > extent - first.value_or(0))
            return InferContext::violated(3, "size of dimension " + std::to_string(d))
                .found(std::to_string(*count))
                .expected("at most " + std::to_string(extent - first.value_or(0)));
        out[d] = *count;
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferStridedSlice(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    std::optional<std::vector<int64_t>> values[3];
    int64_t specs = kUnknownDim;
    for (int i = 0; i < 3; ++i) {
        LS_TRY(values[i], vectorOperand(c, i + 1, 1));
        const Shape& vector = c.input(i + 1).shape;
        if (!vector.hasRank() || vector[0] < 0) continue;
        if (specs >= 0 && vector[0] != specs)
            return InferContext::violated(1, "elements of " + describeOperand(c, i + 1))
                .expected(std::to_string(specs) + ", as operand 1 has");
        specs = vector[0];
    }
    if (!in.hasRank() || specs < 0) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    const auto view = [](const std::optional<std::vector<int64_t>>& v) {
        return v ? std::optional<std::span<const int64_t>>(*v) : std::nullopt;
    };
    LS_TRY(const StridedSlicePlan plan,
           planStridedSlice(in, stridedSliceMasks(c.attributes()), static_cast<int>(std::min<int64_t>(specs, 1000)), view(values[0]),
                            view(values[1]), view(values[2])));
    c.setOutput(0, c.input(0).dtype, plan.result());
    return {};
}

Status inferDynamicUpdateSlice(InferContext& c)
{
    const Shape& operand = c.input(0).shape;
    const Shape& update = c.input(1).shape;
    LS_CHECK_OK(requireSameType(c, 0, 1, 2));
    LS_TRY(const auto unused, perDimension(c, 2, operand));
    static_cast<void>(unused); // any start is moved to where the update fits
    if (operand.hasRank() && update.hasRank()) {
        bool fits = operand.rank() == update.rank();
        for (int d = 0; fits && d < operand.rank(); ++d) fits = operand[d] < 0 || update[d] <= operand[d];
        if (!fits) return InferContext::violated(2, "update " + toString(update) + " does not fit into operand " + toString(operand));
    }
    c.setOutput(0, c.input(0).dtype, operand);
    return {};
}

Status inferReverse(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_CHECK_OK(requireIndexType(c, 1, 1));
    const auto axes = c.intValues(1);
    if (axes && in.hasRank()) {
        uint64_t seen = 0;
        for (const int64_t value : *axes) {
            const auto axis = normalAxis(value, in.rank());
            if (!axis || *axis >= kMaxRank)
                return InferContext::violated(1, "axis")
                    .found(std::to_string(value))
                    .expected("within the " + std::to_string(in.rank()) + " dimensions of the input");
            if ((seen >> *axis) & 1U) return InferContext::violated(1, "axis " + std::to_string(*axis) + " is named twice");
            seen |= uint64_t{1} << *axis;
        }
    }
    c.setOutput(0, c.input(0).dtype, in);
    return {};
}

Status inferReverseSequence(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const int64_t seq = attributeInt(c.attributes(), "seq_dim", 0);
    const int64_t batch = attributeInt(c.attributes(), "batch_dim", 0);
    LS_CHECK_OK(requireIndexType(c, 1, 2));
    LS_CHECK_OK(requireRank(c, 1, 1, 2));
    if (in.hasRank()) {
        const auto s = normalAxis(seq, in.rank());
        const auto b = normalAxis(batch, in.rank());
        if (!s || !b || s == b)
            return InferContext::violated(1, "seq_dim and batch_dim")
                .found(std::to_string(seq) + " and " + std::to_string(batch))
                .expected("two different dimensions of the " + std::to_string(in.rank()));
        const Shape& lengths = c.input(1).shape;
        if (lengths.hasRank() && lengths[0] >= 0 && in[*b] >= 0 && lengths[0] != in[*b])
            return InferContext::violated(2, "elements of " + describeOperand(c, 1))
                .expected(std::to_string(in[*b]) + ", one for each index of dimension " + std::to_string(*b));
        if (const auto values = c.intValues(1); values && in[*s] >= 0)
            for (const int64_t length : *values)
                if (length < 0 || length > in[*s])
                    return InferContext::violated(3, "sequence length")
                        .found(std::to_string(length))
                        .expected("0 to " + std::to_string(in[*s]));
    }
    c.setOutput(0, c.input(0).dtype, in);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, slice)
{
    // C1: begin and size have one i32 or i64 for each dimension. C2: begin lies within the dimension. C3: size is −1 (to the end) or
    // fits what is left after begin.
    return movementDef<inferSlice>(3, "input, begin [rank], size [rank]", "A block of the input; size -1 takes all from begin on.",
                                   "LiteRT kernels/slice.cc");
}

LS_DEFINE_OP(tfl, strided_slice)
{
    // C1: begin, end and strides are i32 or i64 vectors of one length. C2: at most 31 indices, not more than the input has dimensions.
    // C3: no stride is 0; where one index is taken it is positive. C4: an index (shrink_axis_mask) lies within its dimension.
    OpDef def = movementDef<inferStridedSlice>(
        4, "input, begin [specs], end [specs], strides [specs]",
        "NumPy's slicing: begin:end:stride per dimension, with masks for open ends, ellipsis, new axes and single indices.",
        "LiteRT kernels/strided_slice.cc, internal/strided_slice_logic.h");
    def.differs = "an index at or beyond the end of its dimension is an error; LiteRT leaves the result unwritten";
    return def;
}

LS_DEFINE_OP(tfl, dynamic_update_slice)
{
    // C1: there is one i32 or i64 start for each dimension. C2: the update has the operand's dtype and rank and is nowhere larger.
    return movementDef<inferDynamicUpdateSlice>(3, "operand, update, start_indices [rank]",
                                                "A copy of operand with update written at start, which is moved to where update fits.",
                                                "LiteRT kernels/dynamic_update_slice.cc");
}

LS_DEFINE_OP(tfl, reverse_v2)
{
    // C1: the axes are different dimensions of the input.
    return movementDef<inferReverse>(2, "input, axes [axes]", "Turns the given dimensions around.", "LiteRT kernels/reverse.cc");
}

LS_DEFINE_OP(tfl, reverse_sequence)
{
    // C1: seq_dim and batch_dim are different dimensions. C2: there is one length for each index of batch_dim. C3: it fits seq_dim.
    OpDef def = movementDef<inferReverseSequence>(2, "input, seq_lengths [batch]",
                                                  "Turns around the first elements along seq_dim, as many as each batch says.",
                                                  "LiteRT kernels/reverse_sequence.cc");
    def.differs = "a length beyond its dimension is an error; LiteRT reads outside of the input";
    return def;
}
