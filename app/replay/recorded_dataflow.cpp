#include "app/replay/recorded_dataflow.h"

namespace loopscope::app {

namespace {

constexpr size_t kKeptInvocations = 1 << 12;

} // namespace

InvocationId RecordedDataflow::firstInvocation() const
{
    const Result<std::optional<RecordedInvocation>> first = m_file.run->firstInvocation();
    return first.ok() && *first ? (*first)->id : 1;
}

Result<std::optional<RecordedNode>> RecordedDataflow::node(Step step) const
{
    LS_TRY(const std::optional<RecordedEvent> event, m_file.run->event(step));
    if (!event) return std::optional<RecordedNode>();
    const EventState state = event->hasFailed ? EventState::failed : event->isDead ? EventState::dead : EventState::live;
    return std::optional(RecordedNode{event->invocation, GraphId(event->graph), OperatorId(event->op), state});
}

Result<std::optional<InvocationStart>> RecordedDataflow::invocation(InvocationId id) const
{
    if (const auto known = m_invocations.find(id); known != m_invocations.end()) return known->second;
    LS_TRY(const std::optional<RecordedInvocation> row, m_file.run->invocation(id));
    std::optional<InvocationStart> start;
    if (row) {
        start.emplace();
        start->id = row->id;
        start->parent = row->parent;
        start->role = recordedRole(row->role).role;
        if (row->site >= 0) {
            start->callerGraph = GraphId(row->callerGraph);
            start->site = OperatorId(row->site);
        }
        start->iteration = row->iteration;
        start->step = row->firstStep;
    }
    if (m_invocations.size() >= kKeptInvocations) m_invocations.clear();
    m_invocations.emplace(id, start);
    return start;
}

RecordedResult RecordedDataflow::result(Step step, int32_t slot)
{
    const KnownValue* known = nullptr;
    if (step == kInputs) {
        const Graph& root = m_file.model.graph(m_file.root);
        const Result<std::optional<RecordedInvocation>> first = m_file.run->firstInvocation();
        if (first.ok() && *first && static_cast<size_t>(slot) < root.inputs.size())
            known = m_values.find(**first, m_file.root, root.inputs[static_cast<size_t>(slot)]);
    } else {
        const Result<std::optional<RecordedEvent>> event = m_file.run->event(step);
        if (event.ok() && *event) known = m_values.result(step, GraphId((*event)->graph), OperatorId((*event)->op), slot);
    }
    if (!known) return {};
    return {known->isRecorded ? &known->tensor : nullptr, known->statistics ? &*known->statistics : nullptr, known->isDead};
}

} // namespace loopscope::app
