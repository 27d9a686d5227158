// The machine's state as a plain value, and back. docs/execution.md, "Snapshots", says what a state holds and why.
#include "engine/exec/machine.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/value_state.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {

/// What an earlier state knows of a value, among values ordered by id; null: nothing. Values are asked for in that order, too: `from` is
/// where the search goes on.
const ValueState* find(const std::vector<ValueState>& values, size_t& from, ValueId id)
{
    while (from < values.size() && values[from].value < id) ++from;
    return from < values.size() && values[from].value == id ? &values[from] : nullptr;
}

/// Nothing writes to an input while it runs.
ValueState stateOfInput(ValueId id, const RootValue& input)
{
    if (input.lent || input.slot.bytes == 0) return stateOf(id, input.slot);
    if (input.kept.empty()) input.kept = Bytes::copyOf(input.slot.data, input.slot.bytes);
    ValueState state;
    state.value = id;
    state.dtype = input.slot.dtype;
    state.shape = input.slot.shape;
    state.bytes = input.kept;
    return state;
}

} // namespace

MachineState Interpreter::Impl::snapshot(const MachineState* previous) const
{
    const auto& inputs = m_model.graph(m_root).inputs;
    MachineState state;
    saveTo(state);
    state.initialised.assign(m_initialised.begin(), m_initialised.end());
    m_store.saveVariables(state, previous);
    for (size_t f = 0; f < m_frames.size(); ++f) {
        const CallFrame& frame = m_frames[f];
        const GraphPlan& plan = frame.activation->plan();
        FrameState& saved = state.frames.emplace_back();
        saved.graph = plan.graph;
        saved.role = frame.role;
        saved.branch = frame.branch;
        saved.invocation = frame.invocation;
        if (frame.call) saved.site = frame.call->op;
        saved.iteration = frame.iteration;
        saved.inCond = frame.inCond;
        saved.next = frame.next;
        saved.enteredAtStep = frame.enteredAtStep;
        saved.taken = frame.taken;
        const FrameState* before = previous && f < previous->frames.size() ? &previous->frames[f] : nullptr;
        const bool sameCall = before && before->invocation == frame.invocation && before->graph == plan.graph;
        if (sameCall) saved.values.reserve(before->values.size() + 1);
        size_t place = 0;
        for (size_t v = 0; v < plan.values.size(); ++v) {
            const ValueId id(static_cast<int64_t>(v));
            const bool rootInput = f == 0 && plan.values[v].storage == Storage::input; // of other frames they are the caller's values
            if (!rootInput && !isLive(f, id)) continue;
            const Slot& slot = frame.activation->slot(id);
            const ValueState* const known = sameCall ? find(before->values, place, id) : nullptr;
            if (known && known->bytes.size() == slot.bytes) saved.values.push_back(*known); // written once in an invocation
            else if (!rootInput) saved.values.push_back(stateOf(id, slot));
            else saved.values.push_back(stateOfInput(id, m_inputs[static_cast<size_t>(std::ranges::find(inputs, id) - inputs.begin())]));
        }
        if (frame.role != CallRole::loop) continue;
        const LoopExchange& exchange = frame.call->exchange;
        for (size_t k = 0; k < exchange.size(); ++k) {
            const bool known = before && before->site == frame.call->op && k < before->carried.size();
            saved.carried.push_back(
                stateLike(ValueId(static_cast<int64_t>(k)), exchange.carried(k), known ? &before->carried[k] : nullptr));
        }
    }
    return state;
}

/// The values that a snapshot would hold.
void Interpreter::Impl::visitValues(const std::function<void(const Tensor&)>& visit) const
{
    for (const RootValue& input : m_inputs)
        if (input.set) visit(input.slot);
    for (size_t f = 0; f < m_frames.size(); ++f) {
        const CallFrame& frame = m_frames[f];
        for (size_t v = 0; v < frame.activation->plan().values.size(); ++v)
            if (const ValueId id(static_cast<int64_t>(v)); isLive(f, id)) visit(frame.activation->slot(id));
        if (frame.role != CallRole::loop) continue;
        const LoopExchange& exchange = frame.call->exchange;
        for (size_t k = 0; k < exchange.size(); ++k) visit(exchange.carried(k));
    }
}

Status Interpreter::Impl::restore(const MachineState& state)
{
    synchronise(SyncPoint::restore);
    m_frames.clear();
    restoreFrom(state);
    m_initialised = {state.initialised.begin(), state.initialised.end()};
    LS_CHECK_OK(m_store.restoreVariables(state));
    for (const FrameState& frame : state.frames)
        if (Status status = restoreFrame(frame); !status.ok()) {
            m_frames.clear();
            m_limits.setOpenCalls(0);
            return status;
        }
    if (!m_frames.empty()) {
        continueRun(state);
        if (state.finished) LS_CHECK_OK(publishOutputs());
    }
    updatePosition();
    return {};
}

