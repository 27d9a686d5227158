// Requests forward, and what is reported of the stop at which they end.
#include "engine/debug/control/run_control.h"

#include "engine/base/text.h"
#include "engine/debug/inspect/run_survey.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"

#include <algorithm>
#include <limits>

namespace loopscope {

namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

} // namespace

RunControl::RunControl(DebugTarget target, BreakpointSet& breakpoints) : m_target(target), m_search(target), m_breakpoints(breakpoints) {}

Status RunControl::checkStarted() const { return m_started ? Status() : Status(Error(ErrorCode::usage, "no run was started")); }

int RunControl::depthOf(int depth) const { return depth < 0 ? m_target.executor.position().depth - 1 : depth; }

/// Goes on to a tick with breakpoints and a goal. Breakpoints do not hit at stops up to `after`.
Result<bool> RunControl::runArmed(Tick target, Goal* goal, Tick after)
{
    const TrapSet traps = m_breakpoints.traps();
    return m_search.run(target, traps, &m_breakpoints.handler(BreakpointSet::Mode::stop, after), goal);
}

StopReport RunControl::here() const
{
    StopReport report;
    report.position = m_target.executor.position();
    if (report.position.started) report.address = m_target.executor.positionAddress();
    report.tick = m_target.timeline.tick();
    report.timeline = m_target.timeline.current();
    report.ranFrom = report.tick;
    return report;
}

/// The report of a request that ended with `status`. `goal`: what it was to reach, and did. Errors: a request that was refused.
Result<StopReport> RunControl::stopped(Tick from, Status status, std::optional<StopCause> goal)
{
    if (!status.ok() && status.detail().code == ErrorCode::usage) return std::move(status).takeError();
    StopReport report = here();
    report.ranFrom = from;
    report.reasons = m_breakpoints.takeReasons();
    report.logs = m_breakpoints.takeLogs();
    m_breakpoints.dropTemporary(report.reasons);
    if (goal && status.ok()) report.reasons.push_back({*goal, 0, "", ""});
    if (!status.ok()) {
        StopReason reason;
        const int64_t budget = m_target.executor.maxSteps();
        if (status.detail().code == ErrorCode::cancelled) {
            reason.cause = StopCause::cancelled;
            if (m_target.control.cancel) m_target.control.cancel->clear();
        } else if (report.position.step >= budget) {
            reason.cause = StopCause::budget;
            reason.text = groupThousands(budget) + " steps";
        } else {
            reason.cause = StopCause::error;
            reason.text = std::move(status).takeError().message();
        }
        report.reasons.push_back(std::move(reason));
    }
    if (report.position.finished) {
        m_ends[m_target.timeline.current()] = {report.tick, report.position.step};
        if (!report.has(StopCause::finished)) report.reasons.push_back({StopCause::finished, 0, "", ""});
    }
    return report;
}

Result<StopReport> RunControl::start()
{
    m_started = false;
    LS_CHECK_OK(m_target.timeline.start());
    m_started = true;
    m_search.trips().clear();
    m_ends.clear();
    std::erase_if(m_marks, [](const Mark& mark) { return mark.timeline != 1; }); // the timelines that edits made are gone
    m_past.clear();
    m_future.clear();
    m_breakpoints.moved(0);
    return stopped(0, {}, StopCause::stepDone);
}

Result<StopReport> RunControl::run()
{
    LS_TRY(StopReport report, start());
    if (report.position.finished) return report;
    Result<bool> trapped = runArmed(kEnd, nullptr, -1);
    return stopped(0, trapped.ok() ? Status() : Status(std::move(trapped).takeError()), std::nullopt);
}

