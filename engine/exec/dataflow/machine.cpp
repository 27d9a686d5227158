// The loop that runs ready nodes, which of them is next, and how a run ends.
#include "engine/exec/dataflow/machine.h"

#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/ops/tf_rules.h"

#include <bit>

namespace loopscope {

using namespace dataflow;

namespace {

/// SplitMix64: the order that a schedule seed gives.
uint64_t nextRandom(uint64_t& state)
{
    state += 0x9e3779b97f4a7c15U;
    uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

int32_t lowestReady(Iteration& iteration)
{
    auto word = static_cast<size_t>(iteration.firstWord);
    while (iteration.readyBits[word] == 0) ++word;
    iteration.firstWord = static_cast<int32_t>(word);
    return static_cast<int32_t>(word) * 64 + std::countr_zero(iteration.readyBits[word]);
}

} // namespace

/// The order of execution: callees before what is around them, inner frames after it, iterations by number, frames by opening.
bool DataflowExecutor::Impl::precedes(const Iteration& a, const Iteration& b)
{
    const Iteration* x = &a;
    const Iteration* y = &b;
    const DynamicFrame* fromX = nullptr; // by which child the walk came up
    const DynamicFrame* fromY = nullptr;
    const auto isCallee = [](const DynamicFrame* child, const Iteration* around) { return child->activation != around->frame->activation; };
    while (x->depth > y->depth) {
        fromX = x->frame;
        x = x->frame->parent;
    }
    while (y->depth > x->depth) {
        fromY = y->frame;
        y = y->frame->parent;
    }
    if (x == y) {
        if (fromX) return isCallee(fromX, x);
        return fromY && !isCallee(fromY, y);
    }
    while (x->frame != y->frame && x->frame->parent != y->frame->parent) {
        x = x->frame->parent;
        y = y->frame->parent;
    }
    if (x->frame == y->frame) return x->number < y->number;
    if (x->frame->parent) {
        const bool xCalled = isCallee(x->frame, x->frame->parent);
        const bool yCalled = isCallee(y->frame, y->frame->parent);
        if (xCalled != yCalled) return xCalled;
    }
    return x->frame->serial < y->frame->serial;
}

/// The iteration whose turn it is; drops those from the list that have no ready nodes any more.
DataflowExecutor::Impl::Iteration* DataflowExecutor::Impl::firstActive()
{
    Iteration* first = nullptr;
    for (size_t i = 0; i < m_active.size();) {
        Iteration* const candidate = m_active[i];
        if (candidate->ready == 0) {
            candidate->active = false;
            m_active[i] = m_active.back();
            m_active.pop_back();
            continue;
        }
        if (!first || precedes(*candidate, *first)) first = candidate;
        ++i;
    }
    return first;
}

/// Makes m_iteration and m_node the next node. False: there is none.
bool DataflowExecutor::Impl::selectNext()
{
    int32_t position = 0;
    if (m_schedule == 0) [[likely]] {
        if (!m_iteration || m_iteration->ready == 0) m_iteration = firstActive();
        if (!m_iteration) {
            m_node = nullptr;
            return false;
        }
        position = lowestReady(*m_iteration);
    } else {
        m_iteration = firstActive(); // tidies the list
        if (!m_iteration) {
            m_node = nullptr;
            return false;
        }
        int64_t total = 0;
        for (const Iteration* active : m_active) total += active->ready;
        uint64_t state = m_schedule + static_cast<uint64_t>(tick()) * 0x2545f4914f6cdd1dU; // the same choice wherever a run is continued
        auto chosen = static_cast<int64_t>(nextRandom(state) % static_cast<uint64_t>(total));
        std::ranges::sort(m_active, [](const Iteration* a, const Iteration* b) { return precedes(*a, *b); });
        for (Iteration* active : m_active) {
            m_iteration = active;
            if (chosen < active->ready) break;
            chosen -= active->ready;
        }
        for (size_t word = 0;; ++word) {
            uint64_t bits = m_iteration->readyBits[word];
            if (chosen >= std::popcount(bits)) {
                chosen -= std::popcount(bits);
                continue;
            }
            for (; chosen > 0; --chosen) bits &= bits - 1;
            position = static_cast<int32_t>(word) * 64 + std::countr_zero(bits);
            break;
        }
    }
    const FrameCode& code = *m_iteration->frame->code;
    m_node = &programOf(*m_iteration).code.nodes[static_cast<size_t>(code.firstNode + position)];
    m_nextIsDead = (m_iteration->deadBits[static_cast<size_t>(position) / 64] >> (position % 64) & 1) != 0;
    if (m_recorded) [[unlikely]]
        follow();
    return true;
}

/// Runs to the end, or (Single) up to the next node.
template <bool Single> Status DataflowExecutor::Impl::execute()
{
    bool moved = false;
    for (;;) {
        if (!selectNext()) [[unlikely]]
            return finishRun();
        Iteration& iteration = *m_iteration;
        const Node& node = *m_node;
        const auto word = static_cast<size_t>(node.position) / 64;
        const uint64_t bit = uint64_t{1} << (node.position % 64);
        if (node.kind == NodeKind::receive && !m_nextIsDead && !isSent(iteration, node)) { // its turn comes again when somebody has sent
            iteration.readyBits[word] &= ~bit;
            --iteration.ready;
            continue;
        }
        if (iteration.invocation == 0) [[unlikely]]
            startInvocation(iteration); // here, so that every way to a stop numbers alike
        if constexpr (Single) {
            if (moved) break;
        }
        if (!Single && node.traps != trapNone && m_asking && (node.traps & trapBefore) != 0) [[unlikely]]
            askBefore(node, m_nextIsDead);
        if (m_step >= m_limit || m_cancel.requested()) [[unlikely]]
            return halt();
        iteration.readyBits[word] &= ~bit;
        --iteration.ready;
        if (Status status = runNode(iteration, node, m_nextIsDead); !status.ok()) [[unlikely]] {
            if (std::ranges::find(iteration.frame->alive, &iteration) != iteration.frame->alive.end()) m_iteration = &iteration;
            m_node = &node;
            if (m_untouched) { // nothing but the attempt has happened: the machine stands before the node
                iteration.readyBits[word] |= bit;
                iteration.firstWord = std::min(iteration.firstWord, static_cast<int32_t>(word));
                ++iteration.ready;
                Tally& tally = programOf(iteration).tallies[static_cast<size_t>(nodeIndex(iteration, node))];
                --tally.runs;
            }
            return m_recorded ? stopAt(std::move(status).takeError(), RunEnd::Reason::failed) : fail(std::move(status).takeError());
        }
        moved = true;
    }
    updatePosition();
    return {};
}

template Status DataflowExecutor::Impl::execute<false>();
template Status DataflowExecutor::Impl::execute<true>();

Status DataflowExecutor::Impl::runNode(Iteration& iteration, const Node& node, bool isDead)
{
    Tally& tally = programOf(iteration).tallies[static_cast<size_t>(nodeIndex(iteration, node))];
    ++tally.runs;
    m_untouched = true;
    if (isDead) {
        ++tally.dead;
        tally.lastDead = iteration.number;
    } else {
        tally.lastLive = iteration.number;
    }
    if (m_recorded) [[unlikely]]
        LS_CHECK_OK(checkRecorded());
    if (!isDead) {
        if (node.kind == NodeKind::call) return enterCall(iteration, node);
    }
    const int64_t from = m_times ? nowNs() : 0;
    Status status;
    if (!isDead) [[likely]] {
        status = m_recorded ? recall(iteration, node) : compute(iteration, node);
    } else if (node.kind == NodeKind::send) {
        status = send(iteration, node, true);
    }
    const bool isAsked = m_asking && (node.traps & trapAfter) != 0;
    if ((m_observer || isAsked) && status.ok() && !isDead) [[unlikely]]
        for (size_t k = 0; k < static_cast<size_t>(node.outputCount); ++k) {
            if (m_recorded) load(*m_results[k]);
            m_out[k] = m_results[k]->isDead ? nullptr : m_results[k];
        }
    if (m_observer) [[unlikely]] {
        OperatorEvent event = eventOf(iteration, node);
        event.ns = m_times ? nowNs() - from : -1;
        event.state = !status.ok() ? EventState::failed : isDead ? EventState::dead : EventState::live;
        if (event.state == EventState::live) event.results = {m_out.data(), static_cast<size_t>(node.outputCount)};
        m_observer->operatorExecuted(event);
    }
    if (!status.ok()) [[unlikely]]
        return status;
    m_untouched = false;
    if (isAsked) [[unlikely]] {
        OperatorEvent event = eventOf(iteration, node);
        event.state = isDead ? EventState::dead : EventState::live;
        std::vector<Tensor*> results; // propagating hands the cells on; every one that is somewhere stays
        std::vector<Cell*> kept;
        if (!isDead) {
            results.assign(m_results.begin(), m_results.begin() + node.outputCount); // a dead one has no data
            for (int32_t k = 0; k < node.outputCount; ++k) kept.push_back(CellPool::share(m_results[static_cast<size_t>(k)]));
        }
        event.results = {results.data(), results.size()};
        LS_CHECK_OK(propagate(iteration, node, isDead));
        showPosition(iteration, node);
        if (m_trapHandler->afterOperator(event, tick() + 1)) m_stopAsked = true;
        m_iteration = nullptr; // what is next is looked for anew
        for (Cell* cell : kept) m_cells.release(cell);
        ++m_step;
        setLimit();
        return finishNode(iteration);
    }
    LS_CHECK_OK(propagate(iteration, node, isDead));
    ++m_step;
    return finishNode(iteration);
}

OperatorEvent DataflowExecutor::Impl::eventOf(const Iteration& iteration, const Node& node) const
{
    synchronise(SyncPoint::event);
    OperatorEvent event;
    event.step = m_step;
    event.invocation = iteration.invocation;
    event.graph = programOf(iteration).code.id;
    event.op = node.op;
    return event;
}

void DataflowExecutor::Impl::askBefore(const Node& node, bool isDead)
{
    const int64_t here = tick();
    if (here == m_askedBefore) return;
    m_askedBefore = here;
    updatePosition();
    OperatorEvent event = eventOf(*m_iteration, node);
    event.state = isDead ? EventState::dead : EventState::live;
    if (!m_trapHandler->beforeOperator(event, here)) return;
    m_stopAsked = true;
    setLimit();
}

/// Before a node: runTo() is there, or the run ends here.
Status DataflowExecutor::Impl::halt()
{
    const bool wanted = m_stopAsked || m_step >= m_stepLimit || tick() >= m_tickLimit;
    if (m_cancel.requested() || (m_step >= m_options.maxSteps && !wanted)) return checkBudget();
    updatePosition();
    return {};
}

Status DataflowExecutor::Impl::checkBudget()
{
    if (m_cancel.requested()) return stopAt(Error(ErrorCode::cancelled, "cancelled at " + address()), RunEnd::Reason::cancelled);
    return stopAt(Error(ErrorCode::execution, "step budget of " + groupThousands(m_options.maxSteps) + " reached at " + address()),
                  RunEnd::Reason::budget);
}

/// Nothing is ready: the run is over, unless a Recv waits for what nobody sends.
Status DataflowExecutor::Impl::finishRun()
{
    Running& root = *m_activations.front();
    if (m_recorded && m_step < m_recorded->steps())
        return stopAt(Error(ErrorCode::badFile, "the recording goes on where the graph has nothing to do").at(address()),
                      RunEnd::Reason::failed);
    if (!m_parked.empty()) {
        const auto& [key, place] = *m_parked.begin();
        m_iteration = place.first;
        m_node = &programOf(*m_iteration).code.nodes[static_cast<size_t>(m_iteration->frame->code->firstNode + place.second)];
        return fail(Error(ErrorCode::execution, "nobody sends what this Recv waits for").found("key '" + key + "'"));
    }
    const Graph& graph = m_model.graph(m_root);
    m_outputs.assign(graph.outputs.size(), Tensor());
    for (size_t k = 0; k < m_outputs.size(); ++k) {
        Cell*& cell = root.outputs[k];
        if (!cell) {
            Error error = invalidArgument("Retval[" + std::to_string(k) + "] does not have value");
            return stopAt(std::move(error).at("output '" + graph.outputs[k].name + "' of " + graph.id), RunEnd::Reason::failed);
        }
        if (m_recorded && !load(*cell)) continue; // the result is not known
        if (graph.value(graph.outputs[k].value).type.isReference && !m_recorded) {
            Tensor view;
            if (Status status = readVariable(*cell, view); !status.ok()) return fail(std::move(status).takeError());
            Result<Cell*> copied = m_cells.copy(view);
            if (!copied.ok()) return fail(std::move(copied).takeError());
            m_cells.release(cell);
            cell = *copied;
        }
        if (cell->alias >= 0) { // what is fetched stays as it is now
            refresh(*cell);
            Result<Cell*> copied = m_cells.copy(*cell);
            if (!copied.ok()) return fail(std::move(copied).takeError());
            m_cells.release(cell);
            cell = *copied;
        }
        m_outputs[k] = *cell;
    }
    m_phase = Phase::finished;
    updatePosition();
    if (m_observer) endInvocation(*root.frame->alive.front());
    endRun(RunEnd::Reason::finished, {});
    return {};
}

Error DataflowExecutor::Impl::fail(Error error) { return stopAt(std::move(error).at(address()), RunEnd::Reason::failed); }

Error DataflowExecutor::Impl::stopAt(Error error, RunEnd::Reason reason)
{
    updatePosition();
    m_phase = Phase::ended;
    endRun(reason, error.message());
    return error;
}

void DataflowExecutor::Impl::endRun(RunEnd::Reason reason, std::string_view message)
{
    m_resources.listener = nullptr;
    if (!m_observer) return;
    RunEnd end;
    end.reason = reason;
    end.steps = m_step;
    end.ns = m_times ? nowNs() - m_runStart : 0;
    end.message = message;
    std::vector<const Tensor*> outputs;
    if (reason == RunEnd::Reason::finished)
        for (const Tensor& output : m_outputs) outputs.push_back(&output);
    end.outputs = outputs;
    m_observer->runEnded(end);
}

/// For handlers that look around: the frames are those of a node that has just run.
void DataflowExecutor::Impl::showPosition(Iteration& iteration, const Node& node)
{
    m_iteration = &iteration;
    m_node = &node;
    updatePosition();
}

void DataflowExecutor::Impl::updatePosition()
{
    m_position.started = m_phase != Phase::idle;
    m_position.finished = m_phase == Phase::finished;
    m_position.step = m_step;
    if (m_activations.empty()) {
        m_position.depth = 0;
        return;
    }
    const Iteration* at = m_iteration && m_node ? m_iteration : m_activations.front()->frame->alive.front();
    m_position.graph = programOf(*at).code.id;
    m_position.op = m_node ? m_node->op : OperatorId();
    m_position.invocation = at->invocation;
    m_position.depth = at->depth + 1;
}

std::byte* DataflowExecutor::Impl::scratch(size_t bytes)
{
    // A kernel cannot be refused its scratch memory in any other way; guarded() makes an error of it.
    if (!m_scratch.reserve(bytes).ok()) throw std::bad_alloc();
    return m_scratch.data();
}

void DataflowExecutor::Impl::parallel(int64_t count, BlockFunction work)
{
    if (!m_threads) m_threads = std::make_unique<ThreadPool>(threads());
    m_threads->run(count, work);
}

Status DataflowExecutor::Impl::resize(Tensor& output, const Shape& shape, size_t bytes)
{
    if (!shape.isStatic()) return Error(ErrorCode::internal, "a result was to be given an unknown size").found(toString(shape));
    LS_CHECK_OK(CellPool::reserve(static_cast<Cell&>(output), bytes)); // every result of every node is a cell
    output.shape = shape;
    return {};
}

/// Iterations of frames, and callees that loops run again and again.
static bool isLoopIteration(const Iteration& iteration)
{
    return iteration.frame->index != 0 || iteration.frame->activation->role == CallRole::loop;
}

int64_t DataflowExecutor::Impl::iterationTick() const
{
    for (const Iteration* at = m_iteration; at; at = parentOf(*at))
        if (isLoopIteration(*at)) return tick();
    return -1;
}

void DataflowExecutor::Impl::elementTaken(int64_t tick, bool pops)
{
    for (Iteration* at = m_iteration; at; at = at->frame->parent)
        if (isLoopIteration(*at)) return at->taken.note(tick, pops);
}

void DataflowExecutor::Impl::touched(const std::string& variable, bool isWrite)
{
    if (!m_iteration || !m_node) return; // what is fetched is read when everything is over
    std::vector<AccessSite> around;
    OperatorId op = m_node->op;
    for (const Iteration* at = m_iteration; at; at = parentOf(*at)) {
        const DynamicFrame& frame = *at->frame;
        around.push_back({at->invocation, programOf(*at).code.id, op, frame.index != 0 ? frame.code->enter : OperatorId()});
        if (frame.index == 0 && frame.parent)
            op = programOf(*frame.parent).code.nodes[static_cast<size_t>(frame.activation->call->node)].op;
    }
    for (DataflowRace& race : m_accesses.note(around, variable, isWrite, m_step)) addRace(m_races, std::move(race));
}

void DataflowExecutor::Impl::accessed(const std::string& name, AccessKind kind, const Tensor* value)
{
    if (kind != AccessKind::create) touched(name, kind == AccessKind::write);
    if (!m_observer) return;
    VariableAccess access;
    access.kind = kind == AccessKind::create ? VariableAccess::Kind::create
                  : kind == AccessKind::read ? VariableAccess::Kind::read
                                             : VariableAccess::Kind::write;
    access.name = name;
    access.value = value;
    access.step = m_step;
    m_observer->variableAccessed(access);
}

} // namespace loopscope
