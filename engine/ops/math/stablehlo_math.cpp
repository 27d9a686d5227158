// Catalogue entries of StableHLO's further element-wise operators: functions of one operand, arithmetic, comparison and choice. Stored
// elements as they are, no broadcasting but of a predicate and of bounds that are scalars, no quantization.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

constexpr std::string_view kStablehloSource = "StableHLO specification";

Status requireOneShape(const InferContext& context, int constraint, int a, int b)
{
    const Shape& first = context.input(a).shape;
    const Shape& second = context.input(b).shape;
    if (!first.isStatic() || !second.isStatic() || first == second) return {};
    return InferContext::violated(constraint, "input " + std::to_string(b) + " is " + shapeText(second) + ", input " + std::to_string(a) +
                                                  " is " + shapeText(first) + "; they must have one shape");
}

/// Also a scalar may stand for operand `b`.
Status requireShapeOrScalar(const InferContext& context, int constraint, int a, int b)
{
    const Shape& shape = context.input(b).shape;
    return shape.hasRank() && shape.rank() == 0 ? Status() : requireOneShape(context, constraint, a, b);
}

Status inferPair(InferContext& context)
{
    LS_CHECK_OK(requireSameDtype(context, 1, 0, 1));
    LS_CHECK_OK(requireOneShape(context, 2, 0, 1));
    const Shape& first = context.input(0).shape;
    context.setOutput(0, context.input(0).dtype, first.isStatic() ? first : context.input(1).shape);
    return {};
}

Status inferStablehloCompare(InferContext& context)
{
    LS_CHECK_OK(inferPair(context));
    context.output(0).dtype = DType::boolean;
    return {};
}

Status inferStablehloSelect(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 0, {DType::boolean}));
    LS_CHECK_OK(requireSameDtype(context, 1, 1, 2));
    LS_CHECK_OK(requireOneShape(context, 2, 1, 2));
    LS_CHECK_OK(requireShapeOrScalar(context, 2, 1, 0));
    context.setOutput(0, context.input(1).dtype, context.input(1).shape);
    return {};
}

Status inferStablehloClamp(InferContext& context)
{
    for (const int bound : {0, 2}) {
        LS_CHECK_OK(requireSameDtype(context, 1, 1, bound));
        LS_CHECK_OK(requireShapeOrScalar(context, 2, 1, bound));
    }
    context.setOutput(0, context.input(1).dtype, context.input(1).shape);
    return {};
}

OpDef stablehloUnary(std::string_view summary, const ErrorBounds& bound = withinUlp(1))
{
    return unaryDef(summary, kStablehloSource, bound);
}

// Constraints: C1 operands have one dtype (a predicate is bool); C2 operands have one shape; C3 no integer divisor is zero.
OpDef stablehloMany(int operands, std::string_view names, std::string_view summary, Status (*infer)(InferContext&))
{
    OpDef def = unaryDef(summary, kStablehloSource);
    def.minInputs = def.maxInputs = operands;
    def.operands = names;
    def.infer = infer;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, stablehlo_abs) { return stablehloUnary("|x|; integers wrap.", kExact); }

LS_DEFINE_OP(tfl, stablehlo_negate) { return stablehloUnary("−x; integers wrap.", kExact); }

LS_DEFINE_OP(tfl, stablehlo_floor) { return stablehloUnary("Rounded towards −∞.", kExact); }

LS_DEFINE_OP(tfl, stablehlo_log) { return stablehloUnary("Natural logarithm."); }

LS_DEFINE_OP(tfl, stablehlo_exponential) { return stablehloUnary("eˣ."); }

LS_DEFINE_OP(tfl, stablehlo_cosine) { return stablehloUnary("Cosine."); }

LS_DEFINE_OP(tfl, stablehlo_rsqrt) { return stablehloUnary("1/√x."); }

LS_DEFINE_OP(tfl, stablehlo_tanh) { return stablehloUnary("Hyperbolic tangent."); }

LS_DEFINE_OP(tfl, stablehlo_logistic) { return stablehloUnary("1 / (1 + e⁻ˣ)."); }

LS_DEFINE_OP(tfl, stablehlo_cbrt) { return stablehloUnary("Cube root."); }

LS_DEFINE_OP(tfl, stablehlo_subtract) { return stablehloMany(2, "lhs, rhs", "Element-wise difference; integers wrap.", inferPair); }

LS_DEFINE_OP(tfl, stablehlo_divide) { return stablehloMany(2, "lhs, rhs", "Element-wise quotient; integers are truncated.", inferPair); }

LS_DEFINE_OP(tfl, stablehlo_remainder)
{
    return stablehloMany(2, "lhs, rhs", "What division leaves over; it has the sign of lhs.", inferPair);
}

LS_DEFINE_OP(tfl, stablehlo_power)
{
    OpDef def = stablehloMany(2, "lhs, rhs", "lhs to the power of rhs; integers wrap, negative powers of them are truncated.", inferPair);
    def.floatBound = withinUlp(1);
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_or) { return stablehloMany(2, "lhs, rhs", "Bits set in either operand.", inferPair); }

LS_DEFINE_OP(tfl, stablehlo_compare)
{
    return stablehloMany(2, "lhs, rhs",
                         "Whether the comparison comparison_direction holds; compare_type may ask for the total order of floats.",
                         inferStablehloCompare);
}

LS_DEFINE_OP(tfl, stablehlo_select)
{
    return stablehloMany(3, "pred, on_true, on_false",
                         "on_true where the predicate holds, on_false elsewhere; one predicate may serve all.", inferStablehloSelect);
}

LS_DEFINE_OP(tfl, stablehlo_clamp)
{
    return stablehloMany(3, "min, operand, max", "The operand within bounds, each of which may be a scalar.", inferStablehloClamp);
}
