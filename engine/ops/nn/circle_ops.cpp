// Catalogue entries of Circle's own operators: INSTANCE_NORM, RMS_NORM, ROPE.
// Constraints of INSTANCE_NORM: C1 the input has four dimensions. C2 gamma and beta have one element, or one for each channel.
// Of RMS_NORM: C1 the input has at least one dimension. C2 gamma has one element, or as many as the last dimension.
// Of ROPE: C1 the input has four dimensions. C2 the last one is even. C3 the tables have as many elements as the last dimension.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

/// Operand i must have `count` elements, or one where `mayBeSingle`. What is not known yet passes.
Status requireElements(const InferContext& context, int constraint, int i, int64_t count, bool mayBeSingle)
{
    const Shape& shape = context.input(i).shape;
    if (!shape.isStatic() || count == kUnknownDim) return {};
    const int64_t found = shape.elementCount();
    if (found == count || (mayBeSingle && found == 1)) return {};
    const std::string needed = (mayBeSingle && count != 1 ? "1 or " : "") + std::to_string(count);
    const std::string operand = "operand " + std::to_string(i);
    return InferContext::violated(constraint, operand + " has " + std::to_string(found) + " elements; it must have " + needed);
}

Status requireRank4(const Shape& shape)
{
    if (!shape.hasRank() || shape.rank() == 4) return {};
    return InferContext::violated(1, "the input has rank " + std::to_string(shape.rank()) + "; it must have rank 4");
}

Status inferInstanceNorm(InferContext& context)
{
    const Shape& shape = context.input(0).shape;
    LS_CHECK_OK(requireRank4(shape));
    for (const int i : {1, 2})
        if (shape.hasRank()) LS_CHECK_OK(requireElements(context, 2, i, shape.back(), true));
    return inferSameAsInput(context);
}

Status inferRmsNorm(InferContext& context)
{
    const Shape& shape = context.input(0).shape;
    if (shape.hasRank() && shape.rank() == 0) return InferContext::violated(1, "the input is a scalar; it must have a dimension");
    if (shape.hasRank()) LS_CHECK_OK(requireElements(context, 2, 1, shape.back(), true));
    return inferSameAsInput(context);
}

Status inferRope(InferContext& context)
{
    const Shape& shape = context.input(0).shape;
    LS_CHECK_OK(requireRank4(shape));
    if (shape.hasRank() && shape.back() != kUnknownDim && shape.back() % 2 != 0)
        return InferContext::violated(2, "the last dimension is " + std::to_string(shape.back()) + "; it must be even");
    for (const int i : {1, 2})
        if (shape.hasRank()) LS_CHECK_OK(requireElements(context, 3, i, shape.back(), false));
    return inferSameAsInput(context);
}

OpDef definition(int operandCount, std::string_view operands, std::string_view summary, std::string_view source,
                 Status (*infer)(InferContext&))
{
    OpDef def = unaryDef(summary, source, withinRelative(1e-6));
    def.minInputs = def.maxInputs = operandCount;
    def.operands = operands;
    def.infer = infer;
    return def;
}

} // namespace

LS_DEFINE_OP(circle, instance_norm)
{
    return definition(3, "input [N,H,W,C], gamma [C], beta [C]",
                      "(x − mean) / √(variance + epsilon) · gamma + beta, mean and variance over the picture of each channel.",
                      "ONE luci-interpreter InstanceNorm.cpp", inferInstanceNorm);
}

LS_DEFINE_OP(circle, rms_norm)
{
    return definition(2, "input [..,C], gamma [C]", "x / √(mean(x²) + epsilon) · gamma, the mean over the last dimension.",
                      "ONE luci-interpreter RmsNorm.cpp", inferRmsNorm);
}

LS_DEFINE_OP(circle, rope)
{
    OpDef def = definition(3, "input [N,S,H,D], sin [D], cos [D]",
                           "Turns pairs of elements: x·cos + rotated·sin; a pair is D/2 apart (GPT_NEOX) or adjacent (GPT_J).",
                           "ONE onert cker/operation/RoPE.h", inferRope);
    def.differs = "GPT_J is computed; the source refuses it";
    return def;
}
