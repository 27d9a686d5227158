// Why a loop goes on: what its condition compares, how that went over the iterations, and what follows from it.
#include "engine/debug/inspect/why_answers.h"

#include "engine/base/text.h"
#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/inspect/loop_condition.h"
#include "engine/debug/inspect/loop_state.h"
#include "engine/debug/place.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ir/ids.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <limits>

namespace loopscope {

namespace {

constexpr int64_t kCheckedElements = 64; ///< of a tensor that is looked at for wrapping
constexpr size_t kMostWraps = 3;

/// An integer result that did not fit.
struct Wrap {
    std::string value;
    int64_t iteration = 0;
    std::string text; ///< "2147450880 + 65536 -> -2147450880"
};

class LoopWatch final : public TrapHandler {
public:
    LoopWatch(const DebugTarget& target, int depth, const Operator& loop, std::vector<Track>& tracks)
        : m_target(target),
          m_now(target.timeline.tick()),
          m_depth(depth),
          m_caller(target.executor.frame(depth - 1).invocation),
          m_site(target.executor.frame(depth).site),
          m_graphs(graphsOf(loop)),
          m_cond(target.model.graph(m_graphs.cond)),
          m_deciding(decidingValues(target.model, loop)),
          m_tracks(tracks)
    {
        const Graph& body = target.model.graph(m_graphs.body);
        m_beginsIn = m_cond.operators.empty() ? m_graphs.body : m_graphs.cond;
        m_traps.add(m_beginsIn, OperatorId(0), trapBefore);
        for (size_t i = 0; i < body.operators.size(); ++i) {
            const std::string& kind = body.operators[i].kind.name;
            const bool counts = kind == "add" || kind == "sub" || kind == "mul";
            if (!counts || body.operators[i].inputs.size() != 2 || body.operators[i].results.size() != 1) continue;
            const TensorType& type = body.value(body.operators[i].results[0]).type;
            if (dtypeClass(type.dtype) == DTypeClass::signedInteger && !type.quantization)
                m_traps.add(m_graphs.body, OperatorId(static_cast<int64_t>(i)), trapAfter);
        }
        m_condition = m_cond.outputs.empty() ? ValueId() : m_cond.outputs[0].value;
        trapWriter(m_condition);
        for (const Track& track : tracks)
            if (!track.isFormal) trapWriter(track.value);
        if (!m_deciding.isPure || m_deciding.positions.empty()) m_history.giveUp();
    }

    const TrapSet& traps() const { return m_traps; }
    const std::vector<Wrap>& wraps() const { return m_wraps; }
    const StateHistory& history() const { return m_history; }
    const DecidingValues& deciding() const { return m_deciding; }
    const Verdict& verdict() const { return m_verdict; }

    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        if (tick < m_now && event.graph == m_beginsIn && event.op.index == 0 && isHere(event)) beginIteration();
        return false;
    }

    /// The stop that the question is asked at may be the beginning of an iteration itself. True: its condition is still to be computed.
    bool arriveAt(const FrameInfo& frame)
    {
        if (frame.graph == m_beginsIn && frame.next.index == 0) beginIteration();
        m_hasArrived = true;
        if (m_condition.valid() && m_cond.value(m_condition).role == ValueRole::result) return m_verdict.iteration != frame.iteration;
        if (const Tensor* const formal = m_condition.valid() ? m_target.executor.value(m_depth, formalHere(frame)) : nullptr)
            m_verdict = {shortValue(*formal), frame.iteration};
        return false;
    }

    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        if (!isHere(event)) return false;
        if (event.graph == m_graphs.cond && noteCondition(event)) return m_hasArrived;
        if (m_hasArrived || m_wraps.size() >= kMostWraps || event.graph != m_graphs.body) return false;
        const Graph& body = m_target.model.graph(m_graphs.body);
        const Operator& op = body.op(event.op);
        if (op.inputs.size() != 2) return false;
        const Tensor* const a = m_target.executor.value(m_depth, op.inputs[0]);
        const Tensor* const b = m_target.executor.value(m_depth, op.inputs[1]);
        if (!a || !b || event.results.empty() || !event.results[0] || !event.results[0]->data) return false;
        const Tensor& result = *event.results[0];
        const int64_t count = std::min(result.elementCount(), kCheckedElements);
        for (int64_t i = 0; i < count; ++i)
            if (checkElement(op, *a, *b, result, i)) break;
        return false;
    }

private:
    bool isHere(const OperatorEvent& event) const
    {
        const Executor& executor = m_target.executor;
        return frameCount(executor, event.step) == m_depth + 1 && executor.frame(m_depth - 1).invocation == m_caller &&
               executor.frame(m_depth).site == m_site;
    }

    void trapWriter(ValueId value)
    {
        if (value.valid() && m_cond.value(value).role == ValueRole::result)
            m_traps.add(m_graphs.cond, m_cond.value(value).producer, trapAfter);
    }

