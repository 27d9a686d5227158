// Loops whose graphs a device runs by itself: whole iterations, as long as nobody wants to hear of them or to stop among them. Steps,
// iterations and invocations are counted as if the host had run them.
#include "engine/exec/machine.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {

int64_t operatorsOf(const Activation& activation) { return std::ssize(activation.plan().operators); }

/// Whether there is a trap in a graph, or in one that it calls.
bool hasTraps(const TrapSet& traps, const GraphPlan& plan)
{
    if (traps.has(plan.graph)) return true;
    for (const PlannedOperator& op : plan.operators)
        if (op.call)
            for (const GraphPlan* const callee : op.call->plans)
                if (hasTraps(traps, *callee)) return true;
    return false;
}

/// Frames that running a graph takes, its own and those of what it calls.
int32_t depthOf(const GraphPlan& plan)
{
    int32_t deepest = 0;
    for (const PlannedOperator& op : plan.operators)
        if (op.call)
            for (const GraphPlan* const callee : op.call->plans) deepest = std::max(deepest, depthOf(*callee));
    return deepest + 1;
}

/// Who counts the trips of loops hears of one that went round inside the body of `frame`.
void tellOfLoop(const RunAudience& audience, const CallFrame& frame, const DeviceTrips::Inside& inside)
{
    if (!audience.totals() || frame.iteration == 0) return;
    const GraphPlan& caller = frame.call->body->plan();
    const PlannedCall& call = *caller.operators[static_cast<size_t>(inside.op)].call;
    InvocationStart start;
    start.id = start.parent = frame.invocation;
    start.callerGraph = caller.graph;
    start.site = OperatorId(inside.op);
    start.role = CallRole::loop;
    start.cond = call.plans[0]->graph;
    start.graph = call.plans[1]->graph;
    start.iteration = 0;
    audience.present()->invocationStarted(start);
    audience.totals()->loopEnded(inside.trips);
    InvocationEnd end;
    end.id = start.id;
    audience.present()->invocationEnded(end);
}

} // namespace

/// Whether the device may run iterations of the loop: nobody listens to them, and there is no trap in them.
bool Interpreter::Impl::mayRunOnDevice(const CallFrame& frame) const
{
    const CallState& call = *frame.call;
    if (m_audience.ofOperators() || m_audience.ofIterations() || call.late) return false;
    const int32_t inside = std::max(depthOf(call.cond->plan()), depthOf(call.body->plan())) - 1; // the loop's frame is there
    if (std::ssize(m_frames) + std::max(inside, 1) >= m_options.maxDepth) return false;
    return m_traps.empty() || (!hasTraps(m_traps, call.cond->plan()) && !hasTraps(m_traps, call.body->plan()));
}

/// The innermost frame, if it is a loop's that stands before the cond of an iteration, goes on as far as the device may run it: to another
/// iteration, or out of the loop.
Status Interpreter::Impl::runOnDevice()
{
    CallFrame& frame = m_frames.back();
    if (!m_options.device || frame.role != CallRole::loop || !frame.inCond || frame.next != 0) return {};
    CallState& call = *frame.call;
    const Activation& caller = *m_frames[m_frames.size() - 2].activation;
    const PreparedKernel& kernel = caller.program().kernel(call.op.index);
    DeviceTrips run;
    run.mostSteps = m_limits.stepsLeft(m_step);
    run.cancel = &m_cancel;
    // What handing a loop over costs is worth it from two iterations on.
    if (!kernel.run || run.mostSteps < 2 * (operatorsOf(*call.cond) + operatorsOf(*call.body)) || !mayRunOnDevice(frame)) return {};

    std::vector<const Tensor*> carried;
    for (size_t k = 0; k < call.exchange.size(); ++k) carried.push_back(&call.exchange.carried(k));
    const std::vector<Tensor*> results(call.results.begin(), call.results.end());
    const KernelArgs args{
        carried.data(), results.data(), kernel.params.get(), this, static_cast<int>(carried.size()), static_cast<int>(results.size())};
    m_loopRun = &run;
    Status status = kernel.run(args);
    m_loopRun = nullptr;
    LS_CHECK_OK(std::move(status));

    m_step += run.steps;
    frame.iteration += run.trips;
    m_nextInvocation += run.invocations;
    if (run.trips > 0) frame.invocation = m_nextInvocation - 1; // what began last is an iteration
    for (const DeviceTrips::Inside& inside : run.inside) tellOfLoop(m_audience, frame, inside);
    if (run.isOver) {
        completeCall(frame);
        return {};
    }
    if (run.trips == 0) return {};
    frame.enteredAtStep = m_step;
    return takeCarriedValues(call, results);
}

/// The loop goes on with the values that lie where its results will: as initial values, read only, so that these places are free.
Status Interpreter::Impl::takeCarriedValues(CallState& call, std::span<Tensor* const> values)
{
    std::deque<MemoryBlock> blocks;
    std::deque<Tensor> tensors;
    std::vector<const Tensor*> initial;
    for (const Tensor* const value : values) {
        show(*value);
        MemoryBlock& block = blocks.emplace_back(m_account);
        LS_CHECK_OK(block.reserve(value->bytes));
        if (value->bytes > 0) std::memcpy(block.data(), value->data, value->bytes);
        Tensor& tensor = tensors.emplace_back(*value);
        tensor.data = block.data();
        initial.push_back(&tensor);
    }
    LS_CHECK_OK(m_options.device->check());
    std::byte* const block = m_frames[m_frames.size() - 2].activation->base() + call.planned->offset;
    LS_CHECK_OK(call.exchange.begin(call.planned->loop, *call.cond, *call.body, initial, call.results, block));
    call.restored.swap(blocks);
    return {};
}

} // namespace loopscope
