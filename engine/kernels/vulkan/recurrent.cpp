// LSTM cells: for each step of a sequence the sums of all gates, then the states, then the projection if there is one. What needs to be
// known of the weights is known when they are constants: they are laid out anew, so that neighbours read neighbours.
#include "engine/kernels/vulkan/families.h"

#include <array>

namespace loopscope::vulkan {

namespace {

constexpr size_t kGates = 4, kInputGate = 0, kCellGate = 2;

/// Operand numbers of one cell, gates in the order of their operands; -1: the operator has no such operand.
struct CellOperands {
    std::array<int, kGates> input, recurrent, peephole, bias;
    int projection, projectionBias, outputState, cellState;
};

constexpr CellOperands kOneWay = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, -1, 11}, {12, 13, 14, 15}, 16, 17, 18, 19};
constexpr CellOperands kBackward = {{18, 19, 20, 21}, {22, 23, 24, 25}, {26, 27, -1, 28}, {29, 30, 31, 32}, 33, 34, 37, 38};
constexpr CellOperands forward()
{
    CellOperands operands = kOneWay;
    operands.outputState = 35;
    operands.cellState = 36;
    return operands;
}
constexpr int kFirstNorm = 20, kAuxInput = 39; ///< of one way; of both ways

/// The push constants of lstm.comp.
struct StepParameters {
    uint32_t batches = 0, inputs = 0, cells = 0, outputs = 0;
    uint32_t firstRow = 0, rowStep = 0;
    uint32_t resultWidth = 0, column = 0;
    float clip = 0;
};

Code activationOf(const AttributeList& attributes)
{
    const std::string_view word = attributeWord(attributes, "act", "NONE");
    if (word == "RELU") return actRelu;
    if (word == "RELU6") return actRelu6;
    if (word == "RELU_N1_TO_1") return actReluN1To1;
    if (word == "TANH") return actTanh;
    return word == "SIGMOID" ? actSigmoid : actNone;
}

/// The constant floats of an operand; of a missing one none. Errors: unsupported, they are others, or known only when running.
Result<const float*> floatsOf(const KernelSetup& setup, int operand)
{
    if (operand < 0 || !setup.has(operand)) return static_cast<const float*>(nullptr);
    const Tensor& tensor = setup.in(operand);
    if (tensor.dtype != DType::f32) return wrongDtypes(setup);
    if (!tensor.data) return unsupported("weights that are known only when running");
    return tensor.as<float>();
}

/// The steps of a sequence [T,B,.] or [B,T,.]; a plain LSTM has one.
struct Sequence {
    int64_t times = 1, batches = 1;
    bool timeMajor = true, isBackward = false;
};

/// Where a cell reads and writes.
struct CellPlaces {
    Place input, result;
    int64_t inputs = 0, resultWidth = 0, column = 0;
};

class CellPlan {
public:
    CellPlan(PlanBuilder& builder, const CellOperands& operands) : m_builder(builder), m_setup(builder.setup()), m_operands(operands) {}

    /// Errors: unsupported; device.
    Status add(const Sequence& sequence, const CellPlaces& places);

private:
    Status gatherWeights();
    Status addStep(const StepParameters& step, const CellPlaces& places);
    Result<Place> startOf(int operand, int64_t count);

    PlanBuilder& m_builder;
    const KernelSetup& m_setup;
    const CellOperands& m_operands;
    int64_t m_inputs = 0, m_cells = 0, m_outputs = 0;
    bool m_isCoupled = false, m_hasProjection = false;
    Place m_weights, m_peepholes, m_projection, m_sums, m_hidden, m_outputState, m_cellState;
};

