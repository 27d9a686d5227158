// GRU cells that are written out: Circle has an operator for the form in which the reset gate comes behind the product with the state.
#include "converters/fuse/lstm.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

constexpr int kParts = 3;

const Operator* binary(const Graph& graph, ValueId value, std::string_view kind)
{
    const Operator* const op = producerIn(graph, value);
    return op != nullptr && neutralKind(op->kind) == kind && op->inputs.size() == 2 ? op : nullptr;
}

const Operator* unary(const Graph& graph, ValueId value, std::string_view kind)
{
    const Operator* const op = producerIn(graph, value);
    return op != nullptr && neutralKind(op->kind) == kind && op->inputs.size() == 1 ? op : nullptr;
}

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
        if (!gate(update, 0)) return refuse("the update gate is no sigmoid of a part of both sums");
        const Operator* const sum = binary(m_graph, candidate, "add");
        if (sum == nullptr || !freshPart(*sum))
            return refuse("the reset gate comes before the product with the state: Circle's operator has it behind");
        if (m_cell.gates[0] == m_cell.gates[1] || m_cell.gates[0] == m_cell.gates[2] || m_cell.gates[1] == m_cell.gates[2])
            return refuse("two gates are the same part of the sums");
        if (!product(m_inputSum, m_cell.x, m_cell.kernel, m_cell.bias)) return refuse("the parts are not of a product with the input");
        ValueId state;
        if (!product(m_stateSum, state, m_cell.recurrent, m_cell.recurrentBias) || state != m_state)
            return refuse("the other parts are not of a product with the state");
        return m_cell;
    }

private:
    GruCellMatch refuse(std::string reason)
    {
        m_cell.refused = std::move(reason);
        return m_cell;
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
                    if (behindIdentities(m_graph, sub->inputs[1]) != behindIdentities(m_graph, gate)) continue;
                    update = sigmoid->inputs[0];
                    candidate = tanh->inputs[0];
                    return true;
                }
            }
        }
        return false;
    }

    /// Which third of a sum the value is, by a split or a slice of its last dimension; −1: none.
    int partOf(ValueId value, ValueId& sum) const
    {
        value = behindIdentities(m_graph, value);
        if (!value.valid() || m_graph.value(value).role != ValueRole::result) return -1;
        const Operator& op = m_graph.op(m_graph.value(value).producer);
        const bool splits = op.kind.name == "Split" && op.inputs.size() == 2 && op.results.size() == kParts;
        if (!splits && (op.kind.name != "StridedSlice" || op.inputs.size() != 4)) return -1;
        sum = behindIdentities(m_graph, op.inputs[splits ? 1 : 0]);
        if (splits) return m_graph.value(value).slot;
        const Shape &whole = m_graph.value(sum).type.shape, &part = m_graph.value(value).type.shape;
        const auto begin = integersIn(m_graph, op.inputs[1]), strides = integersIn(m_graph, op.inputs[3]);
        if (!whole.isStatic() || !part.isStatic() || whole.rank() != 2 || part.rank() != 2 || !begin || begin->size() != 2) return -1;
        const bool isThird = part[0] == whole[0] && part[1] * kParts == whole[1] && part[1] > 0;
        if (!isThird || !strides || std::ranges::any_of(*strides, [](int64_t stride) { return stride != 1; })) return -1;
        const int64_t from = (attributeInt(op.attributes, "begin_mask", 0) & 2) != 0 ? 0 : (*begin)[1] + ((*begin)[1] < 0 ? whole[1] : 0);
        return from % part[1] == 0 ? static_cast<int>(from / part[1]) : -1;
    }

    /// The same part of the sum of the input and of that of the state, which the first gate shows.
    bool gate(ValueId preactivation, size_t k)
    {
        const Operator* const sum = binary(m_graph, preactivation, "add");
        if (sum == nullptr) return false;
        for (const auto& [a, b] : bothWays(*sum)) {
            ValueId first, second;
            const int part = partOf(a, first), other = partOf(b, second);
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
        ValueId left, weights, bias;
        return product(sum, left, weights, bias) && left == m_state;
    }

    /// part of the input's sum + sigmoid(r) · part of the state's
    bool freshPart(const Operator& sum)
    {
        for (const auto& [plain, reset] : bothWays(sum)) {
            ValueId whole;
            const int part = partOf(plain, whole);
            const Operator* const product = binary(m_graph, reset, "mul");
            if (part < 0 || whole != m_inputSum || product == nullptr) continue;
            for (const auto& [sigmoid, kept] : bothWays(*product)) {
                const Operator* const act = unary(m_graph, sigmoid, "logistic");
                ValueId own;
                if (act == nullptr || partOf(kept, own) != part || own != m_stateSum || !gate(act->inputs[0], 1)) continue;
                m_cell.gates[2] = part;
                return true;
            }
        }
        return false;
    }

    /// left · weights (+ bias)
    bool product(ValueId value, ValueId& left, ValueId& weights, ValueId& bias) const
    {
        for (const char* const kind : {"add", "bias_add"})
            if (const Operator* const sum = binary(m_graph, value, kind)) {
                const bool isLeft = binary(m_graph, sum->inputs[0], "fully_connected") != nullptr;
                bias = sum->inputs[isLeft ? 1 : 0];
                value = sum->inputs[isLeft ? 0 : 1];
                break;
            }
        const Operator* const op = binary(m_graph, value, "fully_connected");
        if (op == nullptr || op->kind.dialect != "tf" || attributeBool(op->attributes, "transpose_a", false) ||
            attributeBool(op->attributes, "transpose_b", false))
            return false;
        left = behindIdentities(m_graph, op->inputs[0]);
        weights = op->inputs[1];
        return true;
    }

    const Graph& m_graph;
    const ValueId m_state;
    GruCellMatch m_cell;
    ValueId m_inputSum, m_stateSum;
};

} // namespace

GruCellMatch matchGruCell(const Graph& graph, ValueId next, ValueId state) { return GruMatcher(graph, state).match(next); }

} // namespace loopscope::fusing
