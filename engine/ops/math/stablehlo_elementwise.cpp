// Catalogue entries of StableHLO's element-wise operators: stored elements as they are, no broadcasting, no quantization.
// Constraints: C1 operands have one dtype; C2 operands have one shape.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferSameShapes(InferContext& context)
{
    LS_CHECK_OK(requireSameDtype(context, 1, 0, 1));
    const Shape& a = context.input(0).shape;
    const Shape& b = context.input(1).shape;
    if (a.isStatic() && b.isStatic() && !(a == b))
        return InferContext::violated(2, "input 1 is " + shapeText(b) + ", input 0 is " + shapeText(a) + "; they must have one shape");
    context.setOutput(0, context.input(0).dtype, a.isStatic() ? a : b);
    return {};
}

OpDef stablehloDef(std::string_view summary, std::string_view source)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "lhs, rhs";
    def.summary = summary;
    def.source = source;
    def.floatBound = kExact;
    def.infer = inferSameShapes;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, stablehlo_add) { return stablehloDef("Element-wise sum; integers wrap, bool is or.", "LiteRT kernels/stablehlo_add.cc"); }

LS_DEFINE_OP(tfl, stablehlo_multiply)
{
    return stablehloDef("Element-wise product; integers wrap, bool is and.", "LiteRT kernels/stablehlo_multiply.cc");
}

LS_DEFINE_OP(tfl, stablehlo_maximum) { return stablehloDef("The larger element.", "LiteRT kernels/stablehlo_min_max.cc"); }

LS_DEFINE_OP(tfl, stablehlo_minimum) { return stablehloDef("The smaller element.", "LiteRT kernels/stablehlo_min_max.cc"); }

LS_DEFINE_OP(tfl, stablehlo_and) { return stablehloDef("Bits set in both operands.", "LiteRT kernels/stablehlo_and.cc"); }

LS_DEFINE_OP(tfl, stablehlo_shift_left)
{
    return stablehloDef("lhs shifted left by rhs bits; 0 where rhs is negative or not below the width.",
                        "StableHLO specification, shift_left");
}
