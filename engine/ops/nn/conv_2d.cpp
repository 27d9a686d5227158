// Catalogue entry of conv_2d.
#include "engine/ops/catalog.h"
#include "engine/ops/convolution_checks.h"

#include <string>

using namespace loopscope;

namespace {

Status inferConv2d(InferContext& context)
{
    LS_CHECK_OK(checkRank4(context, 0));
    LS_CHECK_OK(checkRank4(context, 1));
    const int64_t inputChannels = operandDimension(context, 0, 3);
    const int64_t filterChannels = operandDimension(context, 1, 3);
    const int64_t channels = operandDimension(context, 1, 0);
    if (filterChannels == 0 || (inputChannels != kUnknownDim && filterChannels != kUnknownDim && inputChannels % filterChannels != 0))
        return InferContext::violated(2, "input has " + dimensionText(inputChannels) + " channels, not a multiple of the filter's " +
                                             dimensionText(filterChannels));
    if (inputChannels > 0 && filterChannels > 0 && channels != kUnknownDim && channels % (inputChannels / filterChannels) != 0)
        return InferContext::violated(2, "filter has " + dimensionText(channels) + " output channels, not a multiple of the " +
                                             dimensionText(inputChannels / filterChannels) + " groups");
    LS_CHECK_OK(checkConvolutionDtypes(context, 0, 1, 2));
    LS_TRY(const int64_t height, convolvedSize(context, 'h', operandDimension(context, 0, 1), operandDimension(context, 1, 1)));
    LS_TRY(const int64_t width, convolvedSize(context, 'w', operandDimension(context, 0, 2), operandDimension(context, 1, 2)));
    LS_CHECK_OK(checkConvolutionBias(context, 2, channels));
    LS_CHECK_OK(checkConvolutionScales(context, 0, 1, channels));
    LS_CHECK_OK(checkBiasZero(context, 8, 0, 2));
    context.setOutput(0, context.input(0).dtype, {operandDimension(context, 0, 0), height, width, channels});
    return {};
}

int64_t conv2dMacs(const InferContext& context)
{
    const Shape output = inferredShape(context);
    const Shape& filter = context.input(1).shape;
    return output.isStatic() && filter.isStatic() ? output.elementCount() * filter[1] * filter[2] * filter[3] : 0;
}

} // namespace

LS_DEFINE_OP(tfl, conv_2d)
{
    OpDef def;
    def.minInputs = 2;
    def.maxInputs = 3;
    def.operands = "input [N,H,W,C], filter [O,KH,KW,C/groups], bias? [O]";
    def.summary = "Correlates the input with every filter, adds the bias and clamps by the activation.";
    def.source = "LiteRT kernels/conv.cc, internal/reference/{conv,integer_ops/conv}.h";
    def.differs = "the bias may be missing (LiteRT refuses)";
    def.floatBound = kExact;
    def.infer = inferConv2d;
    def.macs = conv2dMacs;
    return def;
}
