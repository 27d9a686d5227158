#include "engine/debug/history/forward_iteration.h"

#include "engine/ir/frames.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace loopscope {

namespace {

bool isIteration(const FrameInfo& frame) { return (frame.role == CallRole::loop || frame.role == CallRole::frame) && frame.iteration >= 0; }

bool isOneOf(const Operator& op, std::initializer_list<std::string_view> names)
{
    return op.kind.dialect == "tf" && std::ranges::find(names, op.kind.name) != names.end();
}

/// Operators that take elements, as far as they count for iterations of one loop: not those of loops inside it.
class Takers {
public:
    explicit Takers(const Model& model) : m_model(model) {}

    void addFrame(GraphId graphId, OperatorId enter)
    {
        const Graph& graph = m_model.graph(graphId);
        const FrameAnalysis frames = analyzeFrames(graph);
        for (const auto& frame : frames.frames) {
            if (std::ranges::find(frame.enters, enter) == frame.enters.end()) continue;
            for (const OperatorId op : frame.nodes) add(graphId, op);
        }
    }
    void addGraph(GraphId graph)
    {
        if (!m_model.hasGraph(graph) || !m_seen.insert(graph).second) return;
        for (size_t o = 0; o < m_model.graph(graph).operators.size(); ++o) add(graph, OperatorId(static_cast<int64_t>(o)));
    }
    /// Those that pop; if there are none, those that read.
    bool pops() const { return !m_pops.empty(); }
    TrapSet traps() const
    {
        TrapSet traps;
        for (const auto& [graph, op] : m_pops.empty() ? m_reads : m_pops) traps.add(graph, op, trapAfter);
        return traps;
    }

private:
    void add(GraphId graph, OperatorId id)
    {
        const Operator& op = m_model.graph(graph).op(id);
        if (isOneOf(op, {"StackPopV2", "StackPop", "TensorListPopBack"})) m_pops.emplace_back(graph, id);
        if (isOneOf(op, {"TensorArrayReadV3", "TensorListGetItem"})) m_reads.emplace_back(graph, id);
        const CallForm form = callForm(op);
        if (form.kind == CallKind::loop) return;
        for (const Callee& callee : form.callees) addGraph(callee.graph);
    }

    const Model& m_model;
    std::set<GraphId> m_seen;
    std::vector<std::pair<GraphId, OperatorId>> m_pops, m_reads;
};

/// Waits until the iteration at `depth` has taken something, or another one of its loop does.
class TakeListener final : public TrapHandler {
public:
    TakeListener(const Executor& executor, int depth)
        : m_executor(executor),
          m_depth(depth),
          m_site(executor.frame(depth).site),
          m_invocation(executor.frame(depth).invocation)
    {
    }
    const TakenFrom& taken() const { return m_taken; }
    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent&, Tick) override
    {
        if (m_executor.position().depth <= m_depth) return false;
        const FrameInfo frame = m_executor.frame(m_depth);
        if (frame.invocation != m_invocation) return frame.site == m_site;
        m_taken = frame.taken;
        return m_taken.tick >= 0;
    }

private:
    const Executor& m_executor;
    int m_depth;
    OperatorId m_site;
    InvocationId m_invocation;
    TakenFrom m_taken;
};

Result<TakenFrom> takenBy(const DebugTarget& target, int depth)
{
    const Executor& executor = target.executor;
    const FrameInfo frame = executor.frame(depth);
    if (frame.taken.popped) return frame.taken;
    Takers takers(target.model);
    if (frame.role == CallRole::frame) {
        takers.addFrame(frame.graph, frame.site);
    } else {
        for (const Callee& callee : callForm(target.model.graph(executor.frame(depth - 1).graph).op(frame.site)).callees)
            takers.addGraph(callee.graph);
    }
    const TrapSet traps = takers.traps();
    if (traps.empty() || (frame.taken.tick >= 0 && !takers.pops())) return frame.taken;
    TakeListener listener(executor, depth);
    const Result<bool> stopped = target.timeline.run(std::numeric_limits<int64_t>::max(), traps, listener, target.control);
    if (!stopped.ok() && stopped.error().code() == ErrorCode::cancelled) return stopped.error().copy();
    return listener.taken().tick >= 0 ? listener.taken() : frame.taken; // a run that fails takes nothing more
}

/// "main/while#0:body" of "main/while#0@37:body/…": which loop an iteration is one of.
std::vector<std::pair<GraphId, OperatorId>> loopOf(const Executor& executor, int depth)
{
    std::vector<std::pair<GraphId, OperatorId>> path;
    for (int d = 1; d <= depth; ++d) path.emplace_back(executor.frame(d - 1).graph, executor.frame(d).site);
    return path;
}

Result<std::optional<ForwardIteration>> find(const DebugTarget& target, int depth)
{
    const int64_t here = target.timeline.tick();
    const Executor& executor = target.executor;
    for (; depth > 0; --depth) {
        if (!isIteration(executor.frame(depth))) continue;
        const auto loop = loopOf(executor, depth);
        LS_TRY(const TakenFrom taken, takenBy(target, depth));
        if (taken.tick < 0) {
            LS_CHECK_OK(target.timeline.goTo(here, target.control));
            continue;
        }
        LS_CHECK_OK(target.timeline.goTo(taken.tick, target.control));
        int at = executor.position().depth - 1;
        ForwardIteration found;
        const FrameInfo innermost = executor.frame(at);
        if (innermost.next.valid()) found.site = target.model.graph(innermost.graph).op(innermost.next).name;
        while (at > 0 && !isIteration(executor.frame(at))) --at;
        if (at > 0 && loopOf(executor, at) != loop) {
            found.depth = depth;
            found.address = toString(frameAddress(executor, at));
            found.iteration = executor.frame(at).iteration;
            found.tick = taken.tick;
            found.step = executor.position().step;
            found.popped = taken.popped;
            return std::optional(std::move(found));
        }
        LS_CHECK_OK(target.timeline.goTo(here, target.control)); // a loop that takes what it has put there itself
    }
    return std::optional<ForwardIteration>();
}

} // namespace

Result<std::optional<ForwardIteration>> findForwardIteration(const DebugTarget& target, FrameContext frame)
{
    const int depth = frame.depth < 0 ? target.executor.position().depth - 1 : frame.depth;
    if (depth <= 0) return std::optional<ForwardIteration>();
    Excursion excursion(target);
    Result<std::optional<ForwardIteration>> answer = find(target, depth);
    LS_CHECK_OK(excursion.comeBack());
    return answer;
}

} // namespace loopscope
