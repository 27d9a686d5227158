// Going to places: addresses, iterations, steps, marks, and the history of jumps. No iteration is logged anywhere: a place is searched
// among the saved states, whose frames say where they lie, and run to from there.
#include "engine/debug/control/run_control.h"

#include "engine/base/text.h"
#include "engine/debug/excursion.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/observe/address_names.h"

#include <algorithm>
#include <limits>

namespace loopscope {

namespace {

constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();

bool isLoopStep(const AddressStep& step)
{
    return step.role == StepRole::cond || step.role == StepRole::body || step.role == StepRole::frame;
}

/// The patterns that a text stands for: short forms match in all iterations of the loops around the frame.
Result<std::vector<AddressPattern>> typedPatterns(const DebugTarget& target, FrameContext frame, std::string_view text)
{
    Result<TypedPlace> typed = resolveTyped(target, frame, text);
    Result<Address> tail = parseAddressTail(text);
    const bool isCanonical = tail.ok() && !tail->steps.empty() && target.model.findGraph(text.substr(0, text.find('/'))).valid();
    if (!typed.ok() || isCanonical) {
        Result<std::vector<AddressPattern>> patterns = resolvePattern(target.model, text);
        if (patterns.ok() || typed.ok()) return patterns;
        const bool isPattern = text.find('*') != std::string_view::npos || text.find("..") != std::string_view::npos;
        return isPattern ? std::move(patterns).takeError() : std::move(typed).takeError();
    }
    Address address = typed->resolved.address;
    const size_t typedSteps = tail.ok() ? tail->steps.size() : 0;
    for (size_t i = 0; i + typedSteps < address.steps.size(); ++i) address.steps[i].iteration = -1;
    if (typed->resolved.op.valid()) {
        address.target = TargetKind::op;
        address.slot = -1;
    } else if (address.target == TargetKind::value) {
        return Error(ErrorCode::usage, "no operator writes this value").at(std::string(text));
    }
    return std::vector<AddressPattern>{AddressPattern(std::move(address))};
}

} // namespace

/// Travels, and notes in the history where from. Where the travel is refused, nothing has moved.
Result<StopReport> RunControl::jump(const std::function<Status()>& travel)
{
    LS_CHECK_OK(checkStarted());
    const Visit before = visit();
    Status status = travel();
    if (!status.ok() && status.detail().code == ErrorCode::usage) {
        if (!(visit() == before)) LS_CHECK_OK(goToVisit(before));
        return std::move(status).takeError();
    }
    m_breakpoints.moved(m_target.timeline.tick());
    if (!(visit() == before)) {
        m_past.push_back(before);
        m_future.clear();
    }
    const bool done = status.ok();
    return stopped(before.tick, std::move(status), done ? std::optional(StopCause::stepDone) : std::nullopt);
}

RunControl::Visit RunControl::visit() const { return {m_target.timeline.current(), m_target.timeline.tick()}; }

Status RunControl::goToVisit(const Visit& visit)
{
    Timeline& timeline = m_target.timeline;
    if (timeline.current() != visit.timeline) LS_CHECK_OK(timeline.switchTo(visit.timeline, m_target.control));
    return timeline.goTo(visit.tick, m_target.control);
}

Result<StopReport> RunControl::goTo(const ResolvedAddress& place)
{
    return jump([&]() -> Status {
        Error absence(ErrorCode::usage, "");
        LS_TRY(const RunSearch::Found found, m_search.find(place, absence));
        return found == RunSearch::Found::met ? Status() : Status(std::move(absence));
    });
}

Result<StopReport> RunControl::goToStep(Step step)
{
    return jump([&] { return m_target.timeline.goToStep(step, m_target.control); });
}

Result<StopReport> RunControl::goToTick(Tick tick)
{
    return jump([&] { return m_target.timeline.goTo(tick, m_target.control); });
}

Result<StopReport> RunControl::goToStart() { return goToTick(0); }

Result<StopReport> RunControl::goToEnd()
{
    return jump([&]() -> Status {
        if (knownEnd()) return m_target.timeline.goToEnd(m_target.control);
        // Nobody has been there: how often loops run is learned on the way, as by `continue`.
        Goal none;
        LS_CHECK_OK(m_search.run(none));
        return {};
    });
}

Result<StopReport> RunControl::goToPercent(double percent)
{
    if (!(percent >= 0 && percent <= 100)) return Error(ErrorCode::usage, "a share of the run").expected("0% to 100%");
    return jump([&]() -> Status {
        // At the end there is one frame: tick and step are the same. A run that fails ends there.
        std::optional<int64_t> end = knownEnd();
        if (!end) {
            Status status = m_target.timeline.goToEnd(m_target.control);
            if (!status.ok() && status.detail().code != ErrorCode::execution) return status;
            if (m_target.timeline.finished())
                m_ends[m_target.timeline.current()] = {m_target.timeline.tick(), m_target.timeline.position().step};
            end = m_target.timeline.position().step;
        }
        return m_target.timeline.goToStep(static_cast<int64_t>(static_cast<double>(*end) * percent / 100), m_target.control);
    });
}

Result<std::optional<Tick>> RunControl::tickOf(const ResolvedAddress& place)
{
    LS_CHECK_OK(checkStarted());
    Excursion excursion(m_target);
    Error absence(ErrorCode::usage, "");
    Result<RunSearch::Found> found = m_search.find(place, absence);
    const Tick tick = m_target.timeline.tick();
    LS_CHECK_OK(excursion.comeBack());
    m_breakpoints.moved(m_target.timeline.tick());
    LS_TRY(const RunSearch::Found answer, std::move(found));
    return answer == RunSearch::Found::met ? std::optional(tick) : std::nullopt;
}

/// The next operator of a frame as a place, and the step of its address that is the innermost loop.
Result<ResolvedAddress> RunControl::placeInLoop(FrameContext frame, size_t& loopStep) const
{
    LS_CHECK_OK(checkStarted());
    const int depth = depthOf(frame.depth);
    Address address = frameAddress(m_target.executor, depth);
    loopStep = address.steps.size();
    while (loopStep > 0 && !isLoopStep(address.steps[loopStep - 1])) --loopStep;
    if (loopStep-- == 0) return Error(ErrorCode::usage, "there is no loop around this stop").at(toString(address));
    const FrameInfo info = m_target.executor.frame(depth);
    if (info.next.valid()) {
        address.target = TargetKind::op;
        address.op = operatorName(m_target.model.graph(info.graph).op(info.next), info.next.index);
    }
    return resolveAddress(m_target.model, address);
}

/// To the place, or to the cond of that iteration if the iteration does not come to the place.
Result<StopReport> RunControl::goToIteration(const ResolvedAddress& place, size_t loopStep)
{
    return jump([&]() -> Status {
        Error absence(ErrorCode::usage, "");
        LS_TRY(const RunSearch::Found found, m_search.find(place, absence));
        if (found == RunSearch::Found::met) return {};
        if (place.address.steps[loopStep].role == StepRole::frame) return absence;
        Address cond;
        cond.root = place.address.root;
        cond.steps.assign(place.address.steps.begin(), place.address.steps.begin() + static_cast<std::ptrdiff_t>(loopStep) + 1);
        cond.steps.back().role = StepRole::cond;
        LS_TRY(const ResolvedAddress condPlace, resolveAddress(m_target.model, cond));
        Error noCond(ErrorCode::usage, "");
        LS_TRY(const RunSearch::Found condFound, m_search.find(condPlace, noCond));
        return condFound == RunSearch::Found::met ? Status() : Status(std::move(absence));
    });
}

Result<StopReport> RunControl::iterate(int64_t iteration, FrameContext frame)
{
    size_t loopStep = 0;
    LS_TRY(ResolvedAddress place, placeInLoop(frame, loopStep));
    if (iteration < 0) return Error(ErrorCode::usage, "no iteration " + std::to_string(iteration)).expected("0 or more");
    place.address.steps[loopStep].iteration = iteration;
    return goToIteration(place, loopStep);
}

Result<StopReport> RunControl::iterateBy(int64_t offset, FrameContext frame)
{
    size_t loopStep = 0;
    LS_TRY(const ResolvedAddress place, placeInLoop(frame, loopStep));
    const int64_t now = place.address.steps[loopStep].iteration;
    return iterate(offset > kEnd - now ? kEnd : now + offset, frame);
}

Result<StopReport> RunControl::iterateLast(FrameContext frame)
{
    size_t loopStep = 0;
    LS_TRY(ResolvedAddress place, placeInLoop(frame, loopStep));
    const int loop = static_cast<int>(loopStep) + 1;
    std::optional<int64_t> trips = knownTrips(loop);
    const Visit before = visit();
    if (!trips) {
        Result<int64_t> counted = m_search.countTrips(loop);
        if (!counted.ok()) return stopped(before.tick, std::move(counted).takeError(), std::nullopt);
        trips = *counted;
    }
    place.address.steps[loopStep].iteration = std::max<int64_t>(*trips - 1, 0);
    Result<StopReport> report = goToIteration(place, loopStep);
    if (report.ok() && !m_past.empty()) m_past.back() = before; // not the loop's exit, where it looked
    if (report.ok()) report->ranFrom = before.tick;
    return report;
}

Result<StopReport> RunControl::advance(std::string_view pattern, FrameContext frame, Direction direction)
{
    LS_CHECK_OK(checkStarted());
    LS_TRY(std::vector<AddressPattern> patterns, typedPatterns(m_target, frame, pattern));
    PatternGoal goal(m_target.executor, std::move(patterns));
    if (goal.traps().empty()) return Error(ErrorCode::usage, "no operator matches").at(std::string(pattern));
    const Tick from = m_target.timeline.tick();
    if (direction == Direction::forward) {
        if (m_target.timeline.finished()) return Error(ErrorCode::usage, "the run is at its end");
        goal.skipUpTo(from);
        return forwardTo(kEnd, &goal, StopCause::stepDone);
    }
    if (from == 0) return Error(ErrorCode::usage, "the run is at its start");
    Result<std::optional<Tick>> last = m_search.lastBefore(goal, from - 1);
    if (!last.ok()) return stopped(from, std::move(last).takeError(), std::nullopt);
    const Tick target = last->value_or(0);
    Result<std::vector<BreakpointHit>> hits = lastHits(target + 1, from - 1);
    if (!hits.ok()) return stopped(from, std::move(hits).takeError(), std::nullopt);
    return backToHit(from, *hits, target, *last ? StopCause::stepDone : StopCause::startReached);
}

Result<StopReport> RunControl::revisit(std::vector<Visit>& from, std::vector<Visit>& to, const char* none)
{
    LS_CHECK_OK(checkStarted());
    if (from.empty()) return Error(ErrorCode::usage, none);
    const Visit before = visit();
    const Visit target = from.back();
    Status status = goToVisit(target);
    from.pop_back();
    to.push_back(before);
    m_breakpoints.moved(m_target.timeline.tick());
    const bool done = status.ok();
    return stopped(before.tick, std::move(status), done ? std::optional(StopCause::stepDone) : std::nullopt);
}

Result<StopReport> RunControl::back() { return revisit(m_past, m_future, "no jump to go back from"); }

Result<StopReport> RunControl::forward() { return revisit(m_future, m_past, "no jump to go forward to"); }

Status RunControl::mark(std::string name)
{
    LS_CHECK_OK(checkStarted());
    if (name.empty()) return Error(ErrorCode::usage, "a mark needs a name");
    std::erase_if(m_marks, [&](const Mark& mark) { return mark.name == name; });
    addMark(std::move(name), "");
    return {};
}

void RunControl::note(std::string text) { addMark("", std::move(text)); }

void RunControl::keepMark(Mark mark)
{
    std::erase_if(m_marks, [&](const Mark& other) {
        return mark.name.empty() ? other.tick == mark.tick && other.text == mark.text : other.name == mark.name;
    });
    m_marks.push_back(std::move(mark));
}

void RunControl::addMark(std::string name, std::string text)
{
    const StopReport now = here();
    m_marks.push_back({std::move(name), std::move(text), m_target.timeline.current(), now.tick, now.address, now.position.step});
}

Result<StopReport> RunControl::goToMark(std::string_view name)
{
    const auto found = std::ranges::find(m_marks, name, &Mark::name);
    if (name.empty() || found == m_marks.end()) {
        std::vector<std::string> names;
        for (const Mark& mark : m_marks)
            if (!mark.name.empty()) names.push_back(mark.name);
        return Error(ErrorCode::usage, "no mark '" + std::string(name) + "'").nearest(nearestNames(name, names));
    }
    const Visit target{found->timeline, found->tick};
    return jump([&] { return goToVisit(target); });
}

} // namespace loopscope
