// Where values go and what they make ready: TensorFlow's activation rules, frames and their iterations.
#include "engine/exec/dataflow/machine.h"

#include "engine/ops/tf_rules.h"

#include <cstring>

namespace loopscope {

using namespace dataflow;

void DataflowExecutor::Impl::put(Iteration& iteration, int32_t slot, Cell* cell)
{
    Cell*& place = iteration.slots[static_cast<size_t>(slot)];
    if (place) [[unlikely]]
        m_cells.release(place);
    place = cell;
}

void DataflowExecutor::Impl::markReady(Iteration& iteration, int32_t position, bool isDead)
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
    if (m_iteration != &iteration && m_iteration && precedes(iteration, *m_iteration)) m_iteration = &iteration;
}

/// One edge of a node whose results lie in `target` already.
Status DataflowExecutor::Impl::deliverEdge(Iteration& target, const Program& program, const Edge& edge, bool sourceDead, bool fromEnter)
{
    const bool isControl = edge.slot < 0;
    Cell* const cell = isControl ? nullptr : target.slots[static_cast<size_t>(edge.slot)];
    const bool isLive = isControl ? !sourceDead : cell && !cell->isDead;
    if (edge.node < 0) [[unlikely]] { // an output of the graph
        if (!isLive) return {};
        Cell*& output = target.frame->activation->outputs[static_cast<size_t>(edge.input)];
        if (output) return tfError(TfCode::internal, "Retval[" + std::to_string(edge.input) + "] has already been set.");
        output = CellPool::share(cell);
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
            addRace(m_races, {DataflowRace::Kind::merge,
                              nodeText(op) + " has more than one live input: operand " + std::to_string(edge.input) + " came after " +
                                  (waiting.chosen >= 0 ? "operand " + std::to_string(waiting.chosen) : std::string("it was dead")) +
                                  "; which one TensorFlow takes depends on timing",
                              program.code.id, node.op, node.op, m_step});
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

Status DataflowExecutor::Impl::deliver(Iteration& target, const Program& program, const Node& source, bool isDead)
{
    const bool fromEnter = source.childFrame >= 0;
    const Edge* edge = program.code.edges.data() + source.firstEdge;
    const Edge* const end = program.code.edges.data() + source.lastEdge;
    for (; edge != end; ++edge) LS_CHECK_OK(deliverEdge(target, program, *edge, isDead, fromEnter));
    return {};
}

/// The results of the node that ran go where they belong.
Status DataflowExecutor::Impl::propagate(Iteration& iteration, const Node& node, bool isDead)
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
    if (!m_options.keepAll) consume(iteration, node);
    return {};
}

/// Values that nobody will read any more go before their iteration does.
void DataflowExecutor::Impl::consume(Iteration& iteration, const Node& node)
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

DataflowExecutor::Impl::DynamicFrame& DataflowExecutor::Impl::openFrame(Running& activation, int32_t index, Iteration* parent)
{
    DynamicFrame* frame = nullptr;
    if (m_idleFrames.empty()) {
        frame = &m_frameStore.emplace_back();
    } else {
        frame = m_idleFrames.back();
        m_idleFrames.pop_back();
    }
    const FrameCode& code = activation.program->code.frames[static_cast<size_t>(index)];
    frame->code = &code;
    frame->index = index;
    frame->activation = &activation;
    frame->parent = parent;
    frame->serial = m_serial++;
    frame->iterationCount = 0;
    frame->pendingEnters = index == 0 ? 0 : code.enterCount;
    if (parent) parent->children.push_back(frame);
    addIteration(*frame, 0);
    return *frame;
}

DataflowExecutor::Impl::Iteration& DataflowExecutor::Impl::addIteration(DynamicFrame& frame, int64_t number)
{
    Program& program = *frame.activation->program;
    const FrameCode& code = *frame.code;
    std::vector<Iteration*>& idle = program.idle[static_cast<size_t>(frame.index)];
    Iteration* iteration = nullptr;
    const size_t words = (static_cast<size_t>(code.nodeCount) + 63) / 64;
    if (idle.empty()) {
        iteration = &program.iterations.emplace_back();
        iteration->waiting = code.waiting;
        iteration->uses = code.uses;
        iteration->slots.assign(code.slots.size(), nullptr);
        iteration->readyBits.assign(words, 0);
        iteration->deadBits.assign(words, 0);
    } else {
        iteration = idle.back();
        idle.pop_back();
        std::copy(code.waiting.begin(), code.waiting.end(), iteration->waiting.begin());
        std::copy(code.uses.begin(), code.uses.end(), iteration->uses.begin());
        std::fill(iteration->deadBits.begin(), iteration->deadBits.end(), 0);
    }
    iteration->frame = &frame;
    iteration->number = number;
    iteration->depth = frame.parent ? frame.parent->depth + 1 : 0;
    iteration->invocation = 0;
    iteration->enteredAtStep = m_step;
    iteration->outstanding = 0;
    iteration->taken = {};
    iteration->firstWord = static_cast<int32_t>(words);
    frame.alive.push_back(iteration);
    frame.iterationCount = number;
    return *iteration;
}

/// Takes an iteration out of everything but its frame's list.
void DataflowExecutor::Impl::dropIteration(Iteration& iteration)
{
    for (Cell*& cell : iteration.slots) {
        if (!cell) continue;
        m_cells.release(cell);
        cell = nullptr;
    }
    if (iteration.ready > 0) std::fill(iteration.readyBits.begin(), iteration.readyBits.end(), 0);
    iteration.ready = 0;
    if (!m_accesses.empty()) [[unlikely]]
        m_accesses.forget(iteration.invocation);
    iteration.children.clear();
    if (iteration.active) {
        iteration.active = false;
        std::erase(m_active, &iteration);
    }
    if (m_iteration == &iteration) m_iteration = nullptr;
    programOf(iteration).idle[static_cast<size_t>(iteration.frame->index)].push_back(&iteration);
}

/// Drops a frame with everything that lies in it, frames inside it included.
void DataflowExecutor::Impl::dropFrame(DynamicFrame& frame)
{
    std::vector<DynamicFrame*> open = {&frame};
    for (size_t f = 0; f < open.size(); ++f)
        for (const Iteration* iteration : open[f]->alive)
            for (DynamicFrame* child : iteration->children) open.push_back(child);
    for (DynamicFrame* dropped : open) {
        for (Iteration* iteration : dropped->alive) {
            if (m_observer && iteration->invocation != 0 && dropped->index != 0) endInvocation(*iteration);
            dropIteration(*iteration);
        }
        dropped->alive.clear();
        for (std::vector<Held>* held : {&dropped->deferred, &dropped->invariants}) {
            for (const Held& value : *held) m_cells.release(value.cell);
            held->clear();
        }
        dropped->deadExits.clear();
        m_idleFrames.push_back(dropped);
    }
}

Status DataflowExecutor::Impl::enterFrame(Iteration& iteration, const Node& node, bool isDead)
{
    DynamicFrame* child = nullptr;
    for (DynamicFrame* open : iteration.children)
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
Status DataflowExecutor::Impl::startIteration(DynamicFrame& frame)
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

Status DataflowExecutor::Impl::nextIteration(Iteration& iteration, const Node& node, bool isDead)
{
    DynamicFrame& frame = *iteration.frame;
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

Status DataflowExecutor::Impl::leaveFrame(Iteration& iteration, const Node& node, bool isDead)
{
    DynamicFrame& frame = *iteration.frame;
    if (isDead) {
        m_cells.release(m_results[0]);
        if (iteration.number == frame.iterationCount) frame.deadExits.push_back(nodeIndex(iteration, node));
        return {};
    }
    put(*frame.parent, programOf(iteration).code.outputs[static_cast<size_t>(node.firstOutput)], m_results[0]);
    return deliver(*frame.parent, programOf(iteration), node, false);
}

/// A node of `iteration` has run and its results are delivered.
Status DataflowExecutor::Impl::finishNode(Iteration& iteration)
{
    Running* const activation = iteration.frame->activation;
    if (--iteration.outstanding == 0 && iteration.frame->index != 0) LS_CHECK_OK(retire(*iteration.frame));
    if (--activation->outstanding == 0) return settle(activation);
    return {};
}

/// Ends iterations that have nothing left to do, in order, and with the last one the frame.
Status DataflowExecutor::Impl::retire(DynamicFrame& innermost)
{
    for (DynamicFrame* frame = &innermost; frame && frame->index != 0;) {
        while (!frame->alive.empty()) {
            Iteration& first = *frame->alive.front();
            if (first.outstanding > 0 || !first.children.empty() || (first.number == 0 && frame->pendingEnters > 0)) return {};
            if (m_observer && first.invocation != 0) endInvocation(first);
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
Result<DataflowExecutor::Impl::DynamicFrame*> DataflowExecutor::Impl::completeFrame(DynamicFrame& frame)
{
    Iteration& parent = *frame.parent;
    const Program& program = *frame.activation->program;
    std::erase(parent.children, &frame);
    for (const int32_t n : frame.deadExits) {
        const Node& exit = program.code.nodes[static_cast<size_t>(n)];
        put(parent, program.code.outputs[static_cast<size_t>(exit.firstOutput)], CellPool::share(m_cells.dead()));
        LS_CHECK_OK(deliver(parent, program, exit, true));
    }
    dropFrame(frame);
    return parent.outstanding == 0 ? parent.frame : nullptr;
}

} // namespace loopscope
