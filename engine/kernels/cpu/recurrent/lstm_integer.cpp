// Integer LSTM cells ("8x8_16"). Source: LiteRT kernels/lstm_eval.cc, LstmStepInteger8x8_16, and the scales that
// kernels/unidirectional_sequence_lstm.cc prepares for it.
#include "engine/kernels/cpu/recurrent/lstm_integer.h"

#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/fixed_point.h"
#include "engine/kernels/cpu/fixed_point16.h"
#include "engine/kernels/cpu/recurrent/lstm_cell.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

namespace loopscope {

namespace {

struct IntegerLstmParams {
    std::array<QuantizedMultiplier, kGateCount> input, recurrent, peephole;
    QuantizedMultiplier hidden, projection;
    std::array<QuantizedMultiplier, kGateCount> norm;
    std::array<int32_t, kGateCount> varianceGuard = {};
    bool normalized = false;
    bool projected = false;
    int32_t outputZero = 0;    ///< projected: of the output
    int8_t projectionClip = 0; ///< 0: none
    int32_t inputZero = 0, stateZero = 0, hiddenZero = 0;
    int cellExponent = 0; ///< cell state = raw · 2^cellExponent
    int16_t cellClip = 0; ///< 0: none
    bool coupled = false; ///< no input gate: it is 1 − forget gate
    bool timeMajor = false;
};

int16_t saturated(int64_t value) { return static_cast<int16_t>(std::clamp<int64_t>(value, INT16_MIN, INT16_MAX)); }

/// Σ row · (x − zero), modulo 2³².
LS_VECTORISED int32_t product(const int8_t* row, const int8_t* x, int32_t zero, int64_t count, int32_t start)
{
    constexpr int64_t kTogether = 1 << 14; // products below 2¹⁵: their sum fits 32 bits
    const auto less = static_cast<int16_t>(zero);
    auto sum = static_cast<uint32_t>(start);
    for (int64_t from = 0; from < count; from += kTogether) {
        const int64_t end = std::min(count, from + kTogether);
        int32_t part = 0;
        for (int64_t i = from; i < end; ++i) {
            const auto a = static_cast<int16_t>(row[i]), b = static_cast<int16_t>(x[i] - less); // what makes pairs of 16-bit products
            part += a * b;
        }
        sum += static_cast<uint32_t>(part);
    }
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
        : m_args(args),
          m_params(args.paramsAs<IntegerLstmParams>()),
          m_cells(args.in(4).shape[0]),
          m_inputs(args.in(4).shape[1]),
          m_outputs(args.in(kLstmOperands.recurrent[kOutputGate]).shape[1]),
          m_gates(reinterpret_cast<int16_t*>(scratch)),
          m_hidden(reinterpret_cast<int8_t*>(m_gates + kGateCount * m_cells))
    {
    }
    static size_t scratchBytes(int64_t cells) { return static_cast<size_t>(cells) * (kGateCount * sizeof(int16_t) + sizeof(int8_t)); }
    int64_t cells() const { return m_cells; }
    int64_t outputs() const { return m_outputs; }
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
            (m_params.projected ? m_hidden : outputState)[i] = static_cast<int8_t>(std::clamp<int64_t>(stored, INT8_MIN, INT8_MAX));
        }
        if (m_params.projected) project(outputState);
    }

private:
    int16_t* gateOf(LstmGate which) const { return m_gates + which * m_cells; }

    /// out[o] = clamp(scale · (Σ weights[o] · (hidden − zero) + bias[o]) + zero of the output)
    void project(int8_t* out) const
    {
        const auto* weights = m_args.in(kLstmOperands.projection).as<int8_t>();
        const int32_t* bias = m_args.has(kLstmOperands.projectionBias) ? m_args.in(kLstmOperands.projectionBias).as<int32_t>() : nullptr;
        const int8_t clip = m_params.projectionClip;
        for (int64_t o = 0; o < m_outputs; ++o) {
            const int32_t sum = product(weights + o * m_cells, m_hidden, m_params.hiddenZero, m_cells, bias ? bias[o] : 0);
            const int64_t value = int64_t{multiplyByQuantizedMultiplier(sum, m_params.projection)} + m_params.outputZero;
            out[o] = static_cast<int8_t>(std::clamp<int64_t>(value, INT8_MIN, INT8_MAX));
            if (clip > 0) out[o] = std::clamp(out[o], static_cast<int8_t>(-clip), clip);
        }
    }

