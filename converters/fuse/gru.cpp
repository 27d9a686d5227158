// GRU cells that are written out: Circle has an operator for the form in which the reset gate comes behind the product with the state.
#include "converters/fuse/lstm.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

constexpr int kParts = 3;

const Operator* binary(const Graph& graph, ValueId value, std::string_view kind) { return producerIn(graph, value, kind, 2); }
const Operator* unary(const Graph& graph, ValueId value, std::string_view kind) { return producerIn(graph, value, kind, 1); }

std::array<std::pair<ValueId, ValueId>, 2> bothWays(const Operator& op)
{
    return {std::pair(op.inputs[0], op.inputs[1]), std::pair(op.inputs[1], op.inputs[0])};
}

class GruMatcher {
public:
    GruMatcher(const Graph& graph, ValueId state) : m_graph(graph), m_state(state) {}

    FirstGruCell matchFirst(ValueId next)
    {
        FirstGruCell cell;
        const Operator* const root = binary(m_graph, next, "mul");
        if (root == nullptr) return cell;
        for (const auto& [rest, squashed] : bothWays(*root)) {
            const Operator *const sub = binary(m_graph, rest, "sub"), *const tanh = unary(m_graph, squashed, "tanh");
            if (sub == nullptr || tanh == nullptr || !isOne(sub->inputs[0])) continue;
            const Operator* const fresh = binary(m_graph, tanh->inputs[0], "add");
            if (fresh == nullptr || !gateOfBias(sub->inputs[1], 0, cell)) continue;
            for (const auto& [plain, reset] : bothWays(*fresh)) {
                const SumPart part = partOfSum(m_graph, plain, kParts);
                const Operator* const product = binary(m_graph, reset, "mul");
                if (part.part < 0 || part.sum != m_inputSum || product == nullptr) continue;
                for (const auto& [sigmoid, bias] : bothWays(*product)) {
                    if (!floatsIn(m_graph, bias) || !gateOfBias(sigmoid, 1, cell)) continue;
                    cell.gates[2] = part.part;
                    cell.biases[2] = bias;
                    const std::optional<WeightedProduct> kernel = this->product(m_inputSum);
                    cell.isFound = kernel.has_value();
                    if (kernel) cell.kernel = *kernel;
                    return cell;
                }
            }
        }
        return cell;
    }

    GruCellMatch match(ValueId next)
    {
        ValueId update, candidate;
        if (!findUpdate(next, update, candidate)) return {};
        m_cell.isFound = true;
        static constexpr const char* kBefore = "the reset gate comes before the product with the state: Circle's operator has it behind";
        const Operator* const sum = binary(m_graph, candidate, "add");
        if (sum != nullptr && isResetBefore(*sum)) return refuse(kBefore);
        if (!gate(update, 0)) return refuse("the update gate is no sigmoid of a part of both sums");
        if (sum == nullptr || !freshPart(*sum)) return refuse(kBefore);
        if (m_cell.gates[0] == m_cell.gates[1] || m_cell.gates[0] == m_cell.gates[2] || m_cell.gates[1] == m_cell.gates[2])
            return refuse("two gates are the same part of the sums");
        const std::optional<WeightedProduct> ofInput = product(m_inputSum), ofState = product(m_stateSum);
        if (!ofInput) return refuse("the parts are not of a product with the input");
        if (!ofState || ofState->left != m_state) return refuse("the other parts are not of a product with the state");
        m_cell.x = ofInput->left;
        m_cell.kernel = *ofInput;
        m_cell.recurrent = *ofState;
        return m_cell;
    }

private:
    GruCellMatch refuse(std::string reason)
    {
        m_cell.refused = std::move(reason);
        return m_cell;
    }

    bool isOne(ValueId value) const
    {
        const std::optional<Numbers> numbers = floatsIn(m_graph, value);
        return numbers && numbers->isSplat() && numbers->values[0] == 1;
    }

    /// A product with r · h among the operands.
    bool isResetBefore(const Operator& sum) const
    {
        return std::ranges::any_of(sum.inputs, [&](ValueId input) {
            const std::optional<WeightedProduct> found = product(input);
            const Operator* const reset = found ? binary(m_graph, found->left, "mul") : nullptr;
            return reset != nullptr &&
                   std::ranges::any_of(reset->inputs, [&](ValueId of) { return behindIdentities(m_graph, of) == m_state; });
        });
    }

    /// z · h + (1 − z) · tanh(candidate)
    bool findUpdate(ValueId next, ValueId& update, ValueId& candidate) const
    {
        const Operator* const sum = binary(m_graph, next, "add");
        if (sum == nullptr) return false;
        for (const auto& [kept, fresh] : bothWays(*sum)) {
            const Operator *const keeps = binary(m_graph, kept, "mul"), *const adds = binary(m_graph, fresh, "mul");
            if (keeps == nullptr || adds == nullptr) continue;
            for (const auto& [gate, old] : bothWays(*keeps)) {
                const Operator* const sigmoid = unary(m_graph, gate, "logistic");
                if (behindIdentities(m_graph, old) != m_state || sigmoid == nullptr) continue;
                for (const auto& [rest, squashed] : bothWays(*adds)) {
                    const Operator *const sub = binary(m_graph, rest, "sub"), *const tanh = unary(m_graph, squashed, "tanh");
                    if (sub == nullptr || tanh == nullptr) continue;
                    if (behindIdentities(m_graph, sub->inputs[1]) != behindIdentities(m_graph, gate) || !isOne(sub->inputs[0])) continue;
                    update = sigmoid->inputs[0];
                    candidate = tanh->inputs[0];
                    return true;
                }
            }
        }
        return false;
    }

