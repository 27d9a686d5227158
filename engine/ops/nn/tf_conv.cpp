// Catalogue entries of TensorFlow's convolutions and their gradients.
#include "engine/ops/catalog.h"
#include "engine/ops/nn/tf_layers.h"

#include <optional>

using namespace loopscope;

namespace {

/// Each element of `spread` meets the numbers of a filter [sizes…, C, O]: those of one output, or of one channel.
int64_t convolutionMacs(const Shape& spread, const Shape& filter, bool perChannel)
{
    const std::optional<int64_t> count = spread.isStatic() ? checkedElementCount(spread) : std::nullopt;
    if (!count || !filter.isStatic() || filter.rank() < 3) return 0;
    int64_t macs = *count;
    for (int d = 0; d < filter.rank() - (perChannel ? 2 : 1); ++d)
        if (__builtin_mul_overflow(macs, filter[d], &macs)) return 0;
    return macs;
}

/// The shape of the result, which only a run knows.
Shape resultOf(InferContext context) { return context.output(0).shape; }

int64_t forwardMacs(const InferContext& context) { return convolutionMacs(resultOf(context), context.input(1).shape, false); }
int64_t depthwiseMacs(const InferContext& context) { return convolutionMacs(resultOf(context), context.input(1).shape, true); }
int64_t inputGradientMacs(const InferContext& context) { return convolutionMacs(context.input(2).shape, context.input(1).shape, false); }
int64_t filterGradientMacs(const InferContext& context) { return convolutionMacs(context.input(2).shape, resultOf(context), false); }
int64_t depthwiseInputGradientMacs(const InferContext& context)
{
    return convolutionMacs(context.input(2).shape, context.input(1).shape, true);
}
int64_t depthwiseFilterGradientMacs(const InferContext& context)
{
    return convolutionMacs(context.input(2).shape, resultOf(context), true);
}

OpDef counted(OpDef def, int64_t (*macs)(const InferContext&))
{
    def.macs = macs;
    return def;
}

} // namespace

LS_DEFINE_OP(tf, Conv2D)
{
    return counted(tfLayer({2, 2}, "input [N,H,W,C], filter [KH,KW,C/g,O]", "Convolution, strided, dilated and padded."), forwardMacs);
}
LS_DEFINE_OP(tf, Conv2DBackpropInput)
{
    return counted(tfLayer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of Conv2D by its input."), inputGradientMacs);
}
LS_DEFINE_OP(tf, Conv2DBackpropFilter)
{
    return counted(tfLayer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of Conv2D by its filter."), filterGradientMacs);
}
LS_DEFINE_OP(tf, DepthwiseConv2dNative)
{
    return counted(tfLayer({2, 2}, "input [N,H,W,C], filter [KH,KW,C,M]", "Convolution of each channel by itself."), depthwiseMacs);
}
LS_DEFINE_OP(tf, DepthwiseConv2dNativeBackpropInput)
{
    return counted(tfLayer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of DepthwiseConv2dNative by its input."),
                   depthwiseInputGradientMacs);
}
LS_DEFINE_OP(tf, DepthwiseConv2dNativeBackpropFilter)
{
    return counted(tfLayer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of DepthwiseConv2dNative by its filter."),
                   depthwiseFilterGradientMacs);
}
LS_DEFINE_OP(tf, Conv3D)
{
    return counted(tfLayer({2, 2}, "input [N,D,H,W,C], filter [KD,KH,KW,C/g,O]", "Convolution of volumes."), forwardMacs);
}
LS_DEFINE_OP(tf, Conv3DBackpropInputV2)
{
    return counted(tfLayer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of Conv3D by its input."), inputGradientMacs);
}
LS_DEFINE_OP(tf, Conv3DBackpropFilterV2)
{
    return counted(tfLayer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of Conv3D by its filter."), filterGradientMacs);
}