Result<StopReport> RunControl::resume(Direction direction, int64_t ignore)
{
    LS_CHECK_OK(checkStarted());
    if (direction == Direction::backward) return resumeBackward(ignore);
    if (m_target.timeline.finished()) return Error(ErrorCode::usage, "the run is at its end");
    const Tick from = m_target.timeline.tick();
    for (;; --ignore) {
        Result<bool> trapped = runArmed(kEnd, nullptr, m_target.timeline.tick());
        if (!trapped.ok()) return stopped(from, std::move(trapped).takeError(), std::nullopt);
        if (!*trapped || ignore <= 0 || m_target.timeline.finished()) return stopped(from, {}, std::nullopt);
        static_cast<void>(m_breakpoints.takeReasons());
    }
}

/// Runs on until a goal is met (reason `met`) or the tick is reached (the same reason if there is no goal).
Result<StopReport> RunControl::forwardTo(Tick target, Goal* goal, StopCause met)
{
    const Tick from = m_target.timeline.tick();
    Result<bool> trapped = runArmed(target, goal, from);
    if (!trapped.ok()) return stopped(from, std::move(trapped).takeError(), std::nullopt);
    const bool done = goal ? goal->isMet() : m_target.timeline.tick() == target;
    return stopped(from, {}, done ? std::optional(met) : std::nullopt);
}

Result<StopReport> RunControl::step(Direction direction, int64_t count)
{
    LS_CHECK_OK(checkStarted());
    if (count < 1) return Error(ErrorCode::usage, "a number of steps").found(std::to_string(count)).expected("1 or more");
    return direction == Direction::forward ? stepForward(count) : stepBackward(count);
}

Result<StopReport> RunControl::stepForward(int64_t count)
{
    Timeline& timeline = m_target.timeline;
    if (timeline.finished()) return Error(ErrorCode::usage, "the run is at its end");
    const Position before = timeline.position();
    const Tick from = timeline.tick();
    const int64_t target = count > kEnd - from ? kEnd : from + count;
    Result<StopReport> report = StopReport();
    if (!m_breakpoints.traps().empty()) {
        report = forwardTo(target, nullptr, StopCause::stepDone);
    } else {
        Status status = count == 1 ? timeline.forward() : timeline.goTo(target, m_target.control);
        m_breakpoints.moved(timeline.tick());
        const bool done = timeline.tick() == target;
        report = stopped(from, std::move(status), done ? std::optional(StopCause::stepDone) : std::nullopt);
    }
    if (report.ok() && count == 1) noteWritten(*report, before);
    return report;
}

/// What a single step wrote, or the call that was passed over, if that stayed in its invocation.
void RunControl::noteWritten(StopReport& report, const Position& before) const
{
    const Position& now = report.position;
    if (now.step <= before.step || now.invocation != before.invocation || now.depth != before.depth) return;
    if (now.graph != before.graph) return;
    for (const ValueId value : m_target.model.graph(before.graph).op(before.op).results) report.written.push_back({now.depth - 1, value});
}

Result<StopReport> RunControl::next(Direction direction, int64_t count)
{
    LS_CHECK_OK(checkStarted());
    if (count < 1) return Error(ErrorCode::usage, "a number of operators").found(std::to_string(count)).expected("1 or more");
    if (direction == Direction::backward) return nextBackward(count);
    const Tick from = m_target.timeline.tick();
    Result<StopReport> report = StopReport();
    while (count-- > 0) {
        const Position before = m_target.timeline.position();
        report = stepForward(1);
        if (!report.ok()) return report;
        const Position& now = report->position;
        if (now.depth > before.depth && report->reasons == std::vector<StopReason>{{StopCause::stepDone, 0, "", ""}}) {
            const FrameInfo callee = m_target.executor.frame(before.depth);
            if (callee.site == before.op && callee.role != CallRole::frame) {
                report = untilReturn(from, before.graph, before.op, before.invocation, StopCause::stepDone);
                if (!report.ok()) return report;
                noteWritten(*report, before);
            }
        }
        report->ranFrom = from;
        if (!report->has(StopCause::stepDone) || report->reasons.size() > 1) break;
    }
    return report;
}

