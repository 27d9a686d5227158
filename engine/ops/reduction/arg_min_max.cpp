// Catalogue entries of ARG_MAX and ARG_MIN.
// Constraints: C1 axis is an i32 or i64 with one element; C2 it lies within the operand's rank; C3 the result is i32 or i64.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

/// The attribute output_type, else what the file declares, else i32.
DType resultDtype(const InferContext& context, DType declared)
{
    if (const Attribute* attribute = findAttribute(context.attributes(), "output_type"))
        if (const DType* dtype = attribute->as<DType>()) return *dtype;
    return declared == DType::unknown ? DType::i32 : declared;
}

Status inferArg(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 1, {DType::i32, DType::i64}));
    const Shape& axisShape = context.input(1).shape;
    if (axisShape.isStatic() && axisShape.elementCount() != 1)
        return InferContext::violated(1, "axis has shape " + shapeText(axisShape) + "; it must hold one element");
    const DType dtype = resultDtype(context, context.output(0).dtype);
    if (dtype != DType::i32 && dtype != DType::i64)
        return InferContext::violated(3, "the result is " + std::string(dtypeName(dtype)) + "; it must be i32 or i64");
    const Shape& input = context.input(0).shape;
    const auto axis = context.intValues(1);
    if (!input.hasRank()) {
        context.setOutput(0, dtype, Shape::unknownRank());
        return {};
    }
    if (!axis) {
        context.setOutput(0, dtype, Shape::ofRank(std::max(0, input.rank() - 1), kUnknownDim));
        return {};
    }
    LS_TRY(const int index, normalizedAxis(2, axis->front(), input.rank()));
    Shape out;
    for (int i = 0; i < input.rank(); ++i)
        if (i != index) out.append(input[i]);
    context.setOutput(0, dtype, std::move(out));
    return {};
}

OpDef argDef(std::string_view summary)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "input, axis []";
    def.summary = summary;
    def.source = "LiteRT kernels/arg_min_max.cc";
    def.floatBound = kExact;
    def.infer = inferArg;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, arg_max) { return argDef("Index of the largest element along an axis, the first of equal ones."); }

LS_DEFINE_OP(tfl, arg_min) { return argDef("Index of the smallest element along an axis, the first of equal ones."); }
