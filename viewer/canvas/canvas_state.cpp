// From a stop to what nodes and regions wear. Functional graphs: operators run in file order, so the next operator of a frame divides what
// has run from what has not. v1 graphs: tallies, tokens and the ready set of the dataflow executor.
#include "viewer/canvas/canvas_state.h"

#include "engine/ir/flow_role.h"
#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "viewer/bridge/document.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace loopscope::viewer {

namespace {

constexpr int64_t kMostChips = 8; ///< iterations of a v1 frame; more are a slider

/// "1st", "2nd", "6th".
std::string ordinal(size_t n)
{
    const size_t tens = n % 100;
    const char* ending = tens >= 11 && tens <= 13 ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
    return std::to_string(n) + ending;
}

/// Everything about one stop that nodes ask for.
class StopReader {
public:
    StopReader(const Scene& scene, const Model& model, const StopSnapshot& stop, const PictureMemory& memory)
        : m_scene(scene),
          m_model(model),
          m_stop(stop),
          m_memory(memory)
    {
        for (const FrameSnapshot& frame : stop.stack) m_static.push_back(staticAddress(frame.address));
    }

    CanvasState read()
    {
        CanvasState state = idleState(m_scene);
        markBreakpoints(state);
        if (!m_stop.started) return state;
        state.started = true;
        for (size_t i = 0; i < m_scene.regions.size(); ++i) readRegion(state, i);
        if (m_stop.isDataflow) readDataflow(state);
        else
            for (size_t i = 0; i < m_scene.nodes.size(); ++i) readNode(state, i);
        markNext(state);
        return state;
    }

private:
    /// Groups, frames and the box around the sides of a branch draw no invocation of their own.
    static bool isInvocation(const SceneRegion& region)
    {
        return region.kind != RegionKind::group && region.kind != RegionKind::frame && !region.role.empty();
    }
    int callRegionAround(int region) const
    {
        while (region >= 0 && !isInvocation(m_scene.regions[static_cast<size_t>(region)]))
            region = m_scene.regions[static_cast<size_t>(region)].parent;
        return region;
    }
    /// Static address of the invocation that a region lies in.
    std::string contextOf(int region) const
    {
        const int call = callRegionAround(region);
        return call < 0 ? m_scene.view.root : m_scene.regions[static_cast<size_t>(call)].id;
    }
    /// Depth of the frame that runs at a static address; −1: none does.
    int depthOf(const std::string& context) const
    {
        for (size_t i = m_static.size(); i-- > 0;)
            if (m_static[i] == context) return static_cast<int>(i);
        return -1;
    }
    RunState stateInFrame(int depth, OperatorId op) const
    {
        const OperatorId next = m_stop.stack[static_cast<size_t>(depth)].info.next;
        if (!next.valid() || op.index < next.index) return RunState::run;
        const bool isCallRunning = op == next && static_cast<size_t>(depth) + 1 < m_stop.stack.size();
        return isCallRunning ? RunState::run : RunState::notRun;
    }
    /// What a call site that is drawn open has done.
    RunState siteState(const SceneRegion& region) const
    {
        const int depth = depthOf(contextOf(region.parent));
        if (depth >= 0) return stateInFrame(depth, region.op);
        const int around = callRegionAround(region.parent);
        if (around >= 0) return siteState(m_scene.regions[static_cast<size_t>(around)]);
        return m_stop.finished ? RunState::run : RunState::notRun;
    }

