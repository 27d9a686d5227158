// Where the machine stands, as an address.
#include "engine/exec/machine.h"

#include "engine/observe/address_names.h"

namespace loopscope {

std::string Interpreter::Impl::address() const
{
    Address address;
    address.root = m_model.graph(m_root).id;
    for (size_t f = 0; f < m_frames.size(); ++f) {
        const CallFrame& frame = m_frames[f];
        if (f > 0) {
            AddressStep step;
            const CallFrame& caller = m_frames[f - 1];
            step.site = operatorName(caller.activation->program().graph().op(frame.call->op), frame.call->op.index);
            step.role = stepRole(frame.role, frame.inCond);
            step.branch = frame.branch;
            step.iteration = frame.iteration;
            address.steps.push_back(std::move(step));
        }
        if (f + 1 < m_frames.size()) continue;
        const Graph& graph = frame.activation->program().graph();
        if (static_cast<size_t>(frame.next) >= graph.operators.size()) continue;
        address.target = TargetKind::op;
        address.op = operatorName(graph.operators[static_cast<size_t>(frame.next)], frame.next);
    }
    return toString(address);
}

} // namespace loopscope
