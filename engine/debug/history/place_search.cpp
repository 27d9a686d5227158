#include "engine/debug/history/place_search.h"

#include "engine/debug/excursion.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/exec/machine_state.h"

#include <algorithm>

namespace loopscope {

namespace {

PathStep stepOf(const FrameInfo& frame) { return {frame.site, frame.role, frame.branch, frame.iteration}; }

bool matches(const PathStep& wanted, const FrameInfo& frame)
{
    return wanted.site == frame.site && wanted.role == frame.role && wanted.branch == frame.branch &&
           (wanted.iteration < 0 || wanted.iteration == frame.iteration);
}

/// Keeps the writes of one value on a path: the last one, or, to stop at, the first one.
class PathListener final : public TrapHandler {
public:
    PathListener(const DebugTarget& target, const std::vector<PathStep>& path, ValueKeeper& keeper, bool stopAtFirst)
        : m_executor(target.executor),
          m_path(path),
          m_keeper(keeper),
          m_stopAtFirst(stopAtFirst)
    {
    }
    bool beforeOperator(const OperatorEvent& event, Tick) override { return hear(event, false); }
    bool afterOperator(const OperatorEvent& event, Tick) override { return hear(event, true); }
    const KeptWrite* found() const { return m_invocation == 0 ? nullptr : m_keeper.before(m_invocation, 0); }

private:
    bool hear(const OperatorEvent& event, bool isAfter)
    {
        if (!isOnPath(m_executor, m_executor.position().depth, m_path)) return false;
        m_keeper.record(event, isAfter, m_executor);
        m_invocation = event.invocation;
        return m_stopAtFirst;
    }
    const Executor& m_executor;
    const std::vector<PathStep>& m_path;
    ValueKeeper& m_keeper;
    bool m_stopAtFirst;
    InvocationId m_invocation = 0;
};

/// Hears how often a loop ran, in one invocation.
class TripListener final : public TrapHandler {
public:
    explicit TripListener(InvocationId caller) : m_caller(caller) {}
    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        if (event.invocation == m_caller && event.trips >= 0) m_trips = event.trips;
        return false;
    }
    std::optional<int64_t> trips() const { return m_trips; }

private:
    InvocationId m_caller;
    std::optional<int64_t> m_trips;
};

/// The tick at which the frame at `depth` was entered, of a loop its present iteration.
int64_t entryOf(const Executor& executor, int depth) { return executor.frame(depth).enteredAtStep + depth; }

/// Where the path leads to an earlier iteration of a loop that is running, in the frame at `shared`: the last saved state before that.
std::optional<int64_t> beforeIteration(const DebugTarget& target, const std::vector<PathStep>& path, int shared)
{
    const Executor& executor = target.executor;
    if (static_cast<size_t>(shared) >= path.size() || shared + 1 >= executor.position().depth) return std::nullopt;
    const PathStep& step = path[static_cast<size_t>(shared)];
    const FrameInfo loop = executor.frame(shared + 1);
    const InvocationId caller = executor.frame(shared).invocation;
    if (loop.role != CallRole::loop || loop.site != step.site || step.iteration < 0 || step.iteration >= loop.iteration)
        return std::nullopt;
    const int64_t now = executor.position().step;
    return target.timeline.lastSaved([&](const MachineState& state) {
        if (state.step > now) return false;
        const auto depth = static_cast<size_t>(shared) + 1;
        const bool isInLoop =
            state.frames.size() > depth && state.frames[depth - 1].invocation == caller && state.frames[depth].site == step.site;
        return !isInLoop || state.frames[depth].iteration < step.iteration;
    });
}

} // namespace

std::vector<PathStep> pathOf(const Executor& executor, int depth)
{
    std::vector<PathStep> path;
    for (int d = 1; d <= depth; ++d) path.push_back(stepOf(executor.frame(d)));
    return path;
}

bool isOnPath(const Executor& executor, int frames, const std::vector<PathStep>& path)
{
    if (static_cast<size_t>(frames) != path.size() + 1) return false;
    for (size_t d = path.size(); d > 0; --d) // what differs soonest comes first
        if (!matches(path[d - 1], executor.frame(static_cast<int>(d)))) return false;
    return true;
}

Result<std::optional<KeptWrite>> findAtPath(const DebugTarget& target, const std::vector<PathStep>& path, GraphId graph, ValueId value)
{
    // No further back than the invocation that the path and the present stack share.
    const Executor& executor = target.executor;
    const int64_t now = target.timeline.tick();
    int shared = 0;
    const int frames = executor.position().depth;
    while (shared + 1 < frames && static_cast<size_t>(shared) < path.size()) {
        const PathStep& step = path[static_cast<size_t>(shared)];
        const FrameInfo frame = executor.frame(shared + 1);
        if (!matches(step, frame) || (frame.role == CallRole::loop && step.iteration < 0)) break;
        ++shared;
    }
    const int64_t earliest = shared == 0 ? 0 : entryOf(executor, shared);
    const Tick frontier = target.timeline.info().frontier;

    ValueKeeper keeper(target.model, graph, value);
    keeper.require(1, true, false);
    TrapSet traps;
    keeper.addTraps(traps);
    if (traps.empty()) return std::optional<KeptWrite>();
    const auto answer = [](const KeptWrite* kept) {
        std::optional<KeptWrite> result;
        if (kept) {
            result = *kept;
            result->tensor.data = result->bytes.data();
        }
        return result;
    };
    Excursion excursion(target);
    if (const std::optional<int64_t> from = beforeIteration(target, path, shared)) {
        LS_CHECK_OK(excursion.goTo(std::max(earliest, *from)));
        PathListener listener(target, path, keeper, true);
        LS_TRY(const bool stopped, target.timeline.run(now, traps, listener, target.control));
        static_cast<void>(stopped);
        return answer(listener.found());
    }
    int64_t until = now;
    for (int64_t window = 4096; until > earliest; window *= 8) {
        const int64_t from = std::max(earliest, now - window);
        LS_CHECK_OK(excursion.goTo(from));
        PathListener listener(target, path, keeper, false);
        LS_TRY(const bool stopped, target.timeline.run(until, traps, listener, target.control));
        static_cast<void>(stopped);
        if (listener.found()) return answer(listener.found());
        if (from == earliest) break;
        until = from;
    }
    if (frontier <= now) return std::optional<KeptWrite>();
    LS_CHECK_OK(excursion.goTo(now));
    PathListener listener(target, path, keeper, true);
    LS_TRY(const bool stopped, target.timeline.run(frontier, traps, listener, target.control));
    static_cast<void>(stopped);
    return answer(listener.found());
}

Result<std::optional<int64_t>> findTrips(const DebugTarget& target, int depth, OperatorId loop)
{
    const FrameInfo frame = target.executor.frame(depth);
    const int64_t now = target.timeline.tick();
    TrapSet traps;
    traps.add(frame.graph, loop, trapAfter);
    TripListener listener(frame.invocation);
    Excursion excursion(target);
    LS_CHECK_OK(excursion.goTo(entryOf(target.executor, depth)));
    LS_TRY(const bool stopped, target.timeline.run(now, traps, listener, target.control));
    static_cast<void>(stopped);
    return listener.trips();
}

} // namespace loopscope