    /// The formal of the graph that runs which stands for the formal that the condition gives back.
    ValueId formalHere(const FrameInfo& frame) const
    {
        const auto found = std::ranges::find(m_cond.inputs, m_condition);
        const Graph& graph = m_target.model.graph(frame.graph);
        const auto position = static_cast<size_t>(found - m_cond.inputs.begin());
        return found == m_cond.inputs.end() || position >= graph.inputs.size() ? ValueId() : graph.inputs[position];
    }

    void beginIteration()
    {
        const Executor& executor = m_target.executor;
        const Graph& graph = m_target.model.graph(m_beginsIn);
        for (Track& track : m_tracks)
            if (const Tensor* const tensor = track.isFormal ? executor.value(m_depth, graph.inputs[track.position]) : nullptr)
                track.note(*tensor);
        if (!m_history.isUseful()) return;
        for (const size_t position : m_deciding.positions) {
            const Tensor* const tensor = position < graph.inputs.size() ? executor.value(m_depth, graph.inputs[position]) : nullptr;
            if (!tensor) m_history.giveUp();
            else m_history.add(*tensor);
        }
        m_history.note(executor.frame(m_depth).iteration);
    }

    /// Values that the condition computes. True: that was the last of them, the condition itself.
    bool noteCondition(const OperatorEvent& event)
    {
        const auto resultOf = [&](ValueId id) -> const Tensor* {
            const Value& value = m_cond.value(id);
            const auto slot = static_cast<size_t>(value.slot);
            if (value.role != ValueRole::result || value.producer != event.op || slot >= event.results.size()) return nullptr;
            return event.results[slot] && event.results[slot]->data ? event.results[slot] : nullptr;
        };
        for (Track& track : m_tracks)
            if (const Tensor* const result = track.isFormal ? nullptr : resultOf(track.value)) track.note(*result);
        const Tensor* const condition = resultOf(m_condition);
        if (condition) m_verdict = {shortValue(*condition), m_target.executor.frame(m_depth).iteration};
        return condition != nullptr;
    }

    bool checkElement(const Operator& op, const Tensor& a, const Tensor& b, const Tensor& result, int64_t i)
    {
        const int64_t x = elementAsInteger(a, a.elementCount() == 1 ? 0 : i), y = elementAsInteger(b, b.elementCount() == 1 ? 0 : i);
        if ((a.elementCount() != 1 && a.shape != result.shape) || (b.elementCount() != 1 && b.shape != result.shape)) return true;
        const char sign = op.kind.name == "add" ? '+' : op.kind.name == "sub" ? '-' : '*';
        int64_t exact = 0;
        const bool overflows = sign == '+'   ? __builtin_add_overflow(x, y, &exact)
                               : sign == '-' ? __builtin_sub_overflow(x, y, &exact)
                                             : __builtin_mul_overflow(x, y, &exact);
        const int64_t got = elementAsInteger(result, i);
        if (!overflows && exact == got) return false;
        if (!overflows && exact >= integerMin(result.dtype) && exact <= static_cast<int64_t>(integerMax(result.dtype))) return false;
        std::string name = m_target.model.graph(m_graphs.body).value(op.results[0]).id;
        const Graph& body = m_target.model.graph(m_graphs.body);
        for (size_t p = 0; p < body.outputs.size() && p < body.inputs.size(); ++p)
            if (body.outputs[p].value == op.results[0]) name = body.value(body.inputs[p]).id;
        for (const Wrap& wrap : m_wraps)
            if (wrap.value == name) return true;
        m_wraps.push_back({name, m_target.executor.frame(m_depth).iteration,
                           std::to_string(x) + " " + sign + " " + std::to_string(y) + " -> " + std::to_string(got)});
        return true;
    }

    const DebugTarget& m_target;
    const int64_t m_now;
    const int m_depth;
    const InvocationId m_caller;
    const OperatorId m_site;
    const LoopGraphs m_graphs;
    const Graph& m_cond;
    const DecidingValues m_deciding;
    std::vector<Track>& m_tracks;
    GraphId m_beginsIn;
    ValueId m_condition;
    TrapSet m_traps;
    std::vector<Wrap> m_wraps;
    Verdict m_verdict;
    bool m_hasArrived = false;
    StateHistory m_history;
};

std::vector<Track> tracksOf(const Graph& cond, const Graph& body, const std::vector<ValueId>& leaves)
{
    std::vector<Track> tracks;
    for (const ValueId leaf : leaves) {
        const auto found = std::ranges::find(cond.inputs, leaf);
        Track track;
        track.value = leaf;
        track.isFormal = found != cond.inputs.end();
        if (track.isFormal) {
            track.position = static_cast<size_t>(found - cond.inputs.begin());
            track.isInvariant = track.position < body.outputs.size() && track.position < body.inputs.size() &&
                                body.outputs[track.position].value == body.inputs[track.position];
        }
        tracks.push_back(std::move(track));
    }
    return tracks;
}

