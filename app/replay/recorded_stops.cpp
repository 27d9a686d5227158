#include "app/replay/recorded_stops.h"

#include <algorithm>

namespace loopscope::app {

namespace {

/// From the root to the invocation itself. None: a row is missing.
Result<std::optional<std::vector<RecordedInvocation>>> chainOf(const RecordedRun& run, int64_t id)
{
    std::vector<RecordedInvocation> chain;
    while (id != 0) {
        LS_TRY(std::optional<RecordedInvocation> row, run.invocation(id));
        if (!row) return std::optional<std::vector<RecordedInvocation>>();
        id = row->parent; // smaller than its own, which was checked
        chain.push_back(std::move(*row));
    }
    std::reverse(chain.begin(), chain.end());
    return std::optional(std::move(chain));
}

bool isInCond(const RecordedInvocation& row, int graph) { return row.cond >= 0 && row.cond != row.graph && graph == row.cond; }

} // namespace

Result<std::optional<RecordedStop>> recordedStopAt(const RecordedRun& run, int64_t tick)
{
    const std::optional<RecordedStop> none;
    LS_TRY(const std::optional<RecordedInvocation> first, run.firstInvocation());
    LS_TRY(const std::optional<RecordedInvocation> last, run.lastInvocation());
    if (!first || !last || first->firstStep != 0) return none;
    // The latest invocation that has started: each starts at a tick, its first step and the frames outside it, and no earlier than those
    // before.
    int64_t low = first->id, high = last->id;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        LS_TRY(const auto chain, chainOf(run, middle));
        if (!chain) return none;
        const bool hasStarted = chain->back().firstStep + std::ssize(*chain) - 1 <= tick;
        if (hasStarted) low = middle;
        else high = middle - 1;
    }
    LS_TRY(auto chain, chainOf(run, low));
    if (!chain) return none;
    // It may be over; then whoever called it goes on.
    while (chain->size() > 1 && tick - (std::ssize(*chain) - 1) >= chain->back().firstStep + chain->back().steps) chain->pop_back();
    RecordedStop stop;
    stop.step = tick - (std::ssize(*chain) - 1);
    stop.nextInvocation = low + 1;
    if (stop.step >= run.run().steps() || stop.step < chain->back().firstStep) return none;
    for (size_t depth = 0; depth + 1 < chain->size(); ++depth) {
        const RecordedInvocation& callee = (*chain)[depth + 1];
        const bool inCond = isInCond((*chain)[depth], callee.callerGraph);
        stop.frames.push_back({(*chain)[depth], inCond, callee.site});
    }
    // What completes next, in the innermost frame or in what this enters first.
    LS_TRY(const std::optional<RecordedEvent> event, run.event(stop.step));
    if (!event) return none;
    const RecordedInvocation& innermost = chain->back();
    int graph = event->graph, next = event->op;
    for (int64_t at = event->invocation; at != innermost.id;) {
        LS_TRY(const std::optional<RecordedInvocation> row, run.invocation(at));
        if (!row || row->parent < innermost.id) return none;
        graph = row->callerGraph;
        next = row->site;
        at = row->parent;
    }
    if (next < 0 || (graph != innermost.graph && graph != innermost.cond)) return none;
    stop.frames.push_back({innermost, isInCond(innermost, graph), next});
    return std::optional(std::move(stop));
}

} // namespace loopscope::app
