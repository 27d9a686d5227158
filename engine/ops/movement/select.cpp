// Catalogue entries of SELECT, SELECT_V2, ZEROS_LIKE.
// Constraints: C1 the condition is bool; C2 both choices have one dtype; C3 the shapes fit: SELECT takes a condition of the choices'
// shape, a scalar, or one element for each index of their first dimension; SELECT_V2 broadcasts all three.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferSelectV2(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 0, {DType::boolean}));
    LS_CHECK_OK(requireSameDtype(context, 2, 1, 2));
    LS_TRY(const Shape choices, broadcastOperands(context, 3, 1, 2));
    const Shape& condition = context.input(0).shape;
    auto shape = broadcastShapes(condition, choices);
    if (!shape)
        return InferContext::violated(3,
                                      "the condition's shape " + shapeText(condition) + " does not broadcast with " + shapeText(choices));
    context.setOutput(0, context.input(1).dtype, std::move(*shape));
    return {};
}

/// One condition for each index of the choices' first dimension, or for everything.
bool isLowRankCondition(const Shape& condition, const Shape& choice)
{
    if (condition.rank() == 0) return true;
    return condition.rank() == 1 && (condition[0] == 1 || (choice.rank() > 0 && condition[0] == choice[0]));
}

Status inferSelect(InferContext& context)
{
    const Shape& condition = context.input(0).shape;
    const Shape& choice = context.input(1).shape;
    const bool known = condition.isStatic() && choice.isStatic() && context.input(2).shape.isStatic();
    if (known && choice == context.input(2).shape && isLowRankCondition(condition, choice)) {
        LS_CHECK_OK(requireDtype(context, 1, 0, {DType::boolean}));
        LS_CHECK_OK(requireSameDtype(context, 2, 1, 2));
        context.setOutput(0, context.input(1).dtype, choice);
        return {};
    }
    if (!known && condition.hasRank() && condition.rank() <= 1) { // which form it is shows when shapes are known
        context.setOutput(0, context.input(1).dtype, joinShapes(choice, context.input(2).shape));
        return {};
    }
    return inferSelectV2(context);
}

OpDef selectDef(std::string_view summary, Status (*infer)(InferContext&))
{
    OpDef def;
    def.minInputs = def.maxInputs = 3;
    def.operands = "condition, x, y";
    def.summary = summary;
    def.source = "LiteRT kernels/select.cc";
    def.floatBound = kExact;
    def.infer = infer;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, select)
{
    return selectDef("x where the condition is true, else y; a condition of one dimension chooses whole slices of the first dimension.",
                     inferSelect);
}

LS_DEFINE_OP(tfl, select_v2) { return selectDef("x where the condition is true, else y, with broadcasting.", inferSelectV2); }

LS_DEFINE_OP(tfl, zeros_like)
{
    return unaryDef("Zeros (false, for bool) in the operand's dtype and shape.", "LiteRT kernels/zeros_like.cc");
}