    void readRegion(CanvasState& state, size_t index) const
    {
        const SceneRegion& region = m_scene.regions[index];
        RegionState& out = state.regions[index];
        if (region.kind == RegionKind::group || region.kind == RegionKind::frame) return;
        if (!isInvocation(region)) {
            out.run = siteState(region);
            followAround(state, region, out);
            return;
        }
        const int depth = depthOf(region.id);
        out.run = depth >= 0 ? RunState::run : siteState(region);
        if (depth < 0 && followAround(state, region, out)) return;
        if (depth >= 0) {
            const FrameSnapshot& frame = m_stop.stack[static_cast<size_t>(depth)];
            out.address = frame.address;
            if (frame.info.iteration >= 0) out.iteration = frame.info.iteration;
            out.trips = frame.knownTrips;
            if (region.kind == RegionKind::branch) out.note = "taken";
            if (region.kind == RegionKind::loop && region.role == "body") {
                out.condition = frame.condition.empty() ? "true" : frame.condition + " true";
                recallTrips(region, out);
            }
            return;
        }
        // Its sibling runs: the other side of a branch, or the cond of the loop.
        for (size_t d = 1; d < m_stop.stack.size(); ++d) {
            const FrameSnapshot& frame = m_stop.stack[d];
            if (m_static[d - 1] != contextOf(region.parent) || frame.info.site != region.op) continue;
            if (region.kind == RegionKind::branch) {
                out.run = RunState::untaken;
                out.note = "untaken";
                return;
            }
            if (frame.info.iteration >= 0) out.iteration = frame.info.iteration;
            out.trips = frame.knownTrips;
            out.address = frame.address;
            out.run = region.role == "cond" ? RunState::run : RunState::notRun;
            if (region.kind != RegionKind::loop) return;
            out.condition = frame.condition; // that is being decided
            return recallTrips(region, out);
        }
        if (region.kind == RegionKind::loop) readEndedLoop(region, out);
        if (region.kind == RegionKind::branch && !region.site.empty() && out.run == RunState::run) readEndedBranch(state, region, out);
    }

    /// What lies in a side that did not run has not run; in one of which that is not known, neither is.
    bool followAround(const CanvasState& state, const SceneRegion& region, RegionState& out) const
    {
        const int around = callRegionAround(region.parent);
        if (around < 0 || m_scene.regions[static_cast<size_t>(around)].site.empty()) return false; // sides of v1 graphs call nothing
        const RunState outer = state.regions[static_cast<size_t>(around)].run;
        if (outer != RunState::untaken && outer != RunState::none) return false;
        out.run = outer;
        return true;
    }

    /// A side of a branch that has returned.
    void readEndedBranch(CanvasState& state, const SceneRegion& region, RegionState& out) const
    {
        const std::optional<std::string> around = momentOf(region.parent);
        const std::string op = around ? *around + siteText(region) : std::string();
        std::optional<int> side;
        if (const auto here = m_stop.sides.find(op); here != m_stop.sides.end()) side = here->second;
        else if (m_memory.sides != nullptr)
            if (const auto known = m_memory.sides->find(op); known != m_memory.sides->end()) side = known->second;
        if (!side) {
            out.run = RunState::none;
            if (around) state.unknownSides.push_back(*around);
            return;
        }
        const bool taken = roleOfSide(m_model.graph(region.caller).op(region.op), *side) == region.role;
        out.run = taken ? RunState::run : RunState::untaken;
        out.note = taken ? "taken" : "untaken";
        if (taken) out.address = op + ":" + region.role;
    }

    /// "/if#2": the call operator of a region, without the graph that it lies in.
    std::string siteText(const SceneRegion& region) const
    {
        const std::string around = contextOf(region.parent);
        return region.site.starts_with(around) ? region.site.substr(around.size()) : std::string();
    }

