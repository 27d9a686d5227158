// Catalogue entries of TensorFlow's convolutions and their gradients.
#include "engine/ops/catalog.h"
#include "engine/ops/nn/tf_layers.h"

using namespace loopscope;

LS_DEFINE_OP(tf, Conv2D) { return tfLayer({2, 2}, "input [N,H,W,C], filter [KH,KW,C/g,O]", "Convolution, strided, dilated and padded."); }
LS_DEFINE_OP(tf, Conv2DBackpropInput)
{
    return tfLayer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of Conv2D by its input.");
}
LS_DEFINE_OP(tf, Conv2DBackpropFilter)
{
    return tfLayer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of Conv2D by its filter.");
}
LS_DEFINE_OP(tf, DepthwiseConv2dNative)
{
    return tfLayer({2, 2}, "input [N,H,W,C], filter [KH,KW,C,M]", "Convolution of each channel by itself.");
}
LS_DEFINE_OP(tf, DepthwiseConv2dNativeBackpropInput)
{
    return tfLayer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of DepthwiseConv2dNative by its input.");
}
LS_DEFINE_OP(tf, DepthwiseConv2dNativeBackpropFilter)
{
    return tfLayer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of DepthwiseConv2dNative by its filter.");
}
LS_DEFINE_OP(tf, Conv3D) { return tfLayer({2, 2}, "input [N,D,H,W,C], filter [KD,KH,KW,C/g,O]", "Convolution of volumes."); }
LS_DEFINE_OP(tf, Conv3DBackpropInputV2)
{
    return tfLayer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of Conv3D by its input.");
}
LS_DEFINE_OP(tf, Conv3DBackpropFilterV2)
{
    return tfLayer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of Conv3D by its filter.");
}
