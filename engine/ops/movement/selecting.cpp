// Operators whose results depend on the values: where, one_hot, topk_v2, unique, and non-max suppression.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

#include <algorithm>

using namespace loopscope;

namespace {

Status inferWhere(InferContext& c)
{
    const Tensor& in = c.input(0);
    const bool countable =
        bitWidth(in.dtype) >= 8 && bitWidth(in.dtype) <= 64 && (isFloat(in.dtype) || isInteger(in.dtype) || in.dtype == DType::boolean);
    if (!countable && in.dtype != DType::unknown)
        return InferContext::violated(1, "dtype of operand 0").found(std::string(dtypeName(in.dtype))).expected("a number or bool");
    if (in.shape.hasRank() && in.shape.rank() == 0) return InferContext::violated(2, "rank of operand 0").found("0").expected("1 or more");
    int64_t count = kUnknownDim;
    if (countable && c.dataKnown(0)) {
        count = 0;
        const int64_t elements = in.elementCount();
        for (int64_t i = 0; i < elements; ++i) count += elementIsSet(in, i) ? 1 : 0;
    }
    c.setOutput(0, DType::i64, Shape{count, in.shape.hasRank() ? in.shape.rank() : kUnknownDim});
    return {};
}

Status inferOneHot(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_CHECK_OK(requireIndexType(c, 0, 1));
    LS_CHECK_OK(requireSameType(c, 2, 3, 1));
    for (const int i : {2, 3})
        if (c.input(i).shape.isStatic() && checkedElementCount(c.input(i).shape) != 1)
            return InferContext::violated(1, "elements of " + describeOperand(c, i)).expected("1");
    LS_TRY(const auto depth, scalarOperand(c, 1, 2));
    if (depth && (*depth < 0 || *depth > INT32_MAX))
        return InferContext::violated(2, "depth").found(std::to_string(*depth)).expected("0 or more");
    if (!in.hasRank()) {
        c.setOutput(0, c.input(2).dtype, Shape::unknownRank());
        return {};
    }
    const int64_t axisValue = attributeInt(c.attributes(), "axis", 0);
    const int64_t axis = axisValue == -1 ? in.rank() : axisValue;
    if (axis < 0 || axis > in.rank())
        return InferContext::violated(3, "axis").found(std::to_string(axisValue)).expected("-1 to " + std::to_string(in.rank()));
    Shape out;
    for (int d = 0; d <= in.rank(); ++d) out.append(d == axis ? depth.value_or(kUnknownDim) : in[d < axis ? d : d - 1]);
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(2, "the result " + toString(out) + " has too many elements");
    c.setOutput(0, c.input(2).dtype, std::move(out));
    return {};
}

Status inferTopK(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    if (c.input(1).dtype != DType::i16) LS_CHECK_OK(requireIndexType(c, 1, 1));
    if (c.input(1).shape.isStatic() && checkedElementCount(c.input(1).shape) != 1)
        return InferContext::violated(1, "elements of " + describeOperand(c, 1)).expected("1");
    if (in.hasRank() && in.rank() == 0) return InferContext::violated(2, "rank of the input").found("0").expected("1 or more");
    const auto values = c.intValues(1);
    Shape out = in;
    if (in.hasRank()) {
        out[in.rank() - 1] = values ? std::max<int64_t>(0, values->front()) : kUnknownDim;
        if (values && in.back() >= 0 && values->front() > in.back())
            return InferContext::violated(2, "k")
                .found(std::to_string(values->front()))
                .expected("at most " + std::to_string(in.back()) + ", the last dimension");
    }
    // The indices are i16 if the model declares them so.
    c.setOutput(1, c.output(1).dtype == DType::i16 ? DType::i16 : DType::i32, out);
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferUnique(InferContext& c)
{
    const Tensor& in = c.input(0);
    LS_CHECK_OK(requireRank(c, 0, 1, 1));
    const DType index = attributeDType(c.attributes(), "idx_out_type", DType::i32);
    if (index != DType::i32 && index != DType::i64)
        return InferContext::violated(2, "idx_out_type").found(std::string(dtypeName(index))).expected("i32 or i64");
    if (in.dtype != DType::unknown && (bitWidth(in.dtype) < 8 || bitWidth(in.dtype) > 64))
        return InferContext::violated(1, "dtype of operand 0").found(std::string(dtypeName(in.dtype))).expected("a number");
    int64_t count = kUnknownDim;
    if (c.dataKnown(0)) {
        const std::vector<int64_t> first = firstOccurrences(in);
        count = 0;
        for (size_t i = 0; i < first.size(); ++i) count += first[i] == static_cast<int64_t>(i) ? 1 : 0;
    }
    c.setOutput(0, in.dtype, Shape{count});
    c.setOutput(1, index, in.shape.hasRank() ? in.shape : Shape{kUnknownDim});
    return {};
}

/// Boxes, scores and limits of both versions; V5 has a sigma and gives the scores too.
template <bool soft> Status inferSuppression(InferContext& c)
{
    LS_CHECK_OK(requireRank(c, 0, 2, 1));
    LS_CHECK_OK(requireRank(c, 1, 1, 1));
    const Shape& boxes = c.input(0).shape;
    const Shape& scores = c.input(1).shape;
    if (boxes.hasRank() &&
        ((boxes[1] >= 0 && boxes[1] != 4) || (scores.hasRank() && scores[0] >= 0 && boxes[0] >= 0 && scores[0] != boxes[0])))
        return InferContext::violated(1, "boxes " + toString(boxes) + " with scores " + toString(scores)).expected("[boxes,4] and [boxes]");
    LS_TRY(const auto most, scalarOperand(c, 2, 2));
    if (most && (*most < 0 || *most > INT32_MAX))
        return InferContext::violated(2, "max_output_size").found(std::to_string(*most)).expected("0 or more");
    for (const int i : {0, 1, 3, 4, 5}) {
        if (i >= c.inputCount()) break;
        if (c.input(i).dtype != DType::f32 && c.input(i).dtype != DType::unknown)
            return InferContext::violated(3, "dtype of operand " + std::to_string(i))
                .found(std::string(dtypeName(c.input(i).dtype)))
                .expected("f32");
        if (i >= 3 && c.input(i).shape.isStatic() && checkedElementCount(c.input(i).shape) != 1)
            return InferContext::violated(3, "elements of " + describeOperand(c, i)).expected("1");
    }
    const Shape chosen{most.value_or(kUnknownDim)};
    c.setOutput(0, DType::i32, chosen);
    if (soft) c.setOutput(1, DType::f32, chosen);
    c.setOutput(soft ? 2 : 1, DType::i32, Shape());
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, where)
{
    // C1: the condition holds numbers or bool. C2: it is no scalar.
    return movementDef<inferWhere>(1, "condition", "The indices, one row each, of the elements that are not zero.",
                                   "LiteRT kernels/where.cc");
}

LS_DEFINE_OP(tfl, one_hot)
{
    // C1: indices are i32 or i64; on and off are one value of one dtype. C2: depth is one integer, not negative. C3: axis is −1 (last) or
    // a dimension of the result.
    return movementDef<inferOneHot>(4, "indices, depth [], on [], off []", "A new dimension that holds on at the index and off elsewhere.",
                                    "LiteRT kernels/one_hot.cc");
}

LS_DEFINE_OP(tfl, topk_v2)
{
    // C1: k is one integer. C2: the input has a dimension, and k is not above the last.
    OpDef def = movementDef<inferTopK>(2, "input […,N], k []",
                                       "The k largest of each row, in falling order, and their places; of equal ones the first.",
                                       "LiteRT kernels/topk_v2.cc");
    def.minOutputs = def.maxOutputs = 2;
    def.differs = "NaN counts as below every number; LiteRT's order is not defined with NaN";
    return def;
}

LS_DEFINE_OP(tfl, unique)
{
    // C1: the input is a vector. C2: idx_out_type is i32 or i64.
    OpDef def = movementDef<inferUnique>(1, "input [N]",
                                         "The different elements in order of appearance, and for each element its place among them.",
                                         "LiteRT kernels/unique.cc");
    def.minOutputs = def.maxOutputs = 2;
    return def;
}

LS_DEFINE_OP(tfl, non_max_suppression_v4)
{
    // C1: boxes are [boxes,4], scores [boxes]. C2: max_output_size is one integer, not negative. C3: boxes, scores and thresholds are f32,
    // thresholds single.
    OpDef def = movementDef<inferSuppression<false>>(
        5, "boxes [N,4] (y1, x1, y2, x2), scores [N], max_output_size [], iou_threshold [], score_threshold []",
        "Boxes by falling score that overlap none chosen before; padded with 0 to max_output_size.",
        "LiteRT kernels/non_max_suppression.cc, internal/reference/non_max_suppression.h");
    def.minOutputs = def.maxOutputs = 2;
    def.differs = "the result always has max_output_size places; LiteRT cuts it where that size is computed";
    return def;
}

LS_DEFINE_OP(tfl, non_max_suppression_v5)
{
    // Constraints as of non_max_suppression_v4. C4 (running): sigma is not negative.
    OpDef def = movementDef<inferSuppression<true>>(
        6, "boxes [N,4] (y1, x1, y2, x2), scores [N], max_output_size [], iou_threshold [], score_threshold [], sigma []",
        "As non_max_suppression_v4; scores of overlapping boxes fall by a Gaussian of their overlap.",
        "LiteRT kernels/non_max_suppression.cc, internal/reference/non_max_suppression.h");
    def.minOutputs = def.maxOutputs = 3;
    def.differs = "the results always have max_output_size places; LiteRT cuts them where that size is computed";
    def.floatBound = withinRelative(1e-6);
    return def;
}
