// Moving through a run, forwards and backwards: to the next breakpoint, by operators, out of calls, by iterations, and to places.
// docs/debugging.md describes what each request means.
#pragma once

#include "engine/debug/breakpoints/breakpoint_set.h"
#include "engine/debug/control/goals.h"
#include "engine/debug/control/run_search.h"
#include "engine/debug/place.h"
#include "engine/debug/stop.h"
#include "engine/debug/target.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

struct RunSurvey;

enum class Direction : uint8_t { forward, backward };

/// A bookmark or a note of the user. Those of the first timeline stay when the run is started again.
struct Mark {
    std::string name; ///< empty: a note
    std::string text;
    TimelineId timeline = 1;
    Tick tick = 0;
    std::string address;
    Step step = 0;
};

/// All requests end with a report of the stop, also when the run fails, is cancelled or meets its budget: these are reasons to stop.
/// Errors are of the request itself (a place that does not exist, no run started); nothing has moved then. Not thread-safe.
class RunControl {
public:
    RunControl(DebugTarget target, BreakpointSet& breakpoints);

    /// Begins a run and stops before the first operator. Errors: of Timeline::start().
    Result<StopReport> start();
    /// Begins a run and goes on to the first stop.
    Result<StopReport> run();
    bool isStarted() const { return m_started; }
    /// Nothing is known of the run any more: a new one has to be started.
    void abandon() { m_started = false; }

    /// To the next hit, ignoring `ignore` of them, or to the end (backwards: the start) of the run.
    Result<StopReport> resume(Direction direction, int64_t ignore = 0);
    /// `count` operators, into calls.
    Result<StopReport> step(Direction direction, int64_t count = 1);
    /// `count` operators of this invocation, over calls; in its caller where the invocation ends.
    Result<StopReport> next(Direction direction, int64_t count = 1);
    /// Forward: to the return of the invocation at `depth` (−1: innermost; of a loop's body: its exit, of its cond: what that decided).
    /// Backward: before its call.
    Result<StopReport> finish(Direction direction, int depth = -1);
    /// Past the end of the innermost loop, or of this invocation where there is no loop.
    Result<StopReport> until();
    /// To the next operator that the pattern matches (short forms allowed), without counting as a breakpoint.
    Result<StopReport> advance(std::string_view pattern, FrameContext frame, Direction direction = Direction::forward);

    /// Another iteration of the innermost loop (of `frame`), at the same operator; at its cond where that iteration has no such operator.
    Result<StopReport> iterate(int64_t iteration, FrameContext frame);
    Result<StopReport> iterateBy(int64_t offset, FrameContext frame);
    Result<StopReport> iterateLast(FrameContext frame);

    /// Before the operator (or at the first operator of the invocation) that the place names, wherever it lies in the present timeline.
    /// Errors: usage where the run does not get there ("the loop ran 111 iterations (0 to 110)").
    Result<StopReport> goTo(const ResolvedAddress& place);
    Result<StopReport> goToStep(Step step);
    Result<StopReport> goToTick(Tick tick);
    Result<StopReport> goToStart();
    Result<StopReport> goToEnd();
    /// Of the steps of the whole run, which is run to its end once if that is not known. 0 to 100.
    Result<StopReport> goToPercent(double percent);
    /// The history of jumps.
    Result<StopReport> back();
    Result<StopReport> forward();

    /// The tick of the first stop at which the place is next, without going there. none: the run does not get there.
    Result<std::optional<Tick>> tickOf(const ResolvedAddress& place);
    /// Trips of the loop that the frame at `depth` is an iteration of, if that execution of the loop was seen to its end.
    std::optional<int64_t> knownTrips(int depth) const;
    /// Last tick of the run on this timeline, if it was reached once.
    std::optional<Tick> knownEnd() const;
    /// Operators that the whole run completes, if its end was reached once on this timeline.
    std::optional<Step> knownSteps() const;
    /// Executions of loops that were seen to their end on this timeline, in order of addresses; of very many only the first.
    std::vector<LoopRun> loopRuns() const { return m_search.trips().list(m_target.timeline); }
    /// Takes over the loops that a survey of this run heard to their end, jumps having passed them by. True: there were new ones.
    bool noteTrips(const RunSurvey& survey);

    /// Replaces a value at this stop; docs/time_travel.md. The report's timeline is the new one.
    Result<StopReport> edit(int depth, ValueId value, const Tensor& tensor);
    Result<StopReport> switchTo(TimelineId timeline);

    Status mark(std::string name);
    void note(std::string text);
    /// A mark or note of an earlier session: its place is where the same inputs led then. Replaces a mark of its name.
    void keepMark(Mark mark);
    const std::vector<Mark>& marks() const { return m_marks; }
    Result<StopReport> goToMark(std::string_view name);

    /// The report of where it stands, without reasons.
    StopReport here() const;

private:
    /// A stop that history goes back to.
    struct Visit {
        TimelineId timeline;
        Tick tick = 0;
        bool operator==(const Visit&) const = default;
    };

    // run_control.cpp
    Status checkStarted() const;
    Result<bool> runArmed(Tick target, Goal* goal, Tick after);
    Result<StopReport> stopped(Tick from, Status status, std::optional<StopCause> goal);
    Result<StopReport> forwardTo(Tick target, Goal* goal, StopCause met);
    Result<StopReport> stepForward(int64_t count);
    Result<StopReport> untilReturn(Tick from, GraphId graph, OperatorId op, InvocationId invocation, StopCause met);
    void noteWritten(StopReport& report, const Position& before) const;
    int depthOf(int depth) const;

    // reverse.cpp
    Result<StopReport> resumeBackward(int64_t ignore);
    Result<StopReport> stepBackward(int64_t count);
    Result<StopReport> nextBackward(int64_t count);
    Result<StopReport> finishBackward(int depth);
    Result<std::vector<BreakpointHit>> lastHits(Tick low, Tick high);
    Result<StopReport> backTo(Tick target, StopCause reached);
    Result<StopReport> backToHit(Tick from, const std::vector<BreakpointHit>& hits, Tick otherwise, StopCause reached);

    // places.cpp
    Result<StopReport> jump(const std::function<Status()>& travel);
    Result<StopReport> goToIteration(const ResolvedAddress& place, size_t loopStep);
    Result<ResolvedAddress> placeInLoop(FrameContext frame, size_t& loopStep) const;
    Status goToVisit(const Visit& visit);
    void addMark(std::string name, std::string text);
    Result<StopReport> revisit(std::vector<Visit>& from, std::vector<Visit>& to, const char* none);
    Visit visit() const;

    DebugTarget m_target;
    RunSearch m_search;
    BreakpointSet& m_breakpoints;
    bool m_started = false;
    struct End {
        Tick tick;
        Step step;
    };
    std::map<TimelineId, End> m_ends; ///< timeline → its last stop
    std::vector<Mark> m_marks;
    std::vector<Visit> m_past, m_future;
};

} // namespace loopscope
