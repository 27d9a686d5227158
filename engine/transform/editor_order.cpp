// Orders that operators must have, and how the graph is numbered anew at the end.
#include "engine/transform/graph_editor.h"
#include "engine/transform/value_refs.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace loopscope {

void GraphEditor::move(OperatorId id, InsertPoint place)
{
    if (place.m_op == id) return;
    m_order.take(id);
    m_order.place(id, place);
}

bool GraphEditor::isInOrder() const
{
    std::vector<bool> isDone(graph().operators.size(), false);
    for (OperatorId at = m_order.first(); at.valid(); at = next(at)) {
        for (const ValueId input : op(at).inputs)
            if (input.valid() && value(input).role == ValueRole::result && !isDone[static_cast<size_t>(value(input).producer.index)])
                return false;
        for (const OperatorId before : op(at).controlInputs)
            if (!isDone[static_cast<size_t>(before.index)]) return false;
        isDone[static_cast<size_t>(at.index)] = true;
    }
    return true;
}

bool GraphEditor::sortTopologically()
{
    const std::vector<OperatorId> now = order();
    std::vector<int32_t> places(graph().operators.size(), -1);
    for (size_t i = 0; i < now.size(); ++i) places[static_cast<size_t>(now[i].index)] = static_cast<int32_t>(i);
    std::vector<int32_t> waits(now.size(), 0);
    std::vector<std::vector<int32_t>> followers(now.size());
    const auto wait = [&](size_t i, OperatorId before) {
        followers[static_cast<size_t>(places[static_cast<size_t>(before.index)])].push_back(static_cast<int32_t>(i));
        ++waits[i];
    };
    for (size_t i = 0; i < now.size(); ++i) {
        for (const ValueId input : op(now[i]).inputs)
            if (input.valid() && value(input).role == ValueRole::result) wait(i, value(input).producer);
        for (const OperatorId before : op(now[i]).controlInputs) wait(i, before);
    }
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    for (size_t i = 0; i < now.size(); ++i)
        if (waits[i] == 0) ready.push(static_cast<int32_t>(i));
    std::vector<OperatorId> sorted;
    while (!ready.empty()) {
        const auto i = static_cast<size_t>(ready.top());
        ready.pop();
        sorted.push_back(now[i]);
        for (const int32_t follower : followers[i])
            if (--waits[static_cast<size_t>(follower)] == 0) ready.push(follower);
    }
    if (sorted.size() != now.size()) return false;
    m_order.set(sorted);
    return true;
}

Status GraphEditor::finish(Values values)
{
    if (m_isFinished) return {};
    m_isFinished = true;
    const bool isRight = isTensorFlow() || isInOrder() || sortTopologically();
    renumberOperators();
    if (values == Values::dropUnused) dropUnusedValues();
    if (!isRight) return Error(ErrorCode::internal, "the rewritten graph has a cycle").at("graph " + graph().id);
    return {};
}

void GraphEditor::renumberOperators()
{
    Graph& g = mutableGraph();
    const std::vector<OperatorId> sorted = order();
    std::vector<OperatorId> places(g.operators.size());
    for (size_t i = 0; i < sorted.size(); ++i) places[static_cast<size_t>(sorted[i].index)] = OperatorId(static_cast<int64_t>(i));
    std::vector<Operator> operators;
    operators.reserve(sorted.size());
    for (const OperatorId id : sorted) {
        operators.push_back(std::move(mutableOp(id)));
        for (OperatorId& before : operators.back().controlInputs) before = places[static_cast<size_t>(before.index)];
    }
    g.operators = std::move(operators);
    for (Value& value : g.values)
        if (value.role == ValueRole::result) value.producer = places[static_cast<size_t>(value.producer.index)];
    for (auto& [name, id] : g.controlOutputs) id = places[static_cast<size_t>(id.index)];
}

namespace {

/// The scales and zero points of blockwise quantization are values of the graph.
template <typename Visit> void visitBlocks(const TensorType& type, const Visit& visit)
{
    if (!type.quantization || type.quantization->kind != Quantization::Kind::blockwise) return;
    visit(type.quantization->blockScales);
    if (type.quantization->blockZeros >= 0) visit(type.quantization->blockZeros);
}

} // namespace

void GraphEditor::dropUnusedValues()
{
    Graph& g = mutableGraph();
    std::vector<bool> isKept(g.values.size());
    for (size_t v = 0; v < g.values.size(); ++v)
        isKept[v] = !uses(ValueId(static_cast<int64_t>(v))).empty() || g.values[v].role == ValueRole::result ||
                    g.values[v].role == ValueRole::input;
    for (size_t v = 0; v < g.values.size(); ++v)
        if (isKept[v]) visitBlocks(g.values[v].type, [&](int32_t block) { isKept[static_cast<size_t>(block)] = true; });
    std::vector<ValueId> places(g.values.size());
    std::vector<Value> values;
    for (size_t v = 0; v < g.values.size(); ++v) {
        if (!isKept[v]) continue;
        places[v] = ValueId(static_cast<int64_t>(values.size()));
        values.push_back(std::move(g.values[v]));
    }
    const auto follow = [&](ValueId& id) {
        if (id.valid()) id = places[static_cast<size_t>(id.index)];
    };
    for (Value& value : values) {
        visitAllValueRefs(value.attributes, [&](ValueRef& ref) { follow(ref.value); });
        if (!value.type.quantization || value.type.quantization->kind != Quantization::Kind::blockwise) continue;
        Quantization blocks = *value.type.quantization;
        blocks.blockScales = places[static_cast<size_t>(blocks.blockScales)].index;
        if (blocks.blockZeros >= 0) blocks.blockZeros = places[static_cast<size_t>(blocks.blockZeros)].index;
        value.type.quantization = std::make_shared<const Quantization>(std::move(blocks));
    }
    g.values = std::move(values);
    for (ValueId& input : g.inputs) follow(input);
    for (GraphOutput& output : g.outputs) follow(output.value);
    for (Operator& op : g.operators) {
        for (ValueId& input : op.inputs) follow(input);
        for (ValueId& result : op.results) follow(result);
        visitAllValueRefs(op.attributes, [&](ValueRef& ref) { follow(ref.value); });
    }
    for (size_t k = 0; k < m_signatures.size(); ++k) follow(signatureBinding(static_cast<int32_t>(k)));
}

} // namespace loopscope
