// Catalogue entries of QUANTIZE, DEQUANTIZE, FAKE_QUANT.
// Constraint of QUANTIZE: C1 the file declares the result's dtype.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferQuantize(InferContext& context)
{
    const DType declared = context.output(0).dtype;
    if (declared == DType::unknown) return InferContext::violated(1, "the result's dtype is not declared");
    context.setOutput(0, declared, context.input(0).shape);
    return {};
}

Status inferDequantize(InferContext& context)
{
    const DType declared = context.output(0).dtype;
    context.setOutput(0, declared == DType::f16 ? declared : DType::f32, context.input(0).shape);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, quantize)
{
    OpDef def = unaryDef("Real numbers to stored integers, round(x / scale) + zero point, saturating; or stored integers to another scale.",
                         "LiteRT kernels/quantize.cc");
    def.infer = inferQuantize;
    return def;
}

LS_DEFINE_OP(tfl, dequantize)
{
    OpDef def = unaryDef("Stored integers to real numbers, scale·(stored − zero point); f16 to f32.", "LiteRT kernels/dequantize.cc");
    def.infer = inferDequantize;
    return def;
}

LS_DEFINE_OP(tfl, fake_quant)
{
    return unaryDef("Rounds to the values that num_bits bits between min and max can hold, min and max moved so that 0 is one of them.",
                    "LiteRT kernels/fake_quant.cc");
}
