// Catalogue entries of the operators on bool.
// Constraints: C1 operands are bool; C2 shapes broadcast.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferLogical(InferContext& context)
{
    for (int i = 0; i < context.inputCount(); ++i) LS_CHECK_OK(requireDtype(context, 1, i, {DType::boolean}));
    if (context.inputCount() == 1) {
        context.setOutput(0, DType::boolean, context.input(0).shape);
        return {};
    }
    LS_TRY(Shape shape, broadcastOperands(context, 2, 0, 1));
    context.setOutput(0, DType::boolean, std::move(shape));
    return {};
}

OpDef logicalDef(int operands, std::string_view summary, std::string_view source)
{
    OpDef def;
    def.minInputs = def.maxInputs = operands;
    def.operands = operands == 1 ? "input" : "lhs, rhs";
    def.summary = summary;
    def.source = source;
    def.floatBound = kExact;
    def.infer = inferLogical;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, logical_and) { return logicalDef(2, "Element-wise logical and.", "LiteRT kernels/logical.cc"); }

LS_DEFINE_OP(tfl, logical_or) { return logicalDef(2, "Element-wise logical or.", "LiteRT kernels/logical.cc"); }

LS_DEFINE_OP(tfl, logical_not) { return logicalDef(1, "Element-wise logical not.", "LiteRT kernels/elementwise.cc"); }
