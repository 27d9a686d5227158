// Where the machine stands: the iterations around the next node, their values, and all of it as addresses.
#include "engine/exec/dataflow/machine.h"

#include "engine/observe/address.h"

namespace loopscope {

using namespace dataflow;

namespace {

StepRole stepRole(CallRole role, bool inCond)
{
    switch (role) {
    case CallRole::loop: return inCond ? StepRole::cond : StepRole::body;
    case CallRole::thenBranch: return StepRole::thenBranch;
    case CallRole::elseBranch: return StepRole::elseBranch;
    case CallRole::branch: return StepRole::branch;
    case CallRole::call: return StepRole::call;
    case CallRole::init: return StepRole::init;
    default: return StepRole::none;
    }
}

} // namespace

/// The iterations around the next node, outermost first; of a run that is over the root.
std::vector<const DataflowExecutor::Impl::Iteration*> DataflowExecutor::Impl::stack() const
{
    std::vector<const Iteration*> iterations;
    if (m_activations.empty()) return iterations;
    const Iteration* at = m_iteration && m_node ? m_iteration : m_activations.front()->frame->alive.front();
    for (; at; at = parentOf(*at)) iterations.push_back(at);
    std::ranges::reverse(iterations);
    return iterations;
}

FrameInfo DataflowExecutor::Impl::frame(int depth) const
{
    const std::vector<const Iteration*> iterations = stack();
    const size_t index = depth < 0 ? iterations.size() - 1 : static_cast<size_t>(depth);
    const Iteration& iteration = *iterations[index];
    const DynamicFrame& frame = *iteration.frame;
    const Running& activation = *frame.activation;
    FrameInfo info;
    info.invocation = iteration.invocation;
    info.graph = activation.program->code.id;
    info.enteredAtStep = iteration.enteredAtStep;
    info.taken = iteration.taken;
    if (frame.index != 0) {
        info.role = CallRole::frame;
        info.site = frame.code->enter;
        info.iteration = iteration.number;
    } else {
        info.role = activation.role;
        info.branch = activation.branch;
        if (activation.call) {
            info.site = programOf(*frame.parent).code.nodes[static_cast<size_t>(activation.call->node)].op;
            info.iteration = activation.call->iteration;
            info.inCond = activation.call->inCond;
        }
    }
    if (index + 1 == iterations.size()) {
        if (m_node) info.next = m_node->op;
    } else {
        const DynamicFrame& inner = *iterations[index + 1]->frame;
        info.next =
            inner.index != 0 ? inner.code->enter : programOf(iteration).code.nodes[static_cast<size_t>(inner.activation->call->node)].op;
    }
    return info;
}

DataflowExecutor::Impl::Cell* DataflowExecutor::Impl::cellOf(int depth, ValueId id) const
{
    const std::vector<const Iteration*> iterations = stack();
    const auto count = static_cast<int>(iterations.size());
    if (count == 0 || depth < -1 || depth >= count) return nullptr;
    const Iteration& iteration = *iterations[static_cast<size_t>(depth < 0 ? count - 1 : depth)];
    const GraphCode& code = programOf(iteration).code;
    if (!id.valid() || static_cast<size_t>(id.index) >= code.values.size()) return nullptr;
    const ValuePlace place = code.values[static_cast<size_t>(id.index)];
    return place.frame == iteration.frame->index && place.slot >= 0 ? iteration.slots[static_cast<size_t>(place.slot)] : nullptr;
}

const Tensor* DataflowExecutor::Impl::value(int depth, ValueId id) const
{
    synchronise(SyncPoint::value);
    Cell* const cell = cellOf(depth, id);
    if (cell && cell->alias >= 0) refresh(*cell);
    return cell && !cell->isDead && load(*cell) ? cell : nullptr;
}

Address DataflowExecutor::Impl::addressOf(const Iteration& innermost) const
{
    Address address;
    for (const Iteration* at = &innermost; at; at = parentOf(*at)) {
        const DynamicFrame& frame = *at->frame;
        if (!frame.parent) {
            address.root = programOf(*at).code.graph->id;
            break;
        }
        AddressStep step;
        if (frame.index != 0) {
            step.site.name = frame.code->name;
            step.role = StepRole::frame;
            step.iteration = at->number;
        } else {
            const Call& call = *frame.activation->call;
            const GraphCode& caller = programOf(*frame.parent).code;
            step.site.name = caller.graph->op(caller.nodes[static_cast<size_t>(call.node)].op).name;
            step.role = stepRole(frame.activation->role, call.inCond);
            step.branch = frame.activation->branch;
            step.iteration = call.iteration;
        }
        address.steps.push_back(std::move(step));
    }
    std::ranges::reverse(address.steps);
    return address;
}

std::string DataflowExecutor::Impl::addressOf(const Iteration& iteration, OperatorId op, int32_t slot) const
{
    Address address = addressOf(iteration);
    address.target = slot >= 0 ? TargetKind::output : TargetKind::op;
    address.op.name = programOf(iteration).code.graph->op(op).name;
    address.slot = slot;
    return toString(address);
}

std::string DataflowExecutor::Impl::address() const
{
    if (m_iteration && m_node) return addressOf(*m_iteration, m_node->op);
    return m_model.graph(m_root).id;
}

} // namespace loopscope
