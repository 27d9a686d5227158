#include "engine/debug/control/run_search.h"

#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/seeking.h"
#include "engine/observe/address_names.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <limits>

namespace loopscope {

namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

/// Hands what the executor asks to everybody whose trap it is.
class JointHandler final : public TrapHandler {
public:
    /// `loops`: the operators whose trips are counted.
    JointHandler(const DebugTarget& target, TripMemory& trips, const TrapSet& loops, TrapHandler* breakpoints, Goal* goal)
        : m_line(target.timeline.current()),
          m_executor(target.executor),
          m_trips(trips),
          m_loops(loops),
          m_breakpoints(breakpoints),
          m_goal(goal)
    {
    }
    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        bool stop = false;
        if (m_breakpoints) stop |= m_breakpoints->beforeOperator(event, tick); // it knows which operators are its own
        if (m_goal && (m_goal->traps().of(event.graph, event.op) & trapBefore) != 0) stop |= m_goal->beforeOperator(event, tick);
        if (m_breakpoints && !m_goal && m_breakpoints->quiet != quiet && !m_loops.has(event.graph)) quiet = m_breakpoints->quiet;
        return stop;
    }
    bool afterOperator(const OperatorEvent& event, Tick tick) override
    {
        bool stop = false;
        if (event.trips >= 0) m_trips.note(m_line, event, tick, m_executor);
        if (m_breakpoints) stop |= m_breakpoints->afterOperator(event, tick);
        if (m_goal && (m_goal->traps().of(event.graph, event.op) & trapAfter) != 0) stop |= m_goal->afterOperator(event, tick);
        return stop;
    }

private:
    const TimelineId m_line;
    const Executor& m_executor;
    TripMemory& m_trips;
    const TrapSet& m_loops;
    TrapHandler* m_breakpoints;
    Goal* m_goal;
};

} // namespace

RunSearch::RunSearch(DebugTarget target) : m_target(target)
{
    const Model& model = target.model;
    for (size_t g = 0; g < model.graphs.size(); ++g)
        for (size_t o = 0; o < model.graphs[g].operators.size(); ++o)
            if (callForm(model.graphs[g].operators[o]).kind == CallKind::loop)
                m_loopTraps.add(GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(o)), trapAfter);
}

Result<bool> RunSearch::run(Tick target, const TrapSet& traps, TrapHandler* handler, Goal* goal)
{
    TrapSet all = m_loopTraps;
    all.add(traps);
    if (goal) all.add(goal->traps());
    JointHandler joint(m_target, m_trips, m_loopTraps, handler, goal);
    return m_target.timeline.run(target, all, joint, m_target.control);
}

Result<bool> RunSearch::run(Goal& goal) { return run(kEnd, {}, nullptr, &goal); }

Result<RunSearch::Found> RunSearch::find(const ResolvedAddress& place, Error& absence)
{
    Timeline& timeline = m_target.timeline;
    if (m_target.model.graph(place.graph).operators.empty()) {
        absence = Error(ErrorCode::usage, "graph '" + m_target.model.graph(place.graph).id + "' has no operators to stop before");
        return Found::absent;
    }
    if (const Graph& graph = m_target.model.graph(place.graph);
        place.value.valid() && !place.op.valid() && graph.value(place.value).role == ValueRole::absent) {
        absence = Error(ErrorCode::usage, "nothing writes it: what is asked for does not need it").at(toString(place.address));
        return Found::absent;
    }
    PlaceGoal goal(m_target.executor, place);
    if (const auto* const recording = goal.isOrdered() ? dynamic_cast<const Seeking*>(&m_target.executor) : nullptr) {
        LS_CHECK_OK(seek(goal.order(), recording->lastTick()));
        if (orderOf(m_target.executor) == goal.order()) return Found::met;
    } else if (goal.isOrdered()) {
        const std::optional<int64_t> base = timeline.lastSaved([&](const MachineState& state) { return orderOf(state) <= goal.order(); });
        const bool goOn = orderOf(m_target.executor) <= goal.order() && (!base || timeline.tick() >= *base);
        if (!goOn) LS_CHECK_OK(timeline.goTo(base.value_or(0), m_target.control));
        if (orderOf(m_target.executor) == goal.order()) return Found::met;
    } else {
        LS_TRY(const bool found, findUnordered(place));
        absence = goal.absence();
        return found ? Found::met : Found::absent;
    }
    LS_TRY(const bool trapped, run(goal));
    if (trapped && goal.isMet()) return Found::met;
    absence = goal.absence();
    return Found::absent;
}

