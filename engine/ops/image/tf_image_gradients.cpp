// Catalogue entries of the gradients of resizing, cropping and dilating pictures.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, ScaleAndTranslateGrad)
{
    return tfDef({4, 4}, "grads, original_image [N,H,W,C], scale [2], translation [2]", "The gradient of ScaleAndTranslate.",
                 inferAtRunTime, withinRelative(1e-5));
}
LS_DEFINE_OP(tf, ResizeBicubicGrad)
{
    return tfDef({2, 2}, "grads, original_image [N,H,W,C]", "The gradient of ResizeBicubic.", inferAtRunTime, withinRelative(1e-5));
}
LS_DEFINE_OP(tf, CropAndResizeGradImage)
{
    return tfDef({4, 4}, "grads, boxes [K,4], box_ind [K], image_size [4]", "The gradient of CropAndResize by the pictures.",
                 inferAtRunTime, withinRelative(1e-5));
}
LS_DEFINE_OP(tf, CropAndResizeGradBoxes)
{
    return tfDef({4, 4}, "grads, image [N,H,W,C], boxes [K,4], box_ind [K]", "The gradient of CropAndResize by the boxes.", inferAtRunTime,
                 withinRelative(1e-5));
}
LS_DEFINE_OP(tf, Dilation2DBackpropInput)
{
    return tfDef({3, 3}, "input [N,H,W,C], filter, out_backprop", "The gradient of Dilation2D: to the pixel that was the largest.");
}
LS_DEFINE_OP(tf, Dilation2DBackpropFilter)
{
    return tfDef({3, 3}, "input [N,H,W,C], filter, out_backprop",
                 "The gradient of Dilation2D by the filter: to the tap that was the largest.");
}
