// Catalogue entries of TensorFlow's operators on pictures.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, AdjustHue)
{
    return tfDef({2, 2}, "images [..,3], delta", "RGB colours with their hue turned.", inferTfSame, withinRelative(1e-6));
}
LS_DEFINE_OP(tf, AdjustSaturation)
{
    return tfDef({2, 2}, "images [..,3], scale", "RGB colours with their saturation scaled.", inferTfSame, withinRelative(1e-6));
}
LS_DEFINE_OP(tf, AdjustContrastv2)
{
    return tfDef({2, 2}, "images [..,H,W,C], contrast_factor", "Distances from the mean of each channel scaled.", inferTfSame,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, ResizeBilinear)
{
    return tfDef({2, 2}, "images [N,H,W,C], size", "Pictures of another size, pixels mixed from four neighbours.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, ResizeNearestNeighbor)
{
    return tfDef({2, 2}, "images [N,H,W,C], size", "Pictures of another size, pixels those of the nearest place.");
}
LS_DEFINE_OP(tf, ResizeBicubic)
{
    return tfDef({2, 2}, "images [N,H,W,C], size", "Pictures of another size, pixels mixed from sixteen neighbours.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, ResizeArea)
{
    return tfDef({2, 2}, "images [N,H,W,C], size", "Pictures of another size, pixels the mean of what they cover.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, RGBToHSV)
{
    return tfDef({1, 1}, "images [..,3]", "Hue, saturation and value of colours, each from 0 to 1.", inferTfSame, withinRelative(1e-6));
}
LS_DEFINE_OP(tf, HSVToRGB)
{
    return tfDef({1, 1}, "images [..,3]", "Colours of hue, saturation and value, each from 0 to 1.", inferTfSame, withinRelative(1e-6));
}
LS_DEFINE_OP(tf, CropAndResize)
{
    return tfDef({4, 4}, "image [N,H,W,C], boxes, box_ind, crop_size", "Parts of pictures, each resized to one size.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, NonMaxSuppression)
{
    return tfDef({3, 3}, "boxes, scores, max_output_size", "Boxes by falling score that overlap no better one.");
}
LS_DEFINE_OP(tf, NonMaxSuppressionV2)
{
    return tfDef({4, 4}, "boxes, scores, max_output_size, iou_threshold", "Boxes by falling score that overlap no better one.");
}
LS_DEFINE_OP(tf, NonMaxSuppressionV3)
{
    return tfDef({5, 5}, "boxes, scores, max_output_size, iou_threshold, score_threshold",
                 "Boxes by falling score that overlap no better one.");
}
LS_DEFINE_OP(tf, NonMaxSuppressionV4)
{
    return tfDef({5, 5, 2, 2}, "boxes, scores, max_output_size, iou_threshold, score_threshold",
                 "Boxes by falling score that overlap no better one, and their number.");
}
LS_DEFINE_OP(tf, NonMaxSuppressionWithOverlaps)
{
    return tfDef({5, 5}, "overlaps [n,n], scores, max_output_size, overlap_threshold, score_threshold",
                 "Boxes by falling score that share too much with no better one.");
}
LS_DEFINE_OP(tf, NonMaxSuppressionV5)
{
    return tfDef({6, 6, 3, 3}, "boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma",
                 "Boxes by falling score, which overlaps lower, and their number.", inferAtRunTime, withinRelative(1e-6));
}
