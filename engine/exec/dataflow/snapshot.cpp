// The machine's state as a plain value, and back. Values lie in the frames of the stack (so that they can be looked at and edited there)
// and in `tokens`; everything else is numbers, in one list that is written and read in the same order.
#include "engine/exec/dataflow/machine.h"

#include <bit>

namespace loopscope {

using namespace dataflow;

namespace {

constexpr int64_t kAbsent = -1; ///< instead of the number of a token
constexpr int64_t kDead = -2;
constexpr int64_t kInFrame = -3;             ///< value k of the stack's frame is kInFrame − k
constexpr int64_t kRecorded = INT64_MIN / 2; ///< of a recording: its step and slot follow
constexpr int64_t kAlias = INT64_MIN;        ///< an alias of the variable with handle h is kAlias + h

/// Writes cells as numbers of tokens.
class StateWriter {
public:
    explicit StateWriter(MachineState& state) : m_state(state) {}

    void number(int64_t value) { m_state.dataflow.push_back(value); }
    void text(const std::string& text)
    {
        number(static_cast<int64_t>(text.size()));
        for (const char c : text) number(static_cast<unsigned char>(c));
    }
    void cell(const Cell* cell, ValueId value = ValueId())
    {
        if (!cell || cell->isDead) {
            number(cell ? kDead : kAbsent);
            return;
        }
        if (cell->alias >= 0) {
            number(kAlias + cell->alias);
            return;
        }
        if (cell->recordedStep != Cell::kComputed) {
            for (const int64_t value : {kRecorded, cell->recordedStep, int64_t{cell->recordedSlot}}) number(value);
            return;
        }
        number(static_cast<int64_t>(m_state.tokens.size()));
        m_state.tokens.push_back(stateOf(*cell, value));
    }
    void frameCell(const Cell* cell, ValueId value, FrameState* frame)
    {
        if (!frame || cell->isDead || cell->alias >= 0 || cell->recordedStep != Cell::kComputed) return this->cell(cell, value);
        number(kInFrame - static_cast<int64_t>(frame->values.size()));
        frame->values.push_back(stateOf(*cell, value));
    }

private:
    static ValueState stateOf(const Cell& cell, ValueId value)
    {
        if (cell.saved.size() != cell.bytes) cell.saved = Bytes::copyOf(cell.data, cell.bytes);
        return {value, cell.dtype, cell.shape, cell.saved};
    }

    MachineState& m_state;
};

/// Reads what a StateWriter wrote. Nothing it is asked for goes beyond the state: what is wrong makes it fail.
class StateReader {
public:
    StateReader(const MachineState& state, CellPool& cells) : m_state(state), m_cells(cells) {}

    bool ok() const { return m_ok; }
    bool atEnd() const { return m_at == m_state.dataflow.size(); }
    int64_t number()
    {
        if (m_at < m_state.dataflow.size()) return m_state.dataflow[m_at++];
        m_ok = false;
        return 0;
    }
    /// A number from `low` to `high` − 1, or `low` if it is another.
    int64_t within(int64_t low, int64_t high)
    {
        const int64_t value = number();
        if (value >= low && value < high) return value;
        m_ok = false;
        return low;
    }
    /// How many things follow; each takes at least one number.
    size_t count() { return static_cast<size_t>(within(0, static_cast<int64_t>(m_state.dataflow.size() - m_at) + 1)); }
    std::string text()
    {
        std::string text(count(), '\0');
        for (char& c : text) c = static_cast<char>(within(0, 256));
        return text;
    }
    Cell* cell(const FrameState* frame = nullptr)
    {
        const auto frameValues = static_cast<int64_t>(frame ? frame->values.size() : 0);
        const int64_t at = number();
        if (at < kAlias + INT32_MAX) {
            Cell* const alias = m_cells.take();
            alias->alias = static_cast<int32_t>(at - kAlias);
            alias->bytes = 0;
            return alias;
        }
        if (at == kRecorded) {
            const int64_t step = number();
            return m_cells.recorded(step, static_cast<int32_t>(within(0, INT32_MAX)));
        }
        if (at <= kInFrame - frameValues || at >= std::ssize(m_state.tokens)) m_ok = false;
        if (!m_ok || at == kAbsent) return nullptr;
        if (at == kDead) return CellPool::share(m_cells.dead());
        const ValueState& state = at >= 0 ? m_state.tokens[static_cast<size_t>(at)] : frame->values[static_cast<size_t>(kInFrame - at)];
        const std::optional<int64_t> elements = checkedElementCount(state.shape);
        if (!elements || (bitWidth(state.dtype) > 0 && state.bytes.size() < byteSize(state.dtype, *elements))) {
            m_ok = false;
            return nullptr;
        }
        Tensor type;
        type.dtype = state.dtype;
        type.shape = state.shape;
        return m_cells.over(type, state.bytes);
    }

private:
    const MachineState& m_state;
    CellPool& m_cells;
    size_t m_at = 0;
    bool m_ok = true;
};

/// Everything that exists, numbered in an order that does not depend on where it lies in memory.
struct Inventory {
    std::vector<const Frame*> frames; ///< from the outside inwards
    std::vector<const Iteration*> iterations;
    std::map<const Iteration*, int64_t> numberOf;