    /// The invocation that a region lies in, canonical: an open one, else the last one that ran there. none: which one is not known.
    std::optional<std::string> momentOf(int region) const
    {
        if (const int depth = depthOf(contextOf(region)); depth >= 0) return m_stop.stack[static_cast<size_t>(depth)].address;
        const int call = callRegionAround(region);
        if (call < 0)
            return m_stop.finished && m_scene.view.root.find('/') == std::string::npos ? std::optional(m_scene.view.root) : std::nullopt;
        const SceneRegion& drawn = m_scene.regions[static_cast<size_t>(call)];
        std::optional<std::string> moment = momentOf(drawn.parent);
        if (!moment) return std::nullopt;
        *moment += siteText(drawn);
        if (drawn.kind == RegionKind::loop) {
            const auto ended = std::ranges::find(m_stop.loopRuns, *moment, &LoopRun::address);
            if (ended == m_stop.loopRuns.end() || ended->trips < 1) return std::nullopt;
            *moment += "@" + std::to_string(ended->trips - 1);
        }
        return *moment + ":" + drawn.role;
    }

    /// A loop that has ended here, or did so when the run came by before.
    void readEndedLoop(const SceneRegion& region, RegionState& out) const
    {
        const int depth = depthOf(contextOf(region.parent)); // none is left of a run that has finished
        const std::string site = depth < 0 ? region.site : m_stop.stack[static_cast<size_t>(depth)].address + siteText(region);
        for (const LoopRun& run : m_stop.loopRuns) {
            if (run.address != site) continue;
            out.trips = run.trips;
            if (out.run == RunState::run && run.tick <= m_stop.tick) out.condition = "false";
            return;
        }
        recallTrips(region, out);
    }

    void recallTrips(const SceneRegion& region, RegionState& out) const
    {
        if (out.trips) return;
        const auto known = m_memory.trips.find(region.id);
        if (known == m_memory.trips.end() || out.iteration.value_or(0) >= known->second) return;
        out.trips = known->second;
        out.tripsFromEarlier = true;
    }

    RunState contextState(int region) const
    {
        const int call = callRegionAround(region);
        if (call < 0) return m_stop.finished ? RunState::run : RunState::notRun;
        return siteState(m_scene.regions[static_cast<size_t>(call)]);
    }

    void readNode(CanvasState& state, size_t index) const
    {
        const SceneNode& node = m_scene.nodes[index];
        NodeState& out = state.nodes[index];
        const int call = callRegionAround(node.region);
        if (call >= 0 && state.regions[static_cast<size_t>(call)].run == RunState::untaken) {
            out.run = RunState::untaken;
            return;
        }
        const int depth = depthOf(contextOf(node.region));
        if (node.kind == NodeKind::op) {
            out.run = depth >= 0  ? stateInFrame(depth, node.op)
                      : call >= 0 ? state.regions[static_cast<size_t>(call)].run
                                  : contextState(node.region);
        } else if (node.kind == NodeKind::group && !node.members.empty()) {
            const OperatorId last = node.members.back();
            out.run = depth >= 0  ? stateInFrame(depth, last)
                      : call >= 0 ? state.regions[static_cast<size_t>(call)].run
                                  : contextState(node.region);
        } else {
            out.run = depth >= 0 || node.kind == NodeKind::constant ? RunState::run
                      : call >= 0                                   ? state.regions[static_cast<size_t>(call)].run
                                                                    : RunState::run;
        }
    }

    void markBreakpoints(CanvasState& state) const
    {
        for (const BreakpointRow& row : m_stop.breakpoints) {
            if (row.address.empty() || row.isTemporary) continue;
            const int node = m_scene.findNode(row.address);
            if (node < 0) continue;
            BreakpointMark& mark = state.nodes[static_cast<size_t>(node)].breakpoint;
            mark = !row.problem.empty()     ? BreakpointMark::unbound
                   : !row.enabled           ? BreakpointMark::disabled
                   : row.isLog              ? BreakpointMark::log
                   : !row.condition.empty() ? BreakpointMark::condition
                                            : BreakpointMark::enabled;
        }
    }

