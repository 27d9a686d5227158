// The steps of one LSTM cell with float activations.
#include "engine/kernels/cpu/recurrent/lstm_cell.h"

#include "engine/kernels/cpu/gemm.h"

#include <algorithm>
#include <cmath>

namespace loopscope {

Result<LstmCell> prepareLstmCell(const KernelSetup& setup, const LstmOperands& operands)
{
    LstmCell cell;
    cell.operands = operands;
    for (size_t g = 0; g < kGateCount; ++g) {
        LS_TRY(cell.input[g], prepareWeights(setup, operands.input[g]));
        LS_TRY(cell.recurrent[g], prepareWeights(setup, operands.recurrent[g]));
        LS_TRY(cell.aux[g], prepareWeights(setup, operands.aux[g]));
    }
    LS_TRY(cell.projection, prepareWeights(setup, operands.projection));
    cell.coupled = !cell.input[kInputGate].present();
    cell.integer = cell.input[kForgetGate].integer;
    cell.asymmetric = attributeBool(setup.attributes(), "asymmetric_quantize_inputs", false);
    cell.activation = vectorActivation(setup.attributes());
    cell.cellClip = static_cast<float>(attributeFloat(setup.attributes(), "cell_clip", 0));
    cell.projectionClip = static_cast<float>(attributeFloat(setup.attributes(), "proj_clip", 0));
    cell.cells = cell.input[kOutputGate].rows;
    cell.inputs = cell.input[kOutputGate].columns;
    cell.outputs = cell.recurrent[kOutputGate].columns;
    cell.auxInputs = cell.aux[kForgetGate].present() ? cell.aux[kForgetGate].columns : 0;
    return cell;
}

LstmStepper::LstmStepper(const LstmCell& cell, const KernelArgs& args, ScratchLayout& layout) : m_cell(cell), m_args(args)
{
    const auto room = [&](const WeightMatrix& matrix) { return layout.add<std::byte>(static_cast<int64_t>(matrix.scratchBytes())); };
    for (size_t g = 0; g < kGateCount; ++g) {
        m_weightOffsets[3 * g] = room(cell.input[g]);
        m_weightOffsets[3 * g + 1] = room(cell.recurrent[g]);
        m_weightOffsets[3 * g + 2] = room(cell.aux[g]);
    }
    m_weightOffsets.back() = room(cell.projection);
    const int64_t most = paddedRows(std::max(cell.cells, cell.outputs));
    m_gatesAt = layout.add<float>(kGateCount * cell.cells);
    m_vectorAt = layout.add<float>(most);
    m_temporaryAt = layout.add<float>(most);
    m_quantizedAt =
        layout.add<int16_t>(paddedDepth(cell.inputs) + paddedDepth(cell.auxInputs) + paddedDepth(cell.outputs) + paddedDepth(cell.cells));
}

void LstmStepper::bind(std::byte* scratch)
{
    for (size_t g = 0; g < kGateCount; ++g) {
        m_input[g] = BoundWeights(m_cell.input[g], m_args, scratch + m_weightOffsets[3 * g]);
        m_recurrent[g] = BoundWeights(m_cell.recurrent[g], m_args, scratch + m_weightOffsets[3 * g + 1]);
        m_aux[g] = BoundWeights(m_cell.aux[g], m_args, scratch + m_weightOffsets[3 * g + 2]);
    }
    m_projection = BoundWeights(m_cell.projection, m_args, scratch + m_weightOffsets.back());
    m_gates = reinterpret_cast<float*>(scratch + m_gatesAt);
    m_vector = reinterpret_cast<float*>(scratch + m_vectorAt);
    m_temporary = scratch + m_temporaryAt;
    m_quantized = reinterpret_cast<int16_t*>(scratch + m_quantizedAt);
}

namespace {

/// To [−limit, limit]; 0: as it is. NaN becomes the limit (LiteRT portable_tensor_utils.h, CwiseClipping takes the minimum first).
float clipped(float value, float limit) { return limit > 0 ? std::max(std::min(limit, value), -limit) : value; }

const float* floatsOf(const KernelArgs& args, int operand)
{
    return operand >= 0 && args.has(operand) ? args.in(operand).as<float>() : nullptr;
}

/// (v − mean) / √(variance + 1e-8), then weighted and shifted (tensor_utils MeanStddevNormalization and what follows it).
void normalize(float* values, int64_t count, const float* weights, const float* bias)
{
    float sum = 0.0F;
    for (int64_t i = 0; i < count; ++i) sum += values[i];
    const float mean = sum / static_cast<float>(count);
    float squares = 0.0F;
    for (int64_t i = 0; i < count; ++i) squares += (values[i] - mean) * (values[i] - mean);
    const float inverse = 1.0F / std::sqrt(squares / static_cast<float>(count) + 1e-8F);
    for (int64_t i = 0; i < count; ++i) values[i] = (values[i] - mean) * inverse * weights[i] + bias[i];
}

/// Peephole weights are f32, or i8 (u8 read as i8) with a scale.
void addPeephole(const Tensor& weights, const float* cellState, int64_t count, float* out)
{
    if (weights.dtype == DType::f32) {
        for (int64_t i = 0; i < count; ++i) out[i] += weights.as<float>()[i] * cellState[i];
        return;
    }
    const float scale = scaleAndZero(weights).scale;
    for (int64_t i = 0; i < count; ++i) out[i] += scale * static_cast<float>(weights.as<int8_t>()[i]) * cellState[i];
}

/// How LiteRT's products with Eigen add up: of vectors and small matrices otherwise than of large ones.
SumOrder orderOf(const BatchPlace& place, const WeightMatrix& matrix)
{
    const int64_t entries = place.together ? place.entries : 1;
    return entries > 1 && matrix.rows + matrix.columns + entries >= 20 ? SumOrder::inOrder : SumOrder::packets;
}

/// Where the vector of a gate lies in LiteRT's buffer [gate, batch entry, cell].
struct GateVector {
    Packets packets;
    int64_t first; ///< the element of this batch entry

