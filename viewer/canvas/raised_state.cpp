#include "viewer/canvas/raised_state.h"

#include "engine/ir/flow_role.h"
#include "engine/ir/origin.h"
#include "engine/observe/address.h"

#include <algorithm>
#include <map>
#include <utility>

namespace loopscope::viewer {

namespace {

constexpr int kMostHops = 4; ///< back from a node that nothing stands for to one that something does

int64_t lastIterationIn(const std::string& address)
{
    const Result<Address> parsed = parseAddress(address);
    return parsed.ok() && !parsed->steps.empty() ? parsed->steps.back().iteration : -1;
}

class RaisedReader {
public:
    RaisedReader(const Scene& scene, const RaisedModel& raised, const Model& v1, const StopSnapshot& stop)
        : m_scene(scene),
          m_raised(raised),
          m_v1(v1),
          m_stop(stop)
    {
        for (const DataflowTally& tally : stop.tallies) m_tallies[{tally.graph.index, tally.op.index}] = &tally;
        for (const DataflowReady& ready : stop.ready)
            m_ready[{ready.graph.index, ready.op.index}].emplace(lastIterationIn(ready.address), ready.willBeDead);
    }

    CanvasState read()
    {
        CanvasState state = idleState(m_scene);
        markBreakpoints(state);
        if (!m_stop.started) return state;
        state.started = true;
        for (size_t r = 0; r < m_scene.regions.size(); ++r) readLoop(state.regions[r], m_scene.regions[r]);
        for (size_t n = 0; n < m_scene.nodes.size(); ++n) readNode(state, n);
        for (size_t r = m_scene.regions.size(); r-- > 0;) readAround(state, r);
        if (!m_stop.finished) markNext(state);
        return state;
    }

private:
    using Key = std::pair<int64_t, int64_t>;

    /// The instance of a loop's frame that the stop lies in, else the last one that is there.
    const DataflowFrame* frameOf(const std::string& name) const
    {
        const DataflowFrame* found = nullptr;
        for (const DataflowFrame& frame : m_stop.frames) {
            if (frame.role != CallRole::frame || frame.name != name) continue;
            found = &frame;
            if (m_stop.address.starts_with(frame.address.substr(0, frame.address.rfind('@')))) break;
        }
        return found;
    }

    void readLoop(RegionState& out, const SceneRegion& region) const
    {
        out.run = RunState::none;
        if (region.kind != RegionKind::loop || !m_raised.model().hasGraph(region.graph)) return;
        const std::vector<std::string> frames = originFrames(m_raised.model().graph(region.graph));
        if (frames.empty()) return;
        const DataflowFrame* const live = frameOf(frames.back());
        if (live == nullptr) return;
        out.run = RunState::run;
        out.oldest = live->oldestIteration;
        out.newest = live->newestIteration;
        out.iteration = live->oldestIteration;
        if (const Result<Address> at = parseAddress(m_stop.address); at.ok())
            for (const AddressStep& step : at->steps)
                if (step.role == StepRole::frame && step.site.name == frames.back()) out.iteration = step.iteration;
        out.address = region.site + "@" + std::to_string(*out.iteration) + ":" + region.role;
    }

    /// The iteration that the loop around a region shows; −1: none does.
    int64_t shownAround(const CanvasState& state, int region) const
    {
        for (; region >= 0; region = m_scene.regions[static_cast<size_t>(region)].parent)
            if (m_scene.regions[static_cast<size_t>(region)].kind == RegionKind::loop)
                return state.regions[static_cast<size_t>(region)].iteration.value_or(-1);
        return -1;
    }

    void readNode(CanvasState& state, size_t index) const
    {
        const SceneNode& node = m_scene.nodes[index];
        NodeState& out = state.nodes[index];
        out.run = RunState::run;
        if (node.kind != NodeKind::op) return;
        const std::optional<ModelPlace> source = m_raised.nodeOf({node.graph, node.op, node.value});
        if (!source) return;
        out.run = RunState::notRun;
        const Key key(source->graph.index, source->op.index);
        const int64_t shown = shownAround(state, node.region);
        if (const auto ready = m_ready.find(key); ready != m_ready.end())
            if (const auto one = shown < 0 ? ready->second.begin() : ready->second.find(shown); one != ready->second.end()) {
                out.run = one->second ? RunState::untaken : RunState::ready; // a dead operand: it is passed over
                return;
            }
        const auto found = m_tallies.find(key);
        if (found == m_tallies.end()) return;
        const DataflowTally& tally = *found->second;
        if (shown < 0) {
            out.run = tally.runs > 0 ? RunState::run : tally.dead > 0 ? RunState::untaken : RunState::notRun;
        } else if (std::max(tally.lastLive, tally.lastDead) >= shown) {
            const bool dead = tally.lastDead == shown || (tally.lastLive < shown && tally.lastDead > shown);
            out.run = dead ? RunState::untaken : RunState::run;
        }
    }

