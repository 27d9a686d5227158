#include "converters/fuse/lstm.h"

#include <algorithm>
#include <memory>

namespace loopscope::fusing {

namespace {

constexpr int kDeepestIdentity = 64;

std::string_view kindOf(const Graph& graph, ValueId value)
{
    const Operator* const op = producerIn(graph, value);
    return op != nullptr ? neutralKind(op->kind) : std::string_view();
}

/// Both operands of `op`, in either order.
std::array<std::pair<ValueId, ValueId>, 2> eitherOrder(const Operator& op)
{
    return {std::pair(op.inputs[0], op.inputs[1]), std::pair(op.inputs[1], op.inputs[0])};
}

class CellMatcher {
public:
    CellMatcher(const Graph& graph, const std::vector<ValueId>& states) : m_graph(graph), m_states(states) {}

    LstmCellMatch match(ValueId nextOutput)
    {
        const Operator* const root = of(nextOutput, "mul");
        if (root == nullptr) return {};
        for (const auto& [gate, squashed] : eitherOrder(*root)) {
            const Operator* const act = producerIn(m_graph, squashed);
            if (act == nullptr || act->inputs.size() != 1) continue;
            const std::string_view activation = neutralKind(act->kind);
            if (activation != "tanh" && activation != "relu" && activation != "relu6") continue;
            const Operator* const sum = of(act->inputs[0], "add");
            if (sum == nullptr) continue;
            m_cell = {};
            m_cell.activation = activation;
            m_cell.nextCell = behindIdentities(m_graph, act->inputs[0]);
            if (!cellState(*sum)) continue;
            note(nextOutput);
            note(squashed);
            note(act->inputs[0]);
            m_sum.valid() ? outputGate(gate) : refuse("no split into gates");
            if (m_cell.refused.empty()) preactivation();
            return m_cell;
        }
        return {};
    }

    LstmCellMatch matchFirst(ValueId nextOutput)
    {
        const Operator* const root = of(nextOutput, "mul");
        if (root == nullptr) return {};
        for (const auto& [gate, squashed] : eitherOrder(*root)) {
            const Operator* const act = producerIn(m_graph, squashed);
            const Operator* const added = act != nullptr && act->inputs.size() == 1 ? of(act->inputs[0], "mul") : nullptr;
            if (added == nullptr) continue;
            m_cell = {};
            m_sum = {};
            m_cell.isFirst = true;
            m_cell.activation = neutralKind(act->kind);
            m_cell.nextCell = behindIdentities(m_graph, act->inputs[0]);
            for (const auto& [input, candidate] : eitherOrder(*added)) {
                const Operator* const own = producerIn(m_graph, candidate);
                if (own == nullptr || own->inputs.size() != 1 || neutralKind(own->kind) != m_cell.activation) continue;
                m_cell.gates = {gateOf(input), -1, partOf(own->inputs[0]), gateOf(gate)};
                if (std::ranges::count(m_cell.gates, -1) != 1) continue;
                m_cell.gates[1] = 6 - m_cell.gates[0] - m_cell.gates[2] - m_cell.gates[3];
                for (const ValueId value : {nextOutput, squashed, act->inputs[0], candidate}) note(value);
                preactivation();
                return m_cell;
            }
        }
        return {};
    }

private:
    const Operator* of(ValueId value, std::string_view kind) const { return producerIn(m_graph, value, kind, 2); }

    void refuse(std::string reason)
    {
        if (m_cell.refused.empty()) m_cell.refused = std::move(reason);
    }

    void note(ValueId value)
    {
        for (int depth = 0; depth < kDeepestIdentity && value.valid(); ++depth) { // identities on the way, too
            const Value& at = m_graph.value(value);
            if (at.role != ValueRole::result) return;
            if (std::ranges::find(m_cell.ops, at.producer) == m_cell.ops.end()) m_cell.ops.push_back(at.producer);
            const Operator& op = m_graph.op(at.producer);
            if (neutralKind(op.kind) != "identity" || op.inputs.empty()) return;
            value = op.inputs[0];
        }
    }

    /// Which part of the sum the value is; −1: none.
    int partOf(ValueId value)
    {
        const SumPart part = partOfSum(m_graph, value, 4);
        if (part.part < 0 || (m_sum.valid() && m_sum != part.sum)) return -1;
        m_sum = part.sum;
        note(value);
        return part.part;
    }

    /// A part behind a sigmoid.
    int gateOf(ValueId value)
    {
        const Operator* const op = producerIn(m_graph, value);
        if (op == nullptr || neutralKind(op->kind) != "logistic") return -1;
        const int part = partOf(op->inputs[0]);
        if (part >= 0) note(value);
        return part;
    }

