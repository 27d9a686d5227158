// Where the results of a node go and what they make ready: TensorFlow's activation rules, and the way in and out of frames.
#include "engine/exec/dataflow/flow.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>

namespace loopscope::dataflow {

void Flow::put(Iteration& iteration, int32_t slot, Cell* cell)
{
    Cell*& place = iteration.slots[static_cast<size_t>(slot)];
    if (place) [[unlikely]]
        m_cells.release(place);
    place = cell;
}

void Flow::markReady(Iteration& iteration, int32_t position, bool isDead)
{
    const auto word = static_cast<size_t>(position) / 64;
    const uint64_t bit = uint64_t{1} << (position % 64);
    iteration.readyBits[word] |= bit;
    if (isDead) iteration.deadBits[word] |= bit;
    iteration.firstWord = std::min(iteration.firstWord, static_cast<int32_t>(word));
    ++iteration.ready;
    ++iteration.outstanding;
    ++iteration.frame->activation->outstanding;
    if (!iteration.active) {
        iteration.active = true;
        m_active.push_back(&iteration);
    }
    if (m_standing.iteration != &iteration && m_standing.iteration && precedes(iteration, *m_standing.iteration))
        m_standing.iteration = &iteration;
}

/// One edge of a node whose results lie in `target` already.
Status Flow::deliverEdge(Iteration& target, const Program& program, const Edge& edge, bool sourceDead, bool fromEnter)
{
    const Cell* const cell = edge.slot < 0 ? nullptr : target.slots[static_cast<size_t>(edge.slot)];
    const bool isLive = edge.slot < 0 ? !sourceDead : cell && !cell->isDead;
    return arrive(target, program, edge, isLive, fromEnter, m_core.stepsDone());
}

/// What comes along an edge at step `at` is noted with the node that waits for it.
Status Flow::arrive(Iteration& target, const Program& program, const Edge& edge, bool isLive, bool fromEnter, Step at)
{
    const bool isControl = edge.slot < 0;
    if (edge.node < 0) [[unlikely]] { // an output of the graph
        if (!isLive) return {};
        Cell*& output = target.frame->activation->outputs[static_cast<size_t>(edge.input)];
        if (output) return tfError(TfCode::internal, "Retval[" + std::to_string(edge.input) + "] has already been set.");
        output = CellPool::share(target.slots[static_cast<size_t>(edge.slot)]);
        return {};
    }
    const Node& node = program.code.nodes[static_cast<size_t>(edge.node)];
    Waiting& waiting = target.waiting[static_cast<size_t>(node.position)];
    if (!node.isMerge) [[likely]] {
        --waiting.pending;
        if (!isLive) ++waiting.dead;
        if (waiting.pending == 0) markReady(target, node.position, waiting.dead > 0 && !node.isTrigger);
        return {};
    }
    if (isControl) {
        waiting.pending -= 2;
    } else if (isLive) {
        if ((waiting.pending & 1) == 0 || waiting.chosen == kFired) {
            const Operator& op = program.code.graph->op(node.op);
            m_core.races().add({DataflowRace::Kind::merge,
                                nodeText(op) + " has more than one live input: operand " + std::to_string(edge.input) + " came after " +
                                    (waiting.chosen >= 0 ? "operand " + std::to_string(waiting.chosen) : std::string("it was dead")) +
                                    "; which one TensorFlow takes depends on timing",
                                program.code.id, node.op, node.op, at});
            return {};
        }
        waiting.chosen = edge.input;
        waiting.pending &= ~1;
    } else {
        ++waiting.dead;
    }
    if (waiting.chosen == kFired) return {};
    if (waiting.chosen >= 0) {
        // A live operand, or the last control edge, makes it ready once.
        if (waiting.pending == 0 && (isControl || isLive)) markReady(target, node.position, false);
    } else if (waiting.pending == 1 && (waiting.dead == node.inputCount || (fromEnter && !isControl))) {
        waiting.chosen = kFired;
        markReady(target, node.position, true);
    }
    return {};
}

Status Flow::deliver(Iteration& target, const Program& program, const Node& source, bool isDead)
{
    const bool fromEnter = source.childFrame >= 0;
    const Edge* edge = program.code.edges.data() + source.firstEdge;
    const Edge* const end = program.code.edges.data() + source.lastEdge;
    for (; edge != end; ++edge) LS_CHECK_OK(deliverEdge(target, program, *edge, isDead, fromEnter));
    return {};
}

Status Flow::propagate(Iteration& iteration, const Node& node, bool isDead)
{
    if (isDead) {
        for (int32_t k = 0; k < node.outputCount; ++k) m_results[static_cast<size_t>(k)] = CellPool::share(m_cells.dead());
    }
    switch (node.kind) {
    case NodeKind::enter:
    case NodeKind::constantEnter: LS_CHECK_OK(enterFrame(iteration, node, isDead)); break;
    case NodeKind::nextIteration: LS_CHECK_OK(nextIteration(iteration, node, isDead)); break;
    case NodeKind::exit: LS_CHECK_OK(leaveFrame(iteration, node, isDead)); break;
    default: {
        const Program& program = programOf(iteration);
        const int32_t* const slots = program.code.outputs.data() + node.firstOutput;
        for (int32_t k = 0; k < node.outputCount; ++k) put(iteration, slots[k], m_results[static_cast<size_t>(k)]);
        LS_CHECK_OK(deliver(iteration, program, node, isDead));
    }
    }
    if (!m_keepAll) consume(iteration, node);
    return {};
}

/// Values that nobody will read any more go before their iteration does.
void Flow::consume(Iteration& iteration, const Node& node)
{
    const InputCode* const inputs = programOf(iteration).code.inputs.data() + node.firstInput;
    for (int32_t i = 0; i < node.inputCount; ++i) {
        const int32_t slot = inputs[i].slot;
        if (slot < 0 || --iteration.uses[static_cast<size_t>(slot)] != 0) continue;
        Cell*& place = iteration.slots[static_cast<size_t>(slot)];
        if (place) m_cells.release(place);
        place = nullptr;
    }
}

void Flow::dropResults(int32_t count)
{
    for (int32_t k = 0; k < count; ++k) m_cells.release(m_results[static_cast<size_t>(k)]);
}

Status Flow::enterFrame(Iteration& iteration, const Node& node, bool isDead)
{
    Frame* child = nullptr;
    for (Frame* open : iteration.children)
        if (open->index == node.childFrame && open->activation == iteration.frame->activation) child = open;
    if (!child) child = &openFrame(*iteration.frame->activation, node.childFrame, &iteration);
    const Program& program = programOf(iteration);
    const int32_t slot = program.code.outputs[static_cast<size_t>(node.firstOutput)];
    Cell* const cell = m_results[0];
    if (node.kind == NodeKind::constantEnter) {
        child->invariants.push_back({nodeIndex(iteration, node), cell});
        for (Iteration* target : child->alive) {
            put(*target, slot, CellPool::share(cell));
            LS_CHECK_OK(deliver(*target, program, node, isDead));
        }
    } else if (child->alive.front()->number == 0) {
        put(*child->alive.front(), slot, cell);
        LS_CHECK_OK(deliver(*child->alive.front(), program, node, isDead));
    } else {
        m_cells.release(cell);
    }
    --child->pendingEnters;
    if (child->pendingEnters == 0 && child->alive.front()->outstanding == 0) return retire(*child);
    return {};
}

/// The next iteration begins with what was deferred and with the loop's invariants.
Status Flow::startIteration(Frame& frame)
{
    Iteration& iteration = addIteration(frame, frame.iterationCount + 1);
    frame.deadExits.clear();
    const Program& program = *frame.activation->program;
    const auto give = [&](const Held& held) -> Status {
        const Node& node = program.code.nodes[static_cast<size_t>(held.node)];
        put(iteration, program.code.outputs[static_cast<size_t>(node.firstOutput)], CellPool::share(held.cell));
        return deliver(iteration, program, node, held.cell->isDead);
    };
    std::vector<Held> deferred;
    deferred.swap(frame.deferred);
    Status status;
    for (const Held& held : deferred) {
        if (status.ok()) status = give(held);
        m_cells.release(held.cell);
    }
    LS_CHECK_OK(std::move(status));
    for (const Held& held : frame.invariants) LS_CHECK_OK(give(held));
    return {};
}

Status Flow::nextIteration(Iteration& iteration, const Node& node, bool isDead)
{
    Frame& frame = *iteration.frame;
    Cell* const cell = m_results[0];
    if (isDead) { // deadness ends here
        m_cells.release(cell);
        return {};
    }
    if (frame.index == 0) { // outside of frames it hands its operand on
        put(iteration, programOf(iteration).code.outputs[static_cast<size_t>(node.firstOutput)], cell);
        return deliver(iteration, programOf(iteration), node, false);
    }
    if (iteration.number == frame.iterationCount) {
        if (static_cast<int64_t>(frame.alive.size()) >= frame.code->parallelIterations) {
            frame.deferred.push_back({nodeIndex(iteration, node), cell});
            return {};
        }
        LS_CHECK_OK(startIteration(frame));
    }
    Iteration& next = **(std::ranges::find(frame.alive, &iteration) + 1); // iterations retire in order, so it follows
    put(next, programOf(iteration).code.outputs[static_cast<size_t>(node.firstOutput)], cell);
    return deliver(next, programOf(iteration), node, false);
}

Status Flow::leaveFrame(Iteration& iteration, const Node& node, bool isDead)
{
    Frame& frame = *iteration.frame;
    if (isDead) {
        m_cells.release(m_results[0]);
        if (iteration.number == frame.iterationCount) frame.deadExits.push_back(nodeIndex(iteration, node));
        return {};
    }
    put(*frame.parent, programOf(iteration).code.outputs[static_cast<size_t>(node.firstOutput)], m_results[0]);
    return deliver(*frame.parent, programOf(iteration), node, false);
}

Status Flow::retire(Frame& innermost)
{
    for (Frame* frame = &innermost; frame && frame->index != 0;) {
        while (!frame->alive.empty()) {
            Iteration& first = *frame->alive.front();
            if (first.outstanding > 0 || !first.children.empty() || (first.number == 0 && frame->pendingEnters > 0)) return {};
            if (m_core.audience().present()) m_core.endInvocation(first.invocation, first.startNs);
            frame->alive.erase(frame->alive.begin());
            dropIteration(first);
            if (!frame->deferred.empty()) LS_CHECK_OK(startIteration(*frame));
        }
        if (frame->pendingEnters > 0) return {};
        LS_TRY(frame, completeFrame(*frame));
    }
    return {};
}

/// Its dead Exits leave it. Gives the frame around it, if an iteration of that may end now.
Result<Frame*> Flow::completeFrame(Frame& frame)
{
    Iteration& parent = *frame.parent;
    const Program& program = *frame.activation->program;
    std::erase(parent.children, &frame);
    for (const int32_t n : frame.deadExits) {
        const Node& exit = program.code.nodes[static_cast<size_t>(n)];
        put(parent, program.code.outputs[static_cast<size_t>(exit.firstOutput)], CellPool::share(m_cells.dead()));
        LS_CHECK_OK(deliver(parent, program, exit, true));
    }
    dropFrame(frame, Announce::yes);
    return parent.outstanding == 0 ? parent.frame : nullptr;
}

} // namespace loopscope::dataflow
