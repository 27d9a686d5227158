#include "engine/exec/machine_state.h"

#include "engine/base/hash.h"

#include <initializer_list>
#include <span>
#include <type_traits>

namespace loopscope {

namespace {

/// Folds everything that determines what happens next into one number, in a fixed order.
class StateHash {
public:
    void add(int64_t number) { m_hash = hash64({reinterpret_cast<const std::byte*>(&number), sizeof(number)}, m_hash); }
    void add(std::span<const std::byte> bytes)
    {
        add(static_cast<int64_t>(bytes.size()));
        m_hash = hash64(bytes, m_hash);
    }
    void add(const std::string& text) { add(std::as_bytes(std::span(text))); }
    void add(const Shape& shape)
    {
        add(shape.hasRank() ? shape.rank() : -1);
        for (const int64_t dim : shape.dims()) add(dim);
    }
    void add(const ValueState& value)
    {
        add(value.value.index);
        add(static_cast<int64_t>(value.dtype));
        add(value.shape);
        if (!value.remote) return add(value.bytes.view());
        std::vector<std::byte> bytes(value.remote->bytes());
        if (value.remote->bring(bytes).ok()) add(bytes);
    }
    void add(const CellState& cell)
    {
        for (const int64_t number : {static_cast<int64_t>(cell.kind), int64_t{cell.slot}, cell.index}) add(number);
    }
    uint64_t value() const { return m_hash; }

private:
    uint64_t m_hash = 0;
};

void addNumbers(StateHash& hash, std::initializer_list<int64_t> numbers)
{
    hash.add(std::as_bytes(std::span(numbers.begin(), numbers.size())));
}

void addFrame(StateHash& hash, const FrameState& frame)
{
    addNumbers(hash, {frame.graph.index, static_cast<int64_t>(frame.role), frame.branch, frame.invocation, frame.site.index,
                      frame.iteration, frame.inCond, frame.next, frame.enteredAtStep, frame.taken.tick, frame.taken.popped});
    hash.add(static_cast<int64_t>(frame.values.size()));
    for (const ValueState& value : frame.values) hash.add(value);
    for (const ValueState& value : frame.carried) hash.add(value);
}

void addCells(StateHash& hash, const std::vector<CellState>& cells)
{
    hash.add(static_cast<int64_t>(cells.size()));
    for (const CellState& cell : cells) hash.add(cell);
}

void addHeld(StateHash& hash, const std::vector<HeldState>& held)
{
    hash.add(static_cast<int64_t>(held.size()));
    for (const HeldState& value : held) {
        hash.add(value.node);
        hash.add(value.cell);
    }
}

void addIteration(StateHash& hash, const IterationState& iteration)
{
    addNumbers(hash, {iteration.number, iteration.invocation, iteration.enteredAtStep, iteration.taken.tick, iteration.taken.popped,
                      iteration.outstanding, iteration.stackFrame});
    static_assert(std::has_unique_object_representations_v<WaitingState>);
    hash.add(std::as_bytes(std::span(iteration.waiting)));
    hash.add(std::as_bytes(std::span(iteration.ready)));
    hash.add(std::as_bytes(std::span(iteration.dead)));
    hash.add(static_cast<int64_t>(iteration.values.size()));
    for (const SlotState& slot : iteration.values) {
        addNumbers(hash, {slot.slot, slot.uses});
        hash.add(slot.cell);
    }
}

void addDataflowFrame(StateHash& hash, const DataflowFrameState& frame)
{
    addNumbers(hash, {frame.activation, frame.index, frame.parent, frame.pendingEnters, frame.serial, frame.iterationCount});
    addHeld(hash, frame.deferred);
    addHeld(hash, frame.invariants);
    hash.add(std::as_bytes(std::span(frame.deadExits)));
    hash.add(static_cast<int64_t>(frame.iterations.size()));
    for (const IterationState& iteration : frame.iterations) addIteration(hash, iteration);
}

void addDataflow(StateHash& hash, const DataflowState& state)
{
    addNumbers(hash, {state.serial, std::ssize(state.calls), std::ssize(state.activations), std::ssize(state.frames),
                      std::ssize(state.sent), std::ssize(state.parked), std::ssize(state.tallies)});
    for (const DataflowCallState& call : state.calls) {
        addNumbers(hash, {call.caller, call.node, call.iteration, call.inCond, call.invocation, call.counter, call.limit, call.delta});
        addCells(hash, call.arguments);
    }
    for (const ActivationState& activation : state.activations) {
        addNumbers(hash, {activation.graph.index, activation.call, static_cast<int64_t>(activation.role), activation.branch,
                          activation.outstanding});
        addCells(hash, activation.outputs);
    }
    for (const DataflowFrameState& frame : state.frames) addDataflowFrame(hash, frame);
    for (const SentState& sent : state.sent) {
        hash.add(sent.key);
        hash.add(sent.cell);
    }
    for (const ParkedState& parked : state.parked) {
        hash.add(parked.key);
        addNumbers(hash, {parked.iteration, parked.position});
    }
    for (const TallyState& tally : state.tallies)
        addNumbers(hash, {tally.graph.index, tally.node, tally.runs, tally.dead, tally.lastLive, tally.lastDead});
}

} // namespace

uint64_t MachineState::hash() const
{
    StateHash hash;
    hash.add(step);
    hash.add(nextInvocation);
    hash.add(finished ? 1 : 0);
    hash.add(static_cast<int64_t>(frames.size()));
    for (const FrameState& frame : frames) addFrame(hash, frame);
    hash.add(resources.size());
    for (const auto& [handle, variable] : resources.variables()) {
        hash.add(handle);
        hash.add(variable.name);
        hash.add(variable.assigned ? 1 : 0);
        hash.add(static_cast<int64_t>(variable.dtype));
        hash.add(variable.shape);
        hash.add(std::as_bytes(std::span(variable.bytes)));
    }
    for (const auto& [handle, table] : resources.tables()) {
        hash.add(handle);
        hash.add(table.name);
        hash.add(table.initialised ? 1 : 0);
        for (const auto& [key, value] : table.entries) {
            hash.add(key);
            hash.add(value);
        }
    }
    hash.add(static_cast<int64_t>(random.hash()));
    for (const GraphId graph : initialised) hash.add(graph.index);
    for (const auto& [graph, value] : variables) {
        hash.add(graph.index);
        hash.add(value);
    }
    for (const ValueState& token : tokens) hash.add(token);
    addDataflow(hash, dataflow);
    return hash.value();
}

uint64_t DataflowState::byteSize() const
{
    uint64_t total = 0;
    const auto add = [&total]<typename T>(const std::vector<T>& list) { total += list.size() * sizeof(T); };
    add(calls);
    for (const DataflowCallState& call : calls) add(call.arguments);
    add(activations);
    for (const ActivationState& activation : activations) add(activation.outputs);
    add(frames);
    for (const DataflowFrameState& frame : frames) {
        add(frame.deferred);
        add(frame.invariants);
        add(frame.deadExits);
        add(frame.iterations);
        for (const IterationState& iteration : frame.iterations) {
            add(iteration.waiting);
            add(iteration.ready);
            add(iteration.dead);
            add(iteration.values);
        }
    }
    add(sent);
    for (const SentState& value : sent) total += value.key.size();
    add(parked);
    for (const ParkedState& waiting : parked) total += waiting.key.size();
    add(tallies);
    return total;
}

uint64_t MachineState::byteSize() const
{
    uint64_t total = sizeof(MachineState);
    const auto add = [&](const ValueState& value) { total += sizeof(ValueState) + value.bytes.size(); };
    for (const FrameState& frame : frames) {
        total += sizeof(FrameState);
        for (const ValueState& value : frame.values) add(value);
        for (const ValueState& value : frame.carried) add(value);
    }
    for (const auto& [graph, value] : variables) add(value);
    for (const ValueState& token : tokens) add(token);
    total += dataflow.byteSize();
    for (const auto& [handle, variable] : resources.variables()) total += sizeof(Variable) + variable.bytes.size();
    for (const auto& [handle, table] : resources.tables())
        for (const auto& [key, value] : table.entries) total += key.size() + value.size();
    return total;
}

} // namespace loopscope
