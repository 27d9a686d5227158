#include "engine/ops/inference_helpers.h"

namespace loopscope {

std::string shapeText(const Shape& shape) { return shape.hasRank() ? toString(shape) : "of unknown rank"; }

Status requireSameDtype(const InferContext& context, int constraint, int a, int b)
{
    const DType first = context.input(a).dtype;
    const DType second = context.input(b).dtype;
    if (first == second || first == DType::unknown || second == DType::unknown) return {};
    return InferContext::violated(constraint, "input " + std::to_string(b) + " is " + std::string(dtypeName(second)) + ", input " +
                                                  std::to_string(a) + " is " + std::string(dtypeName(first)) +
                                                  "; they must have one dtype");
}

Status requireDtype(const InferContext& context, int constraint, int i, std::initializer_list<DType> allowed)
{
    const DType dtype = context.input(i).dtype;
    if (dtype == DType::unknown) return {};
    std::string names;
    for (const DType d : allowed) {
        if (d == dtype) return {};
        names += (names.empty() ? "" : " or ") + std::string(dtypeName(d));
    }
    return InferContext::violated(constraint,
                                  "input " + std::to_string(i) + " is " + std::string(dtypeName(dtype)) + "; it must be " + names);
}

Result<Shape> broadcastOperands(const InferContext& context, int constraint, int a, int b)
{
    const Shape& first = context.input(a).shape;
    const Shape& second = context.input(b).shape;
    if (auto shape = broadcastShapes(first, second)) return *shape;
    return InferContext::violated(constraint, "shapes " + shapeText(first) + " and " + shapeText(second) + " do not broadcast");
}

Result<int> normalizedAxis(int constraint, int64_t axis, int rank)
{
    if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
    return InferContext::violated(constraint, "axis " + std::to_string(axis) + " is outside a tensor of rank " + std::to_string(rank));
}

Status inferSameAsInput(InferContext& context)
{
    context.setOutput(0, context.input(0).dtype, context.input(0).shape);
    return {};
}

OpDef unaryDef(std::string_view summary, std::string_view source, const ErrorBounds& floatBound)
{
    OpDef def;
    def.minInputs = def.maxInputs = 1;
    def.operands = "input";
    def.summary = summary;
    def.source = source;
    def.floatBound = floatBound;
    def.infer = inferSameAsInput;
    return def;
}

} // namespace loopscope
