// Frames, iterations, and the choice of the next node.
#include "engine/exec/dataflow/flow.h"

#include <algorithm>
#include <bit>

namespace loopscope::dataflow {

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

Flow::Flow(RunCore& core)
    : m_core(core),
      m_keepAll(core.options().keepAll),
      m_cells(core.account(), core.options().device),
      m_schedule(core.options().scheduleSeed)
{
}

bool Flow::precedes(const Iteration& a, const Iteration& b)
{
    const Iteration* x = &a;
    const Iteration* y = &b;
    const Frame* fromX = nullptr; // by which child the walk came up
    const Frame* fromY = nullptr;
    const auto isCallee = [](const Frame* child, const Iteration* around) { return child->activation != around->frame->activation; };
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
Iteration* Flow::firstActive()
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

/// Any of the ready nodes, as the seed has it. False: there is none.
bool Flow::pickAny(int32_t& position)
{
    m_standing.iteration = firstActive(); // tidies the list
    if (!m_standing.iteration) return false;
    int64_t total = 0;
    for (const Iteration* active : m_active) total += active->ready;
    uint64_t state = m_schedule + static_cast<uint64_t>(m_core.tick().number) * 0x2545f4914f6cdd1dU; // the same wherever a run is continued
    auto chosen = static_cast<int64_t>(nextRandom(state) % static_cast<uint64_t>(total));
    std::ranges::sort(m_active, [](const Iteration* a, const Iteration* b) { return precedes(*a, *b); });
    for (Iteration* active : m_active) {
        m_standing.iteration = active;
        if (chosen < active->ready) break;
        chosen -= active->ready;
    }
    for (size_t word = 0;; ++word) {
        uint64_t bits = m_standing.iteration->readyBits[word];
        if (chosen >= std::popcount(bits)) {
            chosen -= std::popcount(bits);
            continue;
        }
        for (; chosen > 0; --chosen) bits &= bits - 1;
        position = static_cast<int32_t>(word) * 64 + std::countr_zero(bits);
        return true;
    }
}

bool Flow::select()
{
    int32_t position = 0;
    if (m_schedule == 0) [[likely]] {
        if (!m_standing.iteration || m_standing.iteration->ready == 0) m_standing.iteration = firstActive();
        if (m_standing.iteration) position = lowestReady(*m_standing.iteration);
    } else {
        pickAny(position);
    }
    if (!m_standing.iteration) {
        m_standing.node = nullptr;
        return false;
    }
    const Iteration& iteration = *m_standing.iteration;
    m_standing.node = &programOf(iteration).code.nodes[static_cast<size_t>(iteration.frame->code->firstNode + position)];
    m_standing.isDead = (iteration.deadBits[static_cast<size_t>(position) / 64] >> (position % 64) & 1) != 0;
    return true;
}

void Flow::unmark(Iteration& iteration, const Node& node)
{
    iteration.readyBits[static_cast<size_t>(node.position) / 64] &= ~(uint64_t{1} << (node.position % 64));
    --iteration.ready;
}

void Flow::mark(Iteration& iteration, const Node& node)
{
    const auto word = static_cast<size_t>(node.position) / 64;
    iteration.readyBits[word] |= uint64_t{1} << (node.position % 64);
    iteration.firstWord = std::min(iteration.firstWord, static_cast<int32_t>(word));
    ++iteration.ready;
}

Frame& Flow::openFrame(Activation& activation, int32_t index, Iteration* parent)
{
    Frame* frame = nullptr;
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
    else m_root = frame;
    addIteration(*frame, 0);
    return *frame;
}

Iteration& Flow::addIteration(Frame& frame, int64_t number)
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
    iteration->enteredAtStep = m_core.stepsDone();
    iteration->outstanding = 0;
    iteration->taken = {};
    iteration->firstWord = static_cast<int32_t>(words);
    frame.alive.push_back(iteration);
    frame.iterationCount = number;
    return *iteration;
}

void Flow::dropIteration(Iteration& iteration)
{
    for (Cell*& cell : iteration.slots) {
        if (!cell) continue;
        m_cells.release(cell);
        cell = nullptr;
    }
    if (iteration.ready > 0) std::fill(iteration.readyBits.begin(), iteration.readyBits.end(), 0);
    iteration.ready = 0;
    if (m_core.races().hasAccesses()) [[unlikely]]
        m_core.races().forget(iteration.invocation);
    iteration.children.clear();
    if (iteration.active) {
        iteration.active = false;
        std::erase(m_active, &iteration);
    }
    if (m_standing.iteration == &iteration) m_standing.iteration = nullptr;
    programOf(iteration).idle[static_cast<size_t>(iteration.frame->index)].push_back(&iteration);
}

void Flow::dropFrame(Frame& frame, Announce announce)
{
    std::vector<Frame*> open = {&frame};
    for (size_t f = 0; f < open.size(); ++f)
        for (const Iteration* iteration : open[f]->alive)
            for (Frame* child : iteration->children) open.push_back(child);
    for (Frame* dropped : open) {
        for (Iteration* iteration : dropped->alive) {
            if (announce == Announce::yes && dropped->index != 0) m_core.endInvocation(iteration->invocation, iteration->startNs);
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

void Flow::restoreActive(Iteration& iteration)
{
    iteration.firstWord = 0;
    for (const uint64_t word : iteration.readyBits) iteration.ready += std::popcount(word);
    if (iteration.ready == 0) return;
    iteration.active = true;
    m_active.push_back(&iteration);
}

void Flow::clear()
{
    if (m_root) dropFrame(*m_root, Announce::no);
    m_root = nullptr;
    m_active.clear();
    m_standing = {};
    m_serial = 0;
}

} // namespace loopscope::dataflow
