// A recording instead of kernels: which node is next, and what it gave.
#include "engine/exec/dataflow/machine.h"

#include <cstring>

namespace loopscope {

using namespace dataflow;

/// The node that runs next: the call that the next invocation was entered by, if it was entered before anything else completed, else the
/// node that completed at this step. none: neither was recorded.
Result<std::optional<RecordedNode>> DataflowExecutor::Impl::nextRecorded() const
{
    const auto entered = [&](InvocationId id) -> Result<std::optional<InvocationStart>> {
        LS_TRY(std::optional<InvocationStart> row, m_recorded->invocation(id));
        return row && row->step <= m_step ? row : std::nullopt;
    };
    LS_TRY(std::optional<InvocationStart> next, entered(m_nextInvocation));
    if (next && next->role == CallRole::frame) { // an iteration begins with its first node, which may be a call
        const InvocationId iteration = next->id;
        LS_TRY(next, entered(m_nextInvocation + 1));
        if (next && (next->role == CallRole::frame || next->parent != iteration)) next.reset();
    }
    if (next) return std::optional(RecordedNode{next->parent, next->callerGraph, next->site, EventState::live});
    return m_recorded->node(m_step);
}

/// Whether `op` of the iteration is the node that is looked for. An iteration of which nothing has run yet gets its number with its first
/// node.
bool DataflowExecutor::Impl::isNext(const Iteration& iteration, OperatorId op, const RecordedNode& wanted) const
{
    if (op != wanted.op || programOf(iteration).code.id != wanted.graph) return false;
    if (iteration.invocation != 0) return iteration.invocation == wanted.invocation;
    if (wanted.invocation != m_nextInvocation || !iteration.frame->parent) return false;
    const Result<std::optional<InvocationStart>> row = m_recorded->invocation(wanted.invocation);
    return row.ok() && *row && (*row)->iteration == iteration.number && (*row)->parent == iteration.frame->parent->invocation;
}

/// The next node is the one that was recorded, whatever order it came in; where nothing was recorded, the order is the documented one.
void DataflowExecutor::Impl::follow()
{
    m_divergence.reset();
    m_recordedNode.reset();
    Result<std::optional<RecordedNode>> node = nextRecorded();
    if (!node.ok()) m_divergence = std::move(node).takeError();
    if (m_divergence || !*node) return;
    m_recordedNode = **node;
    if (isNext(*m_iteration, m_node->op, *m_recordedNode)) return;
    for (Iteration* iteration : m_active) {
        const GraphCode& code = programOf(*iteration).code;
        for (int32_t position = 0; position < iteration->frame->code->nodeCount; ++position) {
            const auto word = static_cast<size_t>(position) / 64;
            if ((iteration->readyBits[word] >> (position % 64) & 1) == 0) continue;
            const Node& candidate = code.nodes[static_cast<size_t>(iteration->frame->code->firstNode + position)];
            if (!isNext(*iteration, candidate.op, *m_recordedNode)) continue;
            m_iteration = iteration;
            m_node = &candidate;
            m_nextIsDead = (iteration->deadBits[word] >> (position % 64) & 1) != 0;
            return;
        }
    }
    m_divergence = Error(ErrorCode::badFile, "the recording goes on with a node that is not ready")
                       .found(m_model.graph(m_recordedNode->graph).op(m_recordedNode->op).name);
}

/// Before a node runs: whether the recording goes on here.
Status DataflowExecutor::Impl::checkRecorded()
{
    m_recorded->movedOn();
    if (m_divergence) return m_divergence->copy().at(address());
    const bool isOver = m_step >= m_recorded->steps();
    const bool hasFailed =
        m_recordedNode && m_recordedNode->state == EventState::failed && isNext(*m_iteration, m_node->op, *m_recordedNode);
    if (isOver || hasFailed) return m_recorded->ending(address());
    return {};
}

/// The output of a Switch that is not dead, if the recording says so of one alone.
std::optional<int32_t> DataflowExecutor::Impl::recordedPort(const Node& node) const
{
    if (!m_recordedNode) return std::nullopt;
    std::optional<int32_t> live;
    for (int32_t k = 0; k < node.outputCount; ++k) {
        if (m_recorded->result(m_step, k).isDead) continue;
        if (live) return std::nullopt;
        live = k;
    }
    return live;
}

/// Control flow goes its own way; what it hands on and everything else is what the recording has at this step.
Status DataflowExecutor::Impl::recall(Iteration& iteration, const Node& node)
{
    switch (node.kind) {
    case NodeKind::abort:
    case NodeKind::kernel: break;
    case NodeKind::constant:
        if (compute(iteration, node).ok()) return {};
        break;
    default:
        LS_CHECK_OK(compute(iteration, node));
        if (m_recordedNode) recallResults(node, true);
        return {};
    }
    recallResults(node, false);
    return {};
}

/// `replaces`: results that are there give way; dead ones stay dead.
void DataflowExecutor::Impl::recallResults(const Node& node, bool replaces)
{
    for (int32_t k = 0; k < node.outputCount; ++k) {
        Cell*& result = m_results[static_cast<size_t>(k)];
        if (replaces) {
            if (result->isDead || (node.kind == NodeKind::merge && k > 0)) continue;
            m_cells.release(result);
        }
        result = m_cells.recorded(m_step, k);
    }
}

/// Fetches the data of a value of a recording. False: it does not hold them.
bool DataflowExecutor::Impl::load(Cell& cell) const
{
    if (cell.recordedStep == Cell::kComputed || cell.data) return true;
    const RecordedResult result = m_recorded->result(cell.recordedStep, cell.recordedSlot);
    if (!result.tensor || !CellPool::reserve(cell, result.tensor->bytes).ok()) return false;
    cell.dtype = result.tensor->dtype;
    cell.shape = result.tensor->shape;
    cell.quantization = result.tensor->quantization;
    if (cell.bytes > 0) std::memcpy(cell.data, result.tensor->data, cell.bytes);
    return true;
}

bool DataflowExecutor::Impl::isRecorded(int depth, ValueId id) const
{
    Cell* const cell = cellOf(depth, id);
    return !cell || cell->isDead || load(*cell);
}

const TensorStatistics* DataflowExecutor::Impl::recordedStatistics(int depth, ValueId id) const
{
    const Cell* const cell = cellOf(depth, id);
    const bool isOfRecording = cell && cell->recordedStep != Cell::kComputed;
    return isOfRecording ? m_recorded->result(cell->recordedStep, cell->recordedSlot).statistics : nullptr;
}

} // namespace loopscope
