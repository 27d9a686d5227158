// One LSTM cell with float activations, as all LSTM operators use it: gates, cell state, projection. Source: LiteRT kernels/lstm_eval.cc.
#pragma once

#include "engine/kernels/cpu/recurrent/recurrent.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace loopscope {

/// Gates in the order of their operands.
enum LstmGate : int { kInputGate, kForgetGate, kCellGate, kOutputGate, kGateCount };

/// Operand numbers of one cell; −1: the operator has no such operand.
struct LstmOperands {
    std::array<int, kGateCount> input, recurrent;
    std::array<int, kGateCount> peephole; ///< the cell gate has none
    std::array<int, kGateCount> bias, norm, aux;
    int projection, projectionBias;
    int outputState, cellState;
};

/// LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM: 20 operands, or 24 with layer normalization.
inline constexpr LstmOperands kLstmOperands = {
    {1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, -1, 11}, {12, 13, 14, 15}, {20, 21, 22, 23}, {-1, -1, -1, -1}, 16, 17, 18, 19};
/// The two cells of BIDIRECTIONAL_SEQUENCE_LSTM; operand 39 is the auxiliary input.
inline constexpr LstmOperands kForwardOperands = {
    {1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, -1, 11}, {12, 13, 14, 15}, {-1, -1, -1, -1}, {40, 41, 42, 43}, 16, 17, 35, 36};
inline constexpr LstmOperands kBackwardOperands = {
    {18, 19, 20, 21}, {22, 23, 24, 25}, {26, 27, -1, 28}, {29, 30, 31, 32}, {-1, -1, -1, -1}, {44, 45, 46, 47}, 33, 34, 37, 38};

/// A cell as prepared: weights and the attributes that matter.
struct LstmCell {
    LstmOperands operands = kLstmOperands;
    std::array<WeightMatrix, kGateCount> input, recurrent, aux;
    WeightMatrix projection;
    bool coupled = false; ///< no input gate: it is 1 − forget gate
    bool integer = false; ///< hybrid
    bool asymmetric = false;
    VectorActivation activation = VectorActivation::tanh;
    float cellClip = 0.0F, projectionClip = 0.0F;
    int64_t cells = 0, outputs = 0, inputs = 0, auxInputs = 0;
};

Result<LstmCell> prepareLstmCell(const KernelSetup& setup, const LstmOperands& operands);

/// Where a step stands among those of a batch. LiteRT computes the steps of all batch entries at once where time comes first, and the last
/// bits of its answers depend on that.
struct BatchPlace {
    int64_t entry = 0, entries = 1;
    bool together = false;
};

/// A cell during a call: `step` takes one input vector and moves the states of one batch entry on.
class LstmStepper {
public:
    /// Adds what the call needs to `layout`.
    LstmStepper(const LstmCell& cell, const KernelArgs& args, ScratchLayout& layout);
    /// Binds to the scratch block that was laid out.
    void bind(std::byte* scratch);
    /// `aux` may be null. `outputState` [outputs] and `cellState` [cells] are read and written; the new output state is the result.
    void step(const float* input, const float* aux, float* outputState, float* cellState, const BatchPlace& place) const;

private:
    void gate(LstmGate which, const StepVector& input, const StepVector* aux, const StepVector& state, const float* cellState, float* out,
              const BatchPlace& place) const;

    const LstmCell& m_cell;
    const KernelArgs& m_args;
    std::array<size_t, 3 * kGateCount + 1> m_weightOffsets = {};
    size_t m_gatesAt, m_vectorAt, m_temporaryAt, m_quantizedAt;
    std::array<BoundWeights, kGateCount> m_input, m_recurrent, m_aux;
    BoundWeights m_projection;
    float* m_gates = nullptr;  ///< [kGateCount, cells]
    float* m_vector = nullptr; ///< max(cells, outputs)
    std::byte* m_temporary = nullptr;
    int16_t* m_quantized = nullptr; ///< input, aux, output state, projection input
};

} // namespace loopscope
