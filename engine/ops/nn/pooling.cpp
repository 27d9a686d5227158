// Catalogue entries of two-dimensional pooling: average_pool_2d, max_pool_2d, l2_pool_2d.
#include "engine/ops/catalog.h"
#include "engine/ops/window.h"

#include <string>

using namespace loopscope;

namespace {

/// Constraints: C1 rank, C2 dtype, C3 strides, C4 window.
Status inferPool(InferContext& context, bool floatOnly)
{
    const Tensor& input = context.input(0);
    if (input.shape.hasRank() && input.shape.rank() != 4)
        return InferContext::violated(1, "input has rank " + std::to_string(input.shape.rank()) + ", expected 4");
    const DType dtype = input.dtype;
    const bool quantized = dtype == DType::u8 || dtype == DType::i8 || dtype == DType::i16;
    if (dtype != DType::unknown && dtype != DType::f32 && (floatOnly || !quantized))
        return InferContext::violated(2, "input is " + std::string(dtypeName(dtype)) + ", expected " +
                                             (floatOnly ? "f32" : "f32, u8, i8 or i16"));
    Shape output = {kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim};
    if (input.shape.hasRank()) output = input.shape;
    WindowAxis height = windowAxis(context.attributes(), 'h', output[1], attributeInt(context.attributes(), "filter_height", 0));
    WindowAxis width = windowAxis(context.attributes(), 'w', output[2], attributeInt(context.attributes(), "filter_width", 0));
    height.dilation = width.dilation = 1; // pooling has none
    LS_TRY(output[1], checkedOutputSize(height, 'h', 3, 3, 4));
    LS_TRY(output[2], checkedOutputSize(width, 'w', 3, 3, 4));
    context.setOutput(0, dtype, output);
    return {};
}

Status inferAnyPool(InferContext& context) { return inferPool(context, false); }

Status inferFloatPool(InferContext& context) { return inferPool(context, true); }

OpDef poolDef(std::string_view summary)
{
    OpDef def;
    def.minInputs = def.maxInputs = 1;
    def.operands = "input [N,H,W,C]";
    def.summary = summary;
    def.source = "LiteRT kernels/pooling.cc, internal/reference/{pooling,integer_ops/pooling}.h";
    def.floatBound = kExact;
    def.infer = inferAnyPool;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, average_pool_2d) { return poolDef("The mean over a window; padded cells do not count."); }

LS_DEFINE_OP(tfl, max_pool_2d) { return poolDef("The largest element of a window; padded cells do not count."); }

LS_DEFINE_OP(tfl, l2_pool_2d)
{
    OpDef def = poolDef("The square root of the mean square over a window; padded cells do not count.");
    def.infer = inferFloatPool;
    return def;
}