    /// The gate's numbers with mean 0 and variance 1, times weights, plus bias (LiteRT portable_tensor_utils.cc, PortableApplyLayerNorm).
    void normalize(LstmGate which, int16_t* gate) const
    {
        const auto g = static_cast<size_t>(which);
        const auto* weights = m_args.in(kLstmOperands.norm[g]).as<int16_t>();
        const auto* bias = m_args.in(kLstmOperands.bias[g]).as<int32_t>();
        int64_t sum = 0;
        int64_t squares = 0;
        for (int64_t i = 0; i < m_cells; ++i) {
            sum += gate[i];
            squares += gate[i] * gate[i];
        }
        constexpr int64_t kUnit = 1024; // ten more bits
        const auto mean = static_cast<int32_t>(sum * kUnit / m_cells);
        const int64_t variance = squares * (kUnit * kUnit / m_cells) - int64_t{mean} * mean;
        auto whole = static_cast<int32_t>(variance / (kUnit * kUnit));
        if (whole < 1) whole = m_params.varianceGuard[g];
        const QuantizedMultiplier inverse = fixedInverseSqrt(whole);
        for (int64_t i = 0; i < m_cells; ++i) {
            const int32_t scaled = multiplyByQuantizedMultiplier(static_cast<int32_t>(kUnit) * gate[i] - mean, inverse);
            const auto weighted = static_cast<int32_t>(static_cast<uint32_t>(scaled) * static_cast<uint32_t>(int32_t{weights[i]}) +
                                                       static_cast<uint32_t>(bias[i]));
            const auto rounded = static_cast<int32_t>((int64_t{weighted} + (weighted > 0 ? kUnit / 2 : -kUnit / 2)) / kUnit);
            gate[i] = saturated(multiplyByQuantizedMultiplier(rounded, m_params.norm[g]));
        }
    }

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
            const int32_t start = m_params.normalized ? 0 : bias[i]; // else the bias follows the normalization
            int16_t sum = saturated(
                multiplyByQuantizedMultiplier(product(weights + i * m_inputs, x, m_params.inputZero, m_inputs, start), m_params.input[g]));
            sum = saturated(int64_t{sum} +
                            multiplyByQuantizedMultiplier(product(recurrent + i * m_outputs, state, m_params.stateZero, m_outputs, 0),
                                                          m_params.recurrent[g]));
            if (diagonal) sum = saturated(int64_t{sum} + multiplyByQuantizedMultiplier(diagonal[i] * cellState[i], m_params.peephole[g]));
            out[i] = sum;
        }
        if (m_params.normalized) normalize(which, out);
        for (int64_t i = 0; i < m_cells; ++i) out[i] = which == kCellGate ? tanh16<3>(out[i]) : logistic16(out[i]);
    }

    const KernelArgs& m_args;
    const IntegerLstmParams& m_params;
    int64_t m_cells, m_inputs, m_outputs;
    int16_t* m_gates; ///< [kGateCount, cells]
    int8_t* m_hidden; ///< [cells], before the projection
};

Status runIntegerLstm(const KernelArgs& args)
{
    const auto& params = args.paramsAs<IntegerLstmParams>();
    const Shape& input = args.in(0).shape;
    const bool sequence = input.rank() == 3;
    const bool timeMajor = params.timeMajor || !sequence;
    const int64_t times = sequence ? input[timeMajor ? 0 : 1] : 1;
    const int64_t batches = sequence ? input[timeMajor ? 1 : 0] : input[0];
    const IntegerStep step(args, args.runtime->scratch(IntegerStep::scratchBytes(args.in(4).shape[0])));
    auto* outputState = reinterpret_cast<int8_t*>(args.in(kLstmOperands.outputState).data);
    auto* cellState = reinterpret_cast<int16_t*>(args.in(kLstmOperands.cellState).data);
    const KeptStates kept(args, {kLstmOperands.outputState, kLstmOperands.cellState}, times * batches);
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t t = 0; t < times; ++t) {
            kept.step();
            const int64_t row = timeMajor ? t * batches + b : b * times + t;
            int8_t* state = outputState + b * step.outputs();
            step.run(args.in(0).as<int8_t>() + row * step.inputs(), state, cellState + b * step.cells());
            std::copy(state, state + step.outputs(), args.out(0).as<int8_t>() + row * step.outputs());
        }
    return {};
}

Status checkOperand(const KernelSetup& setup, int operand, DType dtype)
{
    if (operand < 0 || !setup.has(operand)) return {};
    const Tensor& t = setup.in(operand);
    if (t.dtype != dtype)
        return Error(ErrorCode::unsupported, "operand " + std::to_string(operand) + " of an i8 cell")
            .found(std::string(dtypeName(t.dtype)))
            .expected(std::string(dtypeName(dtype)));
    if (dtype != DType::i32 && !isQuantized(t))
        return Error(ErrorCode::unsupported, "operand " + std::to_string(operand) + " has no scale");
    return {};
}

