// Integer LSTM cells ("8x8_16"). Source: LiteRT kernels/lstm_eval.cc, LstmStepInteger8x8_16, and the scales that
// kernels/unidirectional_sequence_lstm.cc prepares for it.
#include "engine/kernels/cpu/lstm_integer.h"

#include "engine/kernels/cpu/fixed_point16.h"
#include "engine/kernels/cpu/lstm_cell.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

namespace loopscope {

namespace {

struct IntegerLstmParams {
    std::array<QuantizedMultiplier, kGateCount> input, recurrent, peephole;
    QuantizedMultiplier hidden;
    int32_t inputZero = 0, stateZero = 0, hiddenZero = 0;
    int cellExponent = 0; ///< cell state = raw · 2^cellExponent
    int16_t cellClip = 0; ///< 0: none
    bool coupled = false; ///< no input gate: it is 1 − forget gate
    bool timeMajor = false;
};

int16_t saturated(int64_t value)
{
    return static_cast<int16_t>(std::clamp<int64_t>(value, INT16_MIN, INT16_MAX));
}

/// Σ row · (x − zero), modulo 2³².
int32_t product(const int8_t* row, const int8_t* x, int32_t zero, int64_t count, int32_t start)
{
    auto sum = static_cast<uint32_t>(start);
    for (int64_t i = 0; i < count; ++i) sum += static_cast<uint32_t>(row[i] * (x[i] - zero));
    return static_cast<int32_t>(sum);
}

int16_t tanhOfCell(int16_t raw, int integerBits)
{
    switch (integerBits) {
    case 0: return tanh16<0>(raw);
    case 1: return tanh16<1>(raw);
    case 2: return tanh16<2>(raw);
    case 3: return tanh16<3>(raw);
    case 4: return tanh16<4>(raw);
    case 5: return tanh16<5>(raw);
    default: return tanh16<6>(raw);
    }
}

/// Moves one batch entry on by one step.
class IntegerStep {
public:
    IntegerStep(const KernelArgs& args, std::byte* scratch)
        : m_args(args), m_params(args.paramsAs<IntegerLstmParams>()), m_cells(args.in(4).shape[0]), m_inputs(args.in(4).shape[1]),
          m_gates(reinterpret_cast<int16_t*>(scratch))
    {
    }
    int64_t cells() const { return m_cells; }
    int64_t inputs() const { return m_inputs; }

    void run(const int8_t* x, int8_t* outputState, int16_t* cellState) const
    {
        if (!m_params.coupled) gate(kInputGate, x, outputState, cellState);
        gate(kForgetGate, x, outputState, cellState);
        gate(kCellGate, x, outputState, cellState);
        const int16_t* forget = gateOf(kForgetGate);
        for (int64_t i = 0; i < m_cells; ++i) {
            const auto kept = static_cast<int16_t>(roundingDivideByPowerOfTwo(forget[i] * cellState[i], 15));
            const auto write = m_params.coupled ? static_cast<int16_t>(INT16_MAX - forget[i]) : gateOf(kInputGate)[i];
            const auto added = static_cast<int16_t>(roundingDivideByPowerOfTwo(write * gateOf(kCellGate)[i], 30 + m_params.cellExponent));
            int16_t value = saturated(int64_t{kept} + added);
            if (m_params.cellClip > 0) value = std::clamp(value, static_cast<int16_t>(-m_params.cellClip), m_params.cellClip);
            cellState[i] = value;
        }
        gate(kOutputGate, x, outputState, cellState);
        for (int64_t i = 0; i < m_cells; ++i) {
            const int32_t hidden = gateOf(kOutputGate)[i] * tanhOfCell(cellState[i], 15 + m_params.cellExponent);
            const int64_t stored = int64_t{multiplyByQuantizedMultiplier(hidden, m_params.hidden)} + m_params.hiddenZero;
            outputState[i] = static_cast<int8_t>(std::clamp<int64_t>(stored, INT8_MIN, INT8_MAX));
        }
    }

private:
    int16_t* gateOf(LstmGate which) const { return m_gates + which * m_cells; }

    void gate(LstmGate which, const int8_t* x, const int8_t* state, const int16_t* cellState) const
    {
        const auto g = static_cast<size_t>(which);
        const int8_t* weights = m_args.in(kLstmOperands.input[g]).as<int8_t>();
        const int8_t* recurrent = m_args.in(kLstmOperands.recurrent[g]).as<int8_t>();
        const int32_t* bias = m_args.in(kLstmOperands.bias[g]).as<int32_t>();
        const int peephole = kLstmOperands.peephole[g];
        const int16_t* diagonal = peephole >= 0 && m_args.has(peephole) ? m_args.in(peephole).as<int16_t>() : nullptr;
        int16_t* out = gateOf(which);
        for (int64_t i = 0; i < m_cells; ++i) {
            int16_t sum = saturated(multiplyByQuantizedMultiplier(product(weights + i * m_inputs, x, m_params.inputZero, m_inputs, bias[i]), m_params.input[g]));
            sum = saturated(int64_t{sum} +
                            multiplyByQuantizedMultiplier(product(recurrent + i * m_cells, state, m_params.stateZero, m_cells, 0), m_params.recurrent[g]));
            if (diagonal) sum = saturated(int64_t{sum} + multiplyByQuantizedMultiplier(diagonal[i] * cellState[i], m_params.peephole[g]));
            out[i] = which == kCellGate ? tanh16<3>(sum) : logistic16(sum);
        }
    }

