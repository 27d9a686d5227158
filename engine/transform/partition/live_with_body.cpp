#include "engine/transform/partition/live_with_body.h"

#include "engine/ir/flow_role.h"

#include <algorithm>

namespace loopscope {

LiveWithBody::Kind LiveWithBody::kindOf(ValueId value, int depth)
{
    if (!value.valid() || depth == 0) return Kind::other;
    const Value& about = m_graph.value(value);
    if (about.role != ValueRole::result) return Kind::other;
    const Operator& op = m_graph.op(about.producer);
    if (flowRole(op) != FlowRole::choice) return kindOf(about.producer, depth);
    // A Switch: its second result, if it is the loop's predicate that chooses.
    const auto frame = m_frames.frameOf[static_cast<size_t>(about.producer.index)];
    const OperatorId condition = m_frames.frames[static_cast<size_t>(frame)].condition;
    const bool isGate = condition.valid() && op.inputs.size() == 2 && op.results.size() == 2 && op.results[1] == value &&
                        op.inputs[1] == m_graph.op(condition).results[0] && op.controlInputs.empty();
    return isGate && kindOf(op.inputs[0], depth - 1) != Kind::other ? Kind::body : Kind::other;
}

LiveWithBody::Kind LiveWithBody::kindOf(OperatorId id, int depth)
{
    const auto known = m_known.find(id.index);
    if (known != m_known.end()) return known->second;
    const Operator& op = m_graph.op(id);
    Kind kind = Kind::other;
    switch (flowRole(op)) {
    case FlowRole::enter: kind = Kind::always; break; // an invariant
    case FlowRole::merge: {
        const auto frame = m_frames.frameOf[static_cast<size_t>(id.index)];
        const auto& variables = m_frames.frames[static_cast<size_t>(frame)].variables;
        if (std::ranges::find(variables, id, &LoopVariable::merge) != variables.end()) kind = Kind::always;
        break;
    }
    case FlowRole::none:
    case FlowRole::loopCondition: {
        const auto with = [&](Kind other) {
            if (other == Kind::other || kind == Kind::other) kind = Kind::other;
            else if (other == Kind::body) kind = Kind::body;
        };
        kind = op.inputs.empty() && op.controlInputs.empty() ? Kind::other : Kind::always;
        for (const ValueId input : op.inputs) with(kindOf(input, depth - 1));
        for (const OperatorId control : op.controlInputs)
            with(flowRole(m_graph.op(control)) == FlowRole::choice || depth == 0 ? Kind::other : kindOf(control, depth - 1));
        break;
    }
    default: break; // what leaves inner frames, too
    }
    if (depth > kDeepest / 2) m_known.emplace(id.index, kind); // not where it was only too deep to be looked at
    return kind;
}

} // namespace loopscope