Result<StopReport> RunControl::untilReturn(Tick from, GraphId graph, OperatorId op, InvocationId invocation, StopCause met)
{
    ReturnGoal goal(graph, op, invocation);
    Result<StopReport> report = forwardTo(kEnd, &goal, met);
    if (report.ok()) report->ranFrom = from;
    return report;
}

Result<StopReport> RunControl::finish(Direction direction, int depth)
{
    LS_CHECK_OK(checkStarted());
    const int frame = depthOf(depth);
    if (frame < 0 || frame >= m_target.executor.position().depth)
        return Error(ErrorCode::usage, "no frame " + std::to_string(frame))
            .expected("0 to " + std::to_string(m_target.executor.position().depth - 1));
    if (direction == Direction::backward) return finishBackward(frame);
    if (m_target.timeline.finished()) return Error(ErrorCode::usage, "the run is at its end");
    const Tick from = m_target.timeline.tick();
    const FrameInfo callee = m_target.executor.frame(frame);
    if (frame == 0 || !callee.site.valid()) return forwardTo(kEnd, nullptr, StopCause::returned);
    if (callee.role == CallRole::frame || callee.inCond) {
        OutsideGoal outside(m_target.executor, frame);
        outside.skipUpTo(from);
        return forwardTo(kEnd, &outside, StopCause::returned);
    }
    const FrameInfo caller = m_target.executor.frame(frame - 1);
    return untilReturn(from, caller.graph, callee.site, caller.invocation, StopCause::returned);
}

Result<StopReport> RunControl::until()
{
    LS_CHECK_OK(checkStarted());
    for (int depth = m_target.executor.position().depth - 1; depth > 0; --depth)
        if (const CallRole role = m_target.executor.frame(depth).role; role == CallRole::loop || role == CallRole::frame)
            return finish(Direction::forward, depth);
    return finish(Direction::forward, -1);
}

Result<StopReport> RunControl::edit(int depth, ValueId value, const Tensor& tensor)
{
    LS_CHECK_OK(checkStarted());
    const Tick from = m_target.timeline.tick();
    LS_TRY(const TimelineId line, m_target.timeline.edit(depth, value, tensor));
    static_cast<void>(line);
    m_breakpoints.moved(from);
    return stopped(from, {}, StopCause::edited);
}

Result<StopReport> RunControl::switchTo(TimelineId timeline)
{
    LS_CHECK_OK(checkStarted());
    const int64_t count = std::ssize(m_target.timeline.timelines());
    if (timeline < 1 || timeline > count)
        return Error(ErrorCode::usage, "no timeline " + std::to_string(timeline)).expected("1 to " + std::to_string(count));
    return jump([&] { return m_target.timeline.switchTo(timeline, m_target.control); });
}

std::optional<int64_t> RunControl::knownTrips(int depth) const
{
    const int frame = depthOf(depth);
    if (frame < 1 || frame >= m_target.executor.position().depth) return std::nullopt;
    const FrameInfo callee = m_target.executor.frame(frame);
    const FrameInfo caller = m_target.executor.frame(frame - 1);
    if (callee.role != CallRole::loop) return std::nullopt;
    return m_search.trips().find(m_target.timeline, caller.invocation, caller.graph, callee.site);
}

bool RunControl::noteTrips(const RunSurvey& survey)
{
    bool isNew = false;
    for (const SurveyedLoop& loop : survey.loops) isNew |= m_search.trips().note(survey.timeline, loop);
    return isNew;
}

std::optional<Tick> RunControl::knownEnd() const
{
    const auto found = m_ends.find(m_target.timeline.current());
    return found == m_ends.end() ? std::nullopt : std::optional(found->second.tick);
}

std::optional<Step> RunControl::knownSteps() const
{
    const auto found = m_ends.find(m_target.timeline.current());
    return found == m_ends.end() ? std::nullopt : std::optional(found->second.step);
}

} // namespace loopscope
