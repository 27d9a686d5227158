// A machine as a state has it. Whatever stands in a state, nothing here goes beyond what the model has.
#include "engine/exec/dataflow/state.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/value_state.h"

#include <algorithm>
#include <optional>

namespace loopscope::dataflow {

namespace {

template <typename List> bool isIndex(int64_t index, const List& list) { return index >= 0 && index < std::ssize(list); }

Error brokenState() { return foreignState("it is not whole"); }

class Restoration {
public:
    Restoration(const MachineParts& parts, const MachineState& state)
        : m_parts(parts),
          m_flow(parts.flow),
          m_cells(parts.flow.cells()),
          m_model(parts.core.model()),
          m_machine(state),
          m_state(state.dataflow)
    {
    }

    Status run()
    {
        if (m_machine.frames[0].graph != m_parts.core.root()) return foreignState("another root graph");
        for (const DataflowCallState& call : m_state.calls) LS_CHECK_OK(addCall(call));
        for (const ActivationState& activation : m_state.activations) LS_CHECK_OK(addActivation(activation));
        const auto& activations = m_parts.calls.activations();
        if (activations.empty() || activations[0]->program->code.id != m_parts.core.root() || activations[0]->call) return brokenState();
        for (const DataflowFrameState& frame : m_state.frames) LS_CHECK_OK(addFrame(frame));
        for (size_t c = 0; c < m_state.calls.size(); ++c) LS_CHECK_OK(linkCall(c));
        if (!activations[0]->frame) return brokenState();
        m_flow.restoreSerial(m_state.serial);
        LS_CHECK_OK(addRendezvous());
        for (const TallyState& tally : m_state.tallies) LS_CHECK_OK(addTally(tally));
        return {};
    }

private:
    /// Null: absent. `frame`: of the stack, where the value may lie.
    Result<Cell*> cell(const CellState& state, const FrameState* frame = nullptr)
    {
        switch (state.kind) {
        case CellState::Kind::absent: return static_cast<Cell*>(nullptr);
        case CellState::Kind::dead: return CellPool::share(m_cells.dead());
        case CellState::Kind::alias: {
            if (state.index < 0 || state.index > INT32_MAX) return brokenState();
            Cell* const alias = m_cells.take();
            alias->alias = static_cast<int32_t>(state.index);
            alias->bytes = 0;
            return alias;
        }
        case CellState::Kind::recorded:
            if (!m_parts.replay.isOn() || state.slot < 0) return brokenState();
            return m_cells.recorded(state.index, state.slot);
        case CellState::Kind::token:
            if (!isIndex(state.index, m_machine.tokens)) return brokenState();
            return computed(m_machine.tokens[static_cast<size_t>(state.index)]);
        case CellState::Kind::inFrame:
            if (!frame || !isIndex(state.index, frame->values)) return brokenState();
            return computed(frame->values[static_cast<size_t>(state.index)]);
        }
        return brokenState();
    }

    Result<Cell*> computed(const ValueState& state)
    {
        const std::optional<int64_t> elements = checkedElementCount(state.shape);
        const size_t bytes = state.remote ? state.remote->bytes() : state.bytes.size();
        if (!elements || (bitWidth(state.dtype) > 0 && bytes < byteSize(state.dtype, *elements))) return brokenState();
        Tensor type;
        type.dtype = state.dtype;
        type.shape = state.shape;
        if (!state.remote) return m_cells.over(type, state.bytes);
        Cell* const elsewhere = m_cells.elsewhere(type, state.remote);
        if (m_parts.core.options().remote) return elsewhere;
        Status brought = CellPool::bring(*elsewhere); // this run asks nobody
        if (brought.ok()) return elsewhere;
        m_cells.release(elsewhere);
        return std::move(brought).takeError();
    }

