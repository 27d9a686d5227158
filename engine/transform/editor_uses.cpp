// How the graph editor changes what operators and the graph name.
#include "engine/transform/graph_editor.h"
#include "engine/transform/value_refs.h"

#include <algorithm>

namespace loopscope {

void GraphEditor::linkSignatures()
{
    if (!m_model) return;
    for (size_t s = 0; s < m_model->signatures.size(); ++s) {
        const Signature& signature = m_model->signatures[s];
        if (signature.graph != m_graphId) continue;
        for (size_t b = 0; b < signature.inputs.size() + signature.outputs.size(); ++b) {
            m_signatures.emplace_back(s, b);
            const auto index = static_cast<int32_t>(m_signatures.size() - 1);
            m_uses.link(signatureBinding(index), {ValueUse::Kind::signature, {}, index});
        }
    }
}

ValueId& GraphEditor::signatureBinding(int32_t index)
{
    const auto [s, b] = m_signatures[static_cast<size_t>(index)];
    Signature& signature = m_model->signatures[s];
    return b < signature.inputs.size() ? signature.inputs[b].value : signature.outputs[b - signature.inputs.size()].value;
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
    m_uses.unlink(from, was);
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
    m_uses.link(to, was);
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
        m_uses.unlink(from, use);
        OperatorId& waits = use.op.valid() ? mutableOp(use.op).controlInputs[static_cast<size_t>(use.index)]
                                           : mutableGraph().controlOutputs[static_cast<size_t>(use.index)].second;
        waits = to;
        m_uses.link(to, use);
    }
}

void GraphEditor::setInput(OperatorId id, int32_t index, ValueId value)
{
    const ValueUse use{ValueUse::Kind::operand, id, index};
    ValueId& input = mutableOp(id).inputs[static_cast<size_t>(index)];
    m_uses.unlink(input, use);
    input = value;
    m_uses.link(value, use);
}

void GraphEditor::setInputs(OperatorId id, std::vector<ValueId> inputs)
{
    m_uses.unlinkOperands(id, op(id));
    mutableOp(id).inputs = std::move(inputs);
    m_uses.linkOperands(id, op(id));
}

void GraphEditor::setControlInputs(OperatorId id, std::vector<OperatorId> controls)
{
    m_uses.unlinkControls(id, op(id));
    mutableOp(id).controlInputs = std::move(controls);
    m_uses.linkControls(id, op(id));
}

void GraphEditor::addControlInput(OperatorId id, OperatorId before)
{
    std::vector<OperatorId>& controls = mutableOp(id).controlInputs;
    if (std::ranges::find(controls, before) != controls.end()) return;
    controls.push_back(before);
    m_uses.linkControl(id, op(id));
}

void GraphEditor::removeControlInput(OperatorId id, OperatorId before)
{
    std::vector<OperatorId> controls = op(id).controlInputs;
    if (std::erase(controls, before) > 0) setControlInputs(id, std::move(controls));
}

void GraphEditor::setAttributes(OperatorId id, AttributeList attributes)
{
    m_uses.unlinkAttributes(id, op(id));
    std::ranges::stable_sort(attributes, {}, &NamedAttribute::key);
    mutableOp(id).attributes = std::move(attributes);
    m_uses.linkAttributes(id, op(id));
}

void GraphEditor::setAttribute(OperatorId id, std::string key, Attribute value)
{
    m_uses.unlinkAttributes(id, op(id));
    loopscope::setAttribute(mutableOp(id).attributes, std::move(key), std::move(value));
    m_uses.linkAttributes(id, op(id));
}

void GraphEditor::removeAttribute(OperatorId id, std::string_view key)
{
    m_uses.unlinkAttributes(id, op(id));
    loopscope::removeAttribute(mutableOp(id).attributes, key);
    m_uses.linkAttributes(id, op(id));
}

void GraphEditor::setOutput(int32_t index, ValueId value)
{
    replaceUse(graph().outputs[static_cast<size_t>(index)].value, {ValueUse::Kind::output, {}, index}, value);
}

void GraphEditor::setOutputs(std::vector<GraphOutput> outputs)
{
    m_uses.unlinkOutputs(graph());
    mutableGraph().outputs = std::move(outputs);
    m_uses.linkOutputs(graph());
}

void GraphEditor::setControlOutputs(std::vector<std::pair<std::string, OperatorId>> outputs)
{
    m_uses.unlinkControlOutputs(graph());
    mutableGraph().controlOutputs = std::move(outputs);
    m_uses.linkControlOutputs(graph());
}

} // namespace loopscope