Status CellPlan::gatherWeights()
{
    const auto cells = static_cast<size_t>(m_cells), inputs = static_cast<size_t>(m_inputs), outputs = static_cast<size_t>(m_outputs);
    std::vector<float> weights((inputs + outputs + 1) * kGates * cells), peepholes(3 * cells), projection((cells + 1) * outputs);
    const auto put = [&](const float* from, size_t gate, size_t first, size_t depth) {
        for (size_t c = 0; from && c < cells; ++c)
            for (size_t k = 0; k < depth; ++k) weights[((first + k) * kGates + gate) * cells + c] = from[c * depth + k];
    };
    for (size_t g = 0; g < kGates; ++g) {
        LS_TRY(const float* const input, floatsOf(m_setup, m_operands.input[g]));
        LS_TRY(const float* const recurrent, floatsOf(m_setup, m_operands.recurrent[g]));
        LS_TRY(const float* const bias, floatsOf(m_setup, m_operands.bias[g]));
        LS_TRY(const float* const peephole, floatsOf(m_setup, m_operands.peephole[g]));
        put(input, g, 0, inputs);
        put(recurrent, g, inputs, outputs);
        put(bias, g, inputs + outputs, 1);
        for (size_t c = 0; peephole && c < cells; ++c) peepholes[(g > kCellGate ? 2 : g) * cells + c] = peephole[c];
    }
    LS_TRY(const float* const matrix, floatsOf(m_setup, m_operands.projection));
    LS_TRY(const float* const bias, floatsOf(m_setup, m_operands.projectionBias));
    for (size_t o = 0; o < outputs; ++o) {
        for (size_t c = 0; matrix && c < cells; ++c) projection[c * outputs + o] = matrix[o * cells + c];
        if (bias) projection[cells * outputs + o] = bias[o];
    }
    m_weights = m_builder.constant(std::span<const float>(weights));
    m_peepholes = m_builder.constant(std::span<const float>(peepholes));
    if (m_hasProjection) m_projection = m_builder.constant(std::span<const float>(projection));
    return {};
}

/// A state as the variable that it is, or, of a stateless cell, a copy that the steps may write.
Result<Place> CellPlan::startOf(int operand, int64_t count)
{
    if (m_setup.in(operand).dtype != DType::f32) return wrongDtypes(m_setup);
    if (!attributeBool(m_setup.attributes(), "@stateless", false)) return PlanBuilder::state(operand);
    const Place copy = m_builder.scratch(static_cast<uint64_t>(count) * sizeof(float)), from = m_builder.in(operand);
    struct {
        uint32_t count = 0, rank = 1, dims[6] = {};
        int32_t stepIn[6] = {1}, stepOut[6] = {1};
        uint32_t begins[2] = {}, fill[2] = {};
    } p;
    p.count = p.dims[0] = static_cast<uint32_t>(count);
    LS_CHECK_OK(m_builder.addElements(Shader::copy, {storeI32, 0}, {from, copy, from}, wordsOf(p), count));
    return copy;
}

Status CellPlan::addStep(const StepParameters& step, const CellPlaces& places)
{
    const Code activation = activationOf(m_setup.attributes());
    const auto add = [&](Code phase, StepParameters p, std::vector<Place> buffers, int64_t count) {
        return m_builder.addElements(Shader::lstm, {phase, activation, m_isCoupled ? 1U : 0U}, std::move(buffers), wordsOf(p), count);
    };
    StepParameters p = step;
    LS_CHECK_OK(add(lstmGates, p, {places.input, m_weights, m_outputState, m_sums, m_sums}, step.batches * kGates * m_cells));
    p.clip = static_cast<float>(attributeFloat(m_setup.attributes(), "cell_clip", 0));
    std::vector<Place> states = {m_sums, m_peepholes, m_cellState, m_outputState, places.result};
    if (m_hasProjection) states[3] = states[4] = m_hidden;
    if (m_hasProjection) p.resultWidth = static_cast<uint32_t>(m_cells), p.column = p.firstRow = 0, p.rowStep = 1;
    LS_CHECK_OK(add(lstmStates, p, std::move(states), step.batches * m_cells));
    if (!m_hasProjection) return {};
    p = step;
    p.clip = static_cast<float>(attributeFloat(m_setup.attributes(), "proj_clip", 0));
    return add(lstmProjection, p, {m_hidden, m_projection, m_hidden, m_outputState, places.result}, step.batches * m_outputs);
}

