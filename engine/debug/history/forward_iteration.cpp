#include "engine/debug/history/forward_iteration.h"

#include "engine/debug/excursion.h"
#include "engine/debug/inspect/call_path.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/exec/taken_from.h"
#include "engine/ir/frames.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <cstdlib>
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
    TrapSet allTraps() const
    {
        TrapSet traps;
        for (const auto* const ops : {&m_pops, &m_reads})
            for (const auto& [graph, op] : *ops) traps.add(graph, op, trapBefore | trapAfter);
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

using Loop = std::vector<std::pair<GraphId, OperatorId>>;

/// "main/while#0:body" of "main/while#0@37:body/…": which loop an iteration is one of.
Loop loopOf(const Executor& executor, int depth)
{
    Loop path;
    for (int d = 1; d <= depth; ++d) path.emplace_back(executor.frame(d - 1).graph, executor.frame(d).site);
    return path;
}

/// What the innermost iteration of another loop than `loop` does where the run stands now; none: it stands in no such loop.
std::optional<ForwardIteration> iterationHere(const DebugTarget& target, int depth, const Loop& loop, bool popped)
{
    const Executor& executor = target.executor;
    int at = executor.position().depth - 1;
    const FrameInfo innermost = executor.frame(at);
    while (at > 0 && !isIteration(executor.frame(at))) --at;
    if (at <= 0 || loopOf(executor, at) == loop) return std::nullopt;
    ForwardIteration found;
    if (innermost.next.valid()) found.site = target.model.graph(innermost.graph).op(innermost.next).name;
    found.depth = depth;
    found.address = toString(frameAddress(executor, at));
    found.iteration = executor.frame(at).iteration;
    found.tick = target.timeline.tick();
    found.step = executor.position().step;
    found.popped = popped;
    return found;
}

/// An element that is taken while the run goes on.
struct Taking {
    int64_t put = 0;  ///< the stop before it was put there
    int64_t take = 0; ///< the stop before it is taken
    bool popped = false;
};

/// Keeps those takings whose elements were put nearest to a stop.
class NearestTakings final : public TrapHandler {
public:
    NearestTakings(const Executor& executor, int64_t here) : m_executor(executor), m_here(here) {}
    std::vector<Taking> takings() const { return m_takings; }
    bool beforeOperator(const OperatorEvent&, Tick tick) override
    {
        m_before = tick.number;
        return false;
    }
    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        FrameInfo frame = m_executor.frame(-1);
        for (int depth = frameCount(m_executor, event.step) - 2; depth > 0 && !isIteration(frame); --depth) frame = m_executor.frame(depth);
        if (isIteration(frame) && frame.taken.tick >= 0) note({frame.taken.tick.number, m_before, frame.taken.popped});
        return false;
    }

private:
    static constexpr size_t kMost = 16;

    void note(const Taking& taking)
    {
        if (std::ranges::any_of(m_takings, [&](const Taking& known) { return known.put == taking.put; })) return;
        const auto distance = [&](const Taking& one) { return std::abs(one.put - m_here); };
        m_takings.insert(std::ranges::upper_bound(m_takings, distance(taking), {}, distance), taking);
        if (m_takings.size() > kMost) m_takings.pop_back();
    }

    const Executor& m_executor;
    const int64_t m_here;
    int64_t m_before = 0;
    std::vector<Taking> m_takings; ///< the nearest first
};

/// Of a taking the iteration that takes, if the iteration `frame` at `depth` put there what it takes.
Result<std::optional<ForwardIteration>> takerOf(const DebugTarget& target, const Taking& taking, int depth, const FrameInfo& frame,
                                                const Loop& loop)
{
    const Executor& executor = target.executor;
    LS_CHECK_OK(target.timeline.goTo(taking.put, target.control));
    if (executor.position().depth <= depth || loopOf(executor, depth) != loop) return std::optional<ForwardIteration>();
    const FrameInfo then = executor.frame(depth);
    if (then.iteration != frame.iteration || then.invocation != frame.invocation) return std::optional<ForwardIteration>();
    LS_CHECK_OK(target.timeline.goTo(taking.take, target.control));
    return iterationHere(target, depth, loop, taking.popped);
}

Result<std::optional<ForwardIteration>> findTaker(const DebugTarget& target, int depth)
{
    const Executor& executor = target.executor;
    const int64_t here = target.timeline.tick();
    Takers takers(target.model);
    for (size_t g = 0; g < target.model.graphs.size(); ++g) takers.addGraph(GraphId(static_cast<int64_t>(g)));
    TrapSet traps = takers.allTraps();
    if (traps.empty()) return std::optional<ForwardIteration>();
    struct Level {
        int depth;
        FrameInfo frame;
        Loop loop;
    };
    std::vector<Level> levels; // innermost first
    for (; depth > 0; --depth)
        if (const FrameInfo frame = executor.frame(depth); isIteration(frame)) levels.push_back({depth, frame, loopOf(executor, depth)});
    NearestTakings nearest(executor, here);
    const Result<bool> ran = target.timeline.run(std::numeric_limits<int64_t>::max(), traps, nearest, target.control);
    if (!ran.ok() && ran.error().code() == ErrorCode::cancelled) return ran.error().copy();
    for (const Level& level : levels)
        for (const Taking& taking : nearest.takings()) {
            LS_TRY(std::optional<ForwardIteration> found, takerOf(target, taking, level.depth, level.frame, level.loop));
            if (found) return found;
        }
    return std::optional<ForwardIteration>();
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
        if (std::optional<ForwardIteration> found = iterationHere(target, depth, loop, taken.popped)) return found;
        LS_CHECK_OK(target.timeline.goTo(here, target.control)); // a loop that takes what it has put there itself
    }
    return std::optional<ForwardIteration>();
}

template <typename Search> Result<std::optional<ForwardIteration>> partner(const DebugTarget& target, FrameContext frame, Search search)
{
    const int depth = frame.depth < 0 ? target.executor.position().depth - 1 : frame.depth;
    if (depth <= 0) return std::optional<ForwardIteration>();
    Excursion excursion(target);
    Result<std::optional<ForwardIteration>> answer = search(target, depth);
    LS_CHECK_OK(excursion.comeBack());
    return answer;
}

} // namespace

Result<std::optional<ForwardIteration>> findForwardIteration(const DebugTarget& target, FrameContext frame)
{
    return partner(target, frame, find);
}

Result<std::optional<ForwardIteration>> findBackwardIteration(const DebugTarget& target, FrameContext frame)
{
    return partner(target, frame, findTaker);
}

} // namespace loopscope