/// Quantization of an intermediate tensor: of the gates before they are normalized (0 … 3), of the hidden numbers before projection (4).
Result<ScaleAndZero> intermediate(const KernelSetup& setup, size_t index)
{
    const Error missing =
        Error(ErrorCode::unsupported, "intermediate tensor " + std::to_string(index) + " of an i8 cell is missing or has no scale");
    const Attribute* list = findAttribute(setup.attributes(), "@intermediates");
    const AttributeItems* items = list ? list->as<AttributeItems>() : nullptr;
    if (setup.model == nullptr || items == nullptr || index >= items->size()) return missing.copy();
    const ValueRef* ref = (*items)[index].as<ValueRef>();
    for (const Graph& graph : setup.model->graphs) {
        const bool isHere =
            !graph.operators.empty() && &setup.op >= graph.operators.data() && &setup.op < graph.operators.data() + graph.operators.size();
        if (!isHere || ref == nullptr || ref->value.index < 0 || static_cast<size_t>(ref->value.index) >= graph.values.size()) continue;
        const QuantizationPtr& q = graph.value(ref->value).type.quantization;
        if (q && q->scales.size() == 1) return ScaleAndZero{q->scale(), static_cast<int32_t>(q->zeroPoint())};
    }
    return missing.copy();
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
    for (size_t g = 0; g < kGateCount; ++g) LS_CHECK_OK(checkOperand(setup, o.norm[g], DType::i16));
    LS_CHECK_OK(checkOperand(setup, o.projection, DType::i8));
    LS_CHECK_OK(checkOperand(setup, o.projectionBias, DType::i32));
    if (setup.in(o.recurrent[kOutputGate]).shape.rank() != 2) return Error(ErrorCode::unsupported, "an i8 cell with diagonal weights");
    if (!isQuantized(setup.in(0)) || !isQuantized(setup.out(0))) return Error(ErrorCode::unsupported, "input or result has no scale");

    const auto scale = [&](int operand) { return scaleAndZero(setup.in(operand)).scale; };
    auto params = std::make_shared<IntegerLstmParams>();
    const float cellScale = scale(o.cellState);
    params->cellExponent = cellScale > 0 ? std::ilogb(cellScale) : 0;
    if (cellScale != std::ldexp(1.0F, params->cellExponent) || params->cellExponent < -15 || params->cellExponent > -9)
        return Error(ErrorCode::unsupported, "scale of the cell state")
            .found(std::to_string(cellScale))
            .expected("a power of two from 2^-15 to 2^-9");
    params->normalized = setup.has(o.norm[kOutputGate]);
    params->projected = setup.has(o.projection);
    for (size_t g = 0; g < kGateCount; ++g) {
        if (!setup.has(o.input[g])) continue;
        float gateScale = std::ldexp(1.0F, -12); // gates are read with 3 integer bits
        if (params->normalized) {
            LS_TRY(const ScaleAndZero before, intermediate(setup, g));
            gateScale = before.scale;
            params->norm[g] = quantizeMultiplier(static_cast<double>(scale(o.norm[g])));
            params->norm[g].shift += 12;
            params->varianceGuard[g] = std::max(1, static_cast<int32_t>(10000 * scale(o.norm[g])));
        }
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
    ScaleAndZero out = scaleAndZero(setup.out(0));
    if (params->projected) {
        const float outputScale = scale(o.outputState);
        LS_TRY(out, intermediate(setup, 4));
        params->projection = quantizeMultiplier(static_cast<double>(scale(o.projection) * out.scale / outputScale));
        params->outputZero = params->stateZero;
        const auto limit = static_cast<float>(attributeFloat(setup.attributes(), "proj_clip", 0));
        if (limit > 0) params->projectionClip = static_cast<int8_t>(std::min(limit / outputScale, 127.0F));
    }
    params->hidden = quantizeMultiplier(
        static_cast<double>(static_cast<float>(std::ldexp(1.0, -15) / static_cast<double>(out.scale) * std::ldexp(1.0, -15))));
    // Before a projection LiteRT takes the zero point off where it should add it, and adds it again to the sums: only clamping shows that.
    params->hiddenZero = params->projected ? -out.zero : out.zero;
    const auto clip = static_cast<float>(attributeFloat(setup.attributes(), "cell_clip", 0));
    if (clip > 0) params->cellClip = static_cast<int16_t>(std::min(clip / cellScale, 32767.0F));
    params->timeMajor = attributeBool(setup.attributes(), "time_major", false);
    return PreparedKernel{runIntegerLstm, std::move(params)};
}

} // namespace loopscope
