// Loops and branches that LiteRT 2.3 computes differently, found in the graphs alone. The cases were measured by running LiteRT; in each
// of them Loopscope gives the right answer (docs/execution.md).
#include "engine/ir/ids.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <set>

namespace loopscope {

namespace {

constexpr int kMostCalls = 64; ///< of an address
constexpr const char* kDifferent = "; LiteRT 2.3 computes a different answer here";

/// By output: its position among the graph's inputs, or −1 if it is none.
std::vector<int64_t> inputsBehindOutputs(const Graph& graph)
{
    std::vector<int64_t> inputOf(graph.values.size(), -1);
    for (size_t i = 0; i < graph.inputs.size(); ++i) inputOf[static_cast<size_t>(graph.inputs[i].index)] = static_cast<int64_t>(i);
    std::vector<int64_t> inputs;
    for (const GraphOutput& output : graph.outputs) inputs.push_back(inputOf[static_cast<size_t>(output.value.index)]);
    return inputs;
}

/// WHILE writes outputs to inputs in order: an input that comes out at a later position is overwritten before it is read.
bool overwritesBeforeReading(const std::vector<int64_t>& inputs)
{
    for (size_t later = 0; later < inputs.size(); ++later)
        if (const int64_t i = inputs[later]; i >= 0 && static_cast<size_t>(i) < later && inputs[static_cast<size_t>(i)] != i) return true;
    return false;
}

bool swaps(const std::vector<int64_t>& inputs)
{
    for (size_t k = 0; k < inputs.size(); ++k)
        if (const int64_t i = inputs[k]; i >= 0 && static_cast<size_t>(i) < k && inputs[static_cast<size_t>(i)] == static_cast<int64_t>(k))
            return true;
    return false;
}

class Search {
public:
    explicit Search(const Model& model) : m_model(model), m_seen(model.graphs.size(), false) {}

    std::vector<ModelWarning> run()
    {
        countUses();
        for (size_t g = 0; g < m_model.graphs.size(); ++g)
            if (!m_called.contains(GraphId(static_cast<int64_t>(g)))) visitAll(GraphId(static_cast<int64_t>(g)), m_model.graphs[g].id);
        for (size_t g = 0; g < m_model.graphs.size(); ++g)
            visitAll(GraphId(static_cast<int64_t>(g)), m_model.graphs[g].id); // only cycles are left
        return std::move(m_warnings);
    }

private:
    void countUses()
    {
        for (size_t g = 0; g < m_model.graphs.size(); ++g) {
            const GraphId id(static_cast<int64_t>(g));
            for (const Operator& op : m_model.graphs[g].operators) {
                const CallForm form = callForm(op);
                for (const Callee& callee : form.callees) {
                    if (!m_model.hasGraph(callee.graph)) continue;
                    m_called.insert(callee.graph);
                    if (callee.role == "body") m_bodies.insert(callee.graph);
                }
                if (form.kind == CallKind::loop && m_model.hasGraph(form.callees[0].graph) && m_model.hasGraph(form.callees[1].graph))
                    m_loops.push_back({id, form.callees[0].graph, form.callees[1].graph});
            }
        }
    }

    /// Depth first on an explicit stack; every graph is entered once, by the first way that leads there.
    void visitAll(GraphId root, const std::string& place)
    {
        if (m_seen[static_cast<size_t>(root.index)]) return;
        m_ways = {{-1, place}};
        std::vector<std::pair<GraphId, int64_t>> stack = {{root, 0}};
        while (!stack.empty()) {
            const auto [id, way] = stack.back();
            stack.pop_back();
            if (m_seen[static_cast<size_t>(id.index)]) continue;
            m_seen[static_cast<size_t>(id.index)] = true;
            const Graph& graph = m_model.graph(id);
            std::vector<std::pair<GraphId, int64_t>> callees;
            for (size_t o = 0; o < graph.operators.size(); ++o) {
                const Operator& op = graph.operators[o];
                const CallForm form = callForm(op);
                if (form.kind == CallKind::none || !checkCall(m_model, graph, op).ok()) continue;
                const std::string label = operatorLabel(op, static_cast<int64_t>(o));
                const auto warn = [&, way = way](std::string text) {
                    m_warnings.push_back({id, OperatorId(static_cast<int64_t>(o)), addressOf(way) + "/" + label, std::move(text)});
                };
                if (form.kind == CallKind::loop) checkLoop(id, op, form, warn);
                if (form.kind == CallKind::branch) checkBranch(graph, op, form, warn);
                for (const Callee& callee : form.callees) {
                    if (m_seen[static_cast<size_t>(callee.graph.index)]) continue;
                    callees.emplace_back(callee.graph, static_cast<int64_t>(m_ways.size()));
                    m_ways.push_back({way, "/" + label + ":" + callee.role});
                }
            }
            std::ranges::reverse(callees);
            std::ranges::move(callees, std::back_inserter(stack));
        }
    }

