// Catalogue entries of activations that are operators of their own. The result has the operand's dtype and shape.
// Constraints of PRELU: C1 input and alpha have one dtype (an int16 input takes an int8 alpha too); C2 alpha broadcasts to the input's
// shape.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferPrelu(InferContext& context)
{
    const bool mixed = context.input(0).dtype == DType::i16 && context.input(1).dtype == DType::i8;
    if (!mixed) LS_CHECK_OK(requireSameDtype(context, 1, 0, 1));
    LS_TRY(const Shape shape, broadcastOperands(context, 2, 0, 1));
    const Shape& input = context.input(0).shape;
    if (shape.isStatic() && input.isStatic() && !(shape == input))
        return InferContext::violated(2, "alpha " + shapeText(context.input(1).shape) + " does not broadcast to the input's shape " +
                                             shapeText(input));
    context.setOutput(0, context.input(0).dtype, input);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, relu) { return unaryDef("max(x, 0).", "LiteRT kernels/activations.cc"); }

LS_DEFINE_OP(tfl, relu6) { return unaryDef("min(max(x, 0), 6).", "LiteRT kernels/activations.cc"); }

LS_DEFINE_OP(tfl, relu_n1_to_1) { return unaryDef("min(max(x, −1), 1).", "LiteRT kernels/activations.cc"); }

LS_DEFINE_OP(tfl, relu_0_to_1) { return unaryDef("min(max(x, 0), 1).", "LiteRT kernels/activations.cc"); }

LS_DEFINE_OP(tfl, leaky_relu) { return unaryDef("x for x > 0, else alpha·x.", "LiteRT kernels/activations.cc"); }

LS_DEFINE_OP(tfl, elu) { return unaryDef("x for x ≥ 0, else eˣ − 1.", "LiteRT kernels/activations.cc", withinUlp(1)); }

LS_DEFINE_OP(tfl, prelu)
{
    OpDef def = unaryDef("x for x ≥ 0, else alpha·x with alpha broadcast; for int16 alpha is read as int8, one byte an element.",
                         "LiteRT kernels/activations.cc");
    def.minInputs = def.maxInputs = 2;
    def.operands = "input, alpha";
    def.infer = inferPrelu;
    return def;
}

LS_DEFINE_OP(tfl, gelu)
{
    return unaryDef("x·Φ(x); with approximate=true the formula with tanh.", "LiteRT kernels/activations.cc", kExact);
}

LS_DEFINE_OP(tfl, hard_swish) { return unaryDef("x·min(max(x + 3, 0), 6) / 6.", "LiteRT kernels/activations.cc"); }

LS_DEFINE_OP(tfl, logistic)
{
    return unaryDef("1 / (1 + e⁻ˣ); 8-bit operands go through a table, 16-bit ones through one with interpolation.",
                    "LiteRT kernels/activations.cc", kExact);
}

LS_DEFINE_OP(tfl, tanh)
{
    return unaryDef("Hyperbolic tangent; 8-bit operands go through a table, 16-bit ones through one with interpolation.",
                    "LiteRT kernels/activations.cc", withinUlp(1));
}
