#include "engine/transform/use_lists.h"

#include "engine/transform/value_refs.h"

#include <algorithm>

namespace loopscope {

UseLists::UseLists(const Graph& graph)
    : m_ofValue(graph.values.size()),
      m_ofOperator(graph.operators.size()),
      m_operandSlots(graph.operators.size()),
      m_controlSlots(graph.operators.size())
{
    for (size_t o = 0; o < graph.operators.size(); ++o) linkAll(OperatorId(static_cast<int64_t>(o)), graph.operators[o]);
    linkOutputs(graph);
    linkControlOutputs(graph);
}

void UseLists::addOperator(OperatorId id, const Operator& op)
{
    m_ofOperator.emplace_back();
    m_operandSlots.emplace_back();
    m_controlSlots.emplace_back();
    linkAll(id, op);
}

void UseLists::linkAll(OperatorId id, const Operator& op)
{
    linkOperands(id, op);
    linkAttributes(id, op);
    linkControls(id, op);
}

int32_t* UseLists::slotOf(const ValueUse& use)
{
    const auto index = static_cast<size_t>(use.index);
    if (use.kind == ValueUse::Kind::operand) return &m_operandSlots[static_cast<size_t>(use.op.index)][index];
    return use.kind == ValueUse::Kind::output ? &m_outputSlots[index] : nullptr;
}

int32_t* UseLists::slotOf(const ControlUse& use)
{
    const auto index = static_cast<size_t>(use.index);
    return use.op.valid() ? &m_controlSlots[static_cast<size_t>(use.op.index)][index] : &m_controlOutputSlots[index];
}

void UseLists::link(ValueId id, ValueUse use)
{
    if (!id.valid()) return; // a missing optional operand
    std::vector<ValueUse>& list = m_ofValue[static_cast<size_t>(id.index)];
    if (int32_t* const slot = slotOf(use)) *slot = static_cast<int32_t>(list.size());
    list.push_back(use);
}

void UseLists::unlink(ValueId id, const ValueUse& use)
{
    if (!id.valid()) return;
    std::vector<ValueUse>& list = m_ofValue[static_cast<size_t>(id.index)];
    const int32_t* const slot = slotOf(use);
    const auto at = slot ? static_cast<size_t>(*slot) : static_cast<size_t>(std::ranges::find(list, use) - list.begin());
    list[at] = list.back();
    if (int32_t* const moved = slotOf(list[at])) *moved = static_cast<int32_t>(at);
    list.pop_back();
}

void UseLists::link(OperatorId id, ControlUse use)
{
    std::vector<ControlUse>& list = m_ofOperator[static_cast<size_t>(id.index)];
    *slotOf(use) = static_cast<int32_t>(list.size());
    list.push_back(use);
}

void UseLists::unlink(OperatorId id, const ControlUse& use)
{
    std::vector<ControlUse>& list = m_ofOperator[static_cast<size_t>(id.index)];
    const auto at = static_cast<size_t>(*slotOf(use));
    list[at] = list.back();
    *slotOf(list[at]) = static_cast<int32_t>(at);
    list.pop_back();
}

void UseLists::linkOperands(OperatorId id, const Operator& op)
{
    const std::vector<ValueId>& inputs = op.inputs;
    m_operandSlots[static_cast<size_t>(id.index)].resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) link(inputs[i], {ValueUse::Kind::operand, id, static_cast<int32_t>(i)});
}

void UseLists::unlinkOperands(OperatorId id, const Operator& op)
{
    const std::vector<ValueId>& inputs = op.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) unlink(inputs[i], {ValueUse::Kind::operand, id, static_cast<int32_t>(i)});
}

void UseLists::linkAttributes(OperatorId id, const Operator& op)
{
    int32_t index = 0;
    visitAllValueRefs(op.attributes, [&](const ValueRef& ref) { link(ref.value, {ValueUse::Kind::attribute, id, index++}); });
}

void UseLists::unlinkAttributes(OperatorId id, const Operator& op)
{
    int32_t index = 0;
    visitAllValueRefs(op.attributes, [&](const ValueRef& ref) { unlink(ref.value, {ValueUse::Kind::attribute, id, index++}); });
}

void UseLists::linkControls(OperatorId id, const Operator& op)
{
    const std::vector<OperatorId>& controls = op.controlInputs;
    m_controlSlots[static_cast<size_t>(id.index)].resize(controls.size());
    for (size_t i = 0; i < controls.size(); ++i) link(controls[i], ControlUse{id, static_cast<int32_t>(i)});
}

void UseLists::unlinkControls(OperatorId id, const Operator& op)
{
    const std::vector<OperatorId>& controls = op.controlInputs;
    for (size_t i = 0; i < controls.size(); ++i) unlink(controls[i], ControlUse{id, static_cast<int32_t>(i)});
}

void UseLists::linkControl(OperatorId id, const Operator& op)
{
    std::vector<int32_t>& slots = m_controlSlots[static_cast<size_t>(id.index)];
    slots.push_back(0);
    link(op.controlInputs.back(), ControlUse{id, static_cast<int32_t>(slots.size() - 1)});
}

void UseLists::linkOutputs(const Graph& graph)
{
    m_outputSlots.resize(graph.outputs.size());
    for (size_t k = 0; k < graph.outputs.size(); ++k) link(graph.outputs[k].value, {ValueUse::Kind::output, {}, static_cast<int32_t>(k)});
}

void UseLists::unlinkOutputs(const Graph& graph)
{
    for (size_t k = 0; k < graph.outputs.size(); ++k) unlink(graph.outputs[k].value, {ValueUse::Kind::output, {}, static_cast<int32_t>(k)});
}

void UseLists::linkControlOutputs(const Graph& graph)
{
    m_controlOutputSlots.resize(graph.controlOutputs.size());
    for (size_t k = 0; k < graph.controlOutputs.size(); ++k) link(graph.controlOutputs[k].second, ControlUse{{}, static_cast<int32_t>(k)});
}

void UseLists::unlinkControlOutputs(const Graph& graph)
{
    for (size_t k = 0; k < graph.controlOutputs.size(); ++k)
        unlink(graph.controlOutputs[k].second, ControlUse{{}, static_cast<int32_t>(k)});
}

} // namespace loopscope