    explicit Inventory(const Frame& root)
    {
        frames.push_back(&root);
        for (size_t f = 0; f < frames.size(); ++f)
            for (const Iteration* iteration : frames[f]->alive) {
                numberOf[iteration] = static_cast<int64_t>(iterations.size());
                iterations.push_back(iteration);
                frames.insert(frames.end(), iteration->children.begin(), iteration->children.end());
            }
    }
};

template <typename T> int64_t indexIn(const std::vector<std::unique_ptr<T>>& list, const T* item)
{
    const auto found = std::ranges::find(list, item, &std::unique_ptr<T>::get);
    return found == list.end() ? -1 : found - list.begin();
}

void writeIteration(StateWriter& writer, const Iteration& iteration, FrameState* frame)
{
    const FrameCode& code = *iteration.frame->code;
    for (const int64_t number : {iteration.number, iteration.invocation, iteration.enteredAtStep, int64_t{iteration.outstanding},
                                 iteration.taken.tick, int64_t{iteration.taken.popped}})
        writer.number(number);
    int64_t changed = 0;
    for (size_t p = 0; p < code.waiting.size(); ++p) changed += !(iteration.waiting[p] == code.waiting[p]);
    writer.number(changed);
    for (size_t p = 0; p < code.waiting.size(); ++p) {
        const Waiting& waiting = iteration.waiting[p];
        if (waiting == code.waiting[p]) continue;
        for (const int64_t number : {static_cast<int64_t>(p), int64_t{waiting.pending}, int64_t{waiting.dead}, int64_t{waiting.chosen}})
            writer.number(number);
    }
    for (const auto* bits : {&iteration.readyBits, &iteration.deadBits})
        for (const uint64_t word : *bits) writer.number(static_cast<int64_t>(word));
    int64_t present = 0;
    for (const Cell* cell : iteration.slots) present += cell ? 1 : 0;
    writer.number(present);
    for (size_t s = 0; s < iteration.slots.size(); ++s) {
        if (!iteration.slots[s]) continue;
        writer.number(static_cast<int64_t>(s));
        writer.number(iteration.uses[s] > kManyUses / 2 ? kManyUses : iteration.uses[s]);
        writer.frameCell(iteration.slots[s], code.slots[s], frame);
    }
}

Error foreignState(const char* what) { return Error(ErrorCode::usage, std::string("this state does not belong to the model: ") + what); }

} // namespace

MachineState DataflowExecutor::Impl::snapshot() const
{
    synchronise(SyncPoint::snapshot);
    MachineState state;
    state.step = m_step;
    state.nextInvocation = m_nextInvocation;
    state.finished = m_phase == Phase::finished;
    state.resources = m_resources;
    state.random = m_random;
    state.accesses = m_accesses.accesses();
    state.races = m_races;
    if (m_activations.empty()) return state;

    const std::vector<const Iteration*> around = stack();
    for (size_t depth = 0; depth < around.size(); ++depth) {
        const FrameInfo info = frame(static_cast<int>(depth));
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
    StateWriter writer(state);
    const Inventory inventory(*m_activations.front()->frame);
    writer.number(m_serial);
    writer.number(static_cast<int64_t>(m_calls.size()));
    for (const auto& call : m_calls) {
        for (const int64_t number : {inventory.numberOf.at(call->caller), int64_t{call->node}, call->iteration, int64_t{call->inCond},
                                     call->invocation, call->counter, call->limit, call->delta})
            writer.number(number);
        writer.number(static_cast<int64_t>(call->arguments.size()));
        for (const Cell* argument : call->arguments) writer.cell(argument);
    }
    writer.number(static_cast<int64_t>(m_activations.size()));
    for (const auto& activation : m_activations) {
        for (const int64_t number :
             {int64_t{activation->program->code.id.index}, indexIn(m_calls, static_cast<const Call*>(activation->call)),
              static_cast<int64_t>(activation->role), int64_t{activation->branch}, activation->outstanding})
            writer.number(number);
        for (const Cell* output : activation->outputs) writer.cell(output);
    }
    writer.number(static_cast<int64_t>(inventory.frames.size()));
    for (const DynamicFrame* frame : inventory.frames) {
        const int64_t parent = frame->parent ? inventory.numberOf.at(frame->parent) : -1;
        for (const int64_t number : {indexIn(m_activations, static_cast<const Running*>(frame->activation)), int64_t{frame->index}, parent,
                                     frame->serial, frame->iterationCount, int64_t{frame->pendingEnters}})
            writer.number(number);
        for (const std::vector<Held>* held : {&frame->deferred, &frame->invariants}) {
            writer.number(static_cast<int64_t>(held->size()));
            for (const Held& value : *held) {
                writer.number(value.node);
                writer.cell(value.cell);
            }
        }
        writer.number(static_cast<int64_t>(frame->deadExits.size()));
        for (const int32_t exit : frame->deadExits) writer.number(exit);
        writer.number(static_cast<int64_t>(frame->alive.size()));
        for (const Iteration* iteration : frame->alive) {
            const auto found = std::ranges::find(around, iteration);
            const int64_t depth = found == around.end() ? -1 : found - around.begin();
            writer.number(depth);
            writeIteration(writer, *iteration, depth < 0 ? nullptr : &state.frames[static_cast<size_t>(depth)]);
        }
    }
    writer.number(static_cast<int64_t>(m_sent.size()));
    for (const auto& [key, cell] : m_sent) {
        writer.text(key);
        writer.cell(cell);
    }
    writer.number(static_cast<int64_t>(m_parked.size()));
    for (const auto& [key, place] : m_parked) {
        writer.text(key);
        writer.number(inventory.numberOf.at(place.first));
        writer.number(place.second);
    }
    for (const auto& [graph, program] : m_programs) {
        if (!program) continue;
        int64_t ran = 0;
        for (const Tally& tally : program->tallies) ran += tally.runs > 0 ? 1 : 0;
        if (ran == 0) continue; // as if it had never been made ready
        writer.number(graph.index);
        writer.number(ran);
        for (size_t n = 0; n < program->tallies.size(); ++n) {
            const Tally& tally = program->tallies[n];
            if (tally.runs == 0) continue;
            for (const int64_t number : {static_cast<int64_t>(n), tally.runs, tally.dead, tally.lastLive, tally.lastDead})
                writer.number(number);
        }
    }
    return state;
}

Status DataflowExecutor::Impl::restore(const MachineState& state)
{
    synchronise(SyncPoint::restore);
    clear();
    m_phase = Phase::idle;
    ResourceListener* const listener = m_resources.listener;
    m_resources = state.resources;
    m_resources.listener = listener;
    m_random = state.random;
    m_step = state.step;
    m_askedBefore = -1;
    m_nextInvocation = state.nextInvocation;
    if (state.frames.empty()) {
        updatePosition();
        return {};
    }
    if (Status status = restoreRun(state); !status.ok()) {
        clear();
        updatePosition();
        return status;
    }
    m_phase = state.finished ? Phase::finished : Phase::running;
    m_accesses.setAccesses(state.accesses);
    m_races = state.races;
    m_resources.listener = this;
    if (state.finished)
        for (Cell* output : m_activations.front()->outputs) {
            m_outputs.push_back(load(*output) ? static_cast<const Tensor&>(*output) : Tensor());
        }
    selectNext();
    updatePosition();
    return {};
}

/// Builds frames, iterations and calls as the state has them, from the outside inwards.
Status DataflowExecutor::Impl::restoreRun(const MachineState& state)
{
    if (state.frames[0].graph != m_root) return foreignState("another root graph");
    StateReader reader(state, m_cells);
    const auto broken = [] { return foreignState("it is not whole"); };
    const int64_t serial = reader.number();

    std::vector<int64_t> callers;
    for (size_t c = reader.count(); c > 0 && reader.ok(); --c) {
        Call& call = *m_calls.emplace_back(std::make_unique<Call>());
        callers.push_back(reader.number());
        call.node = static_cast<int32_t>(reader.within(0, INT32_MAX));
        call.iteration = reader.number();
        call.inCond = reader.number() != 0;
        call.invocation = reader.number();
        call.counter = reader.number();
        call.limit = reader.number();
        call.delta = reader.number();
        for (size_t a = reader.count(); a > 0 && reader.ok(); --a)
            if (Cell* argument = reader.cell()) call.arguments.push_back(argument);
    }
    for (size_t a = reader.count(); a > 0 && reader.ok(); --a) {
        const GraphId graph(reader.within(0, std::ssize(m_model.graphs)));
        if (!reader.ok()) return broken();
        Running& activation = *m_activations.emplace_back(std::make_unique<Running>());
        LS_TRY(activation.program, program(graph));
        if (const int64_t call = reader.within(-1, std::ssize(m_calls)); call >= 0) {
            activation.call = m_calls[static_cast<size_t>(call)].get();
            activation.call->callee = &activation;
        }
        activation.role = static_cast<CallRole>(reader.within(0, static_cast<int64_t>(CallRole::frame)));
        activation.branch = static_cast<int32_t>(reader.within(-1, INT32_MAX));
        activation.outstanding = reader.number();
        for (size_t k = 0; k < m_model.graph(graph).outputs.size(); ++k) activation.outputs.push_back(reader.cell());
        if (state.finished && std::ranges::find(activation.outputs, nullptr) != activation.outputs.end()) return broken();
    }
    if (!reader.ok() || m_activations.empty() || m_activations[0]->program->code.id != m_root || m_activations[0]->call) return broken();

    std::vector<Iteration*> iterations;
    for (size_t f = reader.count(); f > 0 && reader.ok(); --f) {
        Running& activation = *m_activations[static_cast<size_t>(reader.within(0, std::ssize(m_activations)))];
        const auto index = static_cast<int32_t>(reader.within(0, std::ssize(activation.program->code.frames)));
        const int64_t parent = reader.within(-1, std::ssize(iterations));
        const bool isRoot = index == 0 && &activation == m_activations.front().get();
        if (!reader.ok() || (parent < 0) != isRoot || (index == 0 && activation.frame)) return broken();
        DynamicFrame& frame = openFrame(activation, index, parent < 0 ? nullptr : iterations[static_cast<size_t>(parent)]);
        dropIteration(*frame.alive.front());
        frame.alive.clear();
        if (index == 0) activation.frame = &frame;
        const auto nodeCount = std::ssize(activation.program->code.nodes);
        frame.serial = reader.number();
        const int64_t iterationCount = reader.number();
        frame.pendingEnters = static_cast<int32_t>(reader.within(INT32_MIN, INT32_MAX));
        for (std::vector<Held>* held : {&frame.deferred, &frame.invariants})
            for (size_t h = reader.count(); h > 0 && reader.ok(); --h) {
                const auto node = static_cast<int32_t>(reader.within(0, nodeCount));
                if (Cell* cell = reader.cell()) held->push_back({node, cell});
            }
        for (size_t e = reader.count(); e > 0 && reader.ok(); --e)
            frame.deadExits.push_back(static_cast<int32_t>(reader.within(0, nodeCount)));
        const size_t alive = reader.count();
        if (alive == 0) return broken();
        for (size_t i = 0; i < alive && reader.ok(); ++i) {
            const FrameCode& code = *frame.code;
            const int64_t depth = reader.within(-1, std::ssize(state.frames));
            const FrameState* const stackFrame = depth < 0 ? nullptr : &state.frames[static_cast<size_t>(depth)];
            Iteration& iteration = addIteration(frame, reader.number());
            iterations.push_back(&iteration);
            iteration.invocation = reader.number();
            iteration.enteredAtStep = reader.number();
            iteration.outstanding = static_cast<int32_t>(reader.within(0, INT32_MAX));
            iteration.taken.tick = reader.number();
            iteration.taken.popped = reader.number() != 0;
            for (size_t w = reader.count(); w > 0 && reader.ok(); --w) {
                Waiting& waiting = iteration.waiting[static_cast<size_t>(reader.within(0, std::ssize(code.waiting)))];
                waiting.pending = static_cast<int32_t>(reader.within(INT32_MIN, INT32_MAX));
                waiting.dead = static_cast<int32_t>(reader.within(0, INT32_MAX));
                waiting.chosen = static_cast<int32_t>(reader.within(kFired, INT32_MAX));
            }
            for (auto* bits : {&iteration.readyBits, &iteration.deadBits})
                for (uint64_t& word : *bits) word = static_cast<uint64_t>(reader.number());
            if (code.nodeCount % 64 != 0 && !iteration.readyBits.empty() && iteration.readyBits.back() >> (code.nodeCount % 64) != 0)
                return broken();
            for (const uint64_t word : iteration.readyBits) iteration.ready += std::popcount(word);
            iteration.firstWord = 0;
            if (iteration.ready > 0) {
                iteration.active = true;
                m_active.push_back(&iteration);
            }
            for (size_t s = reader.count(); s > 0 && reader.ok(); --s) {
                const auto slot = static_cast<size_t>(reader.within(0, std::ssize(code.slots)));
                const auto uses = static_cast<int32_t>(reader.within(INT32_MIN, INT32_MAX));
                if (code.slots.empty()) return broken();
                put(iteration, static_cast<int32_t>(slot), reader.cell(stackFrame));
                iteration.uses[slot] = uses;
            }
        }
        frame.iterationCount = iterationCount;
    }
    for (size_t c = 0; c < m_calls.size(); ++c) {
        if (!reader.ok() || callers[c] < 0 || callers[c] >= std::ssize(iterations) || !m_calls[c]->callee || !m_calls[c]->callee->frame)
            return broken();
        Call& call = *m_calls[c];
        call.caller = iterations[static_cast<size_t>(callers[c])];
        const GraphCode& code = programOf(*call.caller).code;
        if (static_cast<size_t>(call.node) >= code.nodes.size() || code.callOf[static_cast<size_t>(call.node)] < 0) return broken();
        call.code = &code.calls[static_cast<size_t>(code.callOf[static_cast<size_t>(call.node)])];
    }
    if (!m_activations.front()->frame) return broken();
    m_serial = serial;
    m_openCalls = std::ssize(m_calls);
    for (size_t s = reader.count(); s > 0 && reader.ok(); --s) {
        std::string key = reader.text();
        if (Cell* cell = reader.cell()) m_sent.emplace(std::move(key), cell);
    }
    for (size_t p = reader.count(); p > 0 && reader.ok(); --p) {
        std::string key = reader.text();
        Iteration* const iteration = iterations[static_cast<size_t>(reader.within(0, std::ssize(iterations)))];
        m_parked.emplace(std::move(key), std::pair(iteration, static_cast<int32_t>(reader.within(0, iteration->frame->code->nodeCount))));
    }
    while (reader.ok() && !reader.atEnd()) {
        const GraphId graph(reader.within(0, std::ssize(m_model.graphs)));
        if (!reader.ok()) break;
        LS_TRY(Program* const counted, program(graph));
        for (size_t t = reader.count(); t > 0 && reader.ok(); --t) {
            if (counted->tallies.empty()) return broken();
            Tally& tally = counted->tallies[static_cast<size_t>(reader.within(0, std::ssize(counted->tallies)))];
            tally.runs = reader.number();
            tally.dead = reader.number();
            tally.lastLive = reader.number();
            tally.lastDead = reader.number();
        }
    }
    return reader.ok() ? Status() : broken();
}

} // namespace loopscope
