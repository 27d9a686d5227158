// Catalogue entries of TensorFlow's constants, inputs and operators that hand their operand on.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>

using namespace loopscope;

namespace {

Status inferConst(InferContext& context)
{
    const Attribute* value = findAttribute(context.attributes(), "value");
    if (const auto* tensor = value ? value->as<TensorAttribute>() : nullptr) context.setOutput(0, tensor->type.dtype, tensor->type.shape);
    return {};
}

Status inferEach(InferContext& context)
{
    for (int k = 0; k < context.outputCount() && k < context.inputCount(); ++k) context.output(k).shape = context.input(k).shape;
    return {};
}

Status inferScalar(InferContext& context)
{
    context.output(0).shape = Shape();
    return {};
}

Status inferFakeParam(InferContext& context)
{
    Shape shape = tfShapeAttribute(context.attributes(), "shape");
    for (int d = 0; d < shape.rank(); ++d) shape[d] = std::max<int64_t>(shape[d], 0);
    context.output(0).shape = shape.hasRank() ? shape : Shape({0});
    return {};
}

OpDef forward(std::string_view summary) { return tfDef({}, "input", summary, inferTfSame); }

} // namespace

LS_DEFINE_OP(tf, Const) { return tfDef({0, 0}, "", "The tensor of the attribute value.", inferConst); }
LS_DEFINE_OP(tf, Placeholder) { return tfDef({0, 0}, "", "An input: running it means that it was not fed."); }
LS_DEFINE_OP(tf, PlaceholderV2) { return tfDef({0, 0}, "", "An input: running it means that it was not fed."); }
LS_DEFINE_OP(tf, PlaceholderWithDefault) { return forward("Its operand, unless its output is fed."); }
LS_DEFINE_OP(tf, Identity) { return forward("Its operand."); }
LS_DEFINE_OP(tf, IdentityN) { return tfDef({1, -1, 1, -1}, "inputs…", "Its operands.", inferEach); }
LS_DEFINE_OP(tf, StopGradient) { return forward("Its operand; gradients stop here."); }
LS_DEFINE_OP(tf, PreventGradient) { return forward("Its operand; asking for its gradient is an error."); }
LS_DEFINE_OP(tf, Snapshot) { return forward("A copy of its operand."); }
LS_DEFINE_OP(tf, GuaranteeConst) { return forward("Its operand, which never changes."); }
LS_DEFINE_OP(tf, CheckNumerics) { return forward("Its operand, which must hold neither NaN nor infinity."); }
LS_DEFINE_OP(tf, EnsureShape) { return forward("Its operand, whose shape must agree with the attribute shape."); }
LS_DEFINE_OP(tf, NoOp) { return tfDef({0, 0, 0, 0}, "", "Nothing: control edges meet here."); }
LS_DEFINE_OP(tf, ZerosLike) { return tfDef({}, "x", "Zeros of x's shape; of a list, a list of zeros.", inferTfSame); }
LS_DEFINE_OP(tf, OnesLike) { return tfDef({}, "x", "Ones of x's shape.", inferTfSame); }
LS_DEFINE_OP(tf, FakeParam)
{
    return tfDef({0, 0}, "", "Zeros that stand for a value which the taken branch does not have.", inferFakeParam);
}
LS_DEFINE_OP(tf, DeviceIndex) { return tfDef({0, 0}, "", "Which of the named devices runs it: the CPU, or their number.", inferScalar); }
LS_DEFINE_OP(tf, ToBool) { return tfDef({}, "input", "TensorFlow's truth of a tensor.", inferScalar); }
