// Catalogue entries of TensorFlow's pooling and its gradients.
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

LS_DEFINE_OP(tf, AvgPool) { return layer({}, "value [N,H,W,C]", "Means over windows; padding does not count."); }
LS_DEFINE_OP(tf, AvgPoolGrad) { return layer({2, 2}, "orig_input_shape, grad", "The gradient of AvgPool."); }
LS_DEFINE_OP(tf, AvgPool3D) { return layer({}, "input [N,D,H,W,C]", "Means over windows of volumes; padding does not count."); }
LS_DEFINE_OP(tf, AvgPool3DGrad) { return layer({2, 2}, "orig_input_shape, grad", "The gradient of AvgPool3D."); }
LS_DEFINE_OP(tf, MaxPool) { return layer({}, "input [N,H,W,C]", "The largest elements of windows."); }
LS_DEFINE_OP(tf, MaxPoolV2) { return layer({3, 3}, "input [N,H,W,C], ksize, strides", "The largest elements of windows."); }
LS_DEFINE_OP(tf, MaxPool3D) { return layer({}, "input [N,D,H,W,C]", "The largest elements of windows of volumes."); }
LS_DEFINE_OP(tf, MaxPoolWithArgmax)
{
    return layer({1, 1, 2, 2}, "input [N,H,W,C]", "The largest elements of windows, and their places in the picture or in the batch.");
}
LS_DEFINE_OP(tf, MaxPoolGrad)
{
    return layer({3, 3}, "orig_input, orig_output, grad", "The gradient of MaxPool: to the first largest element of each window.");
}
LS_DEFINE_OP(tf, MaxPoolGradV2)
{
    return layer({5, 5}, "orig_input, orig_output, grad, ksize, strides",
                 "The gradient of MaxPoolV2: to the first largest element of each window.");
}
LS_DEFINE_OP(tf, MaxPool3DGrad)
{
    return layer({3, 3}, "orig_input, orig_output, grad", "The gradient of MaxPool3D: to the first largest element of each window.");
}
LS_DEFINE_OP(tf, MaxPoolGradGrad)
{
    return layer({3, 3}, "orig_input, orig_output, grad", "The gradient of MaxPoolGrad: what the largest element of each window got.");
}
LS_DEFINE_OP(tf, MaxPoolGradGradV2)
{
    return layer({5, 5}, "orig_input, orig_output, grad, ksize, strides",
                 "The gradient of MaxPoolGradV2: what the largest element of each window got.");
}
LS_DEFINE_OP(tf, ExtractImagePatches) { return tfDef({}, "images [N,H,W,C]", "The pixels of each window as channels of one."); }
