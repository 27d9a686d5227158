// Catalogue entries of TensorFlow's operators on boxes and pictures beyond resizing, and of simulated quantization.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, CombinedNonMaxSuppression)
{
    return tfDef({6, 6, 4, 4}, "boxes [B,N,Q,4], scores [B,N,C], max_output_size_per_class, max_total_size, iou_threshold, score_threshold",
                 "Of each class and picture the boxes with the best scores that do not overlap, then the best of all classes.");
}
LS_DEFINE_OP(tf, DrawBoundingBoxes) { return tfDef({2, 2}, "images [B,H,W,C], boxes [B,N,4]", "Pictures with the outlines of boxes."); }
LS_DEFINE_OP(tf, DrawBoundingBoxesV2)
{
    return tfDef({3, 3}, "images [B,H,W,C], boxes [B,N,4], colors [M,C]", "Pictures with the outlines of boxes, in given colours.");
}
LS_DEFINE_OP(tf, ScaleAndTranslate)
{
    return tfDef({4, 4}, "images [B,H,W,C], size [2], scale [2], translation [2]", "Pictures scaled and moved, by one of eight kernels.",
                 inferAtRunTime, withinRelative(1e-5));
}
LS_DEFINE_OP(tf, Dilation2D)
{
    return tfDef({2, 2}, "input [B,H,W,C], filter [H,W,C]", "The largest sum of picture and filter in each window.");
}
LS_DEFINE_OP(tf, QuantizeAndDequantizeV2)
{
    return tfDef({3, 3}, "input, input_min, input_max", "Rounded to what an integer of num_bits could hold.", inferTfSame);
}
LS_DEFINE_OP(tf, QuantizeAndDequantizeV3)
{
    return tfDef({4, 4}, "input, input_min, input_max, num_bits", "Rounded to what an integer of num_bits could hold.", inferTfSame);
}
LS_DEFINE_OP(tf, QuantizeAndDequantizeV4)
{
    return tfDef({3, 3}, "input, input_min, input_max", "Rounded to what an integer of num_bits could hold.", inferTfSame);
}
LS_DEFINE_OP(tf, QuantizeAndDequantizeV4Grad)
{
    return tfDef({4, 4, 3, 3}, "gradients, input, input_min, input_max",
                 "The gradient of QuantizeAndDequantizeV4: 1 inside of the range, 0 outside.");
}
