// Catalogue entries of BITWISE_XOR and RIGHT_SHIFT.
// Constraints: C1 operands have one dtype; C2 shapes broadcast.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferBitwise(InferContext& context)
{
    LS_CHECK_OK(requireSameDtype(context, 1, 0, 1));
    LS_TRY(Shape shape, broadcastOperands(context, 2, 0, 1));
    context.setOutput(0, context.input(0).dtype, std::move(shape));
    return {};
}

OpDef bitwiseDef(std::string_view summary, std::string_view source)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "lhs, rhs";
    def.summary = summary;
    def.source = source;
    def.floatBound = kExact;
    def.infer = inferBitwise;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, bitwise_xor) { return bitwiseDef("Bits that differ between the operands.", "LiteRT kernels/bitwise_xor.cc"); }

LS_DEFINE_OP(tfl, right_shift)
{
    return bitwiseDef("lhs shifted right by rhs bits, arithmetically where signed; the distance is kept between 0 and the width − 1.",
                      "LiteRT kernels/right_shift.cc");
}