    void markNext(CanvasState& state) const
    {
        if (m_stop.finished) return;
        // A place that is not in the picture is shown by what hides it: the call operator that was entered.
        int node = -1;
        std::string address = staticAddress(m_stop.address);
        while (node < 0 && !address.empty()) {
            node = m_scene.findNode(address);
            const size_t colon = address.find_last_of("/:");
            if (colon == std::string::npos) break;
            address.resize(colon);
        }
        if (node < 0) return;
        NodeState& next = state.nodes[static_cast<size_t>(node)];
        next.next = !m_stop.failed;
        if (next.run == RunState::ready) next.badge = next.willBeDead ? "dead" : ""; // that it is next the colour says
        next.error = m_stop.failed;
        if (m_stop.isDataflow || m_stop.stack.empty()) return;
        const FrameSnapshot& frame = m_stop.stack.back();
        const SceneNode& at = m_scene.nodes[static_cast<size_t>(node)];
        if (at.kind != NodeKind::op || at.graph != frame.info.graph || at.op != frame.info.next || at.op.index == 0) return;
        for (size_t i = 0; i < m_scene.nodes.size(); ++i) {
            const SceneNode& one = m_scene.nodes[i];
            if (one.kind == NodeKind::op && one.graph == at.graph && one.op.index == at.op.index - 1 &&
                contextOf(one.region) == contextOf(at.region))
                state.nodes[i].last = true;
        }
    }

    // --- v1 -------------------------------------------------------------------------------------------------------------------------

    void readDataflow(CanvasState& state);
    void readSides(CanvasState& state) const;
    void readFrame(CanvasState& state, size_t index);
    int64_t shownIteration(int region) const
    {
        while (region >= 0) {
            if (m_scene.regions[static_cast<size_t>(region)].kind == RegionKind::frame) {
                const auto it = m_iteration.find(region);
                return it == m_iteration.end() ? -1 : it->second;
            }
            region = m_scene.regions[static_cast<size_t>(region)].parent;
        }
        return -1;
    }

    /// Of StopSnapshot::frames, the one that a region's frame shows; 0: the root.
    int32_t shownFrame(int region) const
    {
        for (; region >= 0; region = m_scene.regions[static_cast<size_t>(region)].parent)
            if (const auto it = m_frame.find(region); it != m_frame.end()) return it->second;
        return 0;
    }
    /// What the node gave in the iteration that its frame shows, if that is one number and still there. Of a Switch the side that it
    /// sent its value to: ":1 27".
    std::string valueText(const SceneNode& node) const
    {
        if (!node.value.valid()) return {};
        const Operator& op = m_model.graph(node.graph).op(node.op);
        const bool isNext = flowRole(op) == FlowRole::nextIteration; // what it gave lies there
        const int64_t shown = std::max<int64_t>(0, shownIteration(node.region)) + (isNext ? 1 : 0);
        const auto textOf = [&](ValueId value) {
            const auto found = m_texts.find({node.graph.index, value.index, shownFrame(node.region), shown});
            return found == m_texts.end() ? std::string() : *found->second;
        };
        if (const FlowRole role = flowRole(op); role != FlowRole::choice && role != FlowRole::manyChoice) return textOf(node.value);
        for (size_t port = 0; port < op.results.size(); ++port)
            if (std::string text = textOf(op.results[port]); !text.empty()) return ":" + std::to_string(port) + " " + text;
        return {};
    }