Status Interpreter::Impl::restoreFrame(const FrameState& state)
{
    if (m_frames.empty()) {
        if (state.graph != m_root || state.role != CallRole::main) return foreignState("another root graph");
        const Graph& graph = m_model.graph(m_root);
        for (const ValueState& value : state.values) {
            const auto input = std::ranges::find(graph.inputs, value.value);
            if (input != graph.inputs.end()) LS_CHECK_OK(setInput(static_cast<int>(input - graph.inputs.begin()), tensorOf(value)));
        }
        LS_CHECK_OK(begin());
    } else {
        CallFrame& caller = m_frames.back();
        const GraphPlan& plan = caller.activation->plan();
        if (!state.site.valid() || static_cast<size_t>(state.site.index) >= plan.operators.size() || caller.next != state.site.index)
            return foreignState("a frame without a call");
        const PlannedOperator& planned = plan.operators[static_cast<size_t>(state.site.index)];
        if (!planned.call || caller.activation->code()[state.site.index].plain != InstructionKind::call)
            return foreignState("a frame without a call");
        CallState& call = caller.activation->call(state.site.index);
        if (!planned.call->planned) LS_CHECK_OK(planLate(call, plan.graph));
        LS_CHECK_OK(restoreCall(call, state));
    }
    CallFrame& frame = m_frames.back();
    if (frame.activation->plan().graph != state.graph) return foreignState("another graph in a frame");
    if (state.next < 0 || static_cast<size_t>(state.next) > frame.activation->plan().operators.size())
        return foreignState("a place beyond the graph");
    frame.next = state.next;
    frame.invocation = state.invocation;
    frame.iteration = state.iteration;
    frame.enteredAtStep = state.enteredAtStep;
    frame.taken = state.taken;
    frame.invocationStart = frame.callStart = m_audience.now(); // what passed before belongs to another run
    return restoreValues(*frame.activation, state);
}

Status Interpreter::Impl::restoreCall(CallState& call, const FrameState& state)
{
    const CallForm& form = call.planned->form;
    if ((form.kind == CallKind::loop) != (state.role == CallRole::loop)) return foreignState("a frame of another kind");
    if (form.kind != CallKind::loop) {
        const size_t callee = state.role == CallRole::elseBranch ? 1
                              : state.role == CallRole::branch   ? static_cast<size_t>(state.branch)
                                                                 : 0;
        if (callee >= form.callees.size() || roleOf(form.kind, callee) != state.role) return foreignState("a frame of another kind");
        LS_CHECK_OK(bindCallee(call, callee));
        pushFrame(call, state.role, state.branch, *call.body);
        return {};
    }
    // The carried values come back as initial values: read only, so that the whole pool is free.
    if (state.carried.size() != call.operands.size()) return foreignState("another number of carried values");
    call.restored.clear();
    std::vector<Tensor> tensors;
    std::vector<const Tensor*> initial;
    tensors.reserve(state.carried.size());
    for (const ValueState& carried : state.carried) {
        MemoryBlock& block = call.restored.emplace_back(m_account);
        LS_CHECK_OK(block.reserve(carried.bytes.size()));
        if (!carried.bytes.empty()) std::memcpy(block.data(), carried.bytes.data(), carried.bytes.size());
        Tensor& tensor = tensors.emplace_back(tensorOf(carried));
        tensor.data = block.data();
        initial.push_back(&tensor);
    }
    LS_CHECK_OK(bindLoop(call, initial));
    for (size_t k = 0; k < state.carried.size(); ++k)
        if (!fits(call.body->input(k), call.planned->loop.shapes[k], state.carried[k]))
            return foreignState("a carried value of another type");
    pushFrame(call, CallRole::loop, -1, state.inCond ? *call.cond : *call.body);
    m_frames.back().inCond = state.inCond;
    return {};
}

Status Interpreter::Impl::restoreValues(Activation& activation, const FrameState& state)
{
    const GraphPlan& plan = activation.plan();
    std::vector<bool> present(plan.values.size(), false);
    for (const ValueState& saved : state.values) {
        if (!saved.value.valid() || static_cast<size_t>(saved.value.index) >= plan.values.size()) return foreignState("an unknown value");
        const Storage storage = plan.value(saved.value).storage;
        if (storage == Storage::input) continue; // of the root: placed already
        Slot& slot = activation.slot(saved.value);
        const bool written = storage == Storage::arena || storage == Storage::heap || storage == Storage::output;
        if (!written || !fits(slot, plan.value(saved.value).shape, saved)) return foreignState("a value of another type");
        LS_CHECK_OK(copyToSlot(slot, tensorOf(saved)));
        present[static_cast<size_t>(saved.value.index)] = true;
    }
    // Every value that is still to be read must have come.
    for (size_t v = 0; v < plan.values.size(); ++v) {
        const PlannedValue& value = plan.values[v];
        if (value.first >= 0 && value.first < state.next && value.last >= state.next && !present[v])
            return foreignState("a value is missing");
    }
    return {};
}

} // namespace loopscope
