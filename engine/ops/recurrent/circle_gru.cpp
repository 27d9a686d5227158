// Catalogue entry of Circle's GRU. Operand names are the file format's: "hidden_hidden" multiplies the input, "hidden_input" the state.
// Constraints: C1 the input is [T,B,I]. C2 weights [3·H,I] and [3·H,H], H being the last dimension of the state. C3 biases have 3·H
// elements. C4 the state has B·H elements. C5 what ONE's kernel does not compute: return_sequences, other activations than its own.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"
#include "engine/ops/recurrent_checks.h"

using namespace loopscope;

namespace {

constexpr int kInputWeights = 1, kInputBias = 2, kStateWeights = 3, kStateBias = 4, kStateInput = 5;

Status inferGru(InferContext& context)
{
    const Shape& input = context.input(0).shape;
    if (input.hasRank() && input.rank() != 3)
        return InferContext::violated(1, "input has rank " + std::to_string(input.rank()) + ", expected 3");
    for (const int i : {kInputWeights, kStateWeights, kStateInput}) LS_CHECK_OK(requireOperand(context, 2, i));
    const int64_t batch = dimensionFromEnd(context, 0, 2);
    const int64_t hidden = dimensionFromEnd(context, kStateInput, 1);
    const int64_t rows = productOf(3, hidden);
    LS_CHECK_OK(requireShape(context, 2, kInputWeights, {rows, dimensionFromEnd(context, 0, 1)}));
    LS_CHECK_OK(requireShape(context, 2, kStateWeights, {rows, hidden}));
    for (const int i : {kInputBias, kStateBias}) LS_CHECK_OK(requireElements(context, 3, i, rows));
    LS_CHECK_OK(requireElements(context, 4, kStateInput, productOf(batch, hidden)));
    if (attributeBool(context.attributes(), "return_sequences", false))
        return InferContext::violated(5, "return_sequences is true; only the last state is computed");
    const std::string_view act = attributeWord(context.attributes(), "act", "NONE");
    if (act != "NONE" && act != "TANH")
        return InferContext::violated(5, "act is " + std::string(act) + ", expected NONE or TANH, which the cell has");
    context.setOutput(0, context.input(0).dtype, context.input(kStateInput).shape);
    return {};
}

} // namespace

LS_DEFINE_OP(circle, gru)
{
    OpDef def;
    def.minInputs = def.maxInputs = 6;
    def.operands = "input [T,B,I], input weights [3·H,I], input bias? [3·H], state weights [3·H,H], state bias? [3·H], state [B,H]";
    def.summary = "A gated recurrent unit over a sequence; gives the last state.";
    def.source = "ONE luci-interpreter GRU.cpp, pal/linux/PALGRU.h";
    def.differs = "batches of any size; the source knows 1. time_major says nothing there either: time comes first";
    def.floatBound = withinRelative(1e-6);
    def.infer = inferGru;
    return def;
}