    void outputGate(ValueId gate)
    {
        m_cell.gates[3] = gateOf(gate);
        if (m_cell.gates[3] < 0) refuse("the output gate is no sigmoid of a part of the sum: " + std::string(kindOf(m_graph, gate)));
    }

    /// sigmoid(f) · c + sigmoid(i) · act(z)
    bool cellState(const Operator& sum)
    {
        for (const auto& [kept, added] : eitherOrder(sum)) {
            const Operator *const keeps = of(kept, "mul"), *const adds = of(added, "mul");
            if (keeps == nullptr || adds == nullptr) continue;
            const LstmCellMatch before = m_cell;
            const ValueId sumBefore = m_sum;
            for (const auto& [gate, candidate] : eitherOrder(*adds)) {
                const Operator* const act = producerIn(m_graph, candidate);
                if (act == nullptr || act->inputs.size() != 1 || neutralKind(act->kind) != m_cell.activation) continue;
                const int part = partOf(act->inputs[0]);
                if (part < 0) continue;
                m_cell.gates[2] = part;
                note(candidate);
                m_cell.gates[0] = gateOf(gate);
                if (m_cell.gates[0] < 0) refuse("the input gate is no sigmoid: " + std::string(kindOf(m_graph, gate)));
                for (const auto& [forget, state] : eitherOrder(*keeps)) {
                    const int forgets = gateOf(forget);
                    if (forgets < 0) continue;
                    m_cell.gates[1] = forgets;
                    m_cell.c = behindIdentities(m_graph, state);
                    note(kept);
                    note(added);
                    return true;
                }
                if (!m_cell.refused.empty()) return true;
                refuse("the forget gate is no sigmoid: " + std::string(kindOf(m_graph, keeps->inputs[0])));
                return true;
            }
            m_cell = before;
            m_sum = sumBefore;
        }
        return false;
    }

    /// Whether a reshape only takes or gives dimensions of size 1.
    bool keepsColumns(const Operator& op) const
    {
        const Shape &from = m_graph.value(op.inputs[0]).type.shape, &to = m_graph.value(op.results[0]).type.shape;
        if (!from.isStatic() || !to.isStatic() || from.rank() == 0 || to.rank() == 0) return false;
        return from.back() == to.back() && from.elementCount() == to.elementCount() && from.elementCount() == from.back();
    }

    /// The leaves of a sum, through what only changes ranks by dimensions of size 1.
    void leaves(ValueId value, std::vector<ValueId>& found, int depth)
    {
        const Operator* const op = producerIn(m_graph, value);
        const std::string_view kind = op != nullptr && activationOf(*op) == "NONE" ? neutralKind(op->kind) : "";
        if (depth < 8 && (kind == "add" || kind == "bias_add") && op->inputs.size() == 2) {
            note(value);
            leaves(op->inputs[0], found, depth + 1);
            leaves(op->inputs[1], found, depth + 1);
        } else if (depth < 8 && (kind == "squeeze" || (kind == "reshape" && keepsColumns(*op)))) {
            note(value);
            leaves(op->inputs[0], found, depth + 1);
        } else {
            found.push_back(value);
        }
    }

    bool holdsState(ValueId value) const
    {
        if (!m_states.empty()) return std::ranges::find(m_states, value) != m_states.end();
        if (m_graph.value(value).role == ValueRole::constant) return true;
        const Operator* const producer = producerIn(m_graph, value);
        if (producer == nullptr) return false;
        if (producer->kind.name == "Const" || neutralKind(producer->kind) == "fill") return true;
        if (neutralKind(producer->kind) != "mul") return false;
        return std::ranges::any_of(producer->inputs, [&](ValueId input) {
            const Operator* const act = producerIn(m_graph, input);
            return act != nullptr && act->inputs.size() == 1 && behindIdentities(m_graph, act->inputs[0]) == m_cell.c;
        });
    }

    void preactivation()
    {
        std::vector<ValueId> terms;
        leaves(m_sum, terms, 0);
        for (const ValueId term : terms) {
            const std::optional<WeightedProduct> product = weightedProduct(m_graph, term);
            if (!product) {
                m_cell.biases.push_back(term);
                continue;
            }
            note(term);
            if (product->bias.valid()) m_cell.biases.push_back(product->bias);
            const bool isState = !m_cell.isFirst && !m_cell.h.valid() && holdsState(product->left);
            if (!isState && m_cell.x.valid()) return refuse("neither product is of the state");
            (isState ? m_cell.h : m_cell.x) = product->left;
            (isState ? m_cell.recurrent : m_cell.kernel) = *product;
        }
        if (m_cell.h.valid() == m_cell.isFirst || !m_cell.x.valid())
            refuse("the sum is not of a product with the input and one with the state");
    }

