// Catalogue entries of the custom operators of MediaPipe's segmentation models: pooling that remembers where its maxima were, its
// inverse, and transposed convolution with a bias.
// Constraints: C1 the input is [N,H,W,C]. C2 the options hold padding, strides and filter. C3 all operands are f32. C4 (unpooling) indices
// are shaped as the input; (convolution) filter [O,KH,KW,C] and bias [O].
#include "engine/ops/catalog.h"
#include "engine/ops/image/picture_def.h"
#include "engine/ops/inference_helpers.h"
#include "engine/ops/pooling_options.h"

#include <string>

using namespace loopscope;

namespace {

Result<StructWindow> checkWindow(const InferContext& context, bool withFilter, bool hasIndices = false)
{
    const Shape& input = context.input(0).shape;
    if (input.hasRank() && input.rank() != 4)
        return InferContext::violated(1, "input has rank " + std::to_string(input.rank()) + ", expected 4");
    for (int i = 0; i < context.inputCount(); ++i) {
        if (hasIndices && i == 1) LS_CHECK_OK(requireDtype(context, 3, i, {DType::f32, DType::i32}));
        else LS_CHECK_OK(requireDtype(context, 3, i, {DType::f32}));
    }
    const auto window = StructWindow::from(context.attributes(), withFilter);
    if (!window)
        return InferContext::violated(2, withFilter ? "the options are no padding (1 or 2), strides and filter above 0"
                                                    : "the options are no padding (1 or 2) and strides above 0");
    return *window;
}

int64_t side(const InferContext& context, int i, int axis)
{
    const Shape& shape = context.input(i).shape;
    return shape.hasRank() && axis < shape.rank() ? shape[axis] : kUnknownDim;
}

Status inferMaxPooling(InferContext& context)
{
    LS_TRY(const StructWindow window, checkWindow(context, true));
    const int64_t height = window.height(side(context, 0, 1)).outputSize();
    const int64_t width = window.width(side(context, 0, 2)).outputSize();
    if ((height < 1 && height != kUnknownDim) || (width < 1 && width != kUnknownDim))
        return InferContext::violated(2, "the filter is larger than the input " + toString(context.input(0).shape));
    for (const int k : {0, 1}) context.setOutput(k, DType::f32, {side(context, 0, 0), height, width, side(context, 0, 3)});
    return {};
}

Status inferMaxUnpooling(InferContext& context)
{
    LS_TRY(const StructWindow window, checkWindow(context, true, true));
    const Shape& input = context.input(0).shape;
    const Shape& indices = context.input(1).shape;
    if (input.isStatic() && indices.isStatic() && !(input == indices))
        return InferContext::violated(4, "indices are " + toString(indices) + ", expected " + toString(input));
    context.setOutput(0, DType::f32,
                      {side(context, 0, 0), StructWindow::enlarged(window.same, side(context, 0, 1), window.strideH, window.filterH),
                       StructWindow::enlarged(window.same, side(context, 0, 2), window.strideW, window.filterW), side(context, 0, 3)});
    return {};
}

Status inferTransposeConvBias(InferContext& context)
{
    LS_TRY(const StructWindow window, checkWindow(context, false));
    const Shape& filter = context.input(1).shape;
    if (filter.hasRank() && filter.rank() != 4)
        return InferContext::violated(4, "filter has rank " + std::to_string(filter.rank()) + ", expected 4");
    const int64_t depth = side(context, 1, 3);
    const int64_t channels = side(context, 0, 3);
    if (depth != kUnknownDim && channels != kUnknownDim && depth != channels)
        return InferContext::violated(4, "filter is " + toString(filter) + " for an input of " + std::to_string(channels) + " channels");
    if (context.input(2).shape.isStatic() && filter.isStatic() && context.input(2).shape.elementCount() != filter[0])
        return InferContext::violated(4, "bias is " + toString(context.input(2).shape) + ", expected " + std::to_string(filter[0]) +
                                             " elements");
    const int64_t filterH = side(context, 1, 1);
    const int64_t filterW = side(context, 1, 2);
    const bool known = window.same || (filterH != kUnknownDim && filterW != kUnknownDim);
    context.setOutput(
        0, DType::f32,
        {side(context, 0, 0), known ? StructWindow::enlarged(window.same, side(context, 0, 1), window.strideH, filterH) : kUnknownDim,
         known ? StructWindow::enlarged(window.same, side(context, 0, 2), window.strideW, filterW) : kUnknownDim, side(context, 1, 0)});
    return {};
}

int64_t transposeConvBiasMacs(const InferContext& context)
{
    const Shape& input = context.input(0).shape;
    const Shape& filter = context.input(1).shape;
    return input.isStatic() && filter.isStatic() ? input.countOf(0, 3) * checkedElementCount(filter).value_or(0) : 0;
}

} // namespace

LS_DEFINE_OP(custom, MaxPoolingWithArgmax2D)
{
    OpDef def = pictureDef(1, "input [N,H,W,C]", "Maxima over windows, and where in its window each was: row · filter width + column.",
                           "MediaPipe util/tflite/operations/max_pool_argmax.cc", inferMaxPooling);
    def.minOutputs = def.maxOutputs = 2;
    return def;
}

LS_DEFINE_OP(custom, MaxUnpooling2D)
{
    OpDef def =
        pictureDef(2, "input [N,H,W,C], indices [N,H,W,C]", "Numbers put back where the maxima of their windows were, zeros elsewhere.",
                   "MediaPipe util/tflite/operations/max_unpooling.cc; indices of i32: LiteRT kernels/perception/max_unpooling_2d.cc",
                   inferMaxUnpooling);
    def.differs = "a place outside of the result is an error";
    return def;
}

LS_DEFINE_OP(custom, Convolution2DTransposeBias)
{
    OpDef def = pictureDef(3, "input [N,H,W,C], filter [O,KH,KW,C], bias [O]", "Transposed convolution, added to the bias.",
                           "MediaPipe util/tflite/operations/transpose_conv_bias.cc", inferTransposeConvBias);
    def.floatBound = withinRelative(1e-6);
    def.macs = transposeConvBiasMacs;
    return def;
}
