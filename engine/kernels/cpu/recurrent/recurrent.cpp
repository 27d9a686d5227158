// Weight matrices and activations of recurrent kernels.
#include "engine/kernels/cpu/recurrent/recurrent.h"

#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/math/eigen_functions.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace loopscope {

VectorActivation vectorActivation(const AttributeList& attributes)
{
    const std::string_view word = attributeWord(attributes, "act", "NONE");
    if (word == "RELU") return VectorActivation::relu;
    if (word == "RELU6") return VectorActivation::relu6;
    if (word == "RELU_N1_TO_1") return VectorActivation::reluN1To1;
    if (word == "TANH") return VectorActivation::tanh;
    if (word == "SIGMOID") return VectorActivation::sigmoid;
    return VectorActivation::none;
}

float activate(VectorActivation activation, float value, bool inPacket)
{
    switch (activation) {
    case VectorActivation::none: return value;
    case VectorActivation::relu: return std::max(0.0F, value);
    case VectorActivation::reluN1To1: return std::min(std::max(-1.0F, value), 1.0F);
    case VectorActivation::relu6: return std::min(std::max(0.0F, value), 6.0F);
    case VectorActivation::tanh: return eigen::tanh(value);
    case VectorActivation::sigmoid: return inPacket ? eigen::logistic(value) : eigen::scalarLogistic(value);
    }
    return value;
}

size_t WeightMatrix::scratchBytes() const
{
    if (!present() || diagonal || !panels.empty() || !packed.empty()) return 0;
    return integer ? static_cast<size_t>(paddedRows(rows) * paddedDepth(columns)) * sizeof(int16_t)
                   : static_cast<size_t>(panelFloats(rows, columns)) * sizeof(float);
}

namespace {

void packWeights(const WeightMatrix& matrix, const Tensor& weights, int16_t* rows)
{
    Tensor signedWeights = weights;
    if (weights.dtype == DType::u8) signedWeights.dtype = DType::i8; // LiteRT reads u8 weights of hybrid kernels as if they were i8
    packIntegerRows(signedWeights, 0, matrix.rows, matrix.columns, 0, paddedDepth(matrix.columns), paddedRows(matrix.rows), rows);
}

} // namespace

Result<WeightMatrix> prepareWeights(const KernelSetup& setup, int operand)
{
    WeightMatrix matrix;
    if (operand < 0 || !setup.has(operand)) return matrix;
    const Tensor& weights = setup.in(operand);
    matrix.operand = operand;
    matrix.diagonal = weights.shape.rank() == 1;
    matrix.rows = weights.shape[0];
    matrix.columns = matrix.diagonal ? matrix.rows : weights.shape[1];
    matrix.integer = weights.dtype != DType::f32;
    if (matrix.integer) {
        if (weights.dtype != DType::i8 && weights.dtype != DType::u8)
            return Error(ErrorCode::unsupported, "operand " + std::to_string(operand) + " is " + std::string(dtypeName(weights.dtype)))
                .expected("f32, i8 or u8");
        if (!isQuantized(weights)) return Error(ErrorCode::unsupported, "operand " + std::to_string(operand) + " has no scale of its own");
        if (matrix.diagonal)
            return Error(ErrorCode::unsupported, "operand " + std::to_string(operand) + " is a diagonal of integers").expected("f32");
        matrix.scale = scaleAndZero(weights).scale;
    }
    if (weights.data == nullptr || matrix.diagonal) return matrix;
    if (matrix.integer) {
        matrix.packed.resize(static_cast<size_t>(paddedRows(matrix.rows) * paddedDepth(matrix.columns)));
        packWeights(matrix, weights, matrix.packed.data());
    } else {
        matrix.panels.resize(static_cast<size_t>(panelFloats(matrix.rows, matrix.columns)));
        packPanels(weights.as<float>(), matrix.rows, matrix.columns, matrix.columns, 1, matrix.panels.data());
    }
    return matrix;
}

StepVector stepVector(const float* values, int64_t count, bool integer, bool asymmetric, int16_t* room)
{
    StepVector vector;
    vector.values = values;
    if (!integer) return vector;
    const std::span<const float> all(values, static_cast<size_t>(count));
    const HybridInput input = asymmetric ? quantizeAsymmetric(all, room) : quantizeSymmetric(all, room);
    for (int64_t i = 0; i < count; ++i) room[i] = static_cast<int16_t>(room[i] - input.zero);
    std::fill(room + count, room + paddedDepth(count), int16_t{0});
    vector.quantized = room;
    vector.scale = input.scale;
    return vector;
}

