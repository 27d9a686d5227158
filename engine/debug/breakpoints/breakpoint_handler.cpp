// Hearing a run: which breakpoints are met, what of that stops, and how often each was met before.
#include "engine/debug/breakpoints/breakpoint_impl.h"

#include "engine/debug/excursion.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope {

// The index.

BreakIndex::Entry& BreakIndex::make(const Model& model, GraphId graph, OperatorId op, uint8_t trap)
{
    std::vector<Entry>& operators = m_graphs[static_cast<size_t>(graph.index)];
    operators.resize(model.graph(graph).operators.size());
    m_traps.add(graph, op, trap);
    return operators[static_cast<size_t>(op.index)];
}

void BreakIndex::arm(const Model& model, Breakpoint& breakpoint)
{
    const int64_t only = breakpoint.kind->onlyIteration();
    for (const BreakSite& site : breakpoint.kind->sites()) {
        if (breakpoint.within && !breakpoint.within->has(site.graph, site.op)) continue;
        Entry& entry = make(model, site.graph, site.op, site.trap);
        Side& side = site.trap == trapBefore ? entry.before : entry.after;
        (only >= 0 ? side.fixed : side.any).push_back({&breakpoint, &site, only});
        if (only >= 0) m_iterations[static_cast<size_t>(site.graph.index)].push_back(only);
    }
    std::vector<PlacedOperator> loops = breakpoint.kind->loops();
    const auto append = [&](const std::vector<PlacedOperator>& more) { loops.insert(loops.end(), more.begin(), more.end()); };
    if (breakpoint.condition) append(breakpoint.condition->loops());
    if (breakpoint.log) append(breakpoint.log->loops());
    for (const PlacedOperator& loop : loops) make(model, loop.graph, loop.op, trapAfter).isLoop = true;
}

void BreakIndex::build(const Model& model, std::span<Breakpoint* const> breakpoints, std::span<ValueKeeper* const> keepers)
{
    m_graphs.assign(model.graphs.size(), {});
    m_iterations.assign(model.graphs.size(), {});
    m_isAllFixed.assign(model.graphs.size(), true);
    m_traps = {};
    if (breakpoints.empty()) return;
    for (Breakpoint* breakpoint : breakpoints) arm(model, *breakpoint);
    for (ValueKeeper* keeper : keepers)
        for (const WriteSite& site : keeper->sites()) {
            Entry& entry = make(model, keeper->graph(), site.op, site.trap);
            (site.trap == trapBefore ? entry.before : entry.after).keepers.push_back(keeper);
        }
    for (std::vector<int64_t>& iterations : m_iterations) std::ranges::sort(iterations);
    for (size_t g = 0; g < m_graphs.size(); ++g)
        for (Entry& entry : m_graphs[g])
            for (Side* side : {&entry.before, &entry.after}) {
                std::ranges::stable_sort(side->fixed, {}, &Armed::iteration);
                if (!side->any.empty() || !side->keepers.empty() || entry.isLoop) m_isAllFixed[g] = false;
            }
}

bool BreakIndex::hasFixed(GraphId graph, int64_t iteration) const
{
    return std::ranges::binary_search(m_iterations[static_cast<size_t>(graph.index)], iteration);
}

bool Within::has(GraphId graph, OperatorId op) const
{
    const auto isIt = [&](const PlacedOperator& placed) { return placed.graph == graph && placed.op == op; };
    return operators.empty() || std::ranges::any_of(operators, isIt);
}

void BreakpointSet::Impl::reindex()
{
    if (m_isIndexed) return;
    std::vector<Breakpoint*> armed;
    for (const auto& breakpoint : m_breakpoints)
        if (breakpoint->enabled && breakpoint->kind) armed.push_back(breakpoint.get());
    const std::vector<ValueKeeper*> keepers = m_kept.all();
    m_index.build(m_target.model, armed, keepers);
    m_isIndexed = true;
}

// Events.

