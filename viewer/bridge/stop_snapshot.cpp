#include "viewer/bridge/stop_snapshot.h"

#include "engine/api/debug_session.h"
#include "engine/base/memory_shares.h"
#include "engine/observe/address_names.h"
#include "viewer/bridge/loop_condition.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

std::string whereText(const BreakpointInfo& info)
{
    const std::string head = info.spec.substr(0, std::min({info.spec.find(" if "), info.spec.find(" hits "), info.spec.find(" \"")}));
    if (info.kind == "nan" && head == "nan") return "any result is NaN";
    if (info.place.empty()) return head;
    if (info.kind == "exit") return "loop exit of " + placeText(info.place);
    if (info.kind == "operator" || info.kind == "place" || head == info.place) return placeText(info.place);
    return head;
}

BreakpointRow rowOf(const Model& model, const BreakpointInfo& info)
{
    BreakpointRow row;
    row.number = info.number;
    row.kind = info.kind;
    row.where = whereText(info);
    row.condition = info.condition;
    if (!info.hitRule.empty()) {
        const std::string rule = info.hitRule.starts_with("%") ? "every " + info.hitRule.substr(1) : "hits " + info.hitRule;
        row.condition += (row.condition.empty() ? "" : ", ") + rule;
    }
    row.address = operatorOf(model, info);
    row.hits = info.hits;
    row.enabled = info.enabled;
    row.isLog = info.command == BreakpointCommand::log;
    row.isTemporary = info.command == BreakpointCommand::temporary;
    row.isWatch = info.command == BreakpointCommand::watch || info.command == BreakpointCommand::readWatch ||
                  info.command == BreakpointCommand::accessWatch;
    row.problem = info.disabledBecause;
    return row;
}

void addDataflow(const DataflowView& view, uint64_t scheduleSeed, StopSnapshot& snapshot)
{
    snapshot.isDataflow = true;
    snapshot.scheduleSeed = scheduleSeed;
    if (!snapshot.started) return;
    snapshot.nextIsDead = view.nextIsDead();
    snapshot.frames = view.frames();
    snapshot.tokens = view.tokens();
    snapshot.ready = view.ready();
    // With a seed any of them may be the next one: it stands first here, too.
    const auto next = std::ranges::find(snapshot.ready, snapshot.address, &DataflowReady::address);
    if (next != snapshot.ready.end()) std::rotate(snapshot.ready.begin(), next, next + 1);
    snapshot.tallies = view.tallies();
    snapshot.values = view.values();
    snapshot.races = view.races();
}

} // namespace

std::shared_ptr<StopSnapshot> takeSnapshot(const Inspector& inspector, BranchSites& sites, const StopReport* report, ComparedRun compared)
{
    auto snapshot = std::make_shared<StopSnapshot>();
    snapshot->compared = std::move(compared);
    for (const BreakpointInfo& info : inspector.breakpoints()) snapshot->breakpoints.push_back(rowOf(inspector.model(), info));
    snapshot->marks = inspector.marks();
    snapshot->started = inspector.isStarted();
    if (snapshot->started) {
        snapshot->report = inspector.here();
        // What the last request said holds only as long as nothing has moved since.
        if (report && report->tick == snapshot->report.tick && report->timeline == snapshot->report.timeline) snapshot->report = *report;
        snapshot->position = inspector.position();
        snapshot->finished = snapshot->position.finished;
        snapshot->failed = snapshot->report.has(StopCause::error);
        snapshot->address = inspector.positionAddress();
        snapshot->tick = inspector.tick();
        snapshot->knownEnd = inspector.knownEnd();
        for (int depth = 0; depth < snapshot->position.depth; ++depth) {
            FrameSnapshot frame;
            frame.info = inspector.frame(depth);
            frame.address = inspector.frameAddress(depth);
            frame.knownTrips = inspector.knownTrips(depth);
            frame.condition = loopConditionText(inspector, depth);
            snapshot->stack.push_back(std::move(frame));
        }
        snapshot->loopRuns = inspector.loopRuns();
        snapshot->timelines = inspector.timelines().timelines;
        snapshot->timeline = snapshot->report.timeline;
        snapshot->runs = inspector.runs();
        snapshot->sides = sidesOfStack(inspector, sites);
        const SavedStates saved = inspector.savedStates();
        snapshot->savedBytes = saved.bytes;
        snapshot->checkpoints = saved.checkpoints;
        snapshot->kept = swapShares();
        snapshot->deviceBytes = MemoryShares::all().device.load();
    }
    if (const DataflowView* const view = inspector.dataflow()) addDataflow(*view, inspector.scheduleSeed(), *snapshot);
    return snapshot;
}

} // namespace loopscope::viewer
