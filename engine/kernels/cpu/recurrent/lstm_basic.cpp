// Source: LiteRT kernels/lstm.cc (namespace basic), internal/reference/lstm_cell.h.
#include "engine/kernels/cpu/recurrent/lstm_basic.h"

#include "engine/kernels/cpu/fixed_point16.h"
#include "engine/kernels/cpu/nn_common.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

namespace loopscope {

namespace {

/// Operands and results.
enum Operand { kInput, kOutputState, kWeights, kBias, kCellState };
enum ResultNumber { kOutput, kCells, kJoined, kGates };

struct BasicParams {
    QuantizedMultiplier multiplier; ///< accumulators to gates with 12 fractional bits
    int32_t weightZero = 0;
};

/// The gates of a batch entry in the order input, cell, forget, output.
template <typename T> struct Gates {
    const T *input, *cell, *forget, *output;
    Gates(const T* gates, int64_t cells) : input(gates), cell(gates + cells), forget(gates + 2 * cells), output(gates + 3 * cells) {}
};

/// Result kJoined: the input and the last output side by side.
template <typename T> const T* joinInputs(const KernelArgs& args)
{
    const int64_t inputs = args.in(kInput).shape[1];
    const int64_t cells = args.in(kCellState).shape[1];
    T* joined = args.out(kJoined).as<T>();
    for (int64_t b = 0; b < args.in(kInput).shape[0]; ++b) {
        std::copy_n(args.in(kInput).as<T>() + b * inputs, inputs, joined + b * (inputs + cells));
        std::copy_n(args.in(kOutputState).as<T>() + b * cells, cells, joined + b * (inputs + cells) + inputs);
    }
    return joined;
}

/// States are variables of the graph: the planner has checked that these operands may be written.
void keepStates(const KernelArgs& args)
{
    std::memcpy(args.in(kOutputState).data, args.out(kOutput).data, args.out(kOutput).bytes);
    std::memcpy(args.in(kCellState).data, args.out(kCells).data, args.out(kCells).bytes);
}

float logistic(float x) { return 1.0F / (1.0F + std::exp(-x)); }

Status runFloat(const KernelArgs& args)
{
    const int64_t batches = args.in(kInput).shape[0];
    const int64_t cells = args.in(kCellState).shape[1];
    const int64_t depth = args.in(kWeights).shape[1];
    const float* joined = joinInputs<float>(args);
    for (int64_t b = 0; b < batches; ++b) {
        float* sums = args.out(kGates).as<float>() + b * 4 * cells;
        for (int64_t r = 0; r < 4 * cells; ++r) {
            const float* row = args.in(kWeights).as<float>() + r * depth;
            float sum = 0.0F;
            for (int64_t i = 0; i < depth; ++i) sum += joined[b * depth + i] * row[i];
            sums[r] = sum + args.in(kBias).as<float>()[r];
        }
        const Gates<float> gates(sums, cells);
        const float* last = args.in(kCellState).as<float>() + b * cells;
        for (int64_t c = 0; c < cells; ++c) {
            const float state = logistic(gates.input[c]) * std::tanh(gates.cell[c]) + logistic(gates.forget[c]) * last[c];
            args.out(kCells).as<float>()[b * cells + c] = state;
            args.out(kOutput).as<float>()[b * cells + c] = logistic(gates.output[c]) * std::tanh(state);
        }
    }
    keepStates(args);
    return {};
}

/// Gates as Fixed16<3>, the cell state as Fixed16<4>, outputs with 7 fractional bits around 128.
Status runQuantized(const KernelArgs& args)
{
    const auto& params = args.paramsAs<BasicParams>();
    const int64_t batches = args.in(kInput).shape[0];
    const int64_t cells = args.in(kCellState).shape[1];
    const int64_t depth = args.in(kWeights).shape[1];
    const uint8_t* joined = joinInputs<uint8_t>(args);
    for (int64_t b = 0; b < batches; ++b) {
        int16_t* sums = args.out(kGates).as<int16_t>() + b * 4 * cells;
        for (int64_t r = 0; r < 4 * cells; ++r) {
            const uint8_t* row = args.in(kWeights).as<uint8_t>() + r * depth;
            auto sum = static_cast<uint32_t>(args.in(kBias).as<int32_t>()[r]); // wraps around
            for (int64_t i = 0; i < depth; ++i) sum += static_cast<uint32_t>((joined[b * depth + i] - 128) * (row[i] - params.weightZero));
            sums[r] = static_cast<int16_t>(
                std::clamp(multiplyByQuantizedMultiplier(static_cast<int32_t>(sum), params.multiplier), -32768, 32767));
        }
        const Gates<int16_t> gates(sums, cells);
        const int16_t* last = args.in(kCellState).as<int16_t>() + b * cells;
        for (int64_t c = 0; c < cells; ++c) {
            const Fixed16<0> update = Fixed16<0>{logistic16(gates.input[c])} * Fixed16<0>{tanh16<3>(gates.cell[c])};
            const Fixed16<4> kept = Fixed16<0>{logistic16(gates.forget[c])} * Fixed16<4>{last[c]};
            const Fixed16<4> state = {static_cast<int16_t>(std::clamp(rescale16<4>(update).raw + kept.raw, -32768, 32767))};
            args.out(kCells).as<int16_t>()[b * cells + c] = state.raw;
            const Fixed16<0> output = Fixed16<0>{logistic16(gates.output[c])} * Fixed16<0>{tanh16<3>(rescale16<3>(state).raw)};
            args.out(kOutput).as<uint8_t>()[b * cells + c] =
                static_cast<uint8_t>(128 + std::clamp(roundingDivideByPowerOfTwo(output.raw, 8), -128, 127));
        }
    }
    keepStates(args);
    return {};
}

} // namespace

Result<PreparedKernel> prepareBasicLstm(const KernelSetup& setup)
{
    if (setup.in(kInput).dtype == DType::f32) return PreparedKernel{runFloat, nullptr};
    if (setup.in(kInput).dtype != DType::u8)
        return Error(ErrorCode::unsupported, "input is " + std::string(dtypeName(setup.in(kInput).dtype))).expected("f32 or u8");
    for (const int i : {kWeights, kBias})
        if (!isQuantized(setup.in(i))) return Error(ErrorCode::unsupported, "operand " + std::to_string(i) + " has no scale");
    if (!isQuantized(setup.out(kCells)) || scaleAndZero(setup.out(kCells)).scale != 1.0F / 2048.0F)
        return Error(ErrorCode::unsupported, "scale of the cell state").expected("1/2048 (LiteRT has no other)");
    auto params = std::make_shared<BasicParams>();
    params->multiplier = quantizeMultiplier(static_cast<double>(4096.0F * scaleAndZero(setup.in(kBias)).scale));
    params->weightZero = scaleAndZero(setup.in(kWeights)).zero;
    if (params->weightZero < 0 || params->weightZero > 255)
        return Error(ErrorCode::unsupported, "zero point of the weights is no u8").found(std::to_string(params->weightZero));
    return PreparedKernel{runQuantized, std::move(params)};
}

} // namespace loopscope