bool BreakpointSet::Impl::hear(const OperatorEvent& event, Tick tick, bool isAfter)
{
    // After an error the timeline leads up to the last stop once more.
    if (tick <= m_after || tick < m_lastTick) return false;
    m_lastTick = tick;
    BreakIndex::Entry* entry = m_index.at(event.graph, event.op);
    if (!entry) return false;
    BreakIndex::Side& side = isAfter ? entry->after : entry->before;
    bool fixed = !side.fixed.empty();
    if (fixed) {
        if (event.invocation != m_seenInvocation || event.graph != m_seenGraph) {
            m_seenInvocation = event.invocation;
            m_seenGraph = event.graph;
            m_seenIteration = m_target.executor.frame(-1).iteration;
            m_seenFixed = m_index.hasFixed(event.graph, m_seenIteration);
        }
        fixed = m_seenFixed;
        if (!fixed && m_index.isAllFixed(event.graph)) quiet = {event.invocation, event.graph};
    }
    if (!fixed && side.any.empty() && side.keepers.empty() && !entry->isLoop) return false;

    m_statistics.clear();
    for (ValueKeeper* keeper : side.keepers) keeper->record(event, isAfter, m_target.executor);
    if (entry->isLoop && isAfter && event.trips >= 0) m_trips.note(event);
    const BreakEvent whole{event, tick, m_target.executor.position().depth, isAfter, m_target.executor, m_statistics};
    bool stop = false;
    for (const BreakIndex::Armed& armed : side.any) stop |= ask(*armed.breakpoint, *armed.site, whole);
    if (!fixed) return stop;
    auto armed = std::ranges::lower_bound(side.fixed, m_seenIteration, {}, &BreakIndex::Armed::iteration);
    for (; armed != side.fixed.end() && armed->iteration == m_seenIteration; ++armed) stop |= ask(*armed->breakpoint, *armed->site, whole);
    return stop;
}

/// True: the run stops.
bool BreakpointSet::Impl::ask(Breakpoint& breakpoint, const BreakSite& site, const BreakEvent& event)
{
    if (!breakpoint.enabled && m_hearing != Hearing::count) return false; // it failed a moment ago
    if (breakpoint.within && !breakpoint.within->path.matches(event.executor, event.frames)) return false;
    BreakKind& kind = *breakpoint.kind;
    const bool met = kind.met(event, site);
    if (!kind.failure.empty()) return fail(breakpoint, event, std::exchange(kind.failure, {}));
    if (!met) return false;
    if (!kind.late.empty()) return noteLate(breakpoint, event, site);
    if (breakpoint.condition && !breakpoint.conditionIsRule()) {
        Result<bool> holds = breakpoint.condition->holds(event, 0);
        if (!holds.ok()) return fail(breakpoint, event, holds.error().message());
        if (!*holds) return false;
    }
    if (event.tick > breakpoint.origin && breakpoint.hits.note(event.tick)) ++breakpoint.heard;
    if (m_hearing == Hearing::count || !passes(breakpoint, event)) return false;
    if (breakpoint.command == BreakpointCommand::log) {
        if (m_hearing != Hearing::stop) return false;
        LogLine line;
        line.number = breakpoint.number;
        line.text = breakpoint.log->textAt(event, breakpoint.base + breakpoint.heard);
        line.address = event.executor.positionAddress();
        line.step = event.op.step + (event.isAfter ? 1 : 0);
        m_logs.push_back(std::move(line));
        return false;
    }
    return deliver(breakpoint, kind.reason(event, site), event.tick);
}

/// Whether the rules let a hit through, which was counted just now.
bool BreakpointSet::Impl::passes(Breakpoint& breakpoint, const BreakEvent& event)
{
    const int64_t hit = breakpoint.base + breakpoint.heard;
    if (!breakpoint.spec.rule.lets(hit) || (breakpoint.ignoreUntil > 0 && hit <= breakpoint.ignoreUntil)) return false;
    if (!breakpoint.conditionIsRule()) return true;
    Result<bool> holds = breakpoint.condition->holds(event, hit);
    if (holds.ok()) return *holds;
    fail(breakpoint, event, holds.error().message());
    return false;
}

bool BreakpointSet::Impl::deliver(Breakpoint& breakpoint, StopReason reason, Tick tick)
{
    reason.number = breakpoint.number;
    if (m_hearing == Hearing::scan) {
        const auto isSame = [&](const BreakpointHit& hit) { return hit.tick == tick && hit.number == breakpoint.number; };
        if (m_hits.empty() || std::none_of(m_hits.rbegin(), std::min(m_hits.rbegin() + 8, m_hits.rend()), isSame))
            m_hits.push_back({tick, breakpoint.number, std::move(reason)});
        return false;
    }
    const auto isSame = [&](const StopReason& known) { return known.number == breakpoint.number; };
    if (std::ranges::none_of(m_reasons, isSame)) m_reasons.push_back(std::move(reason));
    return true;
}

