#include "engine/exec/dataflow/inspection.h"

#include "engine/exec/dataflow/location.h"
#include "engine/ir/flow_role.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

namespace loopscope::dataflow {

namespace {

constexpr int kMostHops = 100;

/// Frames from the outside inwards, each with its iterations.
template <typename Visit> void forEachIteration(const Frame& root, Visit visit)
{
    std::vector<const Frame*> open = {&root};
    for (size_t f = 0; f < open.size(); ++f)
        for (const Iteration* iteration : open[f]->alive) {
            visit(*iteration);
            open.insert(open.end(), iteration->children.begin(), iteration->children.end());
        }
}

int32_t tokensIn(const Iteration& iteration)
{
    return static_cast<int32_t>(std::ranges::count_if(iteration.slots, [](const Cell* cell) { return cell != nullptr; }));
}

} // namespace

std::vector<DataflowFrame> Inspection::frames() const
{
    std::vector<DataflowFrame> result;
    if (!m_flow.root()) return result;
    std::vector<const Frame*> open = {m_flow.root()};
    for (size_t f = 0; f < open.size(); ++f) {
        const Frame& frame = *open[f];
        const Iteration& newest = *frame.alive.back();
        const Activation& activation = *frame.activation;
        DataflowFrame& shown = result.emplace_back();
        shown.name = frame.index != 0 ? frame.code->name : activation.program->code.graph->id;
        shown.address = toString(addressOf(newest));
        shown.graph = activation.program->code.id;
        shown.enter = frame.index != 0 ? frame.code->enter : OperatorId();
        shown.role = frame.index != 0 ? CallRole::frame : activation.role;
        shown.depth = newest.depth;
        shown.oldestIteration = frame.alive.front()->number;
        shown.newestIteration = newest.number;
        shown.parallelIterations = frame.code->parallelIterations;
        shown.missingEnters = frame.pendingEnters;
        shown.deferred = static_cast<int32_t>(frame.deferred.size());
        for (const Iteration* iteration : frame.alive) {
            shown.ready += iteration->ready;
            shown.values += tokensIn(*iteration);
            open.insert(open.end(), iteration->children.begin(), iteration->children.end());
        }
        for (const int32_t exit : frame.deadExits) shown.deadExits.push_back(activation.program->code.nodes[static_cast<size_t>(exit)].op);
    }
    return result;
}

std::vector<DataflowToken> Inspection::tokens() const
{
    std::vector<DataflowToken> result;
    if (!m_flow.root()) return result;
    forEachIteration(*m_flow.root(), [&](const Iteration& iteration) {
        const GraphCode& code = programOf(iteration).code;
        const FrameCode& frame = *iteration.frame->code;
        std::vector<std::vector<OperatorId>> waiting(iteration.slots.size());
        for (int32_t n = frame.firstNode; n < frame.firstNode + frame.nodeCount; ++n) {
            const Node& node = code.nodes[static_cast<size_t>(n)];
            const Waiting& counts = iteration.waiting[static_cast<size_t>(node.position)];
            const bool hasRun = node.isMerge ? counts.chosen != -1 : counts.pending <= 0;
            const bool isReady = (iteration.readyBits[static_cast<size_t>(node.position) / 64] >> (node.position % 64) & 1) != 0;
            if (hasRun && !isReady) continue;
            for (int32_t i = 0; i < node.inputCount; ++i) {
                const int32_t slot = code.inputs[static_cast<size_t>(node.firstInput + i)].slot;
                if (slot < 0 || !iteration.slots[static_cast<size_t>(slot)]) continue;
                std::vector<OperatorId>& readers = waiting[static_cast<size_t>(slot)];
                if (readers.empty() || readers.back() != node.op) readers.push_back(node.op);
            }
        }
        for (size_t s = 0; s < waiting.size(); ++s) {
            if (waiting[s].empty()) continue;
            const Value& value = code.graph->value(frame.slots[s]);
            DataflowToken& token = result.emplace_back();
            token.graph = code.id;
            token.value = frame.slots[s];
            token.iteration = iteration.number;
            token.isDead = iteration.slots[s]->isDead;
            token.waiting = std::move(waiting[s]);
            token.address =
                value.producer.valid() ? addressOf(iteration, value.producer, value.slot) : toString(addressOf(iteration)) + "/" + value.id;
        }
    });
    return result;
}

std::vector<DataflowValue> Inspection::values() const
{
    std::vector<DataflowValue> result;
    if (!m_flow.root()) return result;
    const NumberFormat format{.digits = 4};
    const Frame* last = nullptr;
    int32_t index = -1; // iterations of one frame come together, frames in the order of frames()
    forEachIteration(*m_flow.root(), [&](const Iteration& iteration) {
        if (iteration.frame != last) {
            last = iteration.frame;
            ++index;
        }
        for (size_t s = 0; s < iteration.slots.size(); ++s) {
            Cell* const cell = iteration.slots[s];
            if (!cell) continue;
            if (cell->alias >= 0) m_runner.refresh(*cell);
            if (!cell->remote) m_replay.load(*cell); // of what other ranks have nothing is said here
            DataflowValue& value = result.emplace_back();
            value.graph = programOf(iteration).code.id;
            value.value = iteration.frame->code->slots[s];
            value.frame = index;
            value.iteration = iteration.number;
            value.isDead = cell->isDead;
            if (!cell->isDead && cell->data && dtypeClass(cell->dtype) != DTypeClass::handle && cell->elementCount() == 1)
                value.text = elementText(*cell, 0, format);
        }
    });
    return result;
}

std::vector<DataflowReady> Inspection::ready() const
{
    std::vector<const Iteration*> active;
    for (const Iteration* iteration : m_flow.active())
        if (iteration->ready > 0) active.push_back(iteration);
    std::ranges::sort(active, [](const Iteration* a, const Iteration* b) { return Flow::precedes(*a, *b); });
    std::set<std::pair<const Iteration*, int32_t>> waiting; // Recvs whose turn would come, but for what is not sent yet
    for (const auto& [key, place] : m_rendezvous.waiting(m_flow.active())) waiting.insert(place);
    std::vector<DataflowReady> result;
    for (const Iteration* iteration : active)
        for (size_t word = 0; word < iteration->readyBits.size(); ++word)
            for (uint64_t bits = iteration->readyBits[word]; bits != 0; bits &= bits - 1) {
                const int position = static_cast<int>(word) * 64 + std::countr_zero(bits);
                if (waiting.contains({iteration, position})) continue;
                const GraphCode& code = programOf(*iteration).code;
                const Node& node = code.nodes[static_cast<size_t>(iteration->frame->code->firstNode + position)];
                result.push_back({addressOf(*iteration, node.op), code.id, node.op, iteration->invocation,
                                  (iteration->deadBits[word] >> (position % 64) & 1) != 0});
            }
    return result;
}

bool Inspection::nextIsDead() const { return m_flow.standing().node && m_flow.standing().isDead && m_core.isRunning(); }

std::vector<DataflowTally> Inspection::tallies() const
{
    std::vector<DataflowTally> result;
    for (const auto& [graph, program] : m_runner.programs()) {
        if (!program) continue;
        for (size_t o = 0; o < program->code.nodeOf.size(); ++o) {
            const int32_t node = program->code.nodeOf[o];
            if (node < 0) continue;
            const Tally& tally = program->tallies[static_cast<size_t>(node)];
            if (tally.runs == 0) continue;
            const bool inFrame = program->code.nodes[static_cast<size_t>(node)].frame != 0;
            result.push_back({graph, OperatorId(static_cast<int64_t>(o)), tally.runs, tally.dead, inFrame ? tally.lastLive : -1,
                              inFrame ? tally.lastDead : -1});
        }
    }
    return result;
}

bool Inspection::isDead(int depth, ValueId value) const
{
    const Cell* const cell = cellAt(m_flow, depth, value);
    return cell && cell->isDead;
}

/// The iteration around the present position that `node`'s frame has, or else any that is alive.
const Iteration* Inspection::iterationOf(const Program& program, int32_t frame) const
{
    for (const Iteration* around : stackOf(m_flow))
        if (&programOf(*around) == &program && around->frame->index == frame) return around;
    const Iteration* found = nullptr;
    if (m_flow.root())
        forEachIteration(*m_flow.root(), [&](const Iteration& iteration) {
            if (&programOf(iteration) == &program && iteration.frame->index == frame && !found) found = &iteration;
        });
    return found;
}

/// The node behind Identities and LoopConds, and what it gave, if it is still there.
std::pair<OperatorId, std::string> Inspection::predicateOf(const Iteration& iteration, const Node& switchNode) const
{
    const GraphCode& code = programOf(iteration).code;
    const Graph& graph = *code.graph;
    const ValueId steering = graph.op(switchNode.op).inputs[1];
    std::pair<OperatorId, std::string> found;
    OperatorId at = graph.value(steering).producer;
    for (int hop = 0; hop < kMostHops && at.valid(); ++hop) {
        found.first = at;
        const Operator& op = graph.op(at);
        const FlowRole role = flowRole(op);
        const bool hands = op.kind.name == "Identity" || role == FlowRole::loopCondition || role == FlowRole::enter;
        if (!hands || op.inputs.empty()) break;
        at = graph.value(op.inputs[0]).producer;
    }
    const ValuePlace place = code.values[static_cast<size_t>(steering.index)];
    Cell* const cell = place.frame == iteration.frame->index ? iteration.slots[static_cast<size_t>(place.slot)] : nullptr;
    if (cell) m_replay.load(*cell);
    if (!cell || cell->isDead || cell->bytes == 0) return found;
    if (cell->dtype == DType::boolean) found.second = *cell->as<uint8_t>() != 0 ? "true" : "false";
    if (cell->dtype == DType::i32 && cell->bytes >= sizeof(int32_t)) found.second = std::to_string(*cell->as<int32_t>());
    return found;
}

/// Why one node is, or was about to be, dead in `iteration`: its inputs that are dead.
std::vector<DeadHop> Inspection::hopsOf(const Iteration& iteration, const Node& node) const
{
    const GraphCode& code = programOf(iteration).code;
    const Graph& graph = *code.graph;
    const Operator& op = graph.op(node.op);
    std::vector<DeadHop> hops;
    for (int32_t i = 0; i < node.inputCount; ++i) {
        const int32_t slot = code.inputs[static_cast<size_t>(node.firstInput + i)].slot;
        const Cell* const cell = slot < 0 ? nullptr : iteration.slots[static_cast<size_t>(slot)];
        if (!cell || !cell->isDead) continue;
        const Value& value = graph.value(op.inputs[static_cast<size_t>(i)]);
        DeadHop hop;
        hop.op = node.op;
        hop.source = value.producer;
        hop.slot = value.slot;
        hop.cause = DeadHop::Cause::deadInput;
        const int32_t source = value.producer.valid() ? code.nodeOf[static_cast<size_t>(value.producer.index)] : -1;
        if (source >= 0) {
            const Node& producer = code.nodes[static_cast<size_t>(source)];
            if (producer.kind == NodeKind::receive) hop.cause = DeadHop::Cause::unsent;
            const bool isSwitch = producer.kind == NodeKind::switchNode || producer.kind == NodeKind::switchMany;
            if (isSwitch && producer.frame == iteration.frame->index) {
                // Untaken: another output of the Switch is live.
                for (int32_t k = 0; k < producer.outputCount; ++k) {
                    const Cell* const other =
                        iteration.slots[static_cast<size_t>(code.outputs[static_cast<size_t>(producer.firstOutput + k)])];
                    if (k != value.slot && other && !other->isDead) hop.cause = DeadHop::Cause::untaken;
                }
                std::tie(hop.predicate, hop.predicateText) = predicateOf(iteration, producer);
            }
        }
        hops.push_back(std::move(hop));
    }
    if (!hops.empty()) return hops;
    for (const OperatorId control : op.controlInputs) {
        const int32_t source = code.nodeOf[static_cast<size_t>(control.index)];
        if (source < 0) continue;
        const Node& waitedFor = code.nodes[static_cast<size_t>(source)];
        if (waitedFor.frame != iteration.frame->index || hopsOf(iteration, waitedFor).empty() || waitedFor.isMerge || waitedFor.isTrigger)
            continue;
        DeadHop hop;
        hop.op = node.op;
        hop.source = control;
        hop.cause = DeadHop::Cause::deadControl;
        hops.push_back(hop);
    }
    return hops;
}

Result<std::vector<DeadHop>> Inspection::whyDead(GraphId graph, OperatorId op) const
{
    const auto found = m_runner.programs().find(graph);
    const Program* const program = found == m_runner.programs().end() ? nullptr : found->second.get();
    const int32_t index = program && op.valid() && static_cast<size_t>(op.index) < program->code.nodeOf.size()
                              ? program->code.nodeOf[static_cast<size_t>(op.index)]
                              : -1;
    if (index < 0) return Error(ErrorCode::usage, "the node is not part of what runs");
    const Node& first = program->code.nodes[static_cast<size_t>(index)];
    const Iteration* const iteration = iterationOf(*program, first.frame);
    const std::string name = program->code.graph->op(op).name;
    if (!iteration) return Error(ErrorCode::usage, name + " has no iteration that is alive here");
    std::vector<DeadHop> hops = hopsOf(*iteration, first);
    if (hops.empty()) return Error(ErrorCode::usage, name + " is not dead here").at(addressOf(*iteration, op));
    for (size_t h = 0; h < hops.size() && hops.size() < kMostHops; ++h) {
        if (hops[h].cause == DeadHop::Cause::untaken || !hops[h].source.valid()) continue;
        const OperatorId source = hops[h].source;
        const int32_t at = program->code.nodeOf[static_cast<size_t>(source.index)];
        const bool isKnown = std::ranges::any_of(hops, [&](const DeadHop& hop) { return hop.op == source; });
        if (at < 0 || isKnown || program->code.nodes[static_cast<size_t>(at)].frame != iteration->frame->index) continue;
        for (DeadHop& hop : hopsOf(*iteration, program->code.nodes[static_cast<size_t>(at)])) hops.push_back(std::move(hop));
    }
    return hops;
}

/// The node has delivered its results and counts as running still: as retire() and completeFrame() will find things.
std::vector<std::string> Inspection::endingFrames() const
{
    std::vector<std::string> names;
    int32_t running = 1;
    const Frame* ended = nullptr;
    for (const Iteration* at = m_flow.standing().iteration; at && at->frame->index != 0; at = at->frame->parent) {
        const Frame& frame = *at->frame;
        const auto isOver = [&](const Iteration* iteration) {
            const bool isHere = iteration == at;
            const size_t children = isHere && ended ? 1 : 0;
            return iteration->outstanding == (isHere ? running : 0) && iteration->children.size() == children;
        };
        if (frame.pendingEnters > 0 || !frame.deferred.empty() || !std::ranges::all_of(frame.alive, isOver)) break;
        names.push_back(frame.code->name);
        if (!frame.deadExits.empty()) break; // they go on outside
        running = 0;
        ended = &frame;
    }
    return names;
}

int64_t Inspection::reachableNodes() const
{
    const auto found = m_runner.programs().find(m_core.root());
    return found == m_runner.programs().end() || !found->second ? 0 : std::ssize(found->second->code.nodes);
}

std::vector<std::string> Inspection::warnings() const
{
    std::vector<std::string> result;
    for (const auto& [graph, program] : m_runner.programs())
        if (program) result.insert(result.end(), program->code.warnings.begin(), program->code.warnings.end());
    return result;
}

} // namespace loopscope::dataflow
