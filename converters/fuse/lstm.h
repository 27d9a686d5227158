// LSTM cells: how one that is written out is recognised, and how TFLite's operators are given its weights. Marked functions, loops and
// unrolled sequences share it.
#pragma once

#include "converters/fuse/cells.h"
#include "converters/fuse/site.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::fusing {

/// Which part of a cell's columns belongs to which gate, in TFLite's order: input, forget, cell, output.
using GateOrder = std::array<int, 4>;
inline constexpr GateOrder kKerasGates = {0, 1, 2, 3};
inline constexpr GateOrder kCoupledGates = {-1, 1, 0, 2}; ///< three parts: cell, forget, output; the input gate is 1 − forget
inline constexpr GateOrder kSimpleGates = {1, 2, 0, 3};   ///< LSTMCellSimple: cell, input, forget, output

/// A cell as it lies in a graph: h' = sigmoid(o) · act(c'), c' = sigmoid(f) · c + sigmoid(i) · act(z).
struct LstmCellMatch {
    ValueId x, h, c;                   ///< what a step takes
    WeightedProduct kernel, recurrent; ///< x · kernel + h · recurrent
    std::vector<ValueId> biases;       ///< what else is added
    ValueId nextCell;                  ///< c'
    GateOrder gates = kKerasGates;     ///< parts of the sum
    std::string activation;            ///< "tanh", "relu"
    std::vector<OperatorId> ops;       ///< what computes h'
    std::string refused;               ///< it looks like one, and why it is none
    bool isFirst = false;              ///< it begins with zeros, and what they add up to is gone: neither h nor c, nor recurrent weights
    bool isCell() const { return nextCell.valid() && refused.empty(); }
};

/// Looks at what computes `nextOutput`. `states`: values that may hold h before the step; empty: what another cell computes together with
/// c, or a constant. Nothing found: neither isCell() nor refused.
LstmCellMatch matchLstmCell(const Graph& graph, ValueId nextOutput, const std::vector<ValueId>& states);

/// The same for a cell that begins with zeros, which converters take out: h' = sigmoid(o) · act(sigmoid(i) · act(z)).
LstmCellMatch matchFirstLstmCell(const Graph& graph, ValueId nextOutput);

/// Why a cell behind which a choice lies is none.
inline constexpr const char* kMaskedSteps = "masked steps: a state is kept where a mask says so";

/// A GRU's cell: h' = z · h + (1 − z) · tanh(n), z and r = sigmoid(parts of both sums), n = part of one + r · part of the other.
struct GruCellMatch {
    ValueId x;
    WeightedProduct kernel, recurrent;       ///< x · kernel + bias, h · recurrent + bias
    std::array<int, 3> gates = {-1, -1, -1}; ///< parts of the sums: z, r, n
    bool isFound = false;
    std::string refused; ///< it looks like one, and why Circle's operator is none
};

/// Looks at what computes the next state of `state`.
GruCellMatch matchGruCell(const Graph& graph, ValueId next, ValueId state);

/// A GRU's cell that begins with zeros, where only the bias is left of the product with the state: h' = (1 − z) · tanh(n).
struct FirstGruCell {
    WeightedProduct kernel;
    std::array<int, 3> gates = {-1, -1, -1};
    std::array<ValueId, 3> biases; ///< of z, r and n: what the state's sum is
    bool isFound = false;
};
FirstGruCell matchFirstGruCell(const Graph& graph, ValueId next);

/// Circle's operator: weights and biases of the sums in their order in GruCellMatch, columns for gates; time first, without results.
OperatorDraft gruDraft(Site& site, const GruCellMatch& cell, const std::array<Numbers, 4>& numbers, ValueId sequence, ValueId h0,
                       int64_t cells, const std::string& name, OperatorId before);

/// Weights of an LSTM in TFLite's form.
struct LstmWeights {
    Numbers kernel;     ///< [inputs, 4 · cells]
    Numbers recurrent;  ///< [outputs, 4 · cells]; diagonal: [outputs, 4]
    Numbers bias;       ///< [4 · cells]; empty: zeros
    Numbers projection; ///< [cells, outputs]; empty: none
    Numbers norm;       ///< [4 · cells]; empty: none
    GateOrder gates = kKerasGates;
    /// Of each column: then kernel and recurrent hold bytes. Empty: they hold what they are.
    std::vector<float> kernelScales, recurrentScales;
    bool isAsymmetric = false; ///< bytes are multiplied with operands that are rounded around a zero point
    bool isDiagonal = false;
    int64_t parts() const { return gates[0] < 0 ? 3 : 4; } ///< of the columns
};

struct LstmNode {
    ValueId input, h0, c0;
    LstmWeights weights;
    std::string activation = "TANH";
    bool isSequence = true, isTimeMajor = false;
};

/// Adds numbers to the bias; false: they are not as many.
bool addBias(LstmWeights& weights, const Numbers& bias);
/// Why TFLite's operator cannot take these weights; empty: it can.
std::string unfitWeights(const LstmWeights& weights, int64_t inputs);
/// The operator with its 24 operands, constants before `before`. It is stateless: every run starts from h0 and c0, as the graph's does.
OperatorDraft lstmDraft(Site& site, const LstmNode& node, const std::string& name, OperatorId before);
/// The last step of [time, …] (or of dimension `axis`): with `keeps` as a sequence of one.
OperatorDraft lastStepDraft(Site& site, ValueId sequence, int axis, bool keeps, const std::string& name, OperatorId before);
ValueId lastStep(Site& site, ValueId sequence, int axis, bool keeps, const std::string& name, OperatorId before);

/// Cells one after the other, the last of which is `root`.
Outcome unrolledLstm(Site& site, OperatorId root);
Outcome unrolledGru(Site& site, OperatorId root);

} // namespace loopscope::fusing