/// A condition that cannot be looked at: it stops here with the reason and disables itself.
bool BreakpointSet::Impl::fail(Breakpoint& breakpoint, const BreakEvent& event, std::string why)
{
    if (m_hearing == Hearing::count) return false;
    StopReason reason;
    reason.cause = StopCause::breakpoint;
    reason.text = why + "; disabled";
    if (m_hearing == Hearing::stop) {
        breakpoint.enabled = false;
        breakpoint.disabledBecause = std::move(why);
        changed();
    }
    return deliver(breakpoint, std::move(reason), event.tick);
}

/// It was met at stops that passed: they count, and a search backwards finds them.
bool BreakpointSet::Impl::noteLate(Breakpoint& breakpoint, const BreakEvent& event, const BreakSite& site)
{
    for (const Tick tick : std::exchange(breakpoint.kind->late, {})) {
        if (tick <= m_after) continue;
        if (tick > breakpoint.origin && breakpoint.hits.note(tick)) ++breakpoint.heard;
        if (m_hearing == Hearing::scan) deliver(breakpoint, breakpoint.kind->reason(event, site), tick);
    }
    return false;
}

// Where the run stands.

/// Which run and timeline counts are of. Those of another one say nothing.
void BreakpointSet::Impl::sync()
{
    if (m_target.executor.position().depth == 0) return;
    const int64_t run = m_target.timeline.runs(); // numbers of invocations come again where an edit has gone back to a saved state
    const TimelineId line = m_target.timeline.current();
    if (run == m_run && line == m_line) return;
    if (run != m_run) {
        for (const auto& breakpoint : m_breakpoints) {
            breakpoint->hits.clear();
            if (m_run != 0) breakpoint->ignoreUntil = 0;
            breakpoint->origin = -1;
        }
    } else {
        // What both timelines have in common stays.
        const auto pathOf = [&](TimelineId id) {
            std::vector<TimelineInfo> path;
            for (; id != 0; id = m_target.timeline.info(id).parent) path.insert(path.begin(), m_target.timeline.info(id));
            return path;
        };
        const std::vector<TimelineInfo> was = pathOf(m_line);
        const std::vector<TimelineInfo> is = pathOf(line);
        size_t shared = 0;
        while (shared < was.size() && shared < is.size() && was[shared].id == is[shared].id) ++shared;
        Tick until = INT64_MAX;
        if (shared < was.size()) until = std::min(until, was[shared].forkTick);
        if (shared < is.size()) until = std::min(until, is[shared].forkTick);
        for (const auto& breakpoint : m_breakpoints) breakpoint->hits.forgetAfter(until);
    }
    m_run = run;
    m_line = line;
    m_trips.clear();
    m_keptTick = -1;
    m_isHearing = false;
}

/// The run stands where it ended: up to here everything was heard.
void BreakpointSet::Impl::noteProgress()
{
    if (!m_isHearing || m_target.timeline.current() != m_line) return;
    const Tick now = m_target.timeline.tick();
    const Tick heard = std::max(now, m_lastTick);
    for (const auto& breakpoint : m_breakpoints)
        if (breakpoint->kind && breakpoint->isHeard) breakpoint->hits.extend(heard);
    m_keptTick = now >= m_lastTick ? now : Tick(-1);
}

void BreakpointSet::Impl::moved()
{
    if (m_isHearing)
        for (const auto& breakpoint : m_breakpoints)
            if (breakpoint->kind && breakpoint->isHeard) breakpoint->hits.extend(m_lastTick);
    for (const auto& breakpoint : m_breakpoints) breakpoint->isHeard = false;
    m_isHearing = false;
    sync();
    if (m_keptTick != m_target.timeline.tick()) m_keptTick = -1;
}

/// Kept values as they are at this stop.
Status BreakpointSet::Impl::refill()
{
    const int64_t now = m_target.timeline.tick();
    if (m_keptTick == now && !m_kept.isStale()) return {};
    const std::vector<ValueKeeper*> keepers = m_kept.all();
    if (!keepers.empty()) LS_CHECK_OK(fillKeepers(m_target, keepers));
    m_kept.setStale(false);
    m_keptTick = now;
    return {};
}

