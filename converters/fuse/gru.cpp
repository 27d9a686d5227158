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

} // namespace loopscope::fusing
