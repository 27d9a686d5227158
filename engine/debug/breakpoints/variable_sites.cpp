#include "engine/debug/breakpoints/variable_sites.h"

#include "engine/base/text.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <set>

namespace loopscope {

namespace {

/// Names that the handles of a model may stand for, by graph and value.
class Handles {
public:
    explicit Handles(const Model& model) : m_model(model)
    {
        for (const Graph& graph : model.graphs) m_names.emplace_back(graph.values.size());
        for (size_t g = 0; g < model.graphs.size(); ++g)
            for (const Operator& op : model.graphs[g].operators)
                if (op.kind.name == "var_handle" && !op.results.empty()) of(g, op.results[0]).insert(nameOf(op));
        while (spread()) {
        } // every round adds a name somewhere: it ends
    }
    const std::set<std::string>& at(GraphId graph, ValueId value) const
    {
        return m_names[static_cast<size_t>(graph.index)][static_cast<size_t>(value.index)];
    }

private:
    static std::string nameOf(const Operator& op)
    {
        const auto text = [&](std::string_view key) {
            const Attribute* attribute = findAttribute(op.attributes, key);
            const auto* value = attribute ? attribute->as<std::string>() : nullptr;
            return value ? *value : std::string();
        };
        const std::string container = text("container");
        return (container.empty() ? "" : container + "/") + text("shared_name");
    }
    std::set<std::string>& of(size_t graph, ValueId value) { return m_names[graph][static_cast<size_t>(value.index)]; }
    bool flow(size_t from, ValueId source, size_t to, ValueId sink)
    {
        if (!source.valid() || !sink.valid() || (from == to && source == sink)) return false;
        std::set<std::string>& names = of(to, sink);
        const size_t before = names.size();
        names.insert(of(from, source).begin(), of(from, source).end());
        return names.size() != before;
    }
    bool spread()
    {
        bool changed = false;
        for (size_t g = 0; g < m_model.graphs.size(); ++g)
            for (const Operator& op : m_model.graphs[g].operators) {
                const CallForm form = callForm(op);
                for (const Callee& callee : form.callees) {
                    if (!m_model.hasGraph(callee.graph)) continue;
                    const auto c = static_cast<size_t>(callee.graph.index);
                    const Graph& graph = m_model.graph(callee.graph);
                    const auto first = static_cast<size_t>(form.firstArgument);
                    for (size_t i = 0; i < graph.inputs.size() && first + i < op.inputs.size(); ++i)
                        changed |= flow(g, op.inputs[first + i], c, graph.inputs[i]);
                    if (form.kind == CallKind::loop && callee.role == "cond") continue;
                    for (size_t k = 0; k < graph.outputs.size() && k < op.results.size(); ++k) {
                        changed |= flow(c, graph.outputs[k].value, g, op.results[k]);
                        if (form.kind == CallKind::loop && k < graph.inputs.size())
                            changed |= flow(c, graph.outputs[k].value, c, graph.inputs[k]);
                    }
                }
            }
        return changed;
    }

    const Model& m_model;
    std::vector<std::vector<std::set<std::string>>> m_names;
};

} // namespace

Result<std::vector<BreakSite>> variableSites(const DebugTarget& target, std::string_view name, bool reads, bool writes)
{
    const Handles handles(target.model);
    std::vector<BreakSite> sites;
    std::vector<std::string> names;
    for (const PlacedOperator& placed : allPlaces(target).operators) {
        const Operator& op = target.model.graph(placed.graph).op(placed.op);
        const bool isRead = op.kind.name == "read_variable";
        const bool isWrite = op.kind.name == "assign_variable";
        if ((!isRead && !isWrite) || op.inputs.empty() || !op.inputs[0].valid()) continue;
        const std::set<std::string>& known = handles.at(placed.graph, op.inputs[0]);
        names.insert(names.end(), known.begin(), known.end());
        if (!known.contains(std::string(name)) || !(isRead ? reads : writes)) continue;
        sites.push_back({placed.graph, placed.op, trapAfter, -1, ValueId()});
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (sites.empty())
        return Error(ErrorCode::usage,
                     "no operator that can run " + std::string(reads ? "reads" : "writes") + " a variable '" + std::string(name) + "'")
            .nearest(nearestNames(name, names));
    return sites;
}

} // namespace loopscope
