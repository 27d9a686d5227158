// Requests backward: the part of the run before here is looked at again, interval by interval between checkpoints, the newest first.
#include "engine/debug/control/run_control.h"

#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"

#include <algorithm>

namespace loopscope {

/// Goes back to a tick. Reasons of breakpoints that were found are added by the caller.
Result<StopReport> RunControl::backTo(Tick target, StopCause reached)
{
    const Tick from = m_target.timeline.tick();
    Status status = m_target.timeline.goTo(target, m_target.control);
    m_breakpoints.moved(m_target.timeline.tick());
    return stopped(from, std::move(status), reached);
}

/// To the stop of the hits, for their reasons; without hits to another one.
Result<StopReport> RunControl::backToHit(Tick from, const std::vector<BreakpointHit>& hits, Tick otherwise, StopCause reached)
{
    LS_TRY(StopReport report, backTo(hits.empty() ? otherwise : hits.back().tick, reached));
    report.ranFrom = from;
    if (hits.empty()) return report;
    std::erase_if(report.reasons, [&](const StopReason& reason) { return reason.cause == reached; });
    std::vector<StopReason> reasons;
    for (const BreakpointHit& hit : hits) reasons.push_back(hit.reason);
    m_breakpoints.dropTemporary(reasons);
    report.reasons.insert(report.reasons.begin(), reasons.begin(), reasons.end());
    return report;
}

/// All hits of the last stop from `low` to `high` where breakpoints would have stopped; empty: none. Leads anywhere.
Result<std::vector<BreakpointHit>> RunControl::lastHits(Tick low, Tick high)
{
    Timeline& timeline = m_target.timeline;
    const TrapSet traps = m_breakpoints.traps();
    while (high >= low && !traps.empty()) {
        // Stops in (begin, high]; at the start of the run also that at 0.
        const Tick begin = high > 0 ? timeline.checkpointBefore(high - 1) : Tick();
        LS_CHECK_OK(timeline.goTo(begin, m_target.control));
        m_breakpoints.moved(begin);
        TrapHandler& handler = m_breakpoints.handler(BreakpointSet::Mode::scan, begin == 0 ? Tick(-1) : begin);
        static_cast<void>(m_breakpoints.takeHits());
        Result<bool> ran = timeline.run(std::max(high, Tick(begin + 1)), traps, handler, m_target.control);
        if (!ran.ok() && ran.error().code() == ErrorCode::cancelled) { // behind `high` there was nothing
            if (m_target.control.cancel) m_target.control.cancel->clear();
            LS_CHECK_OK(timeline.goTo(high));
        }
        if (!ran.ok()) return std::move(ran).takeError();
        std::vector<BreakpointHit> hits = m_breakpoints.takeHits();
        std::erase_if(hits, [&](const BreakpointHit& hit) { return hit.tick < low || hit.tick > high; });
        if (!hits.empty()) {
            const Tick last = hits.back().tick;
            std::erase_if(hits, [&](const BreakpointHit& hit) { return hit.tick != last; });
            return hits;
        }
        if (begin == 0) break;
        high = begin;
    }
    return std::vector<BreakpointHit>();
}

Result<StopReport> RunControl::resumeBackward(int64_t ignore)
{
    const Tick from = m_target.timeline.tick();
    if (from == 0) return Error(ErrorCode::usage, "the run is at its start");
    int64_t high = from - 1;
    for (;; --ignore) {
        Result<std::vector<BreakpointHit>> hits = lastHits(0, high);
        if (!hits.ok()) return stopped(from, std::move(hits).takeError(), std::nullopt);
        if (!hits->empty() && ignore > 0 && hits->back().tick > 0) {
            high = hits->back().tick - 1;
            continue;
        }
        LS_TRY(StopReport report, backToHit(from, *hits, 0, StopCause::startReached));
        if (report.tick == 0 && !report.has(StopCause::startReached)) report.reasons.push_back({StopCause::startReached, 0, "", ""});
        return report;
    }
}

Result<StopReport> RunControl::stepBackward(int64_t count)
{
    const Tick from = m_target.timeline.tick();
    if (from == 0) return Error(ErrorCode::usage, "the run is at its start");
    return backTo(std::max<int64_t>(from - count, 0), count > from ? StopCause::startReached : StopCause::stepDone);
}

Result<StopReport> RunControl::nextBackward(int64_t count)
{
    Timeline& timeline = m_target.timeline;
    const Tick from = timeline.tick();
    if (from == 0) return Error(ErrorCode::usage, "the run is at its start");
    Result<StopReport> report = StopReport();
    while (count-- > 0 && timeline.tick() > 0) {
        const Tick here = timeline.tick();
        const int depth = timeline.position().depth;
        if (Status status = timeline.back(m_target.control); !status.ok()) return stopped(from, std::move(status), std::nullopt);
        Tick target = here - 1;
        std::vector<BreakpointHit> hits;
        const bool returned = timeline.position().depth > depth && m_target.executor.frame(depth).role != CallRole::frame;
        if (returned) { // a call returned here: to the stop before it, or to a breakpoint inside
            Result<Tick> call = m_search.tickBeforeCall(depth);
            if (!call.ok()) return stopped(from, std::move(call).takeError(), std::nullopt);
            target = *call;
            Result<std::vector<BreakpointHit>> inside = lastHits(target + 1, here - 1);
            if (!inside.ok()) return stopped(from, std::move(inside).takeError(), std::nullopt);
            hits = std::move(*inside);
        }
        report = backToHit(from, hits, target, StopCause::stepDone);
        if (!report.ok() || !hits.empty()) return report;
    }
    if (report.ok() && count >= 0) report->reasons = {{StopCause::startReached, 0, "", ""}};
    return report;
}

Result<StopReport> RunControl::finishBackward(int depth)
{
    const Tick from = m_target.timeline.tick();
    if (from == 0) return Error(ErrorCode::usage, "the run is at its start");
    Tick target;
    if (depth > 0) {
        Result<Tick> call = m_search.tickBeforeCall(depth);
        if (!call.ok()) return stopped(from, std::move(call).takeError(), std::nullopt);
        target = *call;
    }
    Result<std::vector<BreakpointHit>> hits = lastHits(target + 1, from - 1);
    if (!hits.ok()) return stopped(from, std::move(hits).takeError(), std::nullopt);
    return backToHit(from, *hits, target, depth > 0 ? StopCause::stepDone : StopCause::startReached);
}

} // namespace loopscope
