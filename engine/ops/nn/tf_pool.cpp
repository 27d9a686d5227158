// Catalogue entries of TensorFlow's pooling and its gradients.
#include "engine/ops/catalog.h"
#include "engine/ops/nn/tf_layers.h"

using namespace loopscope;

LS_DEFINE_OP(tf, AvgPool) { return tfLayer({}, "value [N,H,W,C]", "Means over windows; padding does not count."); }
LS_DEFINE_OP(tf, AvgPoolGrad) { return tfLayer({2, 2}, "orig_input_shape, grad", "The gradient of AvgPool."); }
LS_DEFINE_OP(tf, AvgPool3D) { return tfLayer({}, "input [N,D,H,W,C]", "Means over windows of volumes; padding does not count."); }
LS_DEFINE_OP(tf, AvgPool3DGrad) { return tfLayer({2, 2}, "orig_input_shape, grad", "The gradient of AvgPool3D."); }
LS_DEFINE_OP(tf, MaxPool) { return tfLayer({}, "input [N,H,W,C]", "The largest elements of windows."); }
LS_DEFINE_OP(tf, MaxPoolV2) { return tfLayer({3, 3}, "input [N,H,W,C], ksize, strides", "The largest elements of windows."); }
LS_DEFINE_OP(tf, MaxPool3D) { return tfLayer({}, "input [N,D,H,W,C]", "The largest elements of windows of volumes."); }
LS_DEFINE_OP(tf, MaxPoolWithArgmax)
{
    return tfLayer({1, 1, 2, 2}, "input [N,H,W,C]", "The largest elements of windows, and their places in the picture or in the batch.");
}
LS_DEFINE_OP(tf, MaxPoolGrad)
{
    return tfLayer({3, 3}, "orig_input, orig_output, grad", "The gradient of MaxPool: to the first largest element of each window.");
}
LS_DEFINE_OP(tf, MaxPoolGradV2)
{
    return tfLayer({5, 5}, "orig_input, orig_output, grad, ksize, strides",
                   "The gradient of MaxPoolV2: to the first largest element of each window.");
}
LS_DEFINE_OP(tf, MaxPool3DGrad)
{
    return tfLayer({3, 3}, "orig_input, orig_output, grad", "The gradient of MaxPool3D: to all largest elements of each window.");
}
LS_DEFINE_OP(tf, MaxPoolGradGrad)
{
    return tfLayer({3, 3}, "orig_input, orig_output, grad", "The gradient of MaxPoolGrad: what the largest element of each window got.");
}
LS_DEFINE_OP(tf, MaxPoolGradGradV2)
{
    return tfLayer({5, 5}, "orig_input, orig_output, grad, ksize, strides",
                   "The gradient of MaxPoolGradV2: what the largest element of each window got.");
}
LS_DEFINE_OP(tf, ExtractImagePatches) { return tfDef({}, "images [N,H,W,C]", "The pixels of each window as channels of one."); }
LS_DEFINE_OP(tf, ExtractVolumePatches) { return tfDef({}, "input [N,D,H,W,C]", "The voxels of each window as channels of one."); }
LS_DEFINE_OP(tf, MaxPoolGradWithArgmax)
{
    return tfLayer({3, 3}, "input, grad, argmax", "The gradient of MaxPoolWithArgmax: to the places that it named.");
}
