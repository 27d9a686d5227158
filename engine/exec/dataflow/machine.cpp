// The loop that runs ready nodes, and how a run ends.
#include "engine/exec/dataflow/machine.h"

#include "engine/base/flushed_floats.h"
#include "engine/exec/dataflow/location.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>

namespace loopscope {

using dataflow::CellPool;
using dataflow::nodeIndex;
using dataflow::NodeKind;
using dataflow::programOf;
using dataflow::Tally;

Status DataflowExecutor::Impl::advance(bool single)
{
    if (single) return execute<true>();
    const FlushedFloats flushed(m_isTensorFlow && m_audience.isBlind() && !m_asking && !m_options.device);
    return execute<false>();
}

bool DataflowExecutor::Impl::selectNext()
{
    if (!m_flow.select()) return false;
    if (m_replay.isOn()) [[unlikely]]
        m_replay.choose();
    return true;
}

/// Runs to the end, or (Single) up to the next node.
template <bool Single> Status DataflowExecutor::Impl::execute()
{
    bool moved = false;
    for (;;) {
        if (!selectNext()) [[unlikely]] {
            Result<bool> hasCome = m_rendezvous.awaitPeers();
            if (!hasCome.ok()) return fail(std::move(hasCome).takeError());
            if (*hasCome) continue;
            return finishRun();
        }
        Iteration& iteration = *m_flow.standing().iteration;
        const Node& node = *m_flow.standing().node;
        const bool isDead = m_flow.standing().isDead;
        if (node.kind == NodeKind::receive && !isDead && !m_rendezvous.isSent(iteration, node)) {
            dataflow::Flow::unmark(iteration, node); // its turn comes again when somebody has sent
            continue;
        }
        if (iteration.invocation == 0) [[unlikely]] {
            if (!Single && mayRunWhole(iteration)) {
                LS_CHECK_OK(runWhole(iteration));
                continue;
            }
            m_calls.startInvocation(iteration); // here, so that every way to a stop numbers alike
        }
        if constexpr (Single) {
            if (moved) break;
        }
        if (!Single && node.traps != trapNone && m_asking && (node.traps & trapBefore) != 0) [[unlikely]]
            askBefore(eventOf(iteration, node, isDead));
        if (mustHalt()) [[unlikely]]
            return halt();
        dataflow::Flow::unmark(iteration, node);
        if (Status status = runNode(iteration, node, isDead); !status.ok()) [[unlikely]]
            return attemptFailed(iteration, node, std::move(status).takeError());
        moved = true;
    }
    updatePosition();
    return {};
}

/// The machine stands at the node that could not run; before it, if nothing but the attempt has happened.
Status DataflowExecutor::Impl::attemptFailed(Iteration& iteration, const Node& node, Error error)
{
    dataflow::Standing& standing = m_flow.standing();
    if (std::ranges::find(iteration.frame->alive, &iteration) != iteration.frame->alive.end()) standing.iteration = &iteration;
    standing.node = &node;
    if (m_untouched) {
        dataflow::Flow::mark(iteration, node);
        --programOf(iteration).tallies[static_cast<size_t>(nodeIndex(iteration, node))].runs;
    }
    return m_replay.isOn() ? stopAt(std::move(error), RunEnd::Reason::failed) : fail(std::move(error));
}

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
    if (m_replay.isOn()) [[unlikely]]
        LS_CHECK_OK(m_replay.check());
    if (!isDead && node.kind == NodeKind::call) {
        Status status = m_calls.enter(iteration, node);
        m_untouched = !m_calls.isEntered();
        return status;
    }
    const int64_t from = m_audience.now();
    Status status;
    if (!isDead) [[likely]] {
        status = m_runner.run(iteration, node);
    } else if (node.kind == NodeKind::send) {
        status = m_runner.sendDead(iteration, node);
    }
    const bool isAsked = m_asking && (node.traps & trapAfter) != 0;
    std::vector<Tensor*>& shown = m_runner.shown();
    if ((m_audience.ofOperators() || isAsked) && status.ok() && !isDead) [[unlikely]]
        for (size_t k = 0; k < static_cast<size_t>(node.outputCount); ++k) {
            Cell* const result = m_flow.results()[k];
            if (m_replay.isOn()) m_replay.load(*result);
            if (Status brought = CellPool::bring(*result); !brought.ok()) status = std::move(brought);
            shown[k] = result->isDead ? nullptr : result;
        }
    if (m_audience.ofOperators()) [[unlikely]] {
        OperatorEvent event = eventOf(iteration, node, isDead);
        event.ns = m_audience.since(from);
        if (!status.ok()) event.state = EventState::failed;
        if (event.state == EventState::live) event.results = {shown.data(), static_cast<size_t>(node.outputCount)};
        m_audience.ofOperators()->operatorExecuted(event);
    }
    if (!status.ok()) [[unlikely]]
        return status;
    m_untouched = false;
    if (isAsked) [[unlikely]] {
        LS_CHECK_OK(askAboutNode(iteration, node, isDead));
    } else {
        LS_CHECK_OK(m_flow.propagate(iteration, node, isDead));
        ++m_step;
    }
    return m_calls.finishNode(iteration);
}

