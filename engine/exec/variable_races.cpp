#include "engine/exec/variable_races.h"

#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"

#include <algorithm>

namespace loopscope {

namespace {

bool isNextIteration(const Operator& op) { return flowRole(op) == FlowRole::nextIteration; }

/// As TensorFlow's messages name it.
std::string nodeName(const Operator& op) { return "{{node " + op.name + "}}"; }

std::string raceText(const Graph& graph, const TouchedVariable& earlier, OperatorId op, bool isWrite)
{
    const std::string first = nodeName(graph.op(earlier.op)), second = nodeName(graph.op(op));
    const std::string text = "variable '" + earlier.variable + "' is ";
    const std::string open = " in no fixed order; what TensorFlow gives depends on timing";
    if (earlier.isWrite && isWrite) return text + "written by " + first + " and by " + second + open;
    return text + "read by " + (isWrite ? first : second) + " and written by " + (isWrite ? second : first) + open;
}

} // namespace

/// The edges of a graph, forwards, and its frames.
struct VariableRaces::GraphOrder {
    explicit GraphOrder(const Graph& graph) : frames(analyzeFrames(graph)), readers(graph.operators.size())
    {
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const auto reader = static_cast<int32_t>(o);
            for (const ValueId input : graph.operators[o].inputs)
                if (input.valid() && graph.value(input).producer.valid())
                    readers[static_cast<size_t>(graph.value(input).producer.index)].push_back(reader);
            for (const OperatorId before : graph.operators[o].controlInputs)
                if (before.valid()) readers[static_cast<size_t>(before.index)].push_back(reader);
        }
    }

    int32_t frameOf(OperatorId op) const { return frames.frameOf[static_cast<size_t>(op.index)]; }
    /// The frame that an Enter leads into; 0: the graph's own.
    int32_t frameBehind(OperatorId enter) const
    {
        for (size_t f = 0; f < frames.frames.size(); ++f)
            if (std::ranges::find(frames.frames[f].enters, enter) != frames.frames[f].enters.end()) return static_cast<int32_t>(f);
        return 0;
    }
    bool isAround(int32_t outer, int32_t inner) const
    {
        for (; inner >= 0; inner = frames.frames[static_cast<size_t>(inner)].parent)
            if (inner == outer) return true;
        return false;
    }
    /// The frame directly inside `frame` that a node runs in; −1: none, it runs in `frame` itself.
    int32_t childOf(int32_t frame, OperatorId op) const
    {
        for (int32_t at = frameOf(op); at >= 0; at = frames.frames[static_cast<size_t>(at)].parent) {
            if (at == frame) return -1;
            if (frames.frames[static_cast<size_t>(at)].parent == frame) return at;
        }
        return -1;
    }

    FrameAnalysis frames;
    std::vector<std::vector<int32_t>> readers; ///< by operator
};

VariableRaces::VariableRaces(const Model& model) : m_model(model) {}
VariableRaces::~VariableRaces() = default;

void addRace(std::vector<DataflowRace>& races, DataflowRace race)
{
    constexpr size_t kMostRaces = 100;
    const auto same = [&](const DataflowRace& known) {
        return known.kind == race.kind && known.graph == race.graph && known.first == race.first && known.second == race.second;
    };
    if (races.size() >= kMostRaces || std::ranges::any_of(races, same)) return;
    races.push_back(std::move(race));
}

VariableRaces::GraphOrder& VariableRaces::orderOf(GraphId graph)
{
    std::unique_ptr<GraphOrder>& order = m_orders[graph];
    if (!order) order = std::make_unique<GraphOrder>(m_model.graph(graph));
    return *order;
}

/// Whether a path leads from `earlier` to the site's node, or back, within one iteration of the site's frame.
bool VariableRaces::isOrdered(const AccessSite& site, OperatorId earlier)
{
    const auto [known, isNew] =
        m_known.try_emplace(Pair(site.graph, site.enter, std::min(earlier, site.op), std::max(earlier, site.op)), true);
    if (!isNew) return known->second;
    const Graph& graph = m_model.graph(site.graph);
    const GraphOrder& order = orderOf(site.graph);
    const int32_t frame = site.enter.valid() ? order.frameBehind(site.enter) : 0;
    const int32_t inside = order.childOf(frame, site.op);
    if (inside >= 0 && inside == order.childOf(frame, earlier)) return true; // its own iterations are looked at for themselves
    for (const auto& [from, to] : {std::pair(earlier, site.op), std::pair(site.op, earlier)}) {
        std::vector<bool> seen(graph.operators.size(), false);
        std::vector<int32_t> open = {from.index};
        seen[static_cast<size_t>(from.index)] = true;
        while (!open.empty()) {
            const OperatorId at(open.back());
            open.pop_back();
            if (at == to) return true;
            if (isNextIteration(graph.op(at)) && order.isAround(order.frameOf(at), frame)) continue; // that is another iteration
            for (const int32_t reader : order.readers[static_cast<size_t>(at.index)]) {
                if (seen[static_cast<size_t>(reader)]) continue;
                seen[static_cast<size_t>(reader)] = true;
                open.push_back(reader);
            }
        }
    }
    return known->second = false;
}

void VariableRaces::note(std::span<const AccessSite> around, const std::string& variable, bool isWrite, Step step)
{
    for (const AccessSite& site : around) {
        std::vector<TouchedVariable>& touched = m_accesses[{site.invocation, site.graph}];
        bool isKnown = false;
        for (const TouchedVariable& earlier : touched) {
            if (earlier.variable != variable) continue;
            if (earlier.op == site.op) {
                isKnown = isKnown || earlier.isWrite == isWrite;
                continue;
            }
            if ((!earlier.isWrite && !isWrite) || isOrdered(site, earlier.op)) continue;
            add({DataflowRace::Kind::variable, raceText(m_model.graph(site.graph), earlier, site.op, isWrite), site.graph, earlier.op,
                 site.op, step});
        }
        if (!isKnown) touched.push_back({variable, site.op, isWrite});
    }
}

void VariableRaces::forget(InvocationId invocation)
{
    const auto first = m_accesses.lower_bound({invocation, GraphId(0)});
    auto last = first;
    while (last != m_accesses.end() && last->first.first == invocation) ++last;
    m_accesses.erase(first, last);
}

} // namespace loopscope
