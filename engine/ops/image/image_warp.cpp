// Catalogue entry of the custom operator DenseImageWarp.
// Constraints: C1 image [N,H,W,C] and flow [N,H,W,2], H and W at least 2. C2 both are f32.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"
#include "engine/ops/recurrent_checks.h"

#include <string>

using namespace loopscope;

namespace {

Status inferImageWarp(InferContext& context)
{
    for (const int i : {0, 1}) LS_CHECK_OK(requireDtype(context, 2, i, {DType::f32}));
    const Shape& image = context.input(0).shape;
    if (image.hasRank() && image.rank() != 4)
        return InferContext::violated(1, "the image has rank " + std::to_string(image.rank()) + ", expected 4");
    const int64_t batches = dimensionFromEnd(context, 0, 4), height = dimensionFromEnd(context, 0, 3),
                  width = dimensionFromEnd(context, 0, 2);
    LS_CHECK_OK(requireShape(context, 1, 1, {batches, height, width, 2}));
    for (const int64_t side : {height, width})
        if (side != kUnknownDim && side < 2)
            return InferContext::violated(1, "the image is " + toString(image) + ", expected a height and a width of at least 2");
    context.setOutput(0, DType::f32, image);
    return {};
}

} // namespace

LS_DEFINE_OP(custom, DenseImageWarp)
{
    OpDef def = unaryDef("Each pixel is taken from where it came from by the flow (rows, columns), mixed of its four neighbours.",
                         "LiteRT kernels/perception/dense_image_warp.cc");
    def.minInputs = def.maxInputs = 2;
    def.operands = "image [N,H,W,C], flow [N,H,W,2]";
    def.infer = inferImageWarp;
    return def;
}