    const Scene& m_scene;
    const Model& m_model;
    const StopSnapshot& m_stop;
    const PictureMemory& m_memory;
    std::vector<std::string> m_static;  ///< addresses of the stack without iterations
    std::map<int, int64_t> m_iteration; ///< frame region → iteration that it shows
    std::map<int, int32_t> m_frame;     ///< frame region → index into StopSnapshot::frames
    std::map<std::tuple<int32_t, int32_t, int32_t, int64_t>, const std::string*> m_texts; ///< of v1 values: graph, value, frame, iteration
};

/// The iteration that a step of `address` with the frame's name has; −1: none.
int64_t iterationIn(const std::string& address, const std::string& frame)
{
    const Result<Address> parsed = parseAddress(address);
    if (!parsed.ok()) return -1;
    for (size_t i = parsed->steps.size(); i-- > 0;)
        if (parsed->steps[i].site.name == frame) return parsed->steps[i].iteration;
    return -1;
}

void StopReader::readFrame(CanvasState& state, size_t index)
{
    const SceneRegion& region = m_scene.regions[index];
    RegionState& out = state.regions[index];
    const DataflowFrame* live = nullptr;
    for (const DataflowFrame& frame : m_stop.frames)
        if (frame.role == CallRole::frame && frame.name == region.name && frame.graph == region.graph) {
            live = &frame;
            m_frame[static_cast<int>(index)] = static_cast<int32_t>(&frame - m_stop.frames.data());
        }
    if (!live) {
        out.run = RunState::notRun;
        return;
    }
    out.run = RunState::run;
    out.address = live->address;
    int64_t shown = iterationIn(m_stop.address, region.name);
    if (shown < 0) shown = live->oldestIteration;
    const auto chosen = m_memory.shownIterations.find(region.id);
    if (chosen != m_memory.shownIterations.end() && chosen->second <= live->newestIteration) shown = chosen->second;
    m_iteration[static_cast<int>(index)] = shown;
    out.iteration = shown;
    out.oldest = live->oldestIteration;
    out.newest = live->newestIteration;
    for (int64_t k = 0; k <= live->newestIteration && live->newestIteration < kMostChips; ++k)
        out.chips.push_back({k, k == shown ? ChipState::chosen : k < live->oldestIteration ? ChipState::done : ChipState::inFlight});
    const auto range = [](int64_t low, int64_t high) {
        return low == high ? std::to_string(low) : std::to_string(low) + " … " + std::to_string(high);
    };
    out.note = range(live->oldestIteration, live->newestIteration) + " in flight";
    if (live->oldestIteration > 0) out.note += ", " + range(0, live->oldestIteration - 1) + " done";
}

/// Of a v1 conditional: a side whose nodes are dead, or ready with a dead operand, was not taken.
void StopReader::readSides(CanvasState& state) const
{
    for (size_t r = 0; r < m_scene.regions.size(); ++r) {
        const SceneRegion& region = m_scene.regions[r];
        if (region.kind != RegionKind::branch || region.role.empty() || !region.site.empty()) continue;
        bool isDead = false, isLive = false;
        for (size_t i = 0; i < m_scene.nodes.size(); ++i) {
            if (m_scene.nodes[i].region != static_cast<int>(r)) continue;
            const NodeState& node = state.nodes[i];
            isDead = isDead || node.run == RunState::dead || node.willBeDead;
            isLive = isLive || node.run == RunState::run || (node.run == RunState::ready && !node.willBeDead);
        }
        state.regions[r].run = isLive ? RunState::run : isDead ? RunState::untaken : RunState::none;
        state.regions[r].note = isLive ? "taken" : isDead ? "dead" : "";
    }
}

void StopReader::readDataflow(CanvasState& state)
{
    for (size_t i = 0; i < m_scene.regions.size(); ++i)
        if (m_scene.regions[i].kind == RegionKind::frame) readFrame(state, i);

    for (const DataflowValue& value : m_stop.values)
        if (!value.text.empty())
            m_texts[{value.graph.index, value.value.index, value.frame, std::max<int64_t>(0, value.iteration)}] = &value.text;

    struct Tally {
        const DataflowTally* tally = nullptr;
        std::vector<std::pair<int64_t, size_t>> ready; ///< iteration, place in the ready set
        std::vector<int64_t> waiting;                  ///< iterations of values that lie before it
    };
    std::map<std::pair<int64_t, int64_t>, Tally> known;
    const auto key = [](GraphId graph, OperatorId op) { return std::pair<int64_t, int64_t>(graph.index, op.index); };
    for (const DataflowTally& tally : m_stop.tallies) known[key(tally.graph, tally.op)].tally = &tally;
    for (size_t i = 0; i < m_stop.ready.size(); ++i) {
        const DataflowReady& ready = m_stop.ready[i];
        const Result<Address> address = parseAddress(ready.address);
        const int64_t iteration = address.ok() && !address->steps.empty() ? address->steps.back().iteration : -1;
        known[key(ready.graph, ready.op)].ready.emplace_back(iteration, i);
    }
    for (const DataflowToken& token : m_stop.tokens)
        for (const OperatorId op : token.waiting) known[key(token.graph, op)].waiting.push_back(token.iteration);

    for (size_t i = 0; i < m_scene.nodes.size(); ++i) {
        const SceneNode& node = m_scene.nodes[i];
        NodeState& out = state.nodes[i];
        if (node.kind != NodeKind::op) {
            out.run = RunState::run;
            continue;
        }
        out.run = RunState::notRun;
        const auto it = known.find(key(node.graph, node.op));
        if (it == known.end()) continue;
        const Tally& one = it->second;
        const int64_t shown = shownIteration(node.region);
        const auto ready = std::ranges::find_if(one.ready, [&](const auto& entry) { return shown < 0 || entry.first == shown; });
        if (ready != one.ready.end()) {
            out.run = RunState::ready;
            out.willBeDead = m_stop.ready[ready->second].willBeDead;
            out.badge = ordinal(ready->second + 1) + (out.willBeDead ? ", dead" : "");
            continue;
        }
        if (one.tally) {
            const DataflowTally& tally = *one.tally;
            const int64_t newest = std::max(tally.lastLive, tally.lastDead);
            if (shown < 0) {
                out.run = tally.runs == 0 && tally.dead > 0 ? RunState::dead : tally.runs > 0 ? RunState::run : RunState::notRun;
            } else if (newest >= shown) {
                const bool dead = tally.lastDead == shown || (tally.lastLive < shown && tally.lastDead > shown);
                out.run = dead ? RunState::dead : RunState::run;
            }
            if (out.run == RunState::dead) out.badge = "dead";
            if (out.run == RunState::run) out.badge = valueText(node);
            if (out.run != RunState::notRun) continue;
        }
        const auto has = std::ranges::count_if(one.waiting, [&](int64_t iteration) { return shown < 0 || iteration == shown; });
        if (has == 0) continue;
        const Operator& op = m_model.graph(node.graph).op(node.op);
        out.run = RunState::waiting;
        out.badge = std::to_string(has) + " of " + std::to_string(op.inputs.size() + op.controlInputs.size());
    }

    readSides(state);
    // Values that have crossed into a later iteration than the frame shows.
    for (size_t e = 0; e < m_scene.edges.size(); ++e) {
        const SceneEdge& edge = m_scene.edges[e];
        if (edge.style != EdgeStyle::feedback || edge.to < 0) continue;
        const int region = m_scene.nodes[static_cast<size_t>(edge.to)].region;
        const int64_t shown = shownIteration(region);
        const int32_t frame = shownFrame(region);
        for (const DataflowValue& value : m_stop.values) {
            if (value.graph != edge.graph || value.value != edge.value || value.frame != frame || value.iteration <= shown) continue;
            std::string text = value.isDead ? "dead" : value.text;
            text += (text.empty() ? "→ @" : " → @") + std::to_string(value.iteration);
            state.tokens.push_back({static_cast<int>(e), std::move(text), value.isDead});
        }
    }
}

} // namespace

CanvasState idleState(const Scene& scene)
{
    CanvasState state;
    state.nodes.resize(scene.nodes.size());
    state.regions.resize(scene.regions.size());
    return state;
}

CanvasState stateAt(const Scene& scene, const Model& model, const StopSnapshot& stop, const PictureMemory& memory)
{
    return StopReader(scene, model, stop, memory).read();
}

} // namespace loopscope::viewer
