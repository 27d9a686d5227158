// The machine's state as a plain value. Values lie in the frames of the stack (so that they can be looked at and edited there) and in
// `tokens`; the rest says where, and what waits for what.
#include "engine/exec/dataflow/location.h"
#include "engine/exec/dataflow/state.h"
#include "engine/exec/machine_state.h"

#include <algorithm>
#include <map>

namespace loopscope::dataflow {

namespace {

/// Everything that exists, numbered in an order that does not depend on where it lies in memory.
struct Inventory {
    std::vector<const Frame*> frames; ///< from the outside inwards
    std::map<const Iteration*, int32_t> numberOf;

    explicit Inventory(const Frame& root)
    {
        frames.push_back(&root);
        for (size_t f = 0; f < frames.size(); ++f)
            for (const Iteration* iteration : frames[f]->alive) {
                numberOf.emplace(iteration, static_cast<int32_t>(numberOf.size()));
                frames.insert(frames.end(), iteration->children.begin(), iteration->children.end());
            }
    }
};

template <typename T> int32_t indexIn(const std::vector<std::unique_ptr<T>>& list, const T* item)
{
    const auto found = std::ranges::find(list, item, &std::unique_ptr<T>::get);
    return found == list.end() ? -1 : static_cast<int32_t>(found - list.begin());
}

ValueState valueOf(const Cell& cell, ValueId value)
{
    if (cell.remote) return {value, cell.dtype, cell.shape, {}, cell.remote}; // it stays where it is
    if (cell.saved.size() != cell.bytes) cell.saved = Bytes::copyOf(cell.data, cell.bytes);
    return {value, cell.dtype, cell.shape, cell.saved, nullptr};
}

/// Writes the parts of a machine into a state whose stack is there.
class Saving {
public:
    Saving(MachineState& state, const Flow& flow, const Calls& calls)
        : m_state(state),
          m_flow(flow),
          m_calls(calls),
          m_inventory(*flow.root()),
          m_stack(stackOf(flow))
    {
    }

    void run()
    {
        DataflowState& state = m_state.dataflow;
        state.serial = m_flow.serial();
        for (const auto& call : m_calls.running()) state.calls.push_back(callState(*call));
        for (const auto& activation : m_calls.activations()) state.activations.push_back(activationState(*activation));
        for (const Frame* frame : m_inventory.frames) state.frames.push_back(frameState(*frame));
    }

    void rendezvous(const Rendezvous& rendezvous)
    {
        std::vector<std::pair<std::string, const Cell*>> sent;
        std::vector<ParkedState>& parked = m_state.dataflow.parked;
        for (const Rendezvous::Channel& channel : rendezvous.channels()) {
            for (const Rendezvous::Sent& value : channel.sent) sent.emplace_back(rendezvous.savedKey(channel, value.place), value.cell);
            for (const Rendezvous::Parked& waiting : channel.parked)
                parked.push_back(
                    {rendezvous.savedKey(channel, waiting.place), m_inventory.numberOf.at(waiting.iteration), waiting.position});
        }
        std::ranges::stable_sort(sent, {}, &std::pair<std::string, const Cell*>::first);
        for (const auto& [key, cell] : sent) m_state.dataflow.sent.push_back({key, cellState(cell)});
        std::ranges::stable_sort(parked, {}, &ParkedState::key);
    }

    void tallies(const Program& program)
    {
        for (size_t n = 0; n < program.tallies.size(); ++n) {
            const Tally& tally = program.tallies[n];
            if (tally.runs == 0) continue; // as if the graph had never been made ready
            m_state.dataflow.tallies.push_back(
                {program.code.id, static_cast<int32_t>(n), tally.runs, tally.dead, tally.lastLive, tally.lastDead});
        }
    }

private:
    /// `frame`: of the stack, if the value lies in one.
    CellState cellState(const Cell* cell, ValueId value = ValueId(), FrameState* frame = nullptr)
    {
        using Kind = CellState::Kind;
        if (!cell) return {};
        if (cell->isDead) return {Kind::dead, 0, 0};
        if (cell->alias >= 0) return {Kind::alias, 0, cell->alias};
        if (cell->recordedStep != Cell::kComputed) return {Kind::recorded, cell->recordedSlot, cell->recordedStep};
        std::vector<ValueState>& values = frame ? frame->values : m_state.tokens;
        values.push_back(valueOf(*cell, value));
        return {frame ? Kind::inFrame : Kind::token, 0, std::ssize(values) - 1};
    }

