// Catalogue entries of the simple recurrent operators: rnn, unidirectional_sequence_rnn, bidirectional_sequence_rnn.
#include "engine/ops/catalog.h"
#include "engine/ops/recurrent_checks.h"

#include <string>

using namespace loopscope;

namespace {

constexpr int kState[] = {4};
constexpr int kBidirectionalStates[] = {4, 8};
constexpr int kAuxInput = 9;

/// Operands of one cell in a row from `first`: weights [units, I], recurrent weights [units, units], bias [units], state [B, units].
/// C2 shapes of weights, C3 shape of the state. Gives the number of units.
Result<int64_t> checkCell(const InferContext& context, int first, int64_t inputs, int64_t batch)
{
    for (int i = first; i < first + 4; ++i) LS_CHECK_OK(requireOperand(context, 2, i));
    const int64_t units = dimensionFromEnd(context, first, 2);
    LS_CHECK_OK(requireShape(context, 2, first, {units, inputs}));
    LS_CHECK_OK(requireShape(context, 2, first + 1, {units, units}));
    LS_CHECK_OK(requireElements(context, 2, first + 2, units));
    LS_CHECK_OK(requireElements(context, 3, first + 3, productOf(batch, units)));
    for (const int i : {first + 2, first + 3}) LS_CHECK_OK(requireDtypeIfPresent(context, 4, i, DType::f32));
    return units;
}

Status checkInput(const InferContext& context, int rank)
{
    const Tensor& input = context.input(0);
    if (input.shape.hasRank() && input.shape.rank() != rank)
        return InferContext::violated(1, "input has rank " + std::to_string(input.shape.rank()) + ", expected " + std::to_string(rank));
    if (input.dtype != DType::f32 && input.dtype != DType::unknown)
        return InferContext::violated(4, "input is " + std::string(dtypeName(input.dtype)) + ", expected f32");
    return {};
}

Status inferRnn(InferContext& context)
{
    LS_CHECK_OK(checkInput(context, 2));
    const int64_t batch = dimensionFromEnd(context, 0, 2);
    LS_TRY(const int64_t units, checkCell(context, 1, dimensionFromEnd(context, 0, 1), batch));
    context.setOutput(0, DType::f32, {batch, units});
    return {};
}

Status inferSequenceRnn(InferContext& context)
{
    LS_CHECK_OK(checkInput(context, 3));
    const int64_t batch = dimensionFromEnd(context, 0, attributeBool(context.attributes(), "time_major", false) ? 2 : 3);
    LS_TRY(const int64_t units, checkCell(context, 1, dimensionFromEnd(context, 0, 1), batch));
    context.setOutput(0, DType::f32, {dimensionFromEnd(context, 0, 3), dimensionFromEnd(context, 0, 2), units});
    return {};
}

Status inferBidirectionalRnn(InferContext& context)
{
    LS_CHECK_OK(checkInput(context, 3));
    const int64_t batch = dimensionFromEnd(context, 0, attributeBool(context.attributes(), "time_major", false) ? 2 : 3);
    const int64_t inputs = dimensionFromEnd(context, 0, 1);
    const bool hasAux = context.has(kAuxInput);
    const bool ownWeights = context.has(kAuxInput + 1);
    LS_CHECK_OK(requireDtypeIfPresent(context, 4, kAuxInput, DType::f32));
    if (hasAux)
        LS_CHECK_OK(requireShape(context, 1, kAuxInput, {dimensionFromEnd(context, 0, 3), dimensionFromEnd(context, 0, 2), kUnknownDim}));
    if (ownWeights != context.has(kAuxInput + 2) || (ownWeights && !hasAux))
        return InferContext::violated(2, "weights for an auxiliary input need the input and weights of both cells");
    const int64_t auxInputs = dimensionFromEnd(context, kAuxInput, 1);
    LS_TRY(const int64_t forward, checkCell(context, 1, inputs, batch));
    LS_TRY(const int64_t backward, checkCell(context, 5, hasAux && !ownWeights ? auxInputs : inputs, batch));
    LS_CHECK_OK(requireShape(context, 2, kAuxInput + 1, {forward, auxInputs}));
    LS_CHECK_OK(requireShape(context, 2, kAuxInput + 2, {backward, auxInputs}));
    const bool merge = attributeBool(context.attributes(), "merge_outputs", false);
    if (context.outputCount() != (merge ? 1 : 2))
        return InferContext::violated(5, std::to_string(context.outputCount()) + " results, expected " +
                                             (merge ? "1, as merge_outputs is set" : "2"));
    const auto shape = [&](int64_t size) { return Shape{dimensionFromEnd(context, 0, 3), dimensionFromEnd(context, 0, 2), size}; };
    if (merge) {
        context.setOutput(0, DType::f32, shape(forward == kUnknownDim || backward == kUnknownDim ? kUnknownDim : forward + backward));
        return {};
    }
    context.setOutput(0, DType::f32, shape(forward));
    context.setOutput(1, DType::f32, shape(backward));
    return {};
}

OpDef rnnDef(int inputs, std::string_view operands, std::string_view summary, std::string_view source, std::span<const int> states)
{
    OpDef def;
    def.minInputs = def.maxInputs = inputs;
    def.operands = operands;
    def.summary = summary;
    def.source = source;
    def.floatBound = ErrorBounds(withinRelative(1e-5)).because("the reference's tanh and logistic are approximations");
    def.stateOperands = states;
    def.hasSideEffects = true;
    return def;
}

/// `@stateless`, ours: as of an LSTM, every run starts from what the state is given.
std::span<const int> statesOf(const Operator& op)
{
    if (attributeBool(op.attributes, "@stateless", false)) return {};
    return kState;
}

} // namespace

LS_DEFINE_OP(tfl, rnn)
{
    OpDef def =
        rnnDef(5, "input [B,I], weights [U,I], recurrent weights [U,U], bias [U], state [B,U]",
               "One step of a simple recurrent cell; the state moves on.", "LiteRT kernels/basic_rnn.cc, internal/kernel_utils.cc", kState);
    def.infer = inferRnn;
    return def;
}

LS_DEFINE_OP(tfl, unidirectional_sequence_rnn)
{
    OpDef def = rnnDef(5, "input [T,B,I] or [B,T,I], weights [U,I], recurrent weights [U,U], bias [U], state [B,U]",
                       "A simple recurrent cell over a sequence; the state stays for the next call.",
                       "LiteRT kernels/unidirectional_sequence_rnn.cc, internal/kernel_utils.cc", kState);
    def.stateOperandsOf = statesOf;
    def.infer = inferSequenceRnn;
    return def;
}

LS_DEFINE_OP(tfl, bidirectional_sequence_rnn)
{
    OpDef def =
        rnnDef(12, "input [T,B,I] or [B,T,I], 4 operands of the forward cell, 4 of the backward cell, auxiliary input?, 2 weights for it?",
               "Two simple recurrent cells over a sequence, one from each end.",
               "LiteRT kernels/bidirectional_sequence_rnn.cc, internal/kernel_utils.cc", kBidirectionalStates);
    def.maxOutputs = 2;
    def.infer = inferBidirectionalRnn;
    return def;
}
