#include "engine/transform/graph_selection.h"

#include <queue>

namespace loopscope {

void GraphSelection::need(OperatorId op)
{
    if (!op.valid() || m_needed[static_cast<size_t>(op.index)]) return;
    m_needed[static_cast<size_t>(op.index)] = true;
    m_open.push_back(op);
}

void GraphSelection::need(ValueId value)
{
    if (m_graph.value(value).role == ValueRole::result) need(m_graph.value(value).producer);
}

void GraphSelection::close()
{
    while (!m_open.empty()) {
        const Operator& op = m_graph.op(m_open.back());
        m_open.pop_back();
        for (const ValueId input : op.inputs)
            if (input.valid()) need(input);
        for (const OperatorId control : op.controlInputs) need(control);
    }
}

void GraphSelection::reorder()
{
    const size_t count = m_graph.operators.size();
    std::vector<int32_t> waits(count, 0);
    std::vector<std::vector<int32_t>> followers(count);
    const auto wait = [&](size_t op, OperatorId before) {
        if (!before.valid() || !m_needed[static_cast<size_t>(before.index)]) return;
        followers[static_cast<size_t>(before.index)].push_back(static_cast<int32_t>(op));
        ++waits[op];
    };
    for (size_t o = 0; o < count; ++o) {
        if (!m_needed[o]) continue;
        for (const ValueId input : m_graph.operators[o].inputs)
            if (input.valid() && m_graph.value(input).role == ValueRole::result) wait(o, m_graph.value(input).producer);
        for (const OperatorId control : m_graph.operators[o].controlInputs) wait(o, control);
    }
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    size_t needed = 0;
    for (size_t o = 0; o < count; ++o) {
        if (!m_needed[o]) continue;
        ++needed;
        if (waits[o] == 0) ready.push(static_cast<int32_t>(o));
    }
    std::vector<int32_t> order;
    order.reserve(needed);
    while (!ready.empty()) {
        const int32_t o = ready.top();
        ready.pop();
        order.push_back(o);
        for (const int32_t next : followers[static_cast<size_t>(o)])
            if (--waits[static_cast<size_t>(next)] == 0) ready.push(next);
    }
    if (order.size() != needed) { // a cycle: the order of the file is as good as any
        order.clear();
        for (size_t o = 0; o < count; ++o)
            if (m_needed[o]) order.push_back(static_cast<int32_t>(o));
    }
    apply(order);
}

void GraphSelection::apply(const std::vector<int32_t>& order)
{
    std::vector<int32_t> place(m_graph.operators.size(), -1);
    for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
    std::vector<Operator> operators;
    operators.reserve(order.size());
    for (const int32_t o : order) {
        Operator op = std::move(m_graph.operators[static_cast<size_t>(o)]);
        std::vector<OperatorId> controls;
        for (const OperatorId control : op.controlInputs)
            if (const int32_t at = place[static_cast<size_t>(control.index)]; at >= 0) controls.push_back(OperatorId(at));
        op.controlInputs = std::move(controls);
        operators.push_back(std::move(op));
    }
    m_graph.operators = std::move(operators);
    for (Value& value : m_graph.values) {
        if (value.role != ValueRole::result) continue;
        const int32_t at = place[static_cast<size_t>(value.producer.index)];
        value.producer = OperatorId(at);
        if (at < 0) value.role = ValueRole::absent;
    }
    std::erase_if(m_graph.controlOutputs, [&](auto& output) { return place[static_cast<size_t>(output.second.index)] < 0; });
    for (auto& [name, op] : m_graph.controlOutputs) op = OperatorId(place[static_cast<size_t>(op.index)]);
}

} // namespace loopscope
