// Catalogue entries of SOFTMAX and LOG_SOFTMAX, over the last dimension.
// Constraint: C1 the operand has at least one dimension.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

/// A result of another dtype (int16 from 8-bit operands) stays as declared.
Status inferSoftmax(InferContext& context)
{
    const Tensor& input = context.input(0);
    if (input.shape.hasRank() && input.shape.rank() == 0)
        return InferContext::violated(1, "the operand is a scalar; it must have a dimension");
    const DType declared = context.output(0).dtype;
    const bool widened = declared == DType::i16 && (input.dtype == DType::i8 || input.dtype == DType::u8);
    context.setOutput(0, widened ? declared : input.dtype, input.shape);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, softmax)
{
    OpDef def =
        unaryDef("e^(beta·(x − max)) over the last dimension, divided by its sum.", "LiteRT kernels/activations.cc", withinRelative(1e-6));
    def.infer = inferSoftmax;
    def.differs = "quantized with beta 0 gives equal parts; LiteRT crashes";
    return def;
}

LS_DEFINE_OP(tfl, log_softmax)
{
    OpDef def = unaryDef("x − max − ln Σ e^(x − max) over the last dimension.", "LiteRT kernels/activations.cc", withinRelative(1e-6));
    def.infer = inferSoftmax;
    return def;
}