    /// The caller is not there yet: linkCall() finds it.
    Status addCall(const DataflowCallState& state)
    {
        Call& call = *m_parts.calls.running().emplace_back(std::make_unique<Call>());
        call.node = state.node;
        call.iteration = state.iteration;
        call.inCond = state.inCond;
        call.invocation = state.invocation;
        call.counter = state.counter;
        call.limit = state.limit;
        call.delta = state.delta;
        for (const CellState& argument : state.arguments) {
            LS_TRY(Cell* const taken, cell(argument));
            if (taken) call.arguments.push_back(taken);
        }
        return {};
    }

    Status addActivation(const ActivationState& state)
    {
        auto& calls = m_parts.calls.running();
        const bool isKnown = m_model.hasGraph(state.graph) && state.role <= CallRole::frame && state.branch >= -1 &&
                             (state.call == -1 || isIndex(state.call, calls));
        if (!isKnown || state.outputs.size() != m_model.graph(state.graph).outputs.size()) return brokenState();
        Activation& activation = *m_parts.calls.activations().emplace_back(std::make_unique<Activation>());
        LS_TRY(activation.program, m_parts.runner.program(state.graph));
        if (state.call >= 0) {
            activation.call = calls[static_cast<size_t>(state.call)].get();
            activation.call->callee = &activation;
        }
        activation.role = state.role;
        activation.branch = state.branch;
        activation.outstanding = state.outstanding;
        for (const CellState& output : state.outputs) {
            LS_TRY(Cell* const given, cell(output));
            if (!given && m_machine.finished) return brokenState();
            activation.outputs.push_back(given);
        }
        return {};
    }

    Status addFrame(const DataflowFrameState& state)
    {
        auto& activations = m_parts.calls.activations();
        if (!isIndex(state.activation, activations) || state.iterations.empty()) return brokenState();
        Activation& activation = *activations[static_cast<size_t>(state.activation)];
        const GraphCode& code = activation.program->code;
        if (!isIndex(state.index, code.frames) || (state.parent != -1 && !isIndex(state.parent, m_iterations))) return brokenState();
        const bool isRoot = state.index == 0 && state.activation == 0;
        if ((state.parent < 0) != isRoot || (state.index == 0 && activation.frame)) return brokenState();
        Iteration* const parent = isRoot ? nullptr : m_iterations[static_cast<size_t>(state.parent)];
        Frame& frame = m_flow.openFrame(activation, state.index, parent);
        m_flow.dropIteration(*frame.alive.front());
        frame.alive.clear();
        if (state.index == 0) activation.frame = &frame;
        frame.serial = state.serial;
        frame.pendingEnters = state.pendingEnters;
        LS_CHECK_OK(addHeld(frame.deferred, state.deferred, code));
        LS_CHECK_OK(addHeld(frame.invariants, state.invariants, code));
        for (const int32_t exit : state.deadExits) {
            if (!isIndex(exit, code.nodes)) return brokenState();
            frame.deadExits.push_back(exit);
        }
        for (const IterationState& iteration : state.iterations) LS_CHECK_OK(addIteration(frame, iteration));
        frame.iterationCount = state.iterationCount;
        return {};
    }

    Status addHeld(std::vector<Held>& held, const std::vector<HeldState>& states, const GraphCode& code)
    {
        for (const HeldState& state : states) {
            if (!isIndex(state.node, code.nodes)) return brokenState();
            LS_TRY(Cell* const kept, cell(state.cell));
            if (kept) held.push_back({state.node, kept});
        }
        return {};
    }

