// Catalogue entries of the gradients of resizing, and pictures through projective maps.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, ResizeBilinearGrad)
{
    return tfDef({2, 2}, "grads, original_image", "The gradient of pictures that were resized by mixing neighbours.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, ResizeNearestNeighborGrad)
{
    return tfDef({2, 2}, "grads, size", "The gradient of pictures that were resized to the nearest pixel.", inferAtRunTime,
                 withinRelative(1e-6));
}
LS_DEFINE_OP(tf, ImageProjectiveTransformV2)
{
    return tfDef({3, 3}, "images, transforms, output_shape", "Pictures through a projective map; 0 outside.", inferAtRunTime,
                 withinRelative(1e-5));
}
LS_DEFINE_OP(tf, ImageProjectiveTransformV3)
{
    return tfDef({4, 4}, "images, transforms, output_shape, fill_value",
                 "Pictures through a projective map; what lies outside by the fill mode.", inferAtRunTime, withinRelative(1e-5));
}
