#include "engine/debug/timeline.h"

#include "engine/base/clock.h"
#include "engine/base/text.h"
#include "engine/exec/executor.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/seeking.h"

#include <algorithm>
#include <limits>

namespace loopscope {

namespace {

constexpr int64_t kChunkNs = 1'000'000; ///< between looks at the clock and the cancel flag
constexpr int64_t kProgressNs = 50'000'000;
constexpr int64_t kUndoFill = 32;          ///< stops before the target of a jump that go into the undo ring
constexpr int64_t kFillNs = 5'000'000;     ///< and the time that they may take
constexpr size_t kMaxMarks = 1 << 14;      ///< per timeline and kind
constexpr uint64_t kHashedStop = 16 << 20; ///< bytes of a state that is hashed at every stop; larger ones only as checkpoints

} // namespace

Timeline::Timeline(Executor& executor, const TimelineBudget& budget) : m_executor(executor), m_budget(budget), m_store(budget) {}

Status Timeline::start()
{
    m_lines.clear();
    m_store.clear();
    m_base.reset();
    m_line = m_owner = 1;
    m_sinceNs = m_costNs = m_ranNs = m_savedNs = 0;
    m_chunk = 16;
    ++m_runs;
    LS_CHECK_OK(m_executor.start());
    if (m_executor.model().graph(m_executor.root()).operators.empty()) LS_CHECK_OK(m_executor.step());
    m_lines.emplace_back().info.id = 1;
    const SharedState first = snapshot();
    if (!m_store.addCheckpoint(m_owner, 0, first, 0)) {
        m_lines.clear();
        return Error(ErrorCode::usage, "the checkpoint budget does not hold the start of the run")
            .found(groupThousands(static_cast<int64_t>(m_budget.bytes)) + " bytes")
            .expected("at least " + groupThousands(static_cast<int64_t>(first->byteSize())));
    }
    return {};
}

Status Timeline::checkStarted() const { return m_lines.empty() ? Status(Error(ErrorCode::usage, "no run was started")) : Status(); }

/// The timeline, among `id` and its ancestors, on which a tick lies.
TimelineId Timeline::ownerOf(TimelineId id, Tick tick) const
{
    while (line(id).info.parent != 0 && tick < line(id).info.forkTick) id = line(id).info.parent;
    return id;
}

SharedState Timeline::snapshot()
{
    m_base = std::make_shared<const MachineState>(m_base ? m_executor.snapshot(*m_base) : m_executor.snapshot());
    m_baseTick = tick();
    return m_base;
}

/// The present stop goes into the undo ring.
void Timeline::remember()
{
    if (m_store.has(m_owner, tick())) {
        if (m_baseTick == tick()) m_store.remember(m_owner, tick(), m_base);
        return;
    }
    m_store.remember(m_owner, tick(), m_base && m_baseTick == tick() ? m_base : snapshot());
}

void Timeline::checkpoint()
{
    const int64_t from = nowNs();
    const SharedState state = snapshot();
    m_store.addCheckpoint(m_owner, tick(), state, m_sinceNs);
    Line& here = line(m_owner);
    if (here.marks.size() < kMaxMarks) here.marks.try_emplace(tick(), state->hash());
    m_sinceNs = 0;
    const int64_t cost = nowNs() - from;
    m_costNs = m_costNs == 0 ? cost : (3 * m_costNs + cost) / 4;
    if (tick() < here.info.frontier) return;
    m_ranNs += cost;
    m_savedNs += cost;
}

double Timeline::checkpointOverhead() const
{
    return m_ranNs > m_savedNs ? static_cast<double>(m_savedNs) / static_cast<double>(m_ranNs - m_savedNs) : 0;
}

Status Timeline::restore(TimelineId owner, const SharedState& state)
{
    LS_CHECK_OK(m_executor.restore(*state));
    m_owner = owner;
    m_base = state;
    m_baseTick = tick();
    m_sinceNs = 0;
    return {};
}

/// Compares the state here with that of the first pass, if it was noted.
Status Timeline::verify(std::map<Tick, uint64_t>& marks)
{
    const auto mark = marks.find(tick());
    if (mark == marks.end()) return {};
    const Step from = m_base ? m_base->step : Step();
    const uint64_t now = snapshot()->hash();
    if (now == mark->second) return {};
    marks.erase(mark); // said once; what follows is compared with what is there from now on
    return Error(ErrorCode::execution, "nondeterminism at step " + std::to_string(position().step))
        .at(m_executor.positionAddress())
        .found("another state than in the first pass")
        .note("re-executed from step " + std::to_string(from));
}

/// Runs on from where the machine stands, at most to `target`. Takes checkpoints where they are wanted.
Status Timeline::advance(Tick target, const TravelControl& control)
{
    int64_t announced = control.progress ? nowNs() : 0;
    const auto* const seeking = dynamic_cast<const Seeking*>(&m_executor);
    while (tick() < target && !finished()) {
        Line& here = line(m_owner);
        const bool firstPass = tick() >= here.info.frontier;
        m_executor.muteObserver(!firstPass, m_listener);
        const bool seeks = seeking && seeking->seeksNow(); // a recording is there at once
        Tick next = !seeks && target - tick() > m_chunk ? Tick(tick() + m_chunk) : target;
        if (!firstPass) {
            next = std::min(next, here.info.frontier);
            const auto mark = here.marks.upper_bound(tick());
            if (mark != here.marks.end()) next = std::min(next, mark->first);
        }
        const int64_t wanted = next - tick();
        const int64_t from = nowNs();
        Status status = m_executor.runTo(next);
        const int64_t now = nowNs();
        if (firstPass) m_ranNs += now - from;
        m_sinceNs += now - from;
        if (!status.ok()) return heal(std::move(status).takeError());
        if (now - from > 2 * kChunkNs) m_chunk = std::max<int64_t>(m_chunk / 2, 1);
        else if (now - from < kChunkNs / 2 && wanted == m_chunk) m_chunk = std::min<int64_t>(m_chunk * 2, int64_t{1} << 24);

        if (!firstPass) LS_CHECK_OK(verify(here.marks));
        if (m_sinceNs >= m_store.spacing(m_costNs)) checkpoint();
        here.info.frontier = std::max(here.info.frontier, tick());
        m_trapped = m_executor.trapped();
        if (m_trapped || tick() >= target || finished()) break;
        if (control.cancel && control.cancel->requested())
            return Error(ErrorCode::cancelled, "cancelled at " + m_executor.positionAddress());
        if (control.progress && now - announced >= kProgressNs) {
            control.progress(tick(), target);
            announced = now;
        }
    }
    return {};
}

/// A failed run cannot go on. Leads the machine to the stop before the operator that failed, where it can.
Error Timeline::heal(Error error)
{
    const Tick failed = tick();
    m_executor.setTraps({}, nullptr);
    m_executor.muteObserver(true);
    Tick& frontier = line(m_owner).info.frontier;
    if (error.code() == ErrorCode::cancelled && position().op.valid()) { // by the executor's own flag, between two operators
        frontier = std::max(frontier, failed);
        if (m_executor.restore(*snapshot()).ok()) return error;
    }
    const SharedState base = m_base;
    if (!m_executor.restore(*base).ok()) return error;
    m_sinceNs = 0;
    if (error.code() == ErrorCode::cancelled) { // nothing runs before the flag is cleared
        frontier = std::max(frontier, failed);
        return error;
    }
    // The failure may have taken frames off the stack, so that the place of the last stop is not to be seen: look for it.
    Tick good = tick();
    while (tick() <= failed + 1 && m_executor.step().ok() && !finished()) good = tick();
    if (!m_executor.restore(*base).ok()) return error;
    const Status again = m_executor.runTo(good);
    if (!again.ok()) static_cast<void>(m_executor.restore(*base).ok());
    frontier = std::max(frontier, tick());
    return error;
}

/// Puts the machine at a tick of the timeline `owner`, which the tick belongs to.
Status Timeline::reachOn(TimelineId owner, Tick target, const TravelControl& control)
{
    // Forks whose beginning is not saved any more are made again from their parents, outermost first.
    std::vector<std::pair<TimelineId, Tick>> way = {{owner, target}};
    CheckpointStore::Found saved;
    for (;;) {
        const auto [id, until] = way.back();
        saved = m_store.atOrBefore(id, until);
        const bool onTheWay = m_owner == id && tick() <= until && tick() >= line(id).info.forkTick;
        if (onTheWay && (!saved.state || saved.tick <= tick() || until - tick() == 1)) break; // go on from here
        if (saved.state) {
            LS_CHECK_OK(restore(id, saved.state));
            break;
        }
        const TimelineInfo& info = line(id).info;
        way.emplace_back(ownerOf(info.parent, info.forkTick), info.forkTick);
    }
    for (;;) {
        LS_CHECK_OK(advance(way.back().second, control));
        way.pop_back();
        if (way.empty()) return {};
        LS_CHECK_OK(enterFork(way.back().first));
    }
}

/// From the parent's stop at the fork to the fork's own first stop.
Status Timeline::enterFork(TimelineId id)
{
    LS_CHECK_OK(applyEdit(line(id).edit));
    m_owner = id;
    m_sinceNs = 0;
    m_store.addCheckpoint(id, tick(), m_base, 0);
    return {};
}

Status Timeline::reach(Tick tick, const TravelControl& control)
{
    Status status = reachOn(ownerOf(m_line, tick), tick, control);
    // An interrupted way may end on a timeline that is no part of the present one's past, or before its fork: that is where we are.
    leaveAt(this->tick());
    return status;
}

/// After a jump: the state is compared with what it was when this stop was first visited.
Status Timeline::arrive()
{
    remember();
    if (!m_base || m_baseTick != tick() || m_base->byteSize() > kHashedStop) return {};
    Line& here = line(m_owner);
    if (here.stops.contains(tick())) return verify(here.stops);
    if (here.stops.size() < kMaxMarks) here.stops.emplace(tick(), m_base->hash());
    return {};
}

Status Timeline::recover(TimelineId id, Tick tick)
{
    LS_CHECK_OK(checkStarted());
    m_listener = nullptr;
    m_trapped = false;
    m_executor.setTraps({}, nullptr);
    m_line = std::min(id, TimelineId(m_lines.size()));
    CheckpointStore::Found saved = m_store.atOrBefore(ownerOf(m_line, tick), tick);
    const TimelineId owner = saved.state ? ownerOf(m_line, tick) : TimelineId(1);
    if (!saved.state) saved = m_store.atOrBefore(owner, 0);
    LS_CHECK_OK(restore(owner, saved.state));
    return reach(tick, {});
}

Status Timeline::forward()
{
    LS_CHECK_OK(checkStarted());
    if (finished()) return Error(ErrorCode::usage, "the run is at its end");
    remember();
    LS_CHECK_OK(reach(tick() + 1, {}));
    remember();
    return {};
}

Status Timeline::back(const TravelControl& control)
{
    LS_CHECK_OK(checkStarted());
    if (tick() == 0) return Error(ErrorCode::usage, "the run is at its start");
    return goTo(tick() - 1, control);
}

Status Timeline::goTo(Tick target, const TravelControl& control)
{
    LS_CHECK_OK(checkStarted());
    if (target < 0) return Error(ErrorCode::usage, "no such tick").found(std::to_string(target)).expected("0 or more");
    if (target == tick()) return {};
    const TimelineId owner = ownerOf(m_line, target);
    if (m_store.has(owner, target)) return reach(target, control);
    // The stops before the target are wanted next, when it is stepped back from.
    const Tick from = std::max(line(owner).info.forkTick, Tick(target - kUndoFill));
    const CheckpointStore::Found saved = m_store.atOrBefore(owner, target);
    const bool stepping = m_owner == owner && tick() < target && tick() >= from;
    if (!stepping && (!saved.state || saved.tick < from)) LS_CHECK_OK(reach(from, control));
    else if (!stepping) LS_CHECK_OK(restore(owner, saved.state));
    const int64_t began = nowNs();
    while (tick() < target && !finished() && nowNs() - began < kFillNs) {
        remember();
        LS_CHECK_OK(reach(tick() + 1, control));
    }
    LS_CHECK_OK(reach(target, control));
    return arrive();
}

Status Timeline::goToEnd(const TravelControl& control)
{
    LS_CHECK_OK(checkStarted());
    LS_CHECK_OK(reach(std::numeric_limits<int64_t>::max(), control)); // nobody knows which stops come before it
    return arrive();
}

Status Timeline::goToStep(Step step, const TravelControl& control)
{
    LS_CHECK_OK(checkStarted());
    if (step < 0) return Error(ErrorCode::usage, "no such step").found(std::to_string(step)).expected("0 or more");
    // A tick counts completed operators and open calls: the stop lies at `step` or as many ticks later as calls are open.
    LS_CHECK_OK(reach(step.number, control));
    while (position().step <= step && !finished()) {
        remember();
        LS_CHECK_OK(reach(tick() + 1, control));
        if (control.cancel && control.cancel->requested())
            return Error(ErrorCode::cancelled, "cancelled at " + m_executor.positionAddress());
    }
    if (position().step > step) LS_CHECK_OK(reach(tick() - 1, control));
    return arrive();
}

Status Timeline::replay(Tick target, ExecutionObserver& listener, const TravelControl& control)
{
    LS_CHECK_OK(checkStarted());
    if (target < tick())
        return Error(ErrorCode::usage, "the tick lies before here")
            .found(std::to_string(target))
            .expected(std::to_string(tick()) + " or more");
    m_listener = &listener;
    Status status = onward(target, control);
    m_listener = nullptr;
    LS_CHECK_OK(std::move(status));
    LS_CHECK_OK(reach(tick(), control)); // the target itself may be a fork
    return arrive();
}

/// Executes everything up to a tick, over the forks on the way to the present timeline.
Status Timeline::onward(Tick target, const TravelControl& control)
{
    m_trapped = false;
    while (tick() < target && !finished() && !m_trapped) {
        // Up to where the next timeline on the way to the present one forks.
        TimelineId next; // 0: there is none
        for (TimelineId id = m_line; id != m_owner; id = line(id).info.parent) next = id;
        const Tick fork = next == 0 ? target : line(next).info.forkTick;
        Status status = advance(std::min(fork, target), control);
        leaveAt(tick());
        LS_CHECK_OK(std::move(status));
        if (next != 0 && tick() == fork) LS_CHECK_OK(enterFork(next));
    }
    return {};
}

Result<bool> Timeline::run(Tick target, const TrapSet& traps, TrapHandler& handler, const TravelControl& control)
{
    LS_CHECK_OK(checkStarted());
    if (target < tick())
        return Error(ErrorCode::usage, "the tick lies before here")
            .found(std::to_string(target))
            .expected(std::to_string(tick()) + " or more");
    m_executor.setTraps(traps, &handler);
    Status status = onward(target, control);
    m_executor.setTraps({}, nullptr);
    const bool trapped = m_trapped;
    LS_CHECK_OK(std::move(status));
    LS_CHECK_OK(reach(tick(), control)); // the stop itself may be a fork
    remember();
    return trapped;
}

std::optional<Tick> Timeline::lastSaved(const std::function<bool(const MachineState&)>& isBefore) const
{
    if (m_lines.empty()) return std::nullopt;
    // From the present timeline to its ancestors: the first one whose first saved state is before the place holds the last such state.
    Tick until = std::numeric_limits<int64_t>::max();
    for (TimelineId id = m_line; id != 0; id = line(id).info.parent) {
        const std::vector<CheckpointStore::Found> saved = m_store.between(id, line(id).info.forkTick, until);
        const auto after = std::ranges::partition_point(saved, [&](const CheckpointStore::Found& f) { return isBefore(*f.state); });
        if (after != saved.begin()) return std::prev(after)->tick;
        until = line(id).info.forkTick - 1;
    }
    return std::nullopt;
}

std::vector<Step> Timeline::checkpointSteps() const
{
    std::vector<Step> steps;
    Tick until = std::numeric_limits<int64_t>::max();
    for (TimelineId id = m_lines.empty() ? TimelineId() : m_line; id != 0; id = line(id).info.parent) {
        for (const CheckpointStore::Found& found : m_store.between(id, line(id).info.forkTick, until))
            if (found.isCheckpoint) steps.push_back(found.state->step);
        until = line(id).info.forkTick - 1;
    }
    std::ranges::sort(steps);
    return steps;
}

Tick Timeline::checkpointBefore(Tick tick) const
{
    if (m_lines.empty()) return 0;
    const TimelineId owner = ownerOf(m_line, tick);
    return m_store.checkpointBefore(owner, tick).value_or(line(owner).info.forkTick);
}

std::vector<TimelineInfo> Timeline::timelines() const
{
    std::vector<TimelineInfo> infos;
    for (const Line& l : m_lines) infos.push_back(l.info);
    return infos;
}

Status Timeline::switchTo(TimelineId id, const TravelControl& control)
{
    LS_CHECK_OK(checkStarted());
    if (id < 1 || id > std::ssize(m_lines))
        return Error(ErrorCode::usage, "no timeline " + std::to_string(id)).expected("1 to " + std::to_string(m_lines.size()));
    remember();
    const Tick target = line(id).info.lastTick;
    m_line = id;
    LS_CHECK_OK(reach(target, control));
    return arrive();
}

} // namespace loopscope
