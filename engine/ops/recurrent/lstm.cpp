// Catalogue entries of the LSTM operators: lstm, unidirectional_sequence_lstm, bidirectional_sequence_lstm.
#include "engine/ops/catalog.h"
#include "engine/ops/recurrent_checks.h"
#include "engine/tensor/value_text.h"

#include <array>
#include <string>

using namespace loopscope;

namespace {

/// Operand numbers of one cell in the order input, forget, cell, output gate; −1: none.
struct CellOperands {
    std::array<int, 4> input, recurrent, peephole, bias, norm, aux;
    int projection, projectionBias, outputState, cellState;
};

constexpr CellOperands kCell = {
    {1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, -1, 11}, {12, 13, 14, 15}, {20, 21, 22, 23}, {-1, -1, -1, -1}, 16, 17, 18, 19};
constexpr CellOperands kForward = {
    {1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, -1, 11}, {12, 13, 14, 15}, {-1, -1, -1, -1}, {40, 41, 42, 43}, 16, 17, 35, 36};
constexpr CellOperands kBackward = {
    {18, 19, 20, 21}, {22, 23, 24, 25}, {26, 27, -1, 28}, {29, 30, 31, 32}, {-1, -1, -1, -1}, {44, 45, 46, 47}, 33, 34, 37, 38};
constexpr int kAuxInput = 39;

constexpr int kStates[] = {18, 19};
constexpr int kBasicStates[] = {1, 4};
constexpr int kBidirectionalStates[] = {35, 36, 37, 38};

/// C5: peephole weights are f32, or 8-bit integers that one scale belongs to.
Status checkPeepholeDtypes(const InferContext& context, const CellOperands& o)
{
    for (const int i : o.peephole) {
        if (i < 0 || !context.has(i)) continue;
        const DType dtype = context.input(i).dtype;
        if (dtype != DType::f32 && dtype != DType::i8 && dtype != DType::u8 && dtype != DType::unknown)
            return InferContext::violated(5, "operand " + std::to_string(i) + " is " + std::string(dtypeName(dtype)) +
                                                 ", expected f32, i8 or u8");
    }
    return {};
}

/// Checks one cell for vectors of `inputs` (and `auxInputs`) numbers and `batch` entries; gives the size of its output.
/// C2 operands present, C3 shapes of weights, C4 shapes of states.
Result<int64_t> checkCell(const InferContext& context, const CellOperands& o, int64_t inputs, int64_t auxInputs, int64_t batch)
{
    for (const int g : {1, 2, 3}) {
        LS_CHECK_OK(requireOperand(context, 2, o.input[static_cast<size_t>(g)]));
        LS_CHECK_OK(requireOperand(context, 2, o.recurrent[static_cast<size_t>(g)]));
        LS_CHECK_OK(requireOperand(context, 2, o.bias[static_cast<size_t>(g)]));
    }
    LS_CHECK_OK(requireOperand(context, 2, o.outputState));
    LS_CHECK_OK(requireOperand(context, 2, o.cellState));
    const bool coupled = !context.has(o.input[0]);
    if (context.has(o.recurrent[0]) == coupled || context.has(o.bias[0]) == coupled)
        return InferContext::violated(2,
                                      "input weights, recurrent weights and bias of the input gate must all be present or all be missing");
    const bool diagonal = context.input(o.recurrent[3]).shape.rank() == 1;
    const int64_t cells = dimensionFromEnd(context, o.input[3], 2);
    const int64_t outputs = dimensionFromEnd(context, o.recurrent[3], 1);
    const bool normalized = o.norm[3] >= 0 && context.has(o.norm[3]);
    for (size_t g = 0; g < 4; ++g) {
        if (g == 0 && coupled) continue;
        LS_CHECK_OK(requireShape(context, 3, o.input[g], {cells, inputs}));
        if (diagonal) {
            LS_CHECK_OK(requireShape(context, 3, o.recurrent[g], {cells}));
        } else {
            LS_CHECK_OK(requireShape(context, 3, o.recurrent[g], {cells, outputs}));
        }
        if (auxInputs != kUnknownDim && o.aux[3] >= 0 && context.has(o.aux[3])) {
            LS_CHECK_OK(requireOperand(context, 2, o.aux[g]));
            LS_CHECK_OK(requireShape(context, 3, o.aux[g], {cells, auxInputs}));
        }
        LS_CHECK_OK(requireElements(context, 3, o.bias[g], cells));
        LS_CHECK_OK(requireElements(context, 3, o.peephole[g], cells));
        if (normalized) LS_CHECK_OK(requireOperand(context, 2, o.norm[g]));
        LS_CHECK_OK(requireElements(context, 3, o.norm[g], cells));
    }
    LS_CHECK_OK(requireShape(context, 3, o.projection, {outputs, cells}));
    LS_CHECK_OK(requireElements(context, 3, o.projectionBias, outputs));
    if (!context.has(o.projection) && cells != kUnknownDim && outputs != kUnknownDim && cells != outputs)
        return InferContext::violated(3, "without projection the " + std::to_string(cells) + " cells are the output, which has " +
                                             std::to_string(outputs) + " numbers");
    if (context.input(0).dtype == DType::f32) {
        for (size_t g = 0; g < 4; ++g)
            for (const int i : {o.bias[g], o.norm[g]}) LS_CHECK_OK(requireDtypeIfPresent(context, 5, i, DType::f32));
        for (const int i : {o.projectionBias, o.outputState, o.cellState}) LS_CHECK_OK(requireDtypeIfPresent(context, 5, i, DType::f32));
        LS_CHECK_OK(checkPeepholeDtypes(context, o));
    }
    LS_CHECK_OK(requireElements(context, 4, o.outputState, productOf(batch, outputs)));
    LS_CHECK_OK(requireElements(context, 4, o.cellState, productOf(batch, cells)));
    return outputs;
}

/// C5: f32 operands, with integers allowed where the hybrid kernels take them; or integers throughout.
Status checkDtypes(const InferContext& context)
{
    const DType dtype = context.input(0).dtype;
    if (dtype == DType::f32 || dtype == DType::i8 || dtype == DType::unknown) return {};
    return InferContext::violated(5, "input is " + std::string(dtypeName(dtype)) + ", expected f32 or i8");
}

/// C7: clips are limits, 0 for none.
Status checkClips(const InferContext& context)
{
    for (const char* const name : {"cell_clip", "proj_clip"})
        if (const double clip = attributeFloat(context.attributes(), name, 0); !(clip >= 0))
            return InferContext::violated(7, std::string(name) + " is " + realText(clip, 6) + ", expected at least 0");
    return {};
}

bool isBasic(const Operator& op) { return attributeWord(op.attributes, "kernel_type", "FULL") == "BASIC"; }

/// `@stateless`, ours: every run starts from what the states are given, which nothing writes. Files have no word for it.
std::span<const int> statesOf(const Operator& op)
{
    if (attributeBool(op.attributes, "@stateless", false)) return {};
    if (isBasic(op)) return kBasicStates;
    return kStates;
}

/// kernel_type BASIC: input [B,I], output state [B,O], weights [4·O,I+O], bias [4·O], cell state [B,O].
/// Constraints as for the full cell: C1 rank, C2 operands, C3 shapes of weights, C4 shapes of states, C5 dtypes, C6 results.
Status inferBasicLstm(InferContext& context)
{
    if (context.inputCount() != 5)
        return InferContext::violated(2, std::to_string(context.inputCount()) + " operands, expected 5 with kernel_type BASIC");
    for (int i = 0; i < 5; ++i) LS_CHECK_OK(requireOperand(context, 2, i));
    const DType dtype = context.input(0).dtype;
    if (dtype != DType::f32 && dtype != DType::u8 && dtype != DType::unknown)
        return InferContext::violated(5, "input is " + std::string(dtypeName(dtype)) + ", expected f32 or u8 with kernel_type BASIC");
    const bool quantized = dtype == DType::u8;
    LS_CHECK_OK(requireDtypeIfPresent(context, 5, 1, dtype));
    LS_CHECK_OK(requireDtypeIfPresent(context, 5, 2, dtype));
    LS_CHECK_OK(requireDtypeIfPresent(context, 5, 3, quantized ? DType::i32 : dtype));
    LS_CHECK_OK(requireDtypeIfPresent(context, 5, 4, quantized ? DType::i16 : dtype));
    const int64_t batch = dimensionFromEnd(context, 0, 2);
    const int64_t inputs = dimensionFromEnd(context, 0, 1);
    const int64_t cells = dimensionFromEnd(context, 1, 1);
    const int64_t rows = productOf(4, cells);
    const int64_t depth = inputs == kUnknownDim || cells == kUnknownDim ? kUnknownDim : inputs + cells;
    LS_CHECK_OK(requireShape(context, 3, 2, {rows, depth}));
    LS_CHECK_OK(requireShape(context, 3, 3, {rows}));
    LS_CHECK_OK(requireShape(context, 4, 1, {batch, cells}));
    LS_CHECK_OK(requireShape(context, 4, 4, {batch, cells}));
    if (context.outputCount() != 4)
        return InferContext::violated(6, std::to_string(context.outputCount()) + " results, expected 4 with kernel_type BASIC");
    context.setOutput(0, dtype, {batch, cells});
    context.setOutput(1, quantized ? DType::i16 : dtype, {batch, cells});
    context.setOutput(2, dtype, {batch, depth});
    context.setOutput(3, quantized ? DType::i16 : dtype, {batch, rows});
    return {};
}

Status inferLstm(InferContext& context)
{
    const Shape& input = context.input(0).shape;
    if (input.hasRank() && input.rank() != 2)
        return InferContext::violated(1, "input has rank " + std::to_string(input.rank()) + ", expected 2");
    if (isBasic(context.op())) return inferBasicLstm(context);
    LS_CHECK_OK(checkDtypes(context));
    LS_CHECK_OK(checkClips(context));
    if (context.outputCount() != 1) return InferContext::violated(6, std::to_string(context.outputCount()) + " results, expected 1");
    const int64_t batch = dimensionFromEnd(context, 0, 2);
    LS_TRY(const int64_t outputs, checkCell(context, kCell, dimensionFromEnd(context, 0, 1), kUnknownDim, batch));
    context.setOutput(0, context.input(0).dtype, {batch, outputs});
    return {};
}

Status inferSequenceLstm(InferContext& context)
{
    const Shape& input = context.input(0).shape;
    if (input.hasRank() && input.rank() != 3)
        return InferContext::violated(1, "input has rank " + std::to_string(input.rank()) + ", expected 3");
    LS_CHECK_OK(checkDtypes(context));
    LS_CHECK_OK(checkClips(context));
    const bool timeMajor = attributeBool(context.attributes(), "time_major", false);
    const int64_t batch = dimensionFromEnd(context, 0, timeMajor ? 2 : 3);
    LS_TRY(const int64_t outputs, checkCell(context, kCell, dimensionFromEnd(context, 0, 1), kUnknownDim, batch));
    context.setOutput(0, context.input(0).dtype, {dimensionFromEnd(context, 0, 3), dimensionFromEnd(context, 0, 2), outputs});
    return {};
}

Status inferBidirectionalLstm(InferContext& context)
{
    const Shape& input = context.input(0).shape;
    if (input.hasRank() && input.rank() != 3)
        return InferContext::violated(1, "input has rank " + std::to_string(input.rank()) + ", expected 3");
    LS_CHECK_OK(checkDtypes(context));
    LS_CHECK_OK(checkClips(context));
    const bool timeMajor = attributeBool(context.attributes(), "time_major", true);
    const int64_t batch = dimensionFromEnd(context, 0, timeMajor ? 2 : 3);
    const int64_t inputs = dimensionFromEnd(context, 0, 1);
    const bool hasAux = context.has(kAuxInput);
    LS_CHECK_OK(requireDtypeIfPresent(context, 5, kAuxInput, context.input(0).dtype));
    if (hasAux)
        LS_CHECK_OK(requireShape(context, 1, kAuxInput, {dimensionFromEnd(context, 0, 3), dimensionFromEnd(context, 0, 2), kUnknownDim}));
    // An auxiliary input without weights of its own is the backward cell's input (stacked layers).
    const bool ownWeights = context.has(kForward.aux[1]);
    const int64_t auxInputs = hasAux ? dimensionFromEnd(context, kAuxInput, 1) : kUnknownDim;
    if (ownWeights && (!hasAux || !context.has(kBackward.aux[1])))
        return InferContext::violated(2, "weights for an auxiliary input need the input and weights of both cells");
    LS_TRY(const int64_t forward, checkCell(context, kForward, inputs, ownWeights ? auxInputs : kUnknownDim, batch));
    LS_TRY(const int64_t backward,
           checkCell(context, kBackward, hasAux && !ownWeights ? auxInputs : inputs, ownWeights ? auxInputs : kUnknownDim, batch));
    const bool merge = attributeBool(context.attributes(), "merge_outputs", false);
    if (context.outputCount() != (merge ? 1 : 2))
        return InferContext::violated(6, std::to_string(context.outputCount()) + " results, expected " +
                                             (merge ? "1, as merge_outputs is set" : "2"));
    const auto shape = [&](int64_t size) { return Shape{dimensionFromEnd(context, 0, 3), dimensionFromEnd(context, 0, 2), size}; };
    const DType dtype = context.input(0).dtype;
    if (merge) {
        context.setOutput(0, dtype, shape(forward == kUnknownDim || backward == kUnknownDim ? kUnknownDim : forward + backward));
        return {};
    }
    context.setOutput(0, dtype, shape(forward));
    context.setOutput(1, dtype, shape(backward));
    return {};
}

constexpr std::string_view kCellOperands =
    "4 input weights [cells,I] (input gate, forget, cell, output), 4 recurrent weights [cells,O], 3 peepholes? [cells], 4 biases [cells], "
    "projection? [O,cells], projection bias? [O], output state [B,O], cell state [B,cells], 4 layer norm weights? [cells]";

OpDef lstmDef(std::string_view summary, std::string_view source)
{
    OpDef def;
    def.minInputs = 20;
    def.maxInputs = 24;
    def.operands = kCellOperands;
    def.summary = summary;
    def.source = source;
    def.floatBound = ErrorBounds(withinRelative(1e-5)).because("the reference's tanh and logistic are approximations");
    def.differs =
        "i8 cells with peepholes and a projection to fewer numbers: every cell has its peephole; LiteRT reads as many as there are results";
    def.stateOperands = kStates;
    def.hasSideEffects = true;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, lstm)
{
    OpDef def =
        lstmDef("One step of an LSTM cell on a batch; the states move on. kernel_type BASIC: input, output state, one weight matrix, "
                "bias, cell state.",
                "LiteRT kernels/{lstm,lstm_eval}.cc");
    def.minInputs = 5;
    def.maxOutputs = 4;
    def.stateOperandsOf = statesOf;
    def.infer = inferLstm;
    return def;
}

LS_DEFINE_OP(tfl, unidirectional_sequence_lstm)
{
    OpDef def = lstmDef("An LSTM over a sequence; the states stay for the next call.",
                        "LiteRT kernels/{unidirectional_sequence_lstm,lstm_eval}.cc");
    def.stateOperandsOf = statesOf;
    def.infer = inferSequenceLstm;
    return def;
}

LS_DEFINE_OP(tfl, bidirectional_sequence_lstm)
{
    OpDef def = lstmDef("Two LSTMs over a sequence, one from each end.", "LiteRT kernels/{bidirectional_sequence_lstm,lstm_eval}.cc");
    def.minInputs = def.maxInputs = 48;
    def.maxOutputs = 2;
    def.operands = "input [T,B,I] or [B,T,I], 17 operands of the forward cell, 17 of the backward cell, 4 states, auxiliary input?, 2 × 4 "
                   "weights for it?";
    def.differs = "merged results of batch-major sequences are written (LiteRT leaves them unwritten)";
    def.stateOperands = kBidirectionalStates;
    def.infer = inferBidirectionalLstm;
    return def;
}