/// The node has run: its results are delivered, and a handler is asked. Every one that is somewhere stays until then.
Status DataflowExecutor::Impl::askAboutNode(Iteration& iteration, const Node& node, bool isDead)
{
    OperatorEvent event = eventOf(iteration, node, isDead);
    std::vector<Tensor*> results;
    std::vector<Cell*> kept;
    if (!isDead) {
        const auto cells = std::span(m_flow.results()).first(static_cast<size_t>(node.outputCount));
        for (Cell* cell : cells) LS_CHECK_OK(CellPool::bring(*cell));
        results.assign(cells.begin(), cells.end()); // a dead one has no data
        for (Cell* cell : cells) kept.push_back(CellPool::share(cell));
    }
    event.results = {results.data(), results.size()};
    LS_CHECK_OK(m_flow.propagate(iteration, node, isDead));
    m_flow.standing().iteration = &iteration; // for handlers that look around: the frames are those of the node
    m_flow.standing().node = &node;
    askAfter(event);
    m_flow.standing().iteration = nullptr; // what is next is looked for anew
    for (Cell* cell : kept) m_flow.cells().release(cell);
    ++m_step;
    return {};
}

OperatorEvent DataflowExecutor::Impl::eventOf(const Iteration& iteration, const Node& node, bool isDead) const
{
    OperatorEvent event = RunCore::eventOf(iteration.invocation, programOf(iteration).code.id, node.op);
    if (isDead) event.state = EventState::dead;
    return event;
}

void DataflowExecutor::Impl::callReturns(const Iteration& iteration, const Node& node, const dataflow::Call& call)
{
    std::vector<Tensor*> shown;
    for (size_t k = 0; k < static_cast<size_t>(node.outputCount); ++k) {
        Cell* const result = m_flow.results()[k];
        if (m_replay.isOn()) m_replay.load(*result);
        shown.push_back(CellPool::bring(*result).ok() ? result : nullptr);
    }
    if (!m_audience.ofOperators()) return;
    OperatorEvent event = eventOf(iteration, node);
    event.ns = m_audience.since(call.startNs);
    event.trips = call.iteration;
    event.results = {shown.data(), shown.size()};
    m_audience.ofOperators()->operatorExecuted(event);
}

Status DataflowExecutor::Impl::callCompleted(Iteration& iteration, const Node& node, int64_t trips)
{
    OperatorEvent event = eventOf(iteration, node);
    event.trips = trips;
    for (size_t k = 0; k < static_cast<size_t>(node.outputCount); ++k) LS_CHECK_OK(CellPool::bring(*m_flow.results()[k]));
    const std::vector<Tensor*> shown(m_flow.results().begin(), m_flow.results().begin() + node.outputCount);
    event.results = {shown.data(), shown.size()};
    LS_CHECK_OK(m_flow.propagate(iteration, node, false));
    if (m_asking && (node.traps & trapAfter) != 0) {
        m_flow.standing().iteration = &iteration;
        m_flow.standing().node = &node;
        askAfter(event);
        m_flow.standing().iteration = nullptr;
    }
    ++m_step;
    return {};
}

