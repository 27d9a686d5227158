#include "engine/exec/dataflow/location.h"

#include "engine/observe/address_names.h"

#include <algorithm>

namespace loopscope::dataflow {

Address addressOf(const Iteration& innermost)
{
    Address address;
    for (const Iteration* at = &innermost; at; at = parentOf(*at)) {
        const Frame& frame = *at->frame;
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
            const OperatorId site = callNodeOf(*at).op;
            step.site = operatorName(programOf(*frame.parent).code.graph->op(site), site.index);
            step.role = stepRole(frame.activation->role, call.inCond);
            step.branch = frame.activation->branch;
            step.iteration = call.iteration;
        }
        address.steps.push_back(std::move(step));
    }
    std::ranges::reverse(address.steps);
    return address;
}

std::string addressOf(const Iteration& iteration, OperatorId op, int32_t slot)
{
    Address address = addressOf(iteration);
    address.target = slot >= 0 ? TargetKind::output : TargetKind::op;
    address.op = operatorName(programOf(iteration).code.graph->op(op), op.index);
    address.slot = slot;
    return toString(address);
}

std::vector<const Iteration*> stackOf(const Flow& flow)
{
    std::vector<const Iteration*> iterations;
    if (!flow.root()) return iterations;
    const Standing& standing = flow.standing();
    const Iteration* at = standing.iteration && standing.node ? standing.iteration : flow.root()->alive.front();
    for (; at; at = parentOf(*at)) iterations.push_back(at);
    std::ranges::reverse(iterations);
    return iterations;
}

FrameInfo frameInfo(const Flow& flow, const std::vector<const Iteration*>& stack, size_t depth)
{
    const Iteration& iteration = *stack[depth];
    const Frame& frame = *iteration.frame;
    const Activation& activation = *frame.activation;
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
            info.site = callNodeOf(iteration).op;
            info.iteration = activation.call->iteration;
            info.inCond = activation.call->inCond;
        }
    }
    if (depth + 1 < stack.size()) {
        const Iteration& inner = *stack[depth + 1];
        info.next = inner.frame->index != 0 ? inner.frame->code->enter : callNodeOf(inner).op;
    } else if (flow.standing().node) {
        info.next = flow.standing().node->op;
    }
    return info;
}

Cell* cellAt(const Flow& flow, int depth, ValueId value)
{
    const std::vector<const Iteration*> iterations = stackOf(flow);
    const auto count = static_cast<int>(iterations.size());
    if (count == 0 || depth < -1 || depth >= count) return nullptr;
    const Iteration& iteration = *iterations[static_cast<size_t>(depth < 0 ? count - 1 : depth)];
    const GraphCode& code = programOf(iteration).code;
    if (!value.valid() || static_cast<size_t>(value.index) >= code.values.size()) return nullptr;
    const ValuePlace place = code.values[static_cast<size_t>(value.index)];
    return place.frame == iteration.frame->index && place.slot >= 0 ? iteration.slots[static_cast<size_t>(place.slot)] : nullptr;
}

} // namespace loopscope::dataflow
