#include "engine/exec/dataflow/replay.h"

#include <cstring>

namespace loopscope::dataflow {

/// The node that runs next: the call that the next invocation was entered by, if it was entered before anything else completed, else the
/// node that completed at this step. none: neither was recorded.
Result<std::optional<RecordedNode>> Replay::next() const
{
    const auto entered = [&](InvocationId id) -> Result<std::optional<InvocationStart>> {
        LS_TRY(std::optional<InvocationStart> row, m_recorded->invocation(id));
        return row && row->step <= m_core.stepsDone() ? row : std::nullopt;
    };
    LS_TRY(std::optional<InvocationStart> next, entered(m_core.nextInvocation()));
    if (next && next->role == CallRole::frame) { // an iteration begins with its first node, which may be a call
        const InvocationId iteration = next->id;
        LS_TRY(next, entered(m_core.nextInvocation() + 1));
        if (next && (next->role == CallRole::frame || next->parent != iteration)) next.reset();
    }
    if (next) return std::optional(RecordedNode{next->parent, next->callerGraph, next->site, EventState::live});
    return m_recorded->node(m_core.stepsDone());
}

/// Whether `op` of the iteration is the node that is looked for. An iteration of which nothing has run yet gets its number with its first
/// node.
bool Replay::isNext(const Iteration& iteration, OperatorId op, const RecordedNode& wanted) const
{
    if (op != wanted.op || programOf(iteration).code.id != wanted.graph) return false;
    if (iteration.invocation != 0) return iteration.invocation == wanted.invocation;
    if (wanted.invocation != m_core.nextInvocation() || !iteration.frame->parent) return false;
    const Result<std::optional<InvocationStart>> row = m_recorded->invocation(wanted.invocation);
    return row.ok() && *row && (*row)->iteration == iteration.number && (*row)->parent == iteration.frame->parent->invocation;
}

void Replay::choose()
{
    m_divergence.reset();
    m_node.reset();
    Result<std::optional<RecordedNode>> node = next();
    if (!node.ok()) m_divergence = std::move(node).takeError();
    if (m_divergence || !*node) return;
    m_node = **node;
    if (isNext(*m_flow.standing().iteration, m_flow.standing().node->op, *m_node)) return;
    for (Iteration* iteration : m_flow.active()) {
        const GraphCode& code = programOf(*iteration).code;
        for (int32_t position = 0; position < iteration->frame->code->nodeCount; ++position) {
            const auto word = static_cast<size_t>(position) / 64;
            if ((iteration->readyBits[word] >> (position % 64) & 1) == 0) continue;
            const Node& candidate = code.nodes[static_cast<size_t>(iteration->frame->code->firstNode + position)];
            if (!isNext(*iteration, candidate.op, *m_node)) continue;
            m_flow.standing().iteration = iteration;
            m_flow.standing().node = &candidate;
            m_flow.standing().isDead = (iteration->deadBits[word] >> (position % 64) & 1) != 0;
            return;
        }
    }
    m_divergence = Error(ErrorCode::badFile, "the recording goes on with a node that is not ready")
                       .found(m_core.model().graph(m_node->graph).op(m_node->op).name);
}

Status Replay::check()
{
    m_recorded->movedOn();
    if (m_divergence) return m_divergence->copy().at(m_core.address());
    const bool isOver = m_core.stepsDone() >= m_recorded->steps();
    const bool hasFailed =
        m_node && m_node->state == EventState::failed && isNext(*m_flow.standing().iteration, m_flow.standing().node->op, *m_node);
    if (isOver || hasFailed) return m_recorded->ending(m_core.address());
    return {};
}

std::optional<int32_t> Replay::port(const Node& node) const
{
    if (!m_node) return std::nullopt;
    std::optional<int32_t> live;
    for (int32_t k = 0; k < node.outputCount; ++k) {
        if (m_recorded->result(m_core.stepsDone(), k).isDead) continue;
        if (live) return std::nullopt;
        live = k;
    }
    return live;
}

void Replay::recallResults(const Node& node, bool replaces)
{
    for (int32_t k = 0; k < node.outputCount; ++k) {
        Cell*& result = m_flow.results()[static_cast<size_t>(k)];
        if (replaces) {
            if (result->isDead || (node.kind == NodeKind::merge && k > 0)) continue;
            m_flow.cells().release(result);
        }
        result = m_flow.cells().recorded(m_core.stepsDone(), k);
    }
}

bool Replay::load(Cell& cell) const
{
    if (cell.remote) return CellPool::bring(cell).ok();
    if (cell.recordedStep == Cell::kComputed || cell.data) return true;
    const RecordedResult result = m_recorded->result(cell.recordedStep, cell.recordedSlot);
    if (!result.tensor || !CellPool::reserve(cell, result.tensor->bytes).ok()) return false;
    cell.dtype = result.tensor->dtype;
    cell.shape = result.tensor->shape;
    cell.quantization = result.tensor->quantization;
    if (cell.bytes > 0) std::memcpy(cell.data, result.tensor->data, cell.bytes);
    return true;
}

const TensorStatistics* Replay::statistics(const Cell& cell) const
{
    return cell.recordedStep == Cell::kComputed ? nullptr : m_recorded->result(cell.recordedStep, cell.recordedSlot).statistics;
}

} // namespace loopscope::dataflow