    bool isInside(int region, size_t outer) const
    {
        while (region >= 0 && static_cast<size_t>(region) != outer) region = m_scene.regions[static_cast<size_t>(region)].parent;
        return region >= 0;
    }

    /// Sides of branches are as what lies in them; a loop whose frame is gone has ended or has not begun.
    void readAround(CanvasState& state, size_t index) const
    {
        RegionState& out = state.regions[index];
        const SceneRegion& region = m_scene.regions[index];
        if (region.role.empty() || out.run != RunState::none) return;
        bool isRun = false, isDead = false, hasOperator = false;
        int64_t last = -1;
        for (size_t n = 0; n < m_scene.nodes.size(); ++n) {
            const SceneNode& node = m_scene.nodes[n];
            if (node.kind != NodeKind::op || !isInside(node.region, index)) continue;
            hasOperator = true;
            isRun = isRun || state.nodes[n].run == RunState::run || state.nodes[n].run == RunState::ready;
            isDead = isDead || state.nodes[n].run == RunState::untaken;
            if (const std::optional<ModelPlace> source = m_raised.nodeOf({node.graph, node.op, node.value}))
                if (const auto tally = m_tallies.find({source->graph.index, source->op.index}); tally != m_tallies.end())
                    last = std::max(last, tally->second->lastLive);
        }
        if (!hasOperator) return;
        out.run = isRun ? RunState::run : isDead ? RunState::untaken : RunState::notRun;
        if (region.kind == RegionKind::branch) out.note = isRun ? "taken" : isDead ? "untaken" : "";
        if (region.kind == RegionKind::loop && isRun && last >= 0) {
            out.trips = last + 1;
            out.condition = "false";
        }
    }

    void markBreakpoints(CanvasState& state) const
    {
        if (m_stop.breakpoints.empty()) return;
        std::map<std::string, BreakpointMark> marks; // by the end of their address, which is the node's name
        for (size_t n = 0; n < m_scene.nodes.size(); ++n) {
            const SceneNode& node = m_scene.nodes[n];
            if (node.kind != NodeKind::op) continue;
            const std::optional<ModelPlace> source = m_raised.nodeOf({node.graph, node.op, node.value});
            if (!source) continue;
            const std::string& name = m_v1.graph(source->graph).op(source->op).name;
            for (const BreakpointRow& row : m_stop.breakpoints)
                if (!row.address.empty() && !row.isTemporary && row.address.ends_with("/" + name) &&
                    row.address == addressInFrames(m_v1.graph(source->graph), source->op))
                    state.nodes[n].breakpoint = row.enabled ? BreakpointMark::enabled : BreakpointMark::disabled;
        }
    }

    /// Nothing stands for an Enter or a NextIteration: then what it read has run last.
    void markNext(CanvasState& state) const
    {
        if (m_stop.ready.empty()) return;
        const DataflowReady& next = m_stop.ready.front();
        const Graph& graph = m_v1.graph(next.graph);
        OperatorId at = next.op;
        for (int hop = 0; hop < kMostHops && at.valid(); ++hop) {
            const std::optional<ModelPlace> place = m_raised.raisedOf(next.graph, at);
            if (const int node = place ? nodeOfPlace(m_scene, *place) : -1; node >= 0) {
                NodeState& out = state.nodes[static_cast<size_t>(node)];
                if (hop > 0) out.last = true;
                else if (m_stop.failed) out.error = true;
                else out.next = true;
                return;
            }
            const std::vector<ValueId>& inputs = graph.op(at).inputs;
            at = inputs.empty() || !inputs.front().valid() ? OperatorId() : graph.value(inputs.front()).producer;
        }
    }

    const Scene& m_scene;
    const RaisedModel& m_raised;
    const Model& m_v1;
    const StopSnapshot& m_stop;
    std::map<Key, const DataflowTally*> m_tallies;
    std::map<Key, std::map<int64_t, bool>> m_ready; ///< by iteration: whether it will be dead
};

} // namespace

CanvasState raisedState(const Scene& scene, const RaisedModel& raised, const Model& v1, const StopSnapshot& stop)
{
    return RaisedReader(scene, raised, v1, stop).read();
}

int nodeOfPlace(const Scene& scene, const ModelPlace& place)
{
    for (size_t n = 0; n < scene.nodes.size(); ++n) {
        const SceneNode& node = scene.nodes[n];
        if (node.graph != place.graph) continue;
        if (place.op.valid() ? node.kind == NodeKind::op && node.op == place.op : node.kind == NodeKind::input && node.value == place.value)
            return static_cast<int>(n);
    }
    // A call that is drawn open has a head instead of a node: what it gives begins in there.
    return -1;
}

} // namespace loopscope::viewer