BoundWeights::BoundWeights(const WeightMatrix& matrix, const KernelArgs& args, std::byte* room) : m_matrix(&matrix)
{
    if (!matrix.present()) return;
    const Tensor& weights = args.in(matrix.operand);
    if (matrix.diagonal) {
        m_floats = weights.as<float>();
    } else if (matrix.integer) {
        m_integers = matrix.packed.data();
        if (!matrix.packed.empty()) return;
        packWeights(matrix, weights, reinterpret_cast<int16_t*>(room));
        m_integers = reinterpret_cast<const int16_t*>(room);
    } else {
        m_floats = matrix.panels.data();
        if (!matrix.panels.empty()) return;
        packPanels(weights.as<float>(), matrix.rows, matrix.columns, matrix.columns, 1, reinterpret_cast<float*>(room));
        m_floats = reinterpret_cast<const float*>(room);
    }
}

namespace {

/// Adds the products of up to 16 rows, interleaved in a panel, to `sums`, every fourth column apart.
void addPanel(const float* panel, const float* x, int64_t columns, int64_t rows, SumOrder order, float* sums)
{
    constexpr int64_t kLanes = 4;
    const int64_t whole = columns / kLanes * kLanes;
    float lanes[kLanes][kPanelRows] = {};
    for (int64_t c = 0; c < whole; ++c)
        for (int64_t r = 0; r < kPanelRows; ++r) lanes[c % kLanes][r] += panel[c * kPanelRows + r] * x[c];
    const bool apart = order == SumOrder::packets;
    for (int64_t r = 0; r < rows; ++r) {
        float sum = apart ? (lanes[0][r] + lanes[2][r]) + (lanes[1][r] + lanes[3][r])
                          : sums[r] + (((lanes[0][r] + lanes[1][r]) + lanes[2][r]) + lanes[3][r]);
        for (int64_t c = whole; c < columns; ++c) sum += panel[c * kPanelRows + r] * x[c];
        sums[r] = apart ? sums[r] + sum : sum;
    }
}

} // namespace

KeptStates::KeptStates(const KernelArgs& args, std::initializer_list<int> operands, int64_t steps) : m_mayStop(steps > 1)
{
    if (!m_mayStop) return;
    for (const int operand : operands) {
        if (operand < 0 || !args.has(operand)) continue;
        const Tensor& state = args.in(operand);
        m_copies.push_back({state.data, {state.data, state.data + state.bytes}});
    }
}

KeptStates::~KeptStates()
{
    if (std::uncaught_exceptions() == m_exceptions) return;
    for (const Copy& copy : m_copies) std::ranges::copy(copy.bytes, copy.state);
}

void BoundWeights::multiplyAdd(const StepVector& x, float* sums, std::byte* temporary, SumOrder order) const
{
    const int64_t rows = m_matrix->rows;
    if (m_matrix->diagonal) {
        for (int64_t r = 0; r < rows; ++r) sums[r] += m_floats[r] * x.values[r];
    } else if (m_matrix->integer) {
        auto* products = reinterpret_cast<int32_t*>(temporary);
        const int64_t depth = paddedDepth(m_matrix->columns);
        dotRows(x.quantized, m_integers, rows, depth, depth, products, false);
        const float scale = x.scale * m_matrix->scale;
        for (int64_t r = 0; r < rows; ++r) sums[r] += static_cast<float>(products[r]) * scale;
    } else if (order == SumOrder::inOrder) {
        FloatTile tile = {};
        tile.input = x.values;
        tile.sums[0] = reinterpret_cast<float*>(temporary);
        tile.count = 1;
        const ProductRun run = {0, 0, m_matrix->columns};
        multiplyTile(tile, {&run, 1}, m_floats, rows, m_matrix->columns);
        for (int64_t r = 0; r < rows; ++r) sums[r] += tile.sums[0][r];
    } else {
        for (int64_t first = 0; first < rows; first += kPanelRows)
            addPanel(m_floats + first * m_matrix->columns, x.values, m_matrix->columns, std::min(kPanelRows, rows - first), order,
                     sums + first);
    }
}

} // namespace loopscope
