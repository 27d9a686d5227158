// The use lists of the graph editor: who names each value, who waits for each operator. An entry is removed in constant time, since
// operands know their place in the list.
#include "engine/transform/graph_editor.h"
#include "engine/transform/value_refs.h"

#include <algorithm>

namespace loopscope {

void GraphEditor::buildUses()
{
    const Graph& g = graph();
    m_uses.resize(g.values.size());
    m_controlUses.resize(g.operators.size());
    m_operandSlots.resize(g.operators.size());
    m_controlSlots.resize(g.operators.size());
    for (size_t o = 0; o < g.operators.size(); ++o) {
        const OperatorId id(static_cast<int64_t>(o));
        linkOperands(id);
        linkAttributes(id);
        linkControls(id);
    }
    m_outputSlots.resize(g.outputs.size());
    for (size_t k = 0; k < g.outputs.size(); ++k) link(g.outputs[k].value, {ValueUse::Kind::output, {}, static_cast<int32_t>(k)});
    m_controlOutputSlots.resize(g.controlOutputs.size());
    for (size_t k = 0; k < g.controlOutputs.size(); ++k) link(g.controlOutputs[k].second, ControlUse{{}, static_cast<int32_t>(k)});
    if (!m_model) return;
    for (size_t s = 0; s < m_model->signatures.size(); ++s) {
        const Signature& signature = m_model->signatures[s];
        if (signature.graph != m_graphId) continue;
        for (size_t b = 0; b < signature.inputs.size() + signature.outputs.size(); ++b) {
            m_signatures.emplace_back(s, b);
            const auto index = static_cast<int32_t>(m_signatures.size() - 1);
            link(signatureBinding(index), {ValueUse::Kind::signature, {}, index});
        }
    }
}

ValueId& GraphEditor::signatureBinding(int32_t index)
{
    const auto [s, b] = m_signatures[static_cast<size_t>(index)];
    Signature& signature = m_model->signatures[s];
    return b < signature.inputs.size() ? signature.inputs[b].value : signature.outputs[b - signature.inputs.size()].value;
}

int32_t* GraphEditor::slotOf(const ValueUse& use)
{
    const auto index = static_cast<size_t>(use.index);
    if (use.kind == ValueUse::Kind::operand) return &m_operandSlots[static_cast<size_t>(use.op.index)][index];
    return use.kind == ValueUse::Kind::output ? &m_outputSlots[index] : nullptr;
}

int32_t* GraphEditor::slotOf(const ControlUse& use)
{
    const auto index = static_cast<size_t>(use.index);
    return use.op.valid() ? &m_controlSlots[static_cast<size_t>(use.op.index)][index] : &m_controlOutputSlots[index];
}

void GraphEditor::link(ValueId id, ValueUse use)
{
    if (!id.valid()) return; // a missing optional operand
    std::vector<ValueUse>& list = m_uses[static_cast<size_t>(id.index)];
    if (int32_t* const slot = slotOf(use)) *slot = static_cast<int32_t>(list.size());
    list.push_back(use);
}

void GraphEditor::unlink(ValueId id, const ValueUse& use)
{
    if (!id.valid()) return;
    std::vector<ValueUse>& list = m_uses[static_cast<size_t>(id.index)];
    const int32_t* const slot = slotOf(use);
    const auto at = slot ? static_cast<size_t>(*slot) : static_cast<size_t>(std::ranges::find(list, use) - list.begin());
    list[at] = list.back();
    if (int32_t* const moved = slotOf(list[at])) *moved = static_cast<int32_t>(at);
    list.pop_back();
}

void GraphEditor::link(OperatorId id, ControlUse use)
{
    std::vector<ControlUse>& list = m_controlUses[static_cast<size_t>(id.index)];
    *slotOf(use) = static_cast<int32_t>(list.size());
    list.push_back(use);
}

void GraphEditor::unlink(OperatorId id, const ControlUse& use)
{
    std::vector<ControlUse>& list = m_controlUses[static_cast<size_t>(id.index)];
    const auto at = static_cast<size_t>(*slotOf(use));
    list[at] = list.back();
    *slotOf(list[at]) = static_cast<int32_t>(at);
    list.pop_back();
}

void GraphEditor::linkOperands(OperatorId id)
{
    const std::vector<ValueId>& inputs = op(id).inputs;
    m_operandSlots[static_cast<size_t>(id.index)].resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) link(inputs[i], {ValueUse::Kind::operand, id, static_cast<int32_t>(i)});
}

void GraphEditor::unlinkOperands(OperatorId id)
{
    const std::vector<ValueId>& inputs = op(id).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) unlink(inputs[i], {ValueUse::Kind::operand, id, static_cast<int32_t>(i)});
}

void GraphEditor::linkAttributes(OperatorId id)
{
    int32_t index = 0;
    visitAllValueRefs(op(id).attributes, [&](const ValueRef& ref) { link(ref.value, {ValueUse::Kind::attribute, id, index++}); });
}

void GraphEditor::unlinkAttributes(OperatorId id)
{
    int32_t index = 0;
    visitAllValueRefs(op(id).attributes, [&](const ValueRef& ref) { unlink(ref.value, {ValueUse::Kind::attribute, id, index++}); });
}

void GraphEditor::linkControls(OperatorId id)
{
    const std::vector<OperatorId>& controls = op(id).controlInputs;
    m_controlSlots[static_cast<size_t>(id.index)].resize(controls.size());
    for (size_t i = 0; i < controls.size(); ++i) link(controls[i], ControlUse{id, static_cast<int32_t>(i)});
}