    GateVector(const LstmCell& cell, LstmGate gate, const BatchPlace& place)
        : packets(start(cell, gate, place), place.together ? place.entries * cell.cells : cell.cells),
          first(place.together ? place.entry * cell.cells : 0)
    {
    }
    static int64_t start(const LstmCell& cell, LstmGate gate, const BatchPlace& place)
    {
        constexpr std::array<int64_t, kGateCount> kPlain = {0, 2, 1, 3}, kCoupled = {0, 1, 0, 2};
        const int64_t at = (cell.coupled ? kCoupled : kPlain)[static_cast<size_t>(gate)] * place.entries;
        return (place.together ? at : at + place.entry) * cell.cells;
    }
};

} // namespace

void LstmStepper::gate(LstmGate which, const StepVector& input, const StepVector* aux, const StepVector& state, const float* cellState,
                       float* out, const BatchPlace& place) const
{
    const auto g = static_cast<size_t>(which);
    const float* bias = floatsOf(m_args, m_cell.operands.bias[g]);
    const float* norm = floatsOf(m_args, m_cell.operands.norm[g]);
    const int64_t cells = m_cell.cells;
    for (int64_t i = 0; i < cells; ++i) out[i] = norm || !bias ? 0.0F : bias[i];
    m_input[g].multiplyAdd(input, out, m_temporary, orderOf(place, m_cell.input[g]));
    if (aux && m_aux[g].present()) m_aux[g].multiplyAdd(*aux, out, m_temporary, orderOf(place, m_cell.aux[g]));
    m_recurrent[g].multiplyAdd(state, out, m_temporary, orderOf(place, m_cell.recurrent[g]));
    const int peephole = m_cell.operands.peephole[g];
    if (peephole >= 0 && m_args.has(peephole)) addPeephole(m_args.in(peephole), cellState, cells, out);
    if (norm) normalize(out, cells, norm, bias);
    const VectorActivation activation = which == kCellGate ? m_cell.activation : VectorActivation::sigmoid;
    const GateVector vector(m_cell, which, place);
    for (int64_t i = 0; i < cells; ++i) out[i] = activate(activation, out[i], vector.packets.holds(vector.first + i));
}

void LstmStepper::step(const float* input, const float* aux, float* outputState, float* cellState, const BatchPlace& place) const
{
    const LstmCell& cell = m_cell;
    int16_t* room = m_quantized;
    const auto vectorOf = [&](const float* values, int64_t count) {
        const StepVector vector = stepVector(values, count, cell.integer, cell.asymmetric, room);
        room += paddedDepth(count);
        return vector;
    };
    const StepVector x = vectorOf(input, cell.inputs);
    const StepVector auxVector = aux ? vectorOf(aux, cell.auxInputs) : StepVector();
    const StepVector state = vectorOf(outputState, cell.outputs);
    float* gates[kGateCount];
    for (int g = 0; g < kGateCount; ++g) gates[g] = m_gates + g * cell.cells;
    const auto compute = [&](LstmGate which) { gate(which, x, aux ? &auxVector : nullptr, state, cellState, gates[which], place); };
    if (!cell.coupled) compute(kInputGate);
    compute(kForgetGate);
    compute(kCellGate);
    for (int64_t i = 0; i < cell.cells; ++i) {
        const float write = cell.coupled ? 1.0F - gates[kForgetGate][i] : gates[kInputGate][i];
        float value = gates[kForgetGate][i] * cellState[i];
        value += gates[kCellGate][i] * write;
        cellState[i] = clipped(value, cell.cellClip);
    }
    compute(kOutputGate);
    float* hidden = gates[kCellGate];
    const GateVector vector(cell, kCellGate, place);
    for (int64_t i = 0; i < cell.cells; ++i)
        hidden[i] = gates[kOutputGate][i] * activate(cell.activation, cellState[i], vector.packets.holds(vector.first + i));
    if (!cell.projection.present()) {
        std::copy(hidden, hidden + cell.outputs, outputState);
        return;
    }
    const float* bias = floatsOf(m_args, cell.operands.projectionBias);
    for (int64_t i = 0; i < cell.outputs; ++i) m_vector[i] = bias ? bias[i] : 0.0F;
    m_projection.multiplyAdd(vectorOf(hidden, cell.cells), m_vector, m_temporary, orderOf(place, cell.projection));
    for (int64_t i = 0; i < cell.outputs; ++i) outputState[i] = clipped(m_vector[i], cell.projectionClip);
}

} // namespace loopscope