    /// The address of a graph, its innermost calls if there are very many: all of them, for every graph, would be the square of the file.
    std::string addressOf(int64_t way) const
    {
        std::string address;
        for (int calls = 0; way >= 0; way = m_ways[static_cast<size_t>(way)].from) {
            if (++calls > kMostCalls) return "..." + address;
            address.insert(0, m_ways[static_cast<size_t>(way)].step);
        }
        return address;
    }

    template <typename Warn> void checkLoop(GraphId id, const Operator& op, const CallForm& form, Warn warn)
    {
        const Graph& graph = m_model.graph(id);
        const Graph& body = m_model.graph(form.callees[1].graph);
        const std::vector<int64_t> inputs = inputsBehindOutputs(body);
        if (overwritesBeforeReading(inputs)) {
            warn(std::string(swaps(inputs) ? "body swaps its inputs" : "body returns an input at a later position") + kDifferent);
        }
        for (size_t k = 0; k < op.inputs.size(); ++k) {
            const TensorType& initial = graph.value(op.inputs[k]).type;
            const bool passedOn = inputs[k] == static_cast<int64_t>(k);
            if (passedOn && initial.dtype == DType::string && isRead(graph, op.results[k])) {
                warn("string value " + std::to_string(k) + " is passed on unchanged; LiteRT 2.3 loses it");
            }
            if (!passedOn && checkedElementCount(initial.shape) == 0 &&
                body.value(body.outputs[k].value).type.dynamicShape() != initial.shape) {
                warn("value " + std::to_string(k) + " grows from an empty tensor; LiteRT 2.3 fails here");
            }
        }
        const GraphId cond = form.callees[0].graph;
        if (std::ranges::any_of(m_loops, [&](const LoopSite& other) {
                return other.cond == cond && nested({id, cond, form.callees[1].graph}, other);
            })) {
            warn("cond '" + m_model.graph(cond).id + "' also serves a loop around or inside this one; LiteRT 2.3 fails here");
        }
    }

    template <typename Warn> void checkBranch(const Graph& graph, const Operator& op, const CallForm& form, Warn warn)
    {
        for (const Callee& callee : form.callees)
            if (m_bodies.contains(callee.graph)) {
                warn(callee.role + " '" + m_model.graph(callee.graph).id + "' is also the body of a loop" + kDifferent);
            }
        for (const ValueId result : op.results)
            if (graph.value(result).type.dtype == DType::string) {
                warn(std::string("the result is a string") + kDifferent);
                break;
            }
    }

    struct LoopSite {
        GraphId graph, cond, body;
    };

    /// One of the two loops runs inside the other.
    bool nested(const LoopSite& a, const LoopSite& b) const { return reaches(a.body, b.graph) || reaches(b.body, a.graph); }

    bool reaches(GraphId from, GraphId to) const
    {
        std::vector<GraphId> open = {from};
        std::set<GraphId> seen = {from};
        while (!open.empty()) {
            const GraphId graph = open.back();
            open.pop_back();
            if (graph == to) return true;
            for (const Operator& op : m_model.graph(graph).operators)
                for (const Callee& callee : callForm(op).callees)
                    if (m_model.hasGraph(callee.graph) && seen.insert(callee.graph).second) open.push_back(callee.graph);
        }
        return false;
    }

    static bool isRead(const Graph& graph, ValueId value)
    {
        return std::ranges::find(graph.outputs, value, &GraphOutput::value) != graph.outputs.end() ||
               std::ranges::any_of(graph.operators,
                                   [&](const Operator& op) { return std::ranges::find(op.inputs, value) != op.inputs.end(); });
    }

    /// How a graph was come to: the call, from where; −1 and a name for the first.
    struct Way {
        int64_t from = -1;
        std::string step;
    };

    const Model& m_model;
    std::vector<bool> m_seen;
    std::vector<Way> m_ways; ///< of the visit that runs
    std::set<GraphId> m_called;
    std::set<GraphId> m_bodies;
    std::vector<LoopSite> m_loops;
    std::vector<ModelWarning> m_warnings;
};

} // namespace

std::vector<ModelWarning> loopWarnings(const Model& model) { return Search(model).run(); }

} // namespace loopscope