void GraphEditor::unlinkControls(OperatorId id)
{
    const std::vector<OperatorId>& controls = op(id).controlInputs;
    for (size_t i = 0; i < controls.size(); ++i) unlink(controls[i], ControlUse{id, static_cast<int32_t>(i)});
}

bool GraphEditor::isUsed(OperatorId id) const
{
    return !uses(id).empty() ||
           std::ranges::any_of(op(id).results, [&](ValueId result) { return result.valid() && !uses(result).empty(); });
}

void GraphEditor::replaceUse(ValueId from, const ValueUse& use, ValueId to)
{
    Graph& g = mutableGraph();
    const ValueUse was = use; // it may lie in the list that changes
    unlink(from, was);
    switch (was.kind) {
    case ValueUse::Kind::operand: mutableOp(was.op).inputs[static_cast<size_t>(was.index)] = to; break;
    case ValueUse::Kind::output: g.outputs[static_cast<size_t>(was.index)].value = to; break;
    case ValueUse::Kind::signature: signatureBinding(was.index) = to; break;
    case ValueUse::Kind::attribute: {
        int32_t index = 0;
        visitAllValueRefs(mutableOp(was.op).attributes, [&](ValueRef& ref) {
            if (index++ == was.index) ref.value = to;
        });
        break;
    }
    }
    link(to, was);
}

void GraphEditor::replaceUses(ValueId from, ValueId to)
{
    if (from == to) return;
    while (!uses(from).empty()) replaceUse(from, uses(from).back(), to);
}

void GraphEditor::replaceUses(OperatorId from, OperatorId to)
{
    if (from == to) return;
    while (!uses(from).empty()) {
        const ControlUse use = uses(from).back();
        unlink(from, use);
        OperatorId& waits = use.op.valid() ? mutableOp(use.op).controlInputs[static_cast<size_t>(use.index)]
                                           : mutableGraph().controlOutputs[static_cast<size_t>(use.index)].second;
        waits = to;
        link(to, use);
    }
}

void GraphEditor::setInput(OperatorId id, int32_t index, ValueId value)
{
    const ValueUse use{ValueUse::Kind::operand, id, index};
    ValueId& input = mutableOp(id).inputs[static_cast<size_t>(index)];
    unlink(input, use);
    input = value;
    link(value, use);
}

void GraphEditor::setInputs(OperatorId id, std::vector<ValueId> inputs)
{
    unlinkOperands(id);
    mutableOp(id).inputs = std::move(inputs);
    linkOperands(id);
}

void GraphEditor::setControlInputs(OperatorId id, std::vector<OperatorId> controls)
{
    unlinkControls(id);
    mutableOp(id).controlInputs = std::move(controls);
    linkControls(id);
}

void GraphEditor::addControlInput(OperatorId id, OperatorId before)
{
    std::vector<OperatorId>& controls = mutableOp(id).controlInputs;
    if (std::ranges::find(controls, before) != controls.end()) return;
    controls.push_back(before);
    m_controlSlots[static_cast<size_t>(id.index)].push_back(0);
    link(before, ControlUse{id, static_cast<int32_t>(controls.size() - 1)});
}

void GraphEditor::removeControlInput(OperatorId id, OperatorId before)
{
    std::vector<OperatorId> controls = op(id).controlInputs;
    if (std::erase(controls, before) > 0) setControlInputs(id, std::move(controls));
}

void GraphEditor::setAttributes(OperatorId id, AttributeList attributes)
{
    unlinkAttributes(id);
    std::ranges::stable_sort(attributes, {}, &NamedAttribute::key);
    mutableOp(id).attributes = std::move(attributes);
    linkAttributes(id);
}

void GraphEditor::setAttribute(OperatorId id, std::string key, Attribute value)
{
    unlinkAttributes(id);
    loopscope::setAttribute(mutableOp(id).attributes, std::move(key), std::move(value));
    linkAttributes(id);
}

void GraphEditor::removeAttribute(OperatorId id, std::string_view key)
{
    unlinkAttributes(id);
    loopscope::removeAttribute(mutableOp(id).attributes, key);
    linkAttributes(id);
}

void GraphEditor::setOutput(int32_t index, ValueId value)
{
    replaceUse(graph().outputs[static_cast<size_t>(index)].value, {ValueUse::Kind::output, {}, index}, value);
}

void GraphEditor::setOutputs(std::vector<GraphOutput> outputs)
{
    Graph& g = mutableGraph();
    for (size_t k = 0; k < g.outputs.size(); ++k) unlink(g.outputs[k].value, {ValueUse::Kind::output, {}, static_cast<int32_t>(k)});
    g.outputs = std::move(outputs);
    m_outputSlots.resize(g.outputs.size());
    for (size_t k = 0; k < g.outputs.size(); ++k) link(g.outputs[k].value, {ValueUse::Kind::output, {}, static_cast<int32_t>(k)});
}

void GraphEditor::setControlOutputs(std::vector<std::pair<std::string, OperatorId>> outputs)
{
    Graph& g = mutableGraph();
    for (size_t k = 0; k < g.controlOutputs.size(); ++k) unlink(g.controlOutputs[k].second, ControlUse{{}, static_cast<int32_t>(k)});
    g.controlOutputs = std::move(outputs);
    m_controlOutputSlots.resize(g.controlOutputs.size());
    for (size_t k = 0; k < g.controlOutputs.size(); ++k) link(g.controlOutputs[k].second, ControlUse{{}, static_cast<int32_t>(k)});
}

} // namespace loopscope
