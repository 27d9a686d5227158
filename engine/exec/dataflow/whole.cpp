// Where values of an iteration lie that runs its nodes in a fixed order, and what is made up for when it does not go on so.
#include "engine/exec/dataflow/flow.h"

#include <algorithm>

namespace loopscope::dataflow {

void Flow::beginWhole(const Iteration& iteration)
{
    m_wholeFrom = m_core.stepsDone();
    m_deadNodes.assign(iteration.readyBits.size(), 0);
    m_deadSlots.assign((iteration.slots.size() + 63) / 64, 0);
}

int32_t Flow::chooseOperand(Iteration& iteration, const Node& merge)
{
    const InputCode* const inputs = programOf(iteration).code.inputs.data() + merge.firstInput;
    int32_t live = 0;
    for (int32_t i = 0; i < merge.inputCount; ++i) {
        const Cell* const cell = iteration.slots[static_cast<size_t>(inputs[i].slot)];
        if (!cell || cell->isDead) continue;
        if (live++ == 0) iteration.waiting[static_cast<size_t>(merge.position)].chosen = i;
    }
    return live;
}

/// Nodes that read a dead value, or wait for a dead node, are passed over.
void Flow::passOver(const Program& program, const Edge& edge)
{
    if (edge.node < 0) return;
    const Node& node = program.code.nodes[static_cast<size_t>(edge.node)];
    if (node.isMerge || node.isTrigger) return;
    m_deadNodes[static_cast<size_t>(node.position) / 64] |= uint64_t{1} << (node.position % 64);
}

Status Flow::keepResults(Iteration& iteration, const Node& node, bool isDead)
{
    if (isDead) [[unlikely]]
        for (int32_t k = 0; k < node.outputCount; ++k) m_results[static_cast<size_t>(k)] = CellPool::share(m_cells.dead());
    if (node.kind == NodeKind::nextIteration) return nextIteration(iteration, node, isDead);
    if (node.kind == NodeKind::exit) return leaveFrame(iteration, node, isDead);
    const Program& program = programOf(iteration);
    const int32_t* const slots = program.code.outputs.data() + node.firstOutput;
    for (int32_t k = 0; k < node.outputCount; ++k) iteration.slots[static_cast<size_t>(slots[k])] = m_results[static_cast<size_t>(k)];
    const bool mayKill = node.kind == NodeKind::switchNode || node.kind == NodeKind::switchMany || node.kind == NodeKind::receive;
    if (!mayKill && !isDead) [[likely]]
        return {};
    const Edge* const edges = program.code.edges.data();
    for (int32_t k = 0; k < node.outputCount; ++k)
        if (m_results[static_cast<size_t>(k)]->isDead) {
            m_deadSlots[static_cast<size_t>(slots[k]) / 64] |= uint64_t{1} << (slots[k] % 64);
            for (int32_t e = node.firstEdge; e < node.firstControl; ++e)
                if (edges[e].slot == slots[k]) passOver(program, edges[e]);
        }
    for (int32_t e = node.firstControl; isDead && e < node.lastEdge; ++e) passOver(program, edges[e]);
    return {};
}

void Flow::forget(Iteration& iteration, int32_t slot)
{
    if (m_keepAll) return;
    Cell*& place = iteration.slots[static_cast<size_t>(slot)];
    if (place) m_cells.release(place);
    place = nullptr;
}

Status Flow::leaveWhole(Iteration& iteration, int32_t position)
{
    const Program& program = programOf(iteration);
    const auto isSet = [](const std::vector<uint64_t>& bits, int32_t at) {
        return (bits[static_cast<size_t>(at) / 64] >> (at % 64) & 1) != 0;
    };
    for (int32_t q = 0; q < position; ++q) {
        const Node& node = program.code.nodes[static_cast<size_t>(iteration.frame->code->firstNode + q)];
        const bool isDead =
            node.isMerge ? isSet(m_deadSlots, program.code.outputs[static_cast<size_t>(node.firstOutput)]) : isPassedOver(q);
        unmark(iteration, node);
        --iteration.outstanding;
        --iteration.frame->activation->outstanding;
        for (int32_t i = 0; i < node.inputCount && !m_keepAll; ++i)
            if (const int32_t slot = program.code.inputs[static_cast<size_t>(node.firstInput + i)].slot; slot >= 0)
                --iteration.uses[static_cast<size_t>(slot)];
        if (node.kind == NodeKind::nextIteration || node.kind == NodeKind::exit) continue; // they have handed on what they give
        for (int32_t e = node.firstEdge; e < node.lastEdge; ++e) {
            const Edge& edge = program.code.edges[static_cast<size_t>(e)];
            const bool isLive = edge.slot < 0 ? !isDead : !isSet(m_deadSlots, edge.slot);
            LS_CHECK_OK(arrive(iteration, program, edge, isLive, false, m_wholeFrom + q));
        }
    }
    return {};
}

void Flow::endWhole(Iteration& iteration)
{
    iteration.frame->activation->outstanding -= iteration.outstanding - 1; // as if its last node had just run
    iteration.outstanding = 1;
    iteration.ready = 0;
    std::ranges::fill(iteration.readyBits, 0);
}

} // namespace loopscope::dataflow