    Status addIteration(Frame& frame, const IterationState& state)
    {
        const FrameCode& code = *frame.code;
        if (state.stackFrame != -1 && !isIndex(state.stackFrame, m_machine.frames)) return brokenState();
        Iteration& iteration = m_flow.addIteration(frame, state.number);
        m_iterations.push_back(&iteration);
        iteration.invocation = state.invocation;
        iteration.enteredAtStep = state.enteredAtStep;
        iteration.outstanding = state.outstanding;
        iteration.taken = state.taken;
        for (const WaitingState& waiting : state.waiting) {
            if (!isIndex(waiting.position, iteration.waiting) || waiting.dead < 0) return brokenState();
            const Node& node = programOf(iteration).code.nodes[static_cast<size_t>(code.firstNode + waiting.position)];
            if (waiting.chosen < kFired || (waiting.chosen >= 0 && waiting.chosen >= node.inputCount)) return brokenState();
            iteration.waiting[static_cast<size_t>(waiting.position)] = {waiting.pending, waiting.dead, waiting.chosen};
        }
        const auto words = iteration.readyBits.size();
        const bool isWhole = state.outstanding >= 0 && state.ready.size() == words && state.dead.size() == words;
        if (!isWhole || (code.nodeCount % 64 != 0 && words > 0 && state.ready.back() >> (code.nodeCount % 64) != 0)) return brokenState();
        iteration.readyBits = state.ready;
        iteration.deadBits = state.dead;
        m_flow.restoreActive(iteration);
        const FrameState* const stackFrame = state.stackFrame < 0 ? nullptr : &m_machine.frames[static_cast<size_t>(state.stackFrame)];
        for (const SlotState& slot : state.values) {
            if (!isIndex(slot.slot, code.slots)) return brokenState();
            LS_TRY(Cell* const value, cell(slot.cell, stackFrame));
            m_flow.put(iteration, slot.slot, value);
            iteration.uses[static_cast<size_t>(slot.slot)] = slot.uses;
        }
        return {};
    }

    Status linkCall(size_t index)
    {
        const DataflowCallState& state = m_state.calls[index];
        Call& call = *m_parts.calls.running()[index];
        if (!isIndex(state.caller, m_iterations) || !call.callee || !call.callee->frame) return brokenState();
        call.caller = m_iterations[static_cast<size_t>(state.caller)];
        const GraphCode& code = programOf(*call.caller).code;
        if (!isIndex(state.node, code.nodes) || code.callOf[static_cast<size_t>(state.node)] < 0) return brokenState();
        call.code = &code.calls[static_cast<size_t>(code.callOf[static_cast<size_t>(state.node)])];
        return {};
    }

    Status addRendezvous()
    {
        for (const SentState& state : m_state.sent) {
            LS_TRY(Cell* const sent, cell(state.cell));
            if (sent && !m_parts.rendezvous.restoreSent(state.key, sent)) {
                m_cells.release(sent);
                return brokenState();
            }
        }
        for (const ParkedState& state : m_state.parked) {
            if (!isIndex(state.iteration, m_iterations)) return brokenState();
            Iteration* const iteration = m_iterations[static_cast<size_t>(state.iteration)];
            if (state.position < 0 || state.position >= iteration->frame->code->nodeCount) return brokenState();
            const FrameCode& code = *iteration->frame->code;
            const GraphCode& graph = programOf(*iteration).code;
            if (graph.nodes[static_cast<size_t>(code.firstNode + state.position)].kind != NodeKind::receive) return brokenState();
            m_parts.rendezvous.restoreParked(*iteration, state.position);
        }
        return {};
    }

    Status addTally(const TallyState& state)
    {
        if (!m_model.hasGraph(state.graph)) return brokenState();
        LS_TRY(Program* const program, m_parts.runner.program(state.graph));
        if (!isIndex(state.node, program->tallies)) return brokenState();
        program->tallies[static_cast<size_t>(state.node)] = {state.runs, state.dead, state.lastLive, state.lastDead};
        return {};
    }

    const MachineParts& m_parts;
    Flow& m_flow;
    CellPool& m_cells;
    const Model& m_model;
    const MachineState& m_machine;
    const DataflowState& m_state;
    std::vector<Iteration*> m_iterations; ///< all, frame by frame
};

} // namespace

Status restore(const MachineParts& parts, const MachineState& state) { return Restoration(parts, state).run(); }

} // namespace loopscope::dataflow
