// Catalogue entry of CUMSUM.
// Constraints: C1 axis is an i32 with one element; C2 it lies within the operand's rank.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferCumsum(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 1, {DType::i32}));
    const Shape& axisShape = context.input(1).shape;
    if (axisShape.isStatic() && axisShape.elementCount() != 1)
        return InferContext::violated(1, "axis has shape " + shapeText(axisShape) + "; it must hold one element");
    if (const auto axis = context.intValues(1); axis && context.input(0).shape.hasRank()) {
        if (auto index = normalizedAxis(2, axis->front(), context.input(0).shape.rank()); !index.ok()) return std::move(index).takeError();
    }
    context.setOutput(0, context.input(0).dtype, context.input(0).shape);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, cumsum)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "input, axis []";
    def.summary = "Running sums along an axis; exclusive=true leaves the own element out, reverse=true runs from the end.";
    def.source = "LiteRT kernels/cumsum.cc";
    def.floatBound = kExact;
    def.infer = inferCumsum;
    return def;
}
