// Catalogue entries of TensorFlow's convolutions, pooling, softmax and their gradients.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr std::string_view kBound = "1e-6 relative";

OpDef layer(TfArity arity, std::string_view operands, std::string_view summary)
{
    OpDef def = tfDef(arity, operands, summary, inferAtRunTime, kBound);
    def.differs = "data_format is NHWC only";
    return def;
}

} // namespace

LS_DEFINE_OP(tf, Conv2D) { return layer({2, 2}, "input [N,H,W,C], filter [KH,KW,C/g,O]", "Convolution, strided, dilated and padded."); }
LS_DEFINE_OP(tf, Conv2DBackpropInput) { return layer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of Conv2D by its input."); }
LS_DEFINE_OP(tf, Conv2DBackpropFilter) { return layer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of Conv2D by its filter."); }
LS_DEFINE_OP(tf, DepthwiseConv2dNative) { return layer({2, 2}, "input [N,H,W,C], filter [KH,KW,C,M]", "Convolution of each channel by itself."); }
LS_DEFINE_OP(tf, DepthwiseConv2dNativeBackpropInput)
{
    return layer({3, 3}, "input_sizes, filter, out_backprop", "The gradient of DepthwiseConv2dNative by its input.");
}
LS_DEFINE_OP(tf, DepthwiseConv2dNativeBackpropFilter)
{
    return layer({3, 3}, "input, filter_sizes, out_backprop", "The gradient of DepthwiseConv2dNative by its filter.");
}
LS_DEFINE_OP(tf, AvgPool) { return layer({}, "value [N,H,W,C]", "Means over windows; padding does not count."); }
LS_DEFINE_OP(tf, AvgPoolGrad) { return layer({2, 2}, "orig_input_shape, grad", "The gradient of AvgPool."); }
LS_DEFINE_OP(tf, MaxPool) { return layer({}, "input [N,H,W,C]", "The largest elements of windows."); }
LS_DEFINE_OP(tf, MaxPoolGrad) { return layer({3, 3}, "orig_input, orig_output, grad", "The gradient of MaxPool: to the first largest element of each window."); }
LS_DEFINE_OP(tf, Softmax) { return tfDef({}, "logits", "e^x over the sum of e^x along the last dimension.", inferTfSame, kBound); }
LS_DEFINE_OP(tf, LogSoftmax) { return tfDef({}, "logits", "The logarithm of the softmax along the last dimension.", inferTfSame, kBound); }
LS_DEFINE_OP(tf, SoftmaxCrossEntropyWithLogits)
{
    return tfDef({2, 2, 2, 2}, "features [N,C], labels [N,C]", "Cross entropy of softmax and labels, and its gradient.", inferAtRunTime, kBound);
}
LS_DEFINE_OP(tf, SparseSoftmaxCrossEntropyWithLogits)
{
    return tfDef({2, 2, 2, 2}, "features [N,C], labels [N]", "Cross entropy of softmax and class numbers, and its gradient.", inferAtRunTime, kBound);
}