Status CellPlan::add(const Sequence& sequence, const CellPlaces& places)
{
    for (size_t g = 0; g < kGates; ++g)
        for (const int operand : {m_operands.input[g], m_operands.recurrent[g]})
            if (m_setup.has(operand) && m_setup.in(operand).shape.rank() != 2) return unsupported("weights that are a diagonal");
    const Shape& recurrent = m_setup.in(m_operands.recurrent[kGates - 1]).shape;
    m_inputs = places.inputs;
    m_cells = recurrent[0];
    m_outputs = recurrent[1];
    m_isCoupled = !m_setup.has(m_operands.input[kInputGate]);
    m_hasProjection = m_setup.has(m_operands.projection);
    if (m_inputs + m_outputs + 3 > kMostTrips || m_cells + 2 > kMostTrips) return unsupported("cells of " + std::to_string(m_cells));
    LS_CHECK_OK(gatherWeights());
    LS_TRY(m_outputState, startOf(m_operands.outputState, sequence.batches * m_outputs));
    LS_TRY(m_cellState, startOf(m_operands.cellState, sequence.batches * m_cells));
    const auto room = [&](int64_t width) { return m_builder.scratch(static_cast<uint64_t>(sequence.batches * width) * sizeof(float)); };
    m_sums = room(static_cast<int64_t>(kGates) * m_cells);
    if (m_hasProjection) m_hidden = room(m_cells);
    StepParameters step;
    step.batches = static_cast<uint32_t>(sequence.batches);
    step.inputs = static_cast<uint32_t>(m_inputs);
    step.cells = static_cast<uint32_t>(m_cells);
    step.outputs = static_cast<uint32_t>(m_outputs);
    step.rowStep = static_cast<uint32_t>(sequence.timeMajor ? 1 : sequence.times);
    step.resultWidth = static_cast<uint32_t>(places.resultWidth);
    step.column = static_cast<uint32_t>(places.column);
    for (int64_t t = 0; t < sequence.times; ++t) {
        const int64_t time = sequence.isBackward ? sequence.times - 1 - t : t;
        step.firstRow = static_cast<uint32_t>(sequence.timeMajor ? time * sequence.batches : time);
        LS_CHECK_OK(addStep(step, places));
    }
    return {};
}

constexpr int64_t kMostSteps = 4096; ///< of a sequence: each is two dispatches or three, which are planned one by one

} // namespace

Result<PreparedKernel> planLstm(const KernelSetup& setup, const KernelLine& line)
{
    const std::string_view name = setup.op.kind.name;
    const bool isBothWays = name.starts_with("bidirectional");
    if (!does(line, setup.in(0).dtype)) return wrongDtypes(setup);
    if (!isBothWays && attributeWord(setup.attributes(), "kernel_type", "FULL") == "BASIC") return unsupported("kernel_type BASIC");
    for (int i = isBothWays ? kAuxInput : kFirstNorm; i < std::ssize(setup.inputs); ++i)
        if (setup.has(i)) return unsupported(isBothWays ? "an auxiliary input" : "layer normalization");
    LS_TRY(PlanBuilder builder, PlanBuilder::create(setup));
    const Shape& input = setup.in(0).shape;
    Sequence sequence;
    const bool isSequence = input.rank() == 3;
    sequence.timeMajor = !isSequence || attributeBool(setup.attributes(), "time_major", isBothWays);
    sequence.times = isSequence ? input[sequence.timeMajor ? 0 : 1] : 1;
    sequence.batches = isSequence ? input[sequence.timeMajor ? 1 : 0] : input[0];
    if (sequence.times > kMostSteps) return unsupported("a sequence of " + std::to_string(sequence.times) + " steps");
    CellPlaces places = {builder.in(0), PlanBuilder::out(0), input.back(), setup.out(0).shape.back(), 0};
    const CellOperands first = isBothWays ? forward() : kOneWay;
    LS_CHECK_OK(CellPlan(builder, first).add(sequence, places));
    if (!isBothWays) return builder.done();
    sequence.isBackward = true;
    if (attributeBool(setup.attributes(), "merge_outputs", false)) {
        places.column = setup.in(first.recurrent[kGates - 1]).shape[1];
    } else {
        places.result = PlanBuilder::out(1);
        places.resultWidth = setup.out(1).shape.back();
    }
    LS_CHECK_OK(CellPlan(builder, kBackward).add(sequence, places));
    return builder.done();
}

} // namespace loopscope::vulkan
