// Catalogue entry of depthwise_conv_2d.
#include "engine/ops/catalog.h"
#include "engine/ops/convolution_checks.h"

#include <string>

using namespace loopscope;

namespace {

Status inferDepthwise(InferContext& context)
{
    LS_CHECK_OK(checkRank4(context, 0));
    LS_CHECK_OK(checkRank4(context, 1));
    const int64_t inputChannels = operandDimension(context, 0, 3);
    const int64_t channels = operandDimension(context, 1, 3);
    if (dimensionsDiffer(operandDimension(context, 1, 0), 1))
        return InferContext::violated(2,
                                      "filter has " + dimensionText(operandDimension(context, 1, 0)) + " as first dimension, expected 1");
    if (inputChannels == 0 || (inputChannels != kUnknownDim && channels != kUnknownDim && channels % inputChannels != 0))
        return InferContext::violated(2, "filter has " + dimensionText(channels) + " channels, not a multiple of the input's " +
                                             dimensionText(inputChannels));
    LS_CHECK_OK(checkConvolutionDtypes(context, 0, 1, 2));
    LS_TRY(const int64_t height, convolvedSize(context, 'h', operandDimension(context, 0, 1), operandDimension(context, 1, 1)));
    LS_TRY(const int64_t width, convolvedSize(context, 'w', operandDimension(context, 0, 2), operandDimension(context, 1, 2)));
    LS_CHECK_OK(checkConvolutionBias(context, 2, channels));
    LS_CHECK_OK(checkConvolutionScales(context, 0, 1, channels));
    LS_CHECK_OK(checkBiasZero(context, 8, 0, 2));
    context.setOutput(0, context.input(0).dtype, {operandDimension(context, 0, 0), height, width, channels});
    return {};
}

int64_t depthwiseMacs(const InferContext& context)
{
    const Shape output = inferredShape(context);
    const Shape& filter = context.input(1).shape;
    return output.isStatic() && filter.isStatic() ? output.elementCount() * filter[1] * filter[2] : 0;
}

} // namespace

LS_DEFINE_OP(tfl, depthwise_conv_2d)
{
    OpDef def;
    def.minInputs = 2;
    def.maxInputs = 3;
    def.operands = "input [N,H,W,C], filter [1,KH,KW,C·multiplier], bias? [C·multiplier]";
    def.summary = "Correlates each input channel with its own filters; output channel c·multiplier + m reads input channel c.";
    def.source =
        "LiteRT kernels/depthwise_conv.cc, internal/reference/{depthwiseconv_float,depthwiseconv_uint8,integer_ops/depthwise_conv}.h";
    def.differs = "the multiplier always follows from the shapes; i4 filters under i16 inputs are unpacked (LiteRT reads the packed bytes "
                  "as i8, past their end)";
    def.floatBound = kExact;
    def.infer = inferDepthwise;
    def.macs = depthwiseMacs;
    return def;
}
