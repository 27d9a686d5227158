// Catalogue entries of image resizing: resize_bilinear, resize_nearest_neighbor.
#include "engine/ops/catalog.h"

#include <limits>
#include <string>

using namespace loopscope;

namespace {

/// Constraints: C1 shapes, C2 dtypes, C3 attributes, C4 target size.
Status inferResize(InferContext& context, bool bilinear)
{
    const Tensor& input = context.input(0);
    const Tensor& size = context.input(1);
    if (input.shape.hasRank() && input.shape.rank() != 4)
        return InferContext::violated(1, "input has rank " + std::to_string(input.shape.rank()) + ", expected 4");
    if (size.shape.hasRank() && (size.shape.rank() != 1 || (size.shape[0] != 2 && size.shape[0] != kUnknownDim)))
        return InferContext::violated(1, "size has shape " + toString(size.shape) + ", expected [2]");
    if (size.dtype != DType::i32 && size.dtype != DType::unknown)
        return InferContext::violated(2, "size is " + std::string(dtypeName(size.dtype)) + ", expected i32");
    switch (input.dtype) {
    case DType::unknown:
    case DType::f32:
    case DType::u8:
    case DType::i8:
    case DType::i16: break;
    case DType::i32:
        if (!bilinear) break;
        [[fallthrough]];
    default:
        return InferContext::violated(2, "input is " + std::string(dtypeName(input.dtype)) + ", expected f32, u8, i8" +
                                             (bilinear ? " or i16" : ", i16 or i32"));
    }
    if (bilinear && attributeBool(context.attributes(), "half_pixel_centers", false) &&
        attributeBool(context.attributes(), "align_corners", false))
        return InferContext::violated(3, "half_pixel_centers and align_corners are both set");
    Shape output = {kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim};
    if (input.shape.hasRank()) output = input.shape;
    output[1] = output[2] = kUnknownDim;
    if (const auto target = context.intValues(1); target && target->size() == 2) {
        for (const int64_t dim : *target)
            if (const int64_t least = bilinear ? 1 : 0; dim < least)
                return InferContext::violated(4, "target size is " + std::to_string(dim) + ", expected at least " + std::to_string(least));
        output[1] = (*target)[0];
        output[2] = (*target)[1];
    }
    if (input.shape.hasRank() && (input.shape[1] == 0 || input.shape[2] == 0))
        return InferContext::violated(4, "input " + toString(input.shape) + " has no pixel");
    // Positions are computed in 22.10 fixed point for i8 and i16.
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2048;
    for (const int axis : {1, 2})
        if (output[axis] > kMost || (input.shape.hasRank() && input.shape[axis] > kMost))
            return InferContext::violated(4, "a side is longer than " + std::to_string(kMost) + " pixels");
    context.setOutput(0, input.dtype, output);
    return {};
}

Status inferBilinear(InferContext& context) { return inferResize(context, true); }

Status inferNearest(InferContext& context) { return inferResize(context, false); }

OpDef resizeDef(std::string_view summary, std::string_view source)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "input [N,H,W,C], size [2]";
    def.summary = summary;
    def.source = source;
    def.floatBound = kExact;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, resize_bilinear)
{
    OpDef def = resizeDef("Resizes height and width, mixing the four nearest pixels.",
                          "LiteRT kernels/resize_bilinear.cc, internal/reference/resize_bilinear.h");
    def.infer = inferBilinear;
    return def;
}

LS_DEFINE_OP(tfl, resize_nearest_neighbor)
{
    OpDef def = resizeDef("Resizes height and width, taking the nearest pixel.",
                          "LiteRT kernels/resize_nearest_neighbor.cc, internal/reference/resize_nearest_neighbor.h");
    def.infer = inferNearest;
    return def;
}