/// Output `k` of the root as it is now. False: a recording does not know it.
Result<bool> DataflowExecutor::Impl::fetch(size_t k)
{
    const Graph& graph = m_model.graph(m_root);
    Cell*& cell = m_calls.activations().front()->outputs[k];
    if (m_replay.isOn()) {
        if (!m_replay.load(*cell)) return false;
    } else if (graph.value(graph.outputs[k].value).type.isReference) {
        Tensor view;
        LS_CHECK_OK(m_runner.readVariable(*cell, view));
        LS_TRY(Cell* const copied, m_flow.cells().copy(view));
        m_flow.cells().release(cell);
        cell = copied;
    }
    LS_CHECK_OK(CellPool::bring(*cell));
    if (cell->alias >= 0) { // what is fetched stays as it is now
        m_runner.refresh(*cell);
        LS_TRY(Cell* const copied, m_flow.cells().copy(*cell));
        m_flow.cells().release(cell);
        cell = copied;
    }
    return true;
}

/// The machine stands at the Recv that waits, of several at the one whose key is the first.
Status DataflowExecutor::Impl::failWaiting()
{
    m_inspection.rememberWaits();
    std::string first;
    for (const dataflow::Rendezvous::Channel& channel : m_rendezvous.channels())
        for (const dataflow::Rendezvous::Parked& parked : channel.parked) {
            std::string key = m_rendezvous.keyText(channel, parked);
            if (!first.empty() && first <= key) continue;
            first = std::move(key);
            Iteration* const waiting = parked.iteration;
            m_flow.standing().iteration = waiting;
            m_flow.standing().node =
                &programOf(*waiting).code.nodes[static_cast<size_t>(waiting->frame->code->firstNode + parked.position)];
        }
    return fail(Error(ErrorCode::execution, "nobody sends what this Recv waits for").found("key '" + first + "'"));
}

/// Nothing is ready: the run is over, unless a Recv waits for what nobody sends.
Status DataflowExecutor::Impl::finishRun()
{
    const dataflow::Activation& root = *m_calls.activations().front();
    if (m_replay.isOn() && m_step < m_replay.recorded().steps())
        return stopAt(Error(ErrorCode::badFile, "the recording goes on where the graph has nothing to do").at(address()),
                      RunEnd::Reason::failed);
    if (m_rendezvous.hasParked()) return failWaiting();
    const Graph& graph = m_model.graph(m_root);
    m_outputs.assign(graph.outputs.size(), Tensor());
    for (size_t k = 0; k < m_outputs.size(); ++k) {
        if (!root.outputs[k]) {
            Error error = invalidArgument("Retval[" + std::to_string(k) + "] does not have value");
            return stopAt(std::move(error).at("output '" + graph.outputs[k].name + "' of " + graph.id), RunEnd::Reason::failed);
        }
        Result<bool> isKnown = fetch(k);
        if (!isKnown.ok()) return fail(std::move(isKnown).takeError());
        if (*isKnown) m_outputs[k] = *root.outputs[k];
    }
    const Iteration& whole = *root.frame->alive.front();
    return finish(whole.invocation, whole.startNs);
}

void DataflowExecutor::Impl::locate(Position& position) const
{
    if (!m_flow.root()) {
        position.depth = 0;
        return;
    }
    const dataflow::Standing& standing = m_flow.standing();
    const Iteration* const at = standing.iteration && standing.node ? standing.iteration : m_flow.root()->alive.front();
    position.graph = programOf(*at).code.id;
    position.op = standing.node ? standing.node->op : OperatorId();
    position.invocation = at->invocation;
    position.depth = at->depth + 1;
}

} // namespace loopscope
