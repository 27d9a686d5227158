// CPU kernels of rnn, unidirectional_sequence_rnn and bidirectional_sequence_rnn (f32 activations; weights f32, or i8/u8 with a scale).
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/recurrent/recurrent.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <array>
#include <memory>

using namespace loopscope;

namespace {

constexpr int kAuxInput = 9;

struct RnnCell {
    WeightMatrix input, recurrent, aux;
    int bias = -1, state = -1;
};

struct RnnParams {
    std::array<RnnCell, 2> cells; ///< forward, backward
    VectorActivation activation = VectorActivation::none;
    bool asymmetric = false;
    bool timeMajor = false;
    bool merge = false;
    bool isStateless = false; ///< the state is an operand that nothing writes
};

Result<RnnCell> prepareCell(const KernelSetup& setup, int first, int aux)
{
    RnnCell cell;
    LS_TRY(cell.input, prepareWeights(setup, first));
    LS_TRY(cell.recurrent, prepareWeights(setup, first + 1));
    LS_TRY(cell.aux, prepareWeights(setup, aux));
    cell.bias = first + 2;
    cell.state = first + 3;
    return cell;
}

struct Rows {
    const float* data;
    int64_t width;
};

Rows rowsOf(const Tensor& tensor) { return {tensor.as<float>(), tensor.shape.back()}; }

/// The steps of a sequence [T,B,·] or [B,T,·]; a plain RNN has T = 1.
struct Sequence {
    int64_t times, batches;
    bool timeMajor;
    int64_t row(int64_t t, int64_t b) const { return timeMajor ? t * batches + b : b * times + t; }
};

/// Runs one cell over a sequence. Results go to columns `column` … of rows of `stride` numbers. The state is a variable of the graph (the
/// planner has checked that).
void runCell(const KernelArgs& args, const RnnCell& cell, const Sequence& sequence, const KeptStates& kept, bool backward, Rows input,
             Rows aux, float* out, int64_t stride, int64_t column)
{
    const auto& params = args.paramsAs<RnnParams>();
    const int64_t units = cell.input.rows;
    ScratchLayout layout;
    const size_t inputAt = layout.add<std::byte>(static_cast<int64_t>(cell.input.scratchBytes()));
    const size_t recurrentAt = layout.add<std::byte>(static_cast<int64_t>(cell.recurrent.scratchBytes()));
    const size_t auxAt = layout.add<std::byte>(static_cast<int64_t>(cell.aux.scratchBytes()));
    const size_t temporaryAt = layout.add<float>(paddedRows(units));
    const size_t sumsAt = layout.add<float>(units);
    const size_t stateAt = layout.add<float>(params.isStateless ? units : 0);
    const size_t quantizedAt = layout.add<int16_t>(paddedDepth(std::max({cell.input.columns, units, aux.data ? aux.width : 0})));
    std::byte* scratch = args.runtime->scratch(layout.bytes());
    const BoundWeights inputWeights(cell.input, args, scratch + inputAt);
    const BoundWeights recurrentWeights(cell.recurrent, args, scratch + recurrentAt);
    const BoundWeights auxWeights(cell.aux, args, scratch + auxAt);
    auto* sums = reinterpret_cast<float*>(scratch + sumsAt);
    auto* quantized = reinterpret_cast<int16_t*>(scratch + quantizedAt);
    const float* bias = args.in(cell.bias).as<float>();
    const auto add = [&](const BoundWeights& weights, const WeightMatrix& matrix, const float* values) {
        weights.multiplyAdd(stepVector(values, matrix.columns, matrix.integer, params.asymmetric, quantized), sums, scratch + temporaryAt,
                            SumOrder::lanes);
    };
    for (int64_t b = 0; b < sequence.batches; ++b) {
        float* state = reinterpret_cast<float*>(args.in(cell.state).data) + b * units;
        if (params.isStateless) state = std::copy_n(state, units, reinterpret_cast<float*>(scratch + stateAt)) - units;
        for (int64_t step = 0; step < sequence.times; ++step) {
            kept.step();
            const int64_t row = sequence.row(backward ? sequence.times - 1 - step : step, b);
            std::copy(bias, bias + units, sums);
            add(inputWeights, cell.input, input.data + row * input.width);
            if (aux.data) add(auxWeights, cell.aux, aux.data + row * aux.width);
            add(recurrentWeights, cell.recurrent, state);
            // LiteRT computes the rows of a batch at once where they lie side by side.
            const bool together = sequence.timeMajor && stride == units;
            const int64_t first = together ? b * units : 0;
            const Packets packets(row * stride + column - first, together ? sequence.batches * units : units);
            for (int64_t u = 0; u < units; ++u) state[u] = activate(params.activation, sums[u], packets.holds(first + u));
            std::copy(state, state + units, out + row * stride + column);
        }
    }
}

Status runOneWay(const KernelArgs& args)
{
    const auto& params = args.paramsAs<RnnParams>();
    const Shape& input = args.in(0).shape;
    const bool sequence = input.rank() == 3;
    const Sequence steps = {sequence ? input[params.timeMajor ? 0 : 1] : 1, sequence ? input[params.timeMajor ? 1 : 0] : input[0],
                            params.timeMajor || !sequence};
    const KeptStates kept(args, {params.isStateless ? -1 : params.cells[0].state}, steps.times * steps.batches);
    runCell(args, params.cells[0], steps, kept, false, rowsOf(args.in(0)), {}, args.out(0).as<float>(), params.cells[0].input.rows, 0);
    return {};
}

Status runBothWays(const KernelArgs& args)
{
    const auto& params = args.paramsAs<RnnParams>();
    const Shape& input = args.in(0).shape;
    const Sequence steps = {input[params.timeMajor ? 0 : 1], input[params.timeMajor ? 1 : 0], params.timeMajor};
    const auto& [forward, backward] = params.cells;
    const Rows rows = rowsOf(args.in(0));
    const Rows aux = args.has(kAuxInput) ? rowsOf(args.in(kAuxInput)) : Rows();
    const bool ownWeights = forward.aux.present();
    const int64_t stride = args.out(0).shape.back();
    const KeptStates kept(args, {forward.state, backward.state}, steps.times * steps.batches);
    runCell(args, forward, steps, kept, false, rows, ownWeights ? aux : Rows(), args.out(0).as<float>(), stride, 0);
    float* out = args.out(params.merge ? 0 : 1).as<float>();
    // An auxiliary input without weights of its own is the backward cell's input (stacked layers).
    runCell(args, backward, steps, kept, true, aux.data && !ownWeights ? aux : rows, ownWeights ? aux : Rows(), out,
            params.merge ? stride : backward.input.rows, params.merge ? forward.input.rows : 0);
    return {};
}

template <bool both> Result<PreparedKernel> prepareRnn(const KernelSetup& setup)
{
    auto params = std::make_shared<RnnParams>();
    LS_TRY(params->cells[0], prepareCell(setup, 1, both ? kAuxInput + 1 : -1));
    if constexpr (both) {
        LS_TRY(params->cells[1], prepareCell(setup, 5, kAuxInput + 2));
    }
    params->activation = vectorActivation(setup.attributes());
    params->asymmetric = attributeBool(setup.attributes(), "asymmetric_quantize_inputs", false);
    params->timeMajor = attributeBool(setup.attributes(), "time_major", false);
    params->isStateless = !both && attributeBool(setup.attributes(), "@stateless", false);
    params->merge = attributeBool(setup.attributes(), "merge_outputs", false);
    return PreparedKernel{both ? runBothWays : runOneWay, std::move(params)};
}

} // namespace

LS_DEFINE_KERNELS(tfl, rnn) { registry.add({"tfl", "rnn", Profile::reference, prepareRnn<false>, "f32"}); }

LS_DEFINE_KERNELS(tfl, unidirectional_sequence_rnn)
{
    registry.add({"tfl", "unidirectional_sequence_rnn", Profile::reference, prepareRnn<false>, "f32"});
}

LS_DEFINE_KERNELS(tfl, bidirectional_sequence_rnn)
{
    registry.add({"tfl", "bidirectional_sequence_rnn", Profile::reference, prepareRnn<true>, "f32"});
}
