// Catalogue entries of TensorFlow's convolutions and their gradients.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr std::string_view kBound = "1e-6 relative";

OpDef layer(TfArity arity, std::string_view operands, std::string_view summary)
{
    OpDef def = tfDef(arity, operands, summary, inferAtRunTime, kBound);
    def.differs = "channels may come first in every layout that the operator names; TensorFlow's CPU kernels refuse some";
    return def;
}

} // namespace

LS_DEFINE_OP(tf, Conv2D) { return layer({2, 2}, "input [N,H,W,C], filter [KH,KW,C/g,O]", "Convolution, strided, dilated and padded."); }
LS_DEFINE_OP(tf, Conv2DBackpropInput) { return layer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of Conv2D by its input."); }
LS_DEFINE_OP(tf, Conv2DBackpropFilter)
{
    return layer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of Conv2D by its filter.");
}
LS_DEFINE_OP(tf, DepthwiseConv2dNative)
{
    return layer({2, 2}, "input [N,H,W,C], filter [KH,KW,C,M]", "Convolution of each channel by itself.");
}
LS_DEFINE_OP(tf, DepthwiseConv2dNativeBackpropInput)
{
    return layer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of DepthwiseConv2dNative by its input.");
}
LS_DEFINE_OP(tf, DepthwiseConv2dNativeBackpropFilter)
{
    return layer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of DepthwiseConv2dNative by its filter.");
}
LS_DEFINE_OP(tf, Conv3D) { return layer({2, 2}, "input [N,D,H,W,C], filter [KD,KH,KW,C/g,O]", "Convolution of volumes."); }
LS_DEFINE_OP(tf, Conv3DBackpropInputV2)
{
    return layer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of Conv3D by its input.");
}
LS_DEFINE_OP(tf, Conv3DBackpropFilterV2)
{
    return layer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of Conv3D by its filter.");
}
