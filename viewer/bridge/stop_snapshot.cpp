#include "viewer/bridge/stop_snapshot.h"

#include "engine/debug/place.h"
#include "engine/exec/dataflow_executor.h"
#include "engine/observe/address.h"
#include "engine/observe/address_resolution.h"
#include "viewer/bridge/loop_condition.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

Address withoutIterations(Address address)
{
    for (AddressStep& step : address.steps) {
        step.iteration = -1;
        step.iterations.reset();
    }
    return address;
}

/// "tanh#15 in while#1:body" of "main/while#1:body/tanh#15"; what lies in the root graph is named alone.
std::string placeText(const std::string& place)
{
    const size_t slash = place.rfind('/');
    if (slash == std::string::npos) return place;
    const std::string path = place.substr(0, slash), name = place.substr(slash + 1);
    const size_t parent = path.find('/');
    return parent == std::string::npos ? name : name + " in " + path.substr(parent + 1);
}

std::string whereText(const BreakpointInfo& info)
{
    const std::string head = info.spec.substr(0, std::min({info.spec.find(" if "), info.spec.find(" hits "), info.spec.find(" \"")}));
    if (info.kind == "nan" && head == "nan") return "any result is NaN";
    if (info.place.empty()) return head;
    if (info.kind == "exit") return "loop exit of " + placeText(info.place);
    if (info.kind == "operator" || info.kind == "place" || head == info.place) return placeText(info.place);
    return head;
}

/// Of the operator that a breakpoint sits on; empty if it sits on none or on many.
std::string operatorOf(const Model& model, const std::string& place)
{
    if (place.empty() || place.find('*') != std::string::npos || place.find("...") != std::string::npos) return {};
    Result<Address> parsed = parsePattern(place);
    if (!parsed.ok()) return {};
    const Address address = withoutIterations(std::move(parsed).value());
    const Result<ResolvedAddress> resolved = resolveAddress(model, address);
    if (!resolved.ok() || resolved->address.target != TargetKind::op) return {};
    return toString(resolved->address);
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
    row.address = operatorOf(model, info.place);
    row.hits = info.hits;
    row.enabled = info.enabled;
    row.isLog = info.command == BreakpointCommand::log;
    row.isTemporary = info.command == BreakpointCommand::temporary;
    row.isWatch = info.command == BreakpointCommand::watch || info.command == BreakpointCommand::readWatch ||
                  info.command == BreakpointCommand::accessWatch;
    row.problem = info.disabledBecause;
    return row;
}

void addDataflow(const DataflowExecutor& executor, StopSnapshot& snapshot)
{
    const DataflowView& view = executor.view();
    snapshot.isDataflow = true;
    snapshot.scheduleSeed = executor.scheduleSeed();
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

std::shared_ptr<const StopSnapshot> takeSnapshot(Debugger& debugger, const StopReport* report, ComparedRun compared)
{
    auto snapshot = std::make_shared<StopSnapshot>();
    snapshot->compared = std::move(compared);
    Executor& executor = debugger.executor();
    const RunControl& control = debugger.control();
    for (const BreakpointInfo& info : debugger.breakpoints().list()) snapshot->breakpoints.push_back(rowOf(debugger.model(), info));
    snapshot->marks = control.marks();
    snapshot->started = control.isStarted();
    if (snapshot->started) {
        snapshot->report = control.here();
        // What the last request said holds only as long as nothing has moved since.
        if (report && report->tick == snapshot->report.tick && report->timeline == snapshot->report.timeline) snapshot->report = *report;
        snapshot->position = executor.position();
        snapshot->finished = snapshot->position.finished;
        snapshot->failed = snapshot->report.has(StopCause::error);
        snapshot->address = executor.positionAddress();
        snapshot->tick = executor.tick();
        snapshot->knownEnd = control.knownEnd();
        for (int depth = 0; depth < snapshot->position.depth; ++depth) {
            FrameSnapshot frame;
            frame.info = executor.frame(depth);
            frame.address = toString(frameAddress(executor, depth));
            frame.knownTrips = control.knownTrips(depth);
            frame.condition = loopConditionText(executor, depth);
            snapshot->stack.push_back(std::move(frame));
        }
        snapshot->loopRuns = control.loopRuns();
        snapshot->timelines = debugger.timeline().timelines();
        snapshot->timeline = snapshot->report.timeline;
        snapshot->savedBytes = debugger.timeline().savedBytes();
        snapshot->checkpoints = debugger.timeline().checkpointCount();
    }
    if (const auto* dataflow = dynamic_cast<const DataflowExecutor*>(&executor)) addDataflow(*dataflow, *snapshot);
    return snapshot;
}

} // namespace loopscope::viewer