std::vector<std::string> namesOf(const Graph& cond, const std::vector<size_t>& positions)
{
    std::vector<std::string> names;
    for (const size_t position : positions)
        if (position < cond.inputs.size()) names.push_back(cond.value(cond.inputs[position]).id);
    return names;
}

} // namespace

Result<Explanation> explainLoop(const DebugTarget& target, int depth)
{
    const Executor& executor = target.executor;
    const Model& model = target.model;
    const int64_t now = target.timeline.tick();
    const FrameInfo frame = executor.frame(depth);
    const FrameInfo outside = executor.frame(depth - 1);
    const Operator& site = model.graph(outside.graph).op(frame.site);
    const LoopGraphs graphs = graphsOf(site);
    const Graph& cond = model.graph(graphs.cond);
    std::vector<ValueId> leaves;
    const ValueId condition = cond.outputs.empty() ? ValueId() : cond.outputs[0].value;
    const std::string text = expressionText(model, cond, condition, leaves);
    std::vector<Track> tracks = tracksOf(cond, model.graph(graphs.body), leaves);
    for (Track& track : tracks)
        if (const Tensor* const tensor = track.isFormal ? executor.value(depth, model.graph(frame.graph).inputs[track.position]) : nullptr)
            track.now = shortValue(*tensor);

    LoopWatch watch(target, depth, site, tracks);
    LS_TRY(const int64_t entry, findEntry(target, depth - 1, outside.invocation, frame.site, now));
    LS_CHECK_OK(scan(target, entry, now, watch.traps(), watch));
    LS_CHECK_OK(target.timeline.goTo(now, target.control));
    if (watch.arriveAt(executor.frame(depth))) {
        Status ahead = scan(target, now, std::numeric_limits<int64_t>::max(), watch.traps(), watch); // to the end of the condition
        if (!ahead.ok() && ahead.detail().code == ErrorCode::cancelled) return std::move(ahead).takeError();
    }

    Explanation answer;
    answer.lines.push_back(operatorLabel(site, frame.site.index) + " goes on while " +
                           conditionText(text, watch.verdict(), frame.iteration));
    addLeafLines(answer, cond, tracks);
    const bool isFixed = watch.deciding().isPure && watch.deciding().positions.empty();
    const bool isTrue = watch.verdict().iteration != frame.iteration || watch.verdict().text != "false";
    if (watch.history().isFound()) {
        answer.lines.push_back(repetitionText(watch.history(), namesOf(cond, watch.deciding().positions), watch.deciding().isAll));
    } else if (isFixed && isTrue) {
        answer.lines.emplace_back("None of this changes: the loop cannot end.");
    } else if (const std::string says = comparisonVerdict(cond, condition, tracks, frame.iteration); !says.empty() && isTrue) {
        answer.lines.push_back(says);
    }
    for (const Wrap& wrap : watch.wraps())
        answer.lines.push_back("also: " + wrap.value + " wrapped first at @" + std::to_string(wrap.iteration) + " (" + wrap.text + ")");
    return answer;
}

Result<Explanation> explainLoopEnd(const DebugTarget& target, const CallPath& outside, OperatorId site)
{
    const Model& model = target.model;
    const Operator& op = model.graph(outside.graph()).op(site);
    const Graph& cond = model.graph(graphsOf(op).cond);
    WriteQuery query;
    query.path = outside;
    query.ops = {site};
    LS_TRY(const std::optional<WriteHit> hit, findLast(target, query, target.timeline.tick()));
    const std::string label = operatorLabel(op, site.index);
    if (!hit) return Error(ErrorCode::usage, "the loop has not run to its end yet").at(label);
    LS_CHECK_OK(target.timeline.goTo(hit->after - 1, target.control));
    const Executor& executor = target.executor;
    const int depth = outside.depth() + 1;
    Explanation answer;
    if (executor.position().depth <= depth || !executor.frame(depth).inCond) {
        answer.lines.push_back(label + " ended");
        return answer;
    }
    std::vector<ValueId> leaves;
    const std::string text = expressionText(model, cond, cond.outputs[0].value, leaves);
    const int64_t trips = executor.frame(depth).iteration;
    answer.lines.push_back(label + " ended after " + groupThousands(trips) + (trips == 1 ? " iteration" : " iterations") + ": " + text +
                           " was false");
    for (const ValueId leaf : leaves)
        if (const Tensor* const tensor = executor.value(depth, leaf))
            answer.lines.push_back("  " + cond.value(leaf).id + "  " + shortValue(*tensor));
    return answer;
}

} // namespace loopscope