    const Graph& m_graph;
    const std::vector<ValueId>& m_states;
    LstmCellMatch m_cell;
    ValueId m_sum; ///< of which the gates are parts
};

} // namespace

LstmCellMatch matchLstmCell(const Graph& graph, ValueId nextOutput, const std::vector<ValueId>& states)
{
    return CellMatcher(graph, states).match(nextOutput);
}

LstmCellMatch matchFirstLstmCell(const Graph& graph, ValueId nextOutput)
{
    static const std::vector<ValueId> none;
    return CellMatcher(graph, none).matchFirst(nextOutput);
}

bool addBias(LstmWeights& weights, const Numbers& bias)
{
    std::vector<float>& sums = weights.bias.values;
    if (sums.empty()) sums.assign(bias.values.size(), 0.0F);
    if (sums.size() != bias.values.size()) return false;
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += bias.values[k];
    return true;
}

std::string unfitWeights(const LstmWeights& weights, int64_t inputs)
{
    const auto sizes = [](const Numbers& numbers) { return toString(numbers.shape); };
    if (weights.kernel.shape.rank() != 2 || weights.kernel.shape[1] % weights.parts() != 0)
        return "the weights are " + sizes(weights.kernel);
    const int64_t columns = weights.kernel.shape[1], cells = columns / weights.parts();
    if (inputs >= 0 && weights.kernel.shape[0] != inputs)
        return "the weights have " + std::to_string(weights.kernel.shape[0]) + " rows, the input " + std::to_string(inputs) + " numbers";
    const Shape& recurrent = weights.recurrent.shape;
    if (recurrent.rank() != 2 || recurrent[1] != (weights.isDiagonal ? 4 : columns))
        return "the recurrent weights are " + sizes(weights.recurrent);
    if (!weights.bias.values.empty() && static_cast<int64_t>(weights.bias.values.size()) != columns)
        return "the bias has " + std::to_string(weights.bias.values.size()) + " numbers, not " + std::to_string(columns);
    if (!weights.norm.values.empty() && static_cast<int64_t>(weights.norm.values.size()) != columns)
        return "the layer norm has " + std::to_string(weights.norm.values.size()) + " numbers, not " + std::to_string(columns);
    const bool projects = !weights.projection.values.empty();
    if (projects &&
        (weights.projection.shape.rank() != 2 || weights.projection.shape[0] != cells || weights.projection.shape[1] != recurrent[0]))
        return "the projection is " + sizes(weights.projection);
    if (!projects && recurrent[0] != cells)
        return "the recurrent weights have " + std::to_string(recurrent[0]) + " rows, not " + std::to_string(cells);
    return "";
}

OperatorDraft lstmDraft(Site& site, const LstmNode& node, const std::string& name, OperatorId before)
{
    constexpr std::array<const char*, 4> kGates = {"input", "forget", "cell", "output"};
    const LstmWeights& weights = node.weights;
    const int64_t columns = weights.kernel.shape[1], cells = columns / weights.parts();
    // Rows of one gate out of columns of all.
    const auto gate = [&](const Numbers& of, size_t k, int64_t width) {
        const int64_t rows = of.shape[0], all = of.shape[1];
        std::vector<float> values;
        for (int64_t c = 0; c < width; ++c)
            for (int64_t r = 0; r < rows; ++r) values.push_back(of.values[static_cast<size_t>(r * all + weights.gates[k] * width + c)]);
        return values;
    };
    const auto vector = [&](const Numbers& of, size_t k) {
        std::vector<float> values(static_cast<size_t>(cells), 0.0F);
        if (!of.values.empty()) std::copy_n(of.values.begin() + weights.gates[k] * cells, cells, values.begin());
        return values;
    };
    const auto matrix = [&](const char* what, size_t k, const Numbers& of, const std::vector<float>& scales, int64_t width) {
        const std::vector<float> values = gate(of, k, width);
        const Shape shape = weights.isDiagonal && &of == &weights.recurrent ? Shape{cells} : Shape{cells, of.shape[0]};
        const std::string id = name + what + kGates[k];
        if (scales.empty()) return site.constant(id, shape, std::span<const float>(values), before);
        const std::vector<int8_t> bytes(values.begin(), values.end());
        auto quantization = std::make_shared<Quantization>();
        quantization->kind = Quantization::Kind::affine;
        quantization->scales = {scales[static_cast<size_t>(weights.gates[k] * width)]};
        quantization->zeroPoints = {0};
        return site.constant(id, TensorType(DType::i8, shape, std::move(quantization)), std::as_bytes(std::span(bytes)), before);
    };
    OperatorDraft draft;
    draft.kind = {"tfl", node.isSequence ? "unidirectional_sequence_lstm" : "lstm"};
    draft.attributes = {
        {"act", Word{node.activation}}, {"cell_clip", floatAttribute(0)}, {"proj_clip", floatAttribute(0)}, {"@stateless", true}};
    if (node.isSequence) draft.attributes.push_back({"time_major", node.isTimeMajor});
    if (weights.isDiagonal) draft.attributes.push_back({"diagonal_recurrent_tensors", true});
    if (weights.isAsymmetric) draft.attributes.push_back({"asymmetric_quantize_inputs", true});
    draft.inputs.assign(24, ValueId());
    draft.inputs[0] = node.input;
    for (size_t k = 0; k < 4; ++k) {
        if (weights.gates[k] < 0) continue;
        const std::string suffix = std::string("_") + kGates[k];
        draft.inputs[1 + k] = matrix("/kernel_", k, weights.kernel, weights.kernelScales, cells);
        draft.inputs[5 + k] = matrix("/recurrent_", k, weights.recurrent, weights.recurrentScales, weights.isDiagonal ? 1 : cells);
        draft.inputs[12 + k] = site.constant(name + "/bias" + suffix, {cells}, std::span<const float>(vector(weights.bias, k)), before);
        if (!weights.norm.values.empty())
            draft.inputs[20 + k] = site.constant(name + "/norm" + suffix, {cells}, std::span<const float>(vector(weights.norm, k)), before);
    }
    if (!weights.projection.values.empty()) {
        const int64_t outputs = weights.projection.shape[1];
        std::vector<float> turned;
        for (int64_t o = 0; o < outputs; ++o)
            for (int64_t c = 0; c < cells; ++c) turned.push_back(weights.projection.values[static_cast<size_t>(c * outputs + o)]);
        draft.inputs[16] = site.constant(name + "/projection", {outputs, cells}, std::span<const float>(turned), before);
    }
    draft.inputs[18] = node.h0;
    draft.inputs[19] = node.c0;
    return draft;
}

ValueId lastStep(Site& site, ValueId sequence, int axis, bool keeps, const std::string& name, OperatorId before)
{
    return site.editor()
        .op(site.editor().insert(lastStepDraft(site, sequence, axis, keeps, name, before), Sources::none(), InsertPoint::before(before)))
        .results[0];
}

OperatorDraft lastStepDraft(Site& site, ValueId sequence, int axis, bool keeps, const std::string& name, OperatorId before)
{
    const TensorType type = site.editor().value(sequence).type;
    std::vector<int32_t> begin(3, 0), end(3, 0), strides(3, 1);
    begin[static_cast<size_t>(axis)] = -1;
    const int64_t others = 7 & ~(1 << axis);
    const auto indices = [&](const char* what, const std::vector<int32_t>& values) {
        return site.constant(name + what, Shape{3}, std::span<const int32_t>(values), before);
    };
    OperatorDraft draft;
    draft.name = name;
    draft.inputs = {sequence, indices("/begin", begin), indices("/end", end), indices("/strides", strides)};
    draft.attributes = {{"begin_mask", others}, {"end_mask", int64_t{7}}};
    if (!keeps) draft.attributes.push_back({"shrink_axis_mask", int64_t{1} << axis});
    draft.kind = {"tfl", "strided_slice"};
    if (site.isTensorFlow()) {
        draft.kind = {"tf", "StridedSlice"};
        draft.attributes.insert(draft.attributes.end(),
                                {{"Index", DType::i32}, {"T", DType::f32}, {"ellipsis_mask", int64_t{0}}, {"new_axis_mask", int64_t{0}}});
        if (keeps) draft.attributes.push_back({"shrink_axis_mask", int64_t{0}});
    }
    Shape shape = Shape::unknownRank();
    if (type.shape.hasRank()) {
        shape = Shape();
        for (int d = 0; d < type.shape.rank(); ++d)
            if (d != axis || keeps) shape.append(d == axis ? 1 : type.shape[d]);
    }
    draft.results = {TensorType(DType::f32, shape)};
    return draft;
}

} // namespace loopscope::fusing
