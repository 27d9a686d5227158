#include "converters/lower/states.h"

#include <algorithm>
#include <cstddef>

namespace loopscope {

namespace {

constexpr size_t kLstmStates[] = {18, 19}; ///< output state, cell state
constexpr size_t kRnnStates[] = {4};

bool isZeros(const Value& value)
{
    if (value.role != ValueRole::constant || value.constant == nullptr || !value.constant->hasBytes()) return false;
    const std::byte* const first = value.constant->bytes().data();
    return std::all_of(first, first + value.constant->size(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::string freshId(const Graph& graph, const std::string& wanted)
{
    std::string id = wanted;
    for (int k = 1; graph.findValue(id).valid(); ++k) id = wanted + "_" + std::to_string(k);
    return id;
}

Status storeOne(Graph& graph, Operator& op)
{
    for (const size_t k : stateOperands(op.kind)) {
        if (k >= op.inputs.size() || !op.inputs[k].valid()) continue;
        const Value given = graph.value(op.inputs[k]);
        if (given.role == ValueRole::variable) continue;
        if (!isZeros(given))
            return Error(ErrorCode::unsupported, graph.id + "/" + graph.value(op.results[0]).id + ": state '" + given.id +
                                                     "' does not begin with zeros, as those of TFLite do");
        Value state;
        state.id = freshId(graph, graph.value(op.results[0]).id + (k == kLstmStates[1] ? "/cell_state" : "/output_state"));
        state.type = given.type;
        state.role = ValueRole::variable;
        op.inputs[k] = ValueId(static_cast<int64_t>(graph.values.size()));
        graph.values.push_back(std::move(state));
    }
    std::erase_if(op.attributes, [](const NamedAttribute& attribute) { return attribute.key == "@stateless"; });
    return {};
}

/// Constants that nothing reads any more go: a file would keep them.
bool isRead(const Graph& graph, ValueId value)
{
    const auto reads = [&](const Operator& op) { return std::ranges::find(op.inputs, value) != op.inputs.end(); };
    return std::ranges::any_of(graph.operators, reads) ||
           std::ranges::any_of(graph.outputs, [&](const GraphOutput& output) { return output.value == value; });
}

} // namespace

std::span<const size_t> stateOperands(const Kind& kind)
{
    if (kind.name == "unidirectional_sequence_rnn") return kRnnStates;
    return kLstmStates;
}

Result<std::vector<std::string>> storeStates(Model& model)
{
    std::vector<std::string> notes;
    if (model.dialect == Dialect::tf) return notes;
    for (Graph& graph : model.graphs)
        for (Operator& op : graph.operators) {
            if (!attributeBool(op.attributes, "@stateless", false)) continue;
            const std::vector<ValueId> before = op.inputs;
            LS_CHECK_OK(storeOne(graph, op));
            for (const ValueId given : before)
                if (given.valid() && graph.value(given).role == ValueRole::constant && !isRead(graph, given))
                    graph.value(given).role = ValueRole::absent;
            notes.push_back(graph.id + "/" + graph.value(op.results[0]).id +
                            ": TFLite keeps its states from one run to the next; reset the variables before each");
        }
    return notes;
}

} // namespace loopscope
