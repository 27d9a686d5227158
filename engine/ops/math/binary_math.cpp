// Catalogue entries of binary operators without fused activation: FLOOR_DIV, FLOOR_MOD, POW, MAXIMUM, MINIMUM, SQUARED_DIFFERENCE, ATAN2.
// Constraints: C1 operands have one dtype; C2 no integer divisor is zero, no integer exponent is negative (found while running);
// C3 shapes broadcast.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferBinary(InferContext& context)
{
    LS_CHECK_OK(requireSameDtype(context, 1, 0, 1));
    LS_TRY(Shape shape, broadcastOperands(context, 3, 0, 1));
    context.setOutput(0, context.input(0).dtype, std::move(shape));
    return {};
}

OpDef binaryDef(std::string_view summary, std::string_view source, const ErrorBounds& floatBound)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "lhs, rhs";
    def.summary = summary;
    def.source = source;
    def.floatBound = floatBound;
    def.infer = inferBinary;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, floor_div)
{
    OpDef def = binaryDef("Quotient rounded towards minus infinity; a divisor 0 is an error for every dtype.",
                          "LiteRT kernels/floor_div.cc", kExact);
    def.differs = "also takes int64 and unsigned integers";
    return def;
}

LS_DEFINE_OP(tfl, floor_mod)
{
    OpDef def =
        binaryDef("Remainder with the sign of the divisor; an integer divisor 0 is an error.", "LiteRT kernels/floor_mod.cc", kExact);
    def.differs = "the smallest integer by −1 gives 0; LiteRT crashes";
    return def;
}

LS_DEFINE_OP(tfl, pow)
{
    OpDef def = binaryDef(
        "lhs to the power rhs; integer powers out of range give the smallest integer, and a negative integer exponent is an error.",
        "LiteRT kernels/pow.cc", withinRelative(1e-6));
    def.differs = "also takes int64";
    return def;
}

LS_DEFINE_OP(tfl, maximum)
{
    return binaryDef("The larger operand; rhs where neither is larger (NaN included). Quantized operands are compared as stored.",
                     "LiteRT kernels/maximum_minimum.cc", kExact);
}

LS_DEFINE_OP(tfl, minimum)
{
    return binaryDef("The smaller operand; rhs where neither is smaller (NaN included). Quantized operands are compared as stored.",
                     "LiteRT kernels/maximum_minimum.cc", kExact);
}

LS_DEFINE_OP(tfl, squared_difference) { return binaryDef("(lhs − rhs)².", "LiteRT kernels/squared_difference.cc", kExact); }

LS_DEFINE_OP(tfl, atan2)
{
    OpDef def = binaryDef("Angle of the point (rhs, lhs) in (−π, π].", "LiteRT kernels/atan2.cc", withinUlp(1));
    def.differs = "broadcasts; LiteRT leaves the result of broadcasting operands unwritten";
    return def;
}
