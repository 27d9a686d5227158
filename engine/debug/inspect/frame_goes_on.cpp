// Why a loop of a v1 graph goes on: the same answer as for While, from the nodes of its frame.
#include "engine/debug/inspect/why_answers.h"

#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/inspect/loop_condition.h"
#include "engine/debug/inspect/loop_state.h"
#include "engine/debug/place.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"

#include <algorithm>
#include <limits>
#include <map>

namespace loopscope {

namespace {

/// Hears what a frame's condition reads, and the state that decides it, in the iterations of one instance of the frame.
class FrameWatch final : public TrapHandler {
public:
    FrameWatch(const DebugTarget& target, GraphId graph, int depth, ValueId condition, DecidingMerges deciding, std::vector<Track>& tracks)
        : m_executor(target.executor),
          m_graph(target.model.graph(graph)),
          m_depth(depth),
          m_site(m_executor.frame(depth).site),
          m_caller(m_executor.frame(depth - 1).invocation),
          m_condition(condition),
          m_deciding(std::move(deciding)),
          m_tracks(tracks)
    {
        for (const Track& track : tracks)
            if (!track.isInvariant) m_traps.add(graph, m_graph.value(track.value).producer, trapAfter);
        if (m_graph.value(condition).role == ValueRole::result) m_traps.add(graph, m_graph.value(condition).producer, trapAfter);
        if (!m_deciding.isPure || m_deciding.merges.empty()) m_history.giveUp();
        else
            for (const OperatorId merge : m_deciding.merges) m_traps.add(graph, merge, trapAfter);
    }
    const TrapSet& traps() const { return m_traps; }
    const StateHistory& history() const { return m_history; }
    const Verdict& verdict() const { return m_verdict; }
    /// From here on only the condition of the present iteration is wanted. False: it is known.
    bool lookAhead(int64_t iteration)
    {
        m_wanted = iteration;
        return m_verdict.iteration < iteration;
    }
    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        if (event.state != EventState::live || m_executor.position().depth != m_depth + 1) return false;
        const FrameInfo frame = m_executor.frame(m_depth);
        if (frame.site != m_site || m_executor.frame(m_depth - 1).invocation != m_caller) return false;
        if (const Tensor* const condition = resultOf(event, m_condition)) m_verdict = {shortValue(*condition), frame.iteration};
        if (m_wanted >= 0) return m_verdict.iteration >= m_wanted;
        for (Track& track : m_tracks)
            if (const Tensor* const result = resultOf(event, track.value)) track.note(*result);
        noteState(event, frame.iteration);
        return false;
    }

private:
    const Tensor* resultOf(const OperatorEvent& event, ValueId id) const
    {
        const Value& value = m_graph.value(id);
        const auto slot = static_cast<size_t>(value.slot);
        if (value.role != ValueRole::result || value.producer != event.op || slot >= event.results.size()) return nullptr;
        return event.results[slot] && event.results[slot]->data ? event.results[slot] : nullptr;
    }

    /// Iterations overlap: the Merges of one may run before those of the iteration before are through.
    void noteState(const OperatorEvent& event, int64_t iteration)
    {
        const auto found = std::ranges::find(m_deciding.merges, event.op);
        if (!m_history.isUseful() || found == m_deciding.merges.end()) return;
        const Tensor* const tensor = resultOf(event, m_graph.op(event.op).results[0]);
        if (!tensor) return m_history.giveUp();
        std::map<OperatorId, KeptTensor>& state = m_states[iteration];
        state.emplace(event.op, KeptTensor(*tensor));
        if (state.size() < m_deciding.merges.size()) {
            if (m_states.size() > kMostOpen) m_history.giveUp();
            return;
        }
        for (const auto& [op, kept] : state) m_history.add(kept.tensor);
        m_history.note(iteration);
        m_states.erase(iteration);
    }

    static constexpr size_t kMostOpen = 256; ///< iterations

    const Executor& m_executor;
    const Graph& m_graph;
    const int m_depth;
    const OperatorId m_site;
    const InvocationId m_caller;
    const ValueId m_condition;
    const DecidingMerges m_deciding;
    std::vector<Track>& m_tracks;
    TrapSet m_traps;
    Verdict m_verdict;
    int64_t m_wanted = -1;
    StateHistory m_history;
    std::map<int64_t, std::map<OperatorId, KeptTensor>> m_states; ///< iterations whose Merges have not all run
};

} // namespace

Result<Explanation> explainFrame(const DebugTarget& target, int depth)
{
    const Executor& executor = target.executor;
    const int64_t now = target.timeline.tick();
    const FrameInfo stop = executor.frame(depth);
    const Graph& graph = target.model.graph(stop.graph);
    const FrameAnalysis analysis = analyzeFrames(graph);
    const auto frame =
        std::ranges::find_if(analysis.frames, [&](const auto& f) { return std::ranges::find(f.enters, stop.site) != f.enters.end(); });
    if (frame == analysis.frames.end() || !frame->isLoop() || graph.op(frame->condition).inputs.empty())
        return Error(ErrorCode::usage, "the frame is no loop: it has no LoopCond").at(toString(frameAddress(executor, depth)));
    const ValueId condition = graph.op(frame->condition).inputs[0];
    std::vector<ValueId> leaves;
    const std::string text = expressionText(target.model, graph, condition, leaves, &analysis);
    std::vector<Track> tracks;
    for (const ValueId leaf : leaves) {
        Track track;
        track.value = leaf;
        const Value& value = graph.value(leaf);
        track.isInvariant = value.role != ValueRole::result || flowRole(graph.op(value.producer)) == FlowRole::enter;
        if (const Tensor* const tensor = executor.value(depth, leaf)) {
            track.now = shortValue(*tensor);
            track.isScalar = tensor->elementCount() == 1;
            if (track.isScalar) track.number = elementAsReal(*tensor, 0);
            if (track.isScalar && track.isInvariant) track.last.push_back(track.number);
        }
        tracks.push_back(std::move(track));
    }
    const DecidingMerges deciding = decidingMerges(graph, *frame, condition);
    FrameWatch watch(target, stop.graph, depth, condition, deciding, tracks);
    LS_CHECK_OK(scan(target, 0, now, watch.traps(), watch));
    LS_CHECK_OK(target.timeline.goTo(now, target.control));
    if (watch.lookAhead(stop.iteration)) {
        Status ahead = scan(target, now, std::numeric_limits<int64_t>::max(), watch.traps(), watch);
        if (!ahead.ok() && ahead.detail().code == ErrorCode::cancelled) return std::move(ahead).takeError();
    }
    Explanation answer;
    answer.lines.push_back(frame->name + " goes on while " + conditionText(text, watch.verdict(), stop.iteration));
    addLeafLines(answer, graph, tracks);
    const bool isTrue = watch.verdict().iteration != stop.iteration || watch.verdict().text != "false";
    if (watch.history().isFound()) {
        std::vector<std::string> names;
        for (const OperatorId merge : deciding.merges) names.push_back(graph.value(graph.op(merge).results[0]).id);
        answer.lines.push_back(repetitionText(watch.history(), names, deciding.isAll));
    } else if (deciding.isPure && deciding.merges.empty() && isTrue) {
        answer.lines.emplace_back("None of this changes: the loop cannot end.");
    } else if (const std::string says = comparisonVerdict(graph, condition, tracks, stop.iteration); !says.empty() && isTrue) {
        answer.lines.push_back(says);
    }
    return answer;
}

} // namespace loopscope
