// Catalogue entries of conv_3d and conv_3d_transpose.
#include "engine/ops/catalog.h"
#include "engine/ops/convolution_checks.h"
#include "engine/ops/recurrent_checks.h"

#include <string>

using namespace loopscope;

namespace {

constexpr char kAxes[] = {'d', 'h', 'w'};

Status checkOperands(const InferContext& context, std::initializer_list<int> rank5, int bias)
{
    for (const int i : rank5) {
        const Shape& shape = context.input(i).shape;
        if (shape.hasRank() && shape.rank() != 5)
            return InferContext::violated(1, "operand " + std::to_string(i) + " has rank " + std::to_string(shape.rank()) + ", expected 5");
        const DType dtype = context.input(i).dtype;
        if (dtype != DType::f32 && dtype != DType::unknown)
            return InferContext::violated(3, "operand " + std::to_string(i) + " is " + std::string(dtypeName(dtype)) + ", expected f32");
    }
    if (!context.has(bias)) return {};
    const DType dtype = context.input(bias).dtype;
    if (dtype != DType::f32 && dtype != DType::unknown)
        return InferContext::violated(3, "bias is " + std::string(dtypeName(dtype)) + ", expected f32");
    return {};
}

/// Constraints as of all convolutions (convolution_checks.h).
Status inferConv3d(InferContext& context)
{
    LS_CHECK_OK(checkOperands(context, {0, 1}, 2));
    const int64_t channels = operandDimension(context, 1, 4);
    if (dimensionsDiffer(operandDimension(context, 0, 4), operandDimension(context, 1, 3)) || operandDimension(context, 1, 3) == 0)
        return InferContext::violated(2, "input has " + dimensionText(operandDimension(context, 0, 4)) + " channels, the filter " +
                                             dimensionText(operandDimension(context, 1, 3)));
    Shape output = {operandDimension(context, 0, 0), kUnknownDim, kUnknownDim, kUnknownDim, channels};
    for (int a = 0; a < 3; ++a) {
        LS_TRY(output[a + 1], convolvedSize(context, kAxes[a], operandDimension(context, 0, a + 1), operandDimension(context, 1, a)));
    }
    LS_CHECK_OK(checkConvolutionBias(context, 2, channels));
    context.setOutput(0, DType::f32, output);
    return {};
}

Status inferConv3dTranspose(InferContext& context)
{
    LS_CHECK_OK(checkOperands(context, {1, 2}, 3));
    const Shape& sizeShape = context.input(0).shape;
    if (sizeShape.hasRank() && (sizeShape.rank() != 1 || dimensionsDiffer(sizeShape[0], 5)))
        return InferContext::violated(1, "the output shape has shape " + toString(sizeShape) + ", expected [5]");
    LS_CHECK_OK(requireDtypeIfPresent(context, 1, 0, DType::i32));
    const int64_t channels = operandDimension(context, 1, 3);
    if (dimensionsDiffer(operandDimension(context, 2, 4), operandDimension(context, 1, 4)) || operandDimension(context, 1, 4) == 0)
        return InferContext::violated(2, "input has " + dimensionText(operandDimension(context, 2, 4)) + " channels, the filter " +
                                             dimensionText(operandDimension(context, 1, 4)));
    Shape output = {operandDimension(context, 2, 0), kUnknownDim, kUnknownDim, kUnknownDim, channels};
    if (const auto size = context.intValues(0); size && size->size() == 5) {
        output.assign(*size);
        for (const int64_t dim : *size)
            if (dim < 0) return InferContext::violated(6, "output shape " + toString(output) + " has a negative dimension");
    }
    if (dimensionsDiffer(output[0], operandDimension(context, 2, 0)) || dimensionsDiffer(output[4], channels))
        return InferContext::violated(6, "output shape " + toString(output) + ", expected batch " +
                                             dimensionText(operandDimension(context, 2, 0)) + " and " + dimensionText(channels) +
                                             " channels");
    for (int a = 0; a < 3; ++a) {
        // The windows are those of the forward convolution, over the output.
        LS_TRY(const int64_t windows, convolvedSize(context, kAxes[a], output[a + 1], operandDimension(context, 1, a)));
        LS_CHECK_OK(checkTransposedSize(kAxes[a], windows, operandDimension(context, 2, a + 1)));
    }
    LS_CHECK_OK(checkConvolutionBias(context, 3, channels));
    context.setOutput(0, DType::f32, output);
    return {};
}

/// One product for each output element, tap and input channel.
int64_t conv3dMacs(const InferContext& context)
{
    const Shape output = inferredShape(context);
    const Shape& filter = context.input(1).shape;
    return output.isStatic() && filter.isStatic() ? output.elementCount() * filter.countOf(0, 4) : 0;
}

int64_t conv3dTransposeMacs(const InferContext& context)
{
    const Shape& filter = context.input(1).shape;
    const Shape& input = context.input(2).shape;
    return filter.isStatic() && input.isStatic() ? checkedElementCount(input).value_or(0) * filter.countOf(0, 4) : 0;
}

} // namespace

LS_DEFINE_OP(tfl, conv_3d)
{
    OpDef def;
    def.minInputs = 2;
    def.maxInputs = 3;
    def.operands = "input [N,D,H,W,C], filter [KD,KH,KW,C,O], bias? [O]";
    def.summary = "Correlates a volume with every filter, adds the bias and clamps by the activation.";
    def.source = "LiteRT kernels/conv3d.cc, internal/reference/conv3d.h";
    def.floatBound = kExact;
    def.infer = inferConv3d;
    def.macs = conv3dMacs;
    return def;
}

LS_DEFINE_OP(tfl, conv_3d_transpose)
{
    OpDef def;
    def.minInputs = 3;
    def.maxInputs = 4;
    def.operands = "output shape [5], filter [KD,KH,KW,O,C], input [N,D,H,W,C], bias? [O]";
    def.summary = "The gradient of conv_3d by its input: spreads each input element over a window of the output.";
    def.source = "LiteRT kernels/conv3d_transpose.cc, internal/reference/conv3d_transpose.h";
    def.floatBound = kExact;
    def.infer = inferConv3dTranspose;
    def.macs = conv3dTransposeMacs;
    return def;
}
