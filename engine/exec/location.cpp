// Where the machine stands, as an address.
#include "engine/exec/machine.h"

#include "engine/observe/address_resolution.h"
#include "engine/ops/catalog.h"

namespace loopscope {

namespace {

StepRole roleOf(const CallFrame& frame)
{
    switch (frame.role) {
    case CallRole::main: return StepRole::none;
    case CallRole::loop: return frame.inCond ? StepRole::cond : StepRole::body;
    case CallRole::thenBranch: return StepRole::thenBranch;
    case CallRole::elseBranch: return StepRole::elseBranch;
    case CallRole::branch: return StepRole::branch;
    case CallRole::call: return StepRole::call;
    case CallRole::init: return StepRole::init;
    case CallRole::region: return StepRole::region;
    case CallRole::frame: return StepRole::frame;
    }
    return StepRole::none;
}

} // namespace

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
            step.role = roleOf(frame);
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
