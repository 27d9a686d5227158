// CPU kernels of lstm, unidirectional_sequence_lstm and bidirectional_sequence_lstm with f32 activations (weights f32, or i8/u8 with a
// scale); the first two also with i8 (lstm_integer.h), lstm also with kernel_type BASIC (lstm_basic.h).
#include "engine/kernels/cpu/recurrent/lstm_basic.h"
#include "engine/kernels/cpu/recurrent/lstm_cell.h"
#include "engine/kernels/cpu/recurrent/lstm_integer.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <memory>
#include <utility>

using namespace loopscope;

namespace {

constexpr int kAuxInput = 39;

struct LstmParams {
    std::array<LstmCell, 2> cells; ///< forward, backward
    bool timeMajor = false;
    bool merge = false;
    bool isStateless = false; ///< states are where a run starts: it works on copies
};

/// States are variables of the graph: the planner has checked that these operands may be written.
float* stateOf(const KernelArgs& args, int operand) { return reinterpret_cast<float*>(args.in(operand).data); }

/// The steps of a sequence [T,B,·] or [B,T,·]; a plain LSTM has T = 1.
struct Sequence {
    int64_t times, batches;
    bool timeMajor;
    int64_t row(int64_t t, int64_t b) const { return timeMajor ? t * batches + b : b * times + t; }
};

struct Rows {
    const float* data;
    int64_t width;
};

/// Runs one cell over a sequence. Results go to columns `column` … of rows of `stride` numbers.
void runCell(const KernelArgs& args, const LstmCell& cell, const Sequence& sequence, const KeptStates& kept, bool backward, Rows input,
             Rows aux, float* out, int64_t stride, int64_t column)
{
    const bool copies = args.paramsAs<LstmParams>().isStateless;
    ScratchLayout layout;
    LstmStepper stepper(cell, args, layout);
    const size_t outputAt = layout.add<float>(copies ? sequence.batches * cell.outputs : 0);
    const size_t cellAt = layout.add<float>(copies ? sequence.batches * cell.cells : 0);
    std::byte* const scratch = args.runtime->scratch(layout.bytes());
    stepper.bind(scratch);
    float* outputState = stateOf(args, cell.operands.outputState);
    float* cellState = stateOf(args, cell.operands.cellState);
    if (copies) {
        const float* const h0 = std::exchange(outputState, reinterpret_cast<float*>(scratch + outputAt));
        const float* const c0 = std::exchange(cellState, reinterpret_cast<float*>(scratch + cellAt));
        std::copy(h0, h0 + sequence.batches * cell.outputs, outputState);
        std::copy(c0, c0 + sequence.batches * cell.cells, cellState);
    }
    for (int64_t b = 0; b < sequence.batches; ++b)
        for (int64_t step = 0; step < sequence.times; ++step) {
            kept.step();
            const int64_t row = sequence.row(backward ? sequence.times - 1 - step : step, b);
            float* h = outputState + b * cell.outputs;
            stepper.step(input.data + row * input.width, aux.data ? aux.data + row * aux.width : nullptr, h, cellState + b * cell.cells,
                         {b, sequence.batches, sequence.timeMajor});
            std::copy(h, h + cell.outputs, out + row * stride + column);
        }
}

Rows rowsOf(const Tensor& tensor) { return {tensor.as<float>(), tensor.shape.back()}; }

Status runOneWay(const KernelArgs& args)
{
    const auto& params = args.paramsAs<LstmParams>();
    const Shape& input = args.in(0).shape;
    const bool sequence = input.rank() == 3;
    const Sequence steps = {sequence ? input[params.timeMajor ? 0 : 1] : 1, sequence ? input[params.timeMajor ? 1 : 0] : input[0],
                            params.timeMajor || !sequence};
    const LstmOperands& operands = params.cells[0].operands;
    const KeptStates kept(args, {operands.outputState, operands.cellState}, steps.times * steps.batches);
    runCell(args, params.cells[0], steps, kept, false, rowsOf(args.in(0)), {}, args.out(0).as<float>(), params.cells[0].outputs, 0);
    return {};
}

Status runBothWays(const KernelArgs& args)
{
    const auto& params = args.paramsAs<LstmParams>();
    const Shape& input = args.in(0).shape;
    const Sequence steps = {input[params.timeMajor ? 0 : 1], input[params.timeMajor ? 1 : 0], params.timeMajor};
    const auto& [forward, backward] = params.cells;
    const Rows rows = rowsOf(args.in(0));
    const Rows aux = args.has(kAuxInput) ? rowsOf(args.in(kAuxInput)) : Rows();
    const bool ownWeights = forward.aux[kForgetGate].present();
    const int64_t stride = args.out(0).shape.back();
    const KeptStates kept(
        args, {forward.operands.outputState, forward.operands.cellState, backward.operands.outputState, backward.operands.cellState},
        steps.times * steps.batches);
    runCell(args, forward, steps, kept, false, rows, ownWeights ? aux : Rows(), args.out(0).as<float>(), stride, 0);
    float* out = args.out(params.merge ? 0 : 1).as<float>();
    runCell(args, backward, steps, kept, true, aux.data && !ownWeights ? aux : rows, ownWeights ? aux : Rows(), out,
            params.merge ? stride : backward.outputs, params.merge ? forward.outputs : 0);
    return {};
}

Result<PreparedKernel> prepareOneWay(const KernelSetup& setup)
{
    const bool isStateless = attributeBool(setup.attributes(), "@stateless", false);
    if (setup.in(0).dtype == DType::i8 && isStateless)
        return Error(ErrorCode::unsupported, "a stateless cell of integers").expected("f32 with @stateless");
    if (setup.in(0).dtype == DType::i8) return prepareIntegerLstm(setup);
    auto params = std::make_shared<LstmParams>();
    params->isStateless = isStateless;
    LS_TRY(params->cells[0], prepareLstmCell(setup, kLstmOperands));
    params->timeMajor = attributeBool(setup.attributes(), "time_major", false);
    return PreparedKernel{runOneWay, std::move(params)};
}

Result<PreparedKernel> prepareBothWays(const KernelSetup& setup)
{
    if (setup.in(0).dtype != DType::f32)
        return Error(ErrorCode::unsupported, "input is " + std::string(dtypeName(setup.in(0).dtype))).expected("f32");
    auto params = std::make_shared<LstmParams>();
    LS_TRY(params->cells[0], prepareLstmCell(setup, kForwardOperands));
    LS_TRY(params->cells[1], prepareLstmCell(setup, kBackwardOperands));
    params->timeMajor = attributeBool(setup.attributes(), "time_major", true);
    params->merge = attributeBool(setup.attributes(), "merge_outputs", false);
    return PreparedKernel{runBothWays, std::move(params)};
}

Result<PreparedKernel> prepareLstm(const KernelSetup& setup)
{
    const bool isBasic = attributeWord(setup.attributes(), "kernel_type", "FULL") == "BASIC";
    if (isBasic && attributeBool(setup.attributes(), "@stateless", false))
        return Error(ErrorCode::unsupported, "a stateless cell of kernel_type BASIC").expected("kernel_type FULL");
    return isBasic ? prepareBasicLstm(setup) : prepareOneWay(setup);
}

} // namespace

LS_DEFINE_KERNELS(tfl, lstm) { registry.add({"tfl", "lstm", Profile::reference, prepareLstm, "f32 i8 u8"}); }

LS_DEFINE_KERNELS(tfl, unidirectional_sequence_lstm)
{
    registry.add({"tfl", "unidirectional_sequence_lstm", Profile::reference, prepareOneWay, "f32 i8"});
}

LS_DEFINE_KERNELS(tfl, bidirectional_sequence_lstm)
{
    registry.add({"tfl", "bidirectional_sequence_lstm", Profile::reference, prepareBothWays, "f32"});
}