/// Counts of breakpoints up to the tick. What is not known is run again; it stands where it stood afterwards. Errors: of Timeline.
Status BreakpointSet::Impl::countUpTo(std::span<Breakpoint* const> breakpoints, int64_t to, std::vector<int64_t>& counts)
{
    counts.assign(breakpoints.size(), 0);
    std::vector<HitLog::Known> known;
    std::vector<Breakpoint*> open;
    int64_t from = to;
    for (size_t i = 0; i < breakpoints.size(); ++i) {
        known.push_back(breakpoints[i]->hits.known(breakpoints[i]->origin, to));
        counts[i] = known[i].count;
        if (known[i].upTo >= to || breakpoints[i]->kind->sites().empty()) continue;
        open.push_back(breakpoints[i]);
        from = std::min(from, known[i].upTo);
    }
    if (open.empty()) return {};

    const BreakIndex index = std::exchange(m_index, BreakIndex());
    const Hearing hearing = std::exchange(m_hearing, Hearing::count);
    const int64_t after = std::exchange(m_after, from);
    const int64_t last = std::exchange(m_lastTick, from);
    const auto restore = [&] {
        m_index = index;
        m_hearing = hearing;
        m_after = after;
        m_lastTick = last;
        m_seenInvocation = 0;
        quiet = {};
    };
    Excursion excursion(m_target);
    Status status = from > 0 ? excursion.goTo(from) : excursion.goTo(0);
    if (status.ok()) status = refill();
    if (status.ok()) {
        m_index.build(m_target.model, open, m_kept.all());
        m_seenInvocation = 0;
        quiet = {};
        for (Breakpoint* breakpoint : open) {
            breakpoint->hits.begin(std::max(from, breakpoint->origin));
            breakpoint->heard = 0;
        }
        Result<bool> ran = m_target.timeline.run(to, m_index.traps(), *this, m_target.control);
        if (!ran.ok()) status = std::move(ran).takeError();
    }
    m_keptTick = status.ok() ? m_target.timeline.tick() : Tick(-1);
    restore();
    LS_CHECK_OK(std::move(status));
    for (size_t i = 0; i < breakpoints.size(); ++i) {
        Breakpoint& breakpoint = *breakpoints[i];
        if (std::ranges::find(open, &breakpoint) == open.end()) continue;
        const HitLog::Known before = breakpoint.hits.known(breakpoint.origin, std::max(from, breakpoint.origin));
        breakpoint.hits.extend(to);
        counts[i] = breakpoint.hits.known(breakpoint.origin, to).count;
        if (breakpoint.hits.known(breakpoint.origin, to).upTo < to)
            counts[i] = before.count + breakpoint.heard; // too many to be kept one by one
    }
    return excursion.comeBack();
}

int64_t BreakpointSet::Impl::count(Breakpoint& breakpoint)
{
    if (!breakpoint.kind || m_run == 0) return 0;
    std::vector<int64_t> counts;
    Breakpoint* const one[] = {&breakpoint};
    static_cast<void>(countUpTo(one, m_target.timeline.tick(), counts).ok()); // cancelled: as far as it is known
    return counts[0];
}

void BreakpointSet::Impl::begin(Mode mode, int64_t after)
{
    noteProgress();
    sync();
    reindex();
    std::vector<Breakpoint*> ruled;
    for (const auto& breakpoint : m_breakpoints) {
        breakpoint->isHeard = breakpoint->enabled && breakpoint->kind;
        breakpoint->base = 0;
        if (breakpoint->isHeard && breakpoint->needsCount()) ruled.push_back(breakpoint.get());
    }
    if (m_run != 0 && after >= 0) {
        std::vector<int64_t> counts;
        static_cast<void>(countUpTo(ruled, after, counts).ok()); // cancelled: then the run will not go on either
        for (size_t i = 0; i < ruled.size(); ++i) ruled[i]->base = counts[i];
    }
    static_cast<void>(refill().ok());
    for (const auto& breakpoint : m_breakpoints) {
        if (!breakpoint->isHeard) continue;
        breakpoint->heard = 0;
        breakpoint->hits.begin(std::max(after, breakpoint->origin));
    }
    m_hearing = mode == Mode::stop ? Hearing::stop : Hearing::scan;
    m_after = after;
    m_lastTick = after;
    m_seenInvocation = 0;
    quiet = {};
    m_isHearing = true;
}

} // namespace loopscope