    DataflowCallState callState(const Call& call)
    {
        DataflowCallState state;
        state.caller = m_inventory.numberOf.at(call.caller);
        state.node = call.node;
        state.iteration = call.iteration;
        state.inCond = call.inCond;
        state.invocation = call.invocation;
        state.counter = call.counter;
        state.limit = call.limit;
        state.delta = call.delta;
        for (const Cell* argument : call.arguments) state.arguments.push_back(cellState(argument));
        return state;
    }

    ActivationState activationState(const Activation& activation)
    {
        ActivationState state;
        state.graph = activation.program->code.id;
        state.call = indexIn(m_calls.running(), static_cast<const Call*>(activation.call));
        state.role = activation.role;
        state.branch = activation.branch;
        state.outstanding = activation.outstanding;
        for (const Cell* output : activation.outputs) state.outputs.push_back(cellState(output));
        return state;
    }

    DataflowFrameState frameState(const Frame& frame)
    {
        DataflowFrameState state;
        state.activation = indexIn(m_calls.activations(), static_cast<const Activation*>(frame.activation));
        state.index = frame.index;
        state.parent = frame.parent ? m_inventory.numberOf.at(frame.parent) : -1;
        state.pendingEnters = frame.pendingEnters;
        state.serial = frame.serial;
        state.iterationCount = frame.iterationCount;
        for (const Held& held : frame.deferred) state.deferred.push_back({held.node, cellState(held.cell)});
        for (const Held& held : frame.invariants) state.invariants.push_back({held.node, cellState(held.cell)});
        state.deadExits = frame.deadExits;
        for (const Iteration* iteration : frame.alive) state.iterations.push_back(iterationState(*iteration));
        return state;
    }

    IterationState iterationState(const Iteration& iteration)
    {
        const FrameCode& code = *iteration.frame->code;
        IterationState state;
        state.number = iteration.number;
        state.invocation = iteration.invocation;
        state.enteredAtStep = iteration.enteredAtStep;
        state.taken = iteration.taken;
        state.outstanding = iteration.outstanding;
        const auto found = std::ranges::find(m_stack, &iteration);
        state.stackFrame = found == m_stack.end() ? -1 : static_cast<int32_t>(found - m_stack.begin());
        FrameState* const frame = state.stackFrame < 0 ? nullptr : &m_state.frames[static_cast<size_t>(state.stackFrame)];
        for (size_t p = 0; p < code.waiting.size(); ++p) {
            const Waiting& waiting = iteration.waiting[p];
            if (waiting == code.waiting[p]) continue;
            state.waiting.push_back({static_cast<int32_t>(p), waiting.pending, waiting.dead, waiting.chosen});
        }
        state.ready = iteration.readyBits;
        state.dead = iteration.deadBits;
        for (size_t s = 0; s < iteration.slots.size(); ++s) {
            if (!iteration.slots[s]) continue;
            const int32_t uses = iteration.uses[s] > kManyUses / 2 ? kManyUses : iteration.uses[s];
            state.values.push_back({static_cast<int32_t>(s), uses, cellState(iteration.slots[s], code.slots[s], frame)});
        }
        return state;
    }

    MachineState& m_state;
    const Flow& m_flow;
    const Calls& m_calls;
    const Inventory m_inventory;
    const std::vector<const Iteration*> m_stack;
};

} // namespace

void save(const Flow& flow, const Calls& calls, const Rendezvous& rendezvous, const NodeRunner& runner, MachineState& state)
{
    const std::vector<const Iteration*> stack = stackOf(flow);
    for (size_t depth = 0; depth < stack.size(); ++depth) {
        const FrameInfo info = frameInfo(flow, stack, depth);
        FrameState& saved = state.frames.emplace_back();
        saved.graph = info.graph;
        saved.role = info.role;
        saved.branch = info.branch;
        saved.invocation = info.invocation;
        saved.site = info.site;
        saved.iteration = info.iteration;
        saved.inCond = info.inCond;
        saved.next = info.next.index;
        saved.enteredAtStep = info.enteredAtStep;
        saved.taken = info.taken;
    }
    Saving saving(state, flow, calls);
    saving.run();
    saving.rendezvous(rendezvous);
    for (const auto& [graph, program] : runner.programs())
        if (program) saving.tallies(*program);
}

} // namespace loopscope::dataflow