    const KernelArgs& m_args;
    const IntegerLstmParams& m_params;
    int64_t m_cells, m_inputs;
    int16_t* m_gates; ///< [kGateCount, cells]
};

Status runIntegerLstm(const KernelArgs& args)
{
    const auto& params = args.paramsAs<IntegerLstmParams>();
    const Shape& input = args.in(0).shape;
    const bool sequence = input.rank() == 3;
    const bool timeMajor = params.timeMajor || !sequence;
    const int64_t times = sequence ? input[timeMajor ? 0 : 1] : 1;
    const int64_t batches = sequence ? input[timeMajor ? 1 : 0] : input[0];
    const IntegerStep step(args, args.runtime->scratch(static_cast<size_t>(kGateCount * args.in(4).shape[0]) * sizeof(int16_t)));
    auto* outputState = reinterpret_cast<int8_t*>(args.in(kLstmOperands.outputState).data);
    auto* cellState = reinterpret_cast<int16_t*>(args.in(kLstmOperands.cellState).data);
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t t = 0; t < times; ++t) {
            const int64_t row = timeMajor ? t * batches + b : b * times + t;
            int8_t* state = outputState + b * step.cells();
            step.run(args.in(0).as<int8_t>() + row * step.inputs(), state, cellState + b * step.cells());
            std::copy(state, state + step.cells(), args.out(0).as<int8_t>() + row * step.cells());
        }
    return {};
}

Status checkOperand(const KernelSetup& setup, int operand, DType dtype)
{
    if (operand < 0 || !setup.has(operand)) return {};
    const Tensor& t = setup.in(operand);
    if (t.dtype != dtype)
        return Error(ErrorCode::unsupported, "operand " + std::to_string(operand) + " of an i8 cell").found(std::string(dtypeName(t.dtype))).expected(std::string(dtypeName(dtype)));
    if (dtype != DType::i32 && !isQuantized(t)) return Error(ErrorCode::unsupported, "operand " + std::to_string(operand) + " has no scale");
    return {};
}

} // namespace

Result<PreparedKernel> prepareIntegerLstm(const KernelSetup& setup)
{
    const LstmOperands& o = kLstmOperands;
    for (size_t g = 0; g < kGateCount; ++g) {
        LS_CHECK_OK(checkOperand(setup, o.input[g], DType::i8));
        LS_CHECK_OK(checkOperand(setup, o.recurrent[g], DType::i8));
        LS_CHECK_OK(checkOperand(setup, o.bias[g], DType::i32));
        LS_CHECK_OK(checkOperand(setup, o.peephole[g], DType::i16));
    }
    LS_CHECK_OK(checkOperand(setup, o.outputState, DType::i8));
    LS_CHECK_OK(checkOperand(setup, o.cellState, DType::i16));
    if (setup.has(o.norm[kOutputGate]) || setup.has(o.projection)) // their scales are those of intermediate tensors, which kernels do not see
        return Error(ErrorCode::unsupported, "an i8 cell with layer normalization or projection");
    if (setup.in(o.recurrent[kOutputGate]).shape.rank() != 2) return Error(ErrorCode::unsupported, "an i8 cell with diagonal weights");
    if (!isQuantized(setup.in(0)) || !isQuantized(setup.out(0))) return Error(ErrorCode::unsupported, "input or result has no scale");

    const auto scale = [&](int operand) { return scaleAndZero(setup.in(operand)).scale; };
    auto params = std::make_shared<IntegerLstmParams>();
    const float cellScale = scale(o.cellState);
    params->cellExponent = cellScale > 0 ? std::ilogb(cellScale) : 0;
    if (cellScale != std::ldexp(1.0F, params->cellExponent) || params->cellExponent < -15 || params->cellExponent > -9)
        return Error(ErrorCode::unsupported, "scale of the cell state").found(std::to_string(cellScale)).expected("a power of two from 2^-15 to 2^-9");
    const float gateScale = std::ldexp(1.0F, -12); // gates are read with 3 integer bits
    for (size_t g = 0; g < kGateCount; ++g) {
        if (!setup.has(o.input[g])) continue;
        params->input[g] = quantizeMultiplier(static_cast<double>(scale(o.input[g]) * scale(0) / gateScale));
        params->recurrent[g] = quantizeMultiplier(static_cast<double>(scale(o.recurrent[g]) * scale(o.outputState) / gateScale));
        if (o.peephole[g] >= 0 && setup.has(o.peephole[g]))
            params->peephole[g] = quantizeMultiplier(static_cast<double>(cellScale * scale(o.peephole[g]) / gateScale));
    }
    params->coupled = !setup.has(o.input[kInputGate]);
    params->inputZero = scaleAndZero(setup.in(0)).zero;
    params->stateZero = scaleAndZero(setup.in(o.outputState)).zero;
    for (const int32_t zero : {params->inputZero, params->stateZero})
        if (zero < INT8_MIN || zero > INT8_MAX) return Error(ErrorCode::unsupported, "zero point is no i8").found(std::to_string(zero));
    // Without projection the hidden numbers are the output.
    const ScaleAndZero out = scaleAndZero(setup.out(0));
    params->hidden = quantizeMultiplier(static_cast<double>(static_cast<float>(std::ldexp(1.0, -15) / static_cast<double>(out.scale) * std::ldexp(1.0, -15))));
    params->hiddenZero = out.zero;
    const auto clip = static_cast<float>(attributeFloat(setup.attributes(), "cell_clip", 0));
    if (clip > 0) params->cellClip = static_cast<int16_t>(std::min(clip / cellScale, 32767.0F));
    params->timeMajor = attributeBool(setup.attributes(), "time_major", false);
    return PreparedKernel{runIntegerLstm, std::move(params)};
}

} // namespace loopscope
