// Catalogue entry of transpose_conv.
#include "engine/ops/catalog.h"
#include "engine/ops/convolution_checks.h"
#include "engine/ops/recurrent_checks.h"

#include <string>

using namespace loopscope;

namespace {

Status inferTransposeConv(InferContext& context)
{
    LS_CHECK_OK(checkRank4(context, 1));
    LS_CHECK_OK(checkRank4(context, 2));
    const Shape& sizeShape = context.input(0).shape;
    if (sizeShape.hasRank() && (sizeShape.rank() != 1 || dimensionsDiffer(sizeShape[0], 4)))
        return InferContext::violated(1, "the output shape has shape " + toString(sizeShape) + ", expected [4]");
    LS_CHECK_OK(requireDtypeIfPresent(context, 1, 0, DType::i32));
    const int64_t channels = operandDimension(context, 1, 0);
    if (dimensionsDiffer(operandDimension(context, 1, 3), operandDimension(context, 2, 3)) || operandDimension(context, 1, 3) == 0)
        return InferContext::violated(2, "input has " + dimensionText(operandDimension(context, 2, 3)) + " channels, the filter " +
                                             dimensionText(operandDimension(context, 1, 3)));
    LS_CHECK_OK(checkConvolutionDtypes(context, 2, 1, 3));
    Shape output = {operandDimension(context, 2, 0), kUnknownDim, kUnknownDim, channels};
    const auto size = context.intValues(0);
    if (size && size->size() == 4) output.assign(*size);
    for (const int axis : {0, 1, 2, 3})
        if (output[axis] < kUnknownDim || (size && output[axis] < 0))
            return InferContext::violated(6, "output shape " + toString(output) + " has a negative dimension");
    if (dimensionsDiffer(output[0], operandDimension(context, 2, 0)) || dimensionsDiffer(output[3], channels))
        return InferContext::violated(6, "output shape " + toString(output) + ", expected batch " +
                                             dimensionText(operandDimension(context, 2, 0)) + " and " + dimensionText(channels) +
                                             " channels");
    for (const int axis : {1, 2}) {
        const int64_t filter = operandDimension(context, 1, axis);
        const WindowAxis window = windowAxis(context.attributes(), axis == 1 ? 'h' : 'w', output[axis], filter == kUnknownDim ? 1 : filter);
        // The windows are those of the forward convolution of which this is the gradient: one over the output, not over the input.
        LS_TRY(const int64_t windows, checkedOutputSize(window, axis == 1 ? 'h' : 'w', 4, 5, 6));
        if (filter != kUnknownDim) LS_CHECK_OK(checkTransposedSize(axis == 1 ? 'h' : 'w', windows, operandDimension(context, 2, axis)));
    }
    LS_CHECK_OK(checkConvolutionBias(context, 3, channels));
    LS_CHECK_OK(checkConvolutionScales(context, 2, 1, channels));
    LS_CHECK_OK(checkBiasZero(context, 8, 2, 3));
    context.setOutput(0, context.input(2).dtype, output);
    return {};
}

int64_t transposeConvMacs(const InferContext& context)
{
    const Shape& filter = context.input(1).shape;
    const Shape& input = context.input(2).shape;
    return filter.isStatic() && input.isStatic() ? checkedElementCount(input).value_or(0) * filter[0] * filter[1] * filter[2] : 0;
}

} // namespace

LS_DEFINE_OP(tfl, transpose_conv)
{
    OpDef def;
    def.minInputs = 3;
    def.maxInputs = 4;
    def.operands = "output shape [4], filter [O,KH,KW,C], input [N,H,W,C], bias? [O]";
    def.summary = "The gradient of a convolution by its input: spreads each input element over a window of the output.";
    def.source = "LiteRT kernels/transpose_conv.cc, internal/reference/{transpose_conv,integer_ops/transpose_conv}.h";
    def.floatBound = kExact;
    def.infer = inferTransposeConv;
    def.macs = transposeConvMacs;
    return def;
}