/// To the last stop of a recording, up to tick `last`, that does not come after a place: any stop is there at once, and stops are in order.
Status RunSearch::seek(const StopOrder& place, Tick last)
{
    Tick low;
    for (Tick high = last; low < high;) {
        const Tick middle = low + (high - low + 1) / 2;
        LS_CHECK_OK(m_target.timeline.goTo(middle, m_target.control));
        if (orderOf(m_target.executor) <= place) low = middle;
        else high = middle - 1;
    }
    return m_target.timeline.goTo(low, m_target.control);
}

/// The same where stops do not come in the order of addresses. Iterations of one loop mostly do, whatever lies between them.
Result<bool> RunSearch::findUnordered(const ResolvedAddress& place)
{
    Timeline& timeline = m_target.timeline;
    const Address here = frameAddress(m_target.executor, -1);
    int64_t ahead = 0;
    for (size_t i = 0; i < here.steps.size() && i < place.address.steps.size() && ahead == 0; ++i) {
        const AddressStep& wanted = place.address.steps[i];
        if (!(wanted.site == here.steps[i].site) || wanted.role != here.steps[i].role) break;
        ahead = wanted.iteration - here.steps[i].iteration;
    }
    if (ahead < 0) {
        PlaceGoal before(m_target.executor, place);
        LS_TRY(const std::optional<int64_t> tick, lastBefore(before, timeline.tick()));
        if (tick) {
            LS_CHECK_OK(timeline.goTo(*tick, m_target.control));
            return true;
        }
    } else if (ahead > 0) {
        PlaceGoal behind(m_target.executor, place);
        LS_TRY(const bool trapped, run(behind));
        if (trapped) return true;
    }
    LS_CHECK_OK(timeline.goTo(0, m_target.control));
    PlaceGoal anywhere(m_target.executor, place);
    return run(anywhere);
}

Result<std::optional<Tick>> RunSearch::lastBefore(Goal& goal, Tick end)
{
    Timeline& timeline = m_target.timeline;
    for (Tick high = end; high >= 0;) {
        const Tick begin = high > 0 ? timeline.checkpointBefore(high - 1) : Tick();
        LS_CHECK_OK(timeline.goTo(begin, m_target.control));
        goal.noteUpTo(high);
        LS_TRY(const bool trapped, timeline.run(std::max(high, Tick(begin + 1)), goal.traps(), goal, m_target.control));
        static_cast<void>(trapped);
        if (goal.noted() || begin == 0) break;
        high = begin;
    }
    return goal.noted();
}

Result<Tick> RunSearch::tickBeforeCall(int depth)
{
    const FrameInfo callee = m_target.executor.frame(depth);
    const FrameInfo caller = m_target.executor.frame(depth - 1);
    if (callee.role == CallRole::frame) {
        OutsideGoal outside(m_target.executor, depth);
        LS_TRY(const std::optional<Tick> tick, lastBefore(outside, m_target.timeline.tick()));
        return tick.value_or(0);
    }
    if (callee.role != CallRole::loop) return Tick(callee.enteredAtStep + depth - 1);
    ResolvedAddress place;
    place.address = frameAddress(m_target.executor, depth - 1);
    place.address.target = TargetKind::op;
    place.address.op = operatorName(m_target.model.graph(caller.graph).op(callee.site), callee.site.index);
    place.graph = caller.graph;
    place.op = callee.site;
    Error absence(ErrorCode::internal, "a frame without its call");
    LS_TRY(const Found found, find(place, absence));
    if (found == Found::absent) return absence;
    return m_target.timeline.tick();
}

Result<int64_t> RunSearch::countTrips(int loop)
{
    const FrameInfo callee = m_target.executor.frame(loop);
    const FrameInfo caller = m_target.executor.frame(loop - 1);
    if (callee.role != CallRole::frame) {
        ReturnGoal exit(caller.graph, callee.site, caller.invocation);
        LS_TRY(const bool left, run(exit));
        static_cast<void>(left);
        return m_trips.find(m_target.timeline, caller.invocation, caller.graph, callee.site).value_or(0);
    }
    OutsideGoal outside(m_target.executor, loop);
    outside.skipUpTo(m_target.timeline.tick());
    LS_TRY(const bool left, run(outside));
    static_cast<void>(left);
    LS_CHECK_OK(m_target.timeline.back(m_target.control));
    return m_target.executor.position().depth > loop ? m_target.executor.frame(loop).iteration + 1 : callee.iteration + 1;
}

} // namespace loopscope