    /// The same part of the sum of the input and of that of the state, which the first gate shows.
    bool gate(ValueId preactivation, size_t k)
    {
        const Operator* const sum = binary(m_graph, preactivation, "add");
        if (sum == nullptr) return false;
        for (const auto& [a, b] : bothWays(*sum)) {
            const auto [first, part] = partOfSum(m_graph, a, kParts);
            const auto [second, other] = partOfSum(m_graph, b, kParts);
            if (part < 0 || part != other || first == second) continue;
            if (!m_inputSum.valid() && !isOfState(second)) continue;
            if (m_inputSum.valid() && (first != m_inputSum || second != m_stateSum)) continue;
            m_inputSum = first;
            m_stateSum = second;
            m_cell.gates[k] = part;
            return true;
        }
        return false;
    }

    /// sigmoid(part of the input's sum + constant)
    bool gateOfBias(ValueId gate, size_t k, FirstGruCell& cell)
    {
        const Operator* const act = unary(m_graph, gate, "logistic");
        const Operator* const sum = act != nullptr ? binary(m_graph, act->inputs[0], "add") : nullptr;
        if (sum == nullptr) return false;
        for (const auto& [plain, bias] : bothWays(*sum)) {
            const SumPart part = partOfSum(m_graph, plain, kParts);
            if (part.part < 0 || !floatsIn(m_graph, bias) || (m_inputSum.valid() && part.sum != m_inputSum)) continue;
            m_inputSum = part.sum;
            cell.gates.at(k) = part.part;
            cell.biases.at(k) = bias;
            return true;
        }
        return false;
    }

    bool isOfState(ValueId sum) const
    {
        const std::optional<WeightedProduct> found = product(sum);
        return found && found->left == m_state;
    }

    /// part of the input's sum + sigmoid(r) · part of the state's
    bool freshPart(const Operator& sum)
    {
        for (const auto& [plain, reset] : bothWays(sum)) {
            const auto [whole, part] = partOfSum(m_graph, plain, kParts);
            const Operator* const product = binary(m_graph, reset, "mul");
            if (part < 0 || whole != m_inputSum || product == nullptr) continue;
            for (const auto& [sigmoid, kept] : bothWays(*product)) {
                const Operator* const act = unary(m_graph, sigmoid, "logistic");
                const SumPart own = partOfSum(m_graph, kept, kParts);
                if (act == nullptr || own.part != part || own.sum != m_stateSum || !gate(act->inputs[0], 1)) continue;
                m_cell.gates[2] = part;
                return true;
            }
        }
        return false;
    }

    /// A product, to which a bias may be added.
    std::optional<WeightedProduct> product(ValueId value) const
    {
        for (const char* const kind : {"add", "bias_add"}) {
            const Operator* const sum = binary(m_graph, value, kind);
            if (sum == nullptr) continue;
            for (const auto& [of, added] : bothWays(*sum))
                if (std::optional<WeightedProduct> found = weightedProduct(m_graph, of)) {
                    if (found->bias.valid()) return std::nullopt;
                    found->bias = added;
                    return found;
                }
        }
        return weightedProduct(m_graph, value);
    }

    const Graph& m_graph;
    const ValueId m_state;
    GruCellMatch m_cell;
    ValueId m_inputSum, m_stateSum;
};

} // namespace

GruCellMatch matchGruCell(const Graph& graph, ValueId next, ValueId state) { return GruMatcher(graph, state).match(next); }
FirstGruCell matchFirstGruCell(const Graph& graph, ValueId next) { return GruMatcher(graph, {}).matchFirst(next); }

OperatorDraft gruDraft(Site& site, const GruCellMatch& cell, const std::array<Numbers, 4>& numbers, ValueId sequence, ValueId h0,
                       int64_t cells, const std::string& name, OperatorId before)
{
    OperatorDraft draft;
    draft.kind = {"circle", "gru"};
    draft.attributes = {{"time_major", true}};
    draft.inputs = {sequence};
    static constexpr std::array kNames = {"/kernel", "/bias", "/recurrent", "/recurrent_bias"};
    for (size_t k = 0; k < numbers.size(); ++k) {
        const std::vector<float>& values = numbers[k].values;
        const int64_t columns = 3 * cells, count = static_cast<int64_t>(values.size()) / columns;
        std::vector<float> rows; // columns of the gates as rows, in Circle's order: update, reset, new
        for (const int gate : cell.gates)
            for (int64_t c = 0; c < cells; ++c)
                for (int64_t r = 0; r < count; ++r) rows.push_back(values[static_cast<size_t>(r * columns + gate * cells + c)]);
        const Shape shape = k % 2 == 0 ? Shape{columns, count} : Shape{columns};
        draft.inputs.push_back(rows.empty() ? ValueId() : site.constant(name + kNames[k], shape, std::span<const float>(rows), before));
    }
    draft.inputs.push_back(h0);
    draft.name = name;
    return draft;
}

} // namespace loopscope::fusing
