// Values that a gradient function takes are searched where the operator stands, and from functions around it inward: what a function takes
// is what its callers hand it.
#include "engine/transform/gradient/custom_gradients.h"

#include "engine/transform/gradient/activity.h"

#include <algorithm>
#include <set>
#include <utility>

namespace loopscope {

namespace {

/// Whether a function that is being differentiated stands for the one with that id (call_split.h).
bool standsFor(const Graph& graph, std::string_view id) { return graph.id == id || graph.id.starts_with(std::string(id) + "_forward"); }

class CapturedValues {
public:
    CapturedValues(const Model& model, GradientCase& c) : m_model(model), m_c(c), m_here(c.editor.graph()) {}

    /// The value in the operator's graph that one of the places names; invalid if none can be had there.
    GradientValue find(const AttributeItems& places)
    {
        for (size_t k = 0; k + 1 < places.size(); k += 2) {
            const auto* graph = places[k].as<std::string>();
            const auto* value = places[k + 1].as<std::string>();
            if (graph == nullptr || value == nullptr) continue;
            if (standsFor(m_here, *graph)) {
                if (const ValueId found = m_here.findValue(*value); found.valid()) return m_c.nodes.value(found);
                continue;
            }
            const GraphId outer = m_model.findGraph(*graph);
            const ValueId there = outer.valid() ? m_model.graph(outer).findValue(*value) : ValueId();
            if (!there.valid()) continue;
            m_seen.clear();
            if (const ValueId found = inward(outer, there); found.valid()) return m_c.nodes.value(found);
            if (const GradientValue constant = constantOf(m_model.graph(outer), there); constant.valid()) return constant;
        }
        return {};
    }

private:
    /// The operator's graph takes a value of another one as this input.
    ValueId inward(GraphId from, ValueId value)
    {
        if (!m_seen.emplace(from, value).second) return {};
        for (const Operator& op : m_model.graph(from).operators)
            for (const GraphId callee : calledGraphs(op)) {
                if (!m_model.hasGraph(callee)) continue;
                const Graph& graph = m_model.graph(callee);
                const size_t first = isBranch(op) ? 1 : 0;
                for (size_t i = first; i < op.inputs.size() && i - first < graph.inputs.size(); ++i) {
                    if (op.inputs[i] != value || (isLoop(op) && !isInvariant(op, i))) continue;
                    if (standsFor(m_here, graph.id) && i - first < m_here.inputs.size()) return m_here.inputs[i - first];
                    if (const ValueId found = inward(callee, graph.inputs[i - first]); found.valid()) return found;
                }
            }
        return {};
    }

    /// A loop hands this operand on as it is.
    bool isInvariant(const Operator& loop, size_t i) const
    {
        const GraphId body = calledGraphs(loop)[1];
        if (!m_model.hasGraph(body)) return false;
        const Graph& graph = m_model.graph(body);
        if (i >= graph.outputs.size() || i >= graph.inputs.size()) return false;
        ValueId source = graph.outputs[i].value;
        for (size_t hops = 0; hops < graph.operators.size() && graph.value(source).role == ValueRole::result; ++hops) {
            const Operator& op = graph.op(graph.value(source).producer);
            if (op.kind.name != "Identity" || op.inputs.empty() || !op.inputs[0].valid()) break;
            source = op.inputs[0];
        }
        return source == graph.inputs[i];
    }

    GradientValue constantOf(const Graph& graph, ValueId value)
    {
        if (graph.value(value).role != ValueRole::result) return {};
        const Operator& op = graph.op(graph.value(value).producer);
        if (op.kind.name != "Const") return {};
        return m_c.nodes.node("Const", {}, op.attributes);
    }

    const Model& m_model;
    GradientCase& m_c;
    const Graph& m_here;
    std::set<std::pair<GraphId, ValueId>> m_seen;
};

} // namespace

std::string_view customGradientName(const Operator& op)
{
    return calledGraphs(op).empty() ? attributeString(op.attributes, "_gradient_op_type", "") : std::string_view();
}

GraphId findCustomGradient(const Model& model, std::string_view name)
{
    for (size_t g = 0; g < model.graphs.size() && !name.empty(); ++g)
        if (attributeString(model.graphs[g].attributes, "@gradient_of", "") == name) return GraphId(static_cast<int64_t>(g));
    return {};
}

void callCustomGradient(const Model& model, GradientCase& c, GraphId function)
{
    const Graph& graph = model.graph(function);
    const auto list = [&](std::string_view key) {
        const Attribute* const found = findAttribute(graph.attributes, key);
        return found && found->as<AttributeItems>() ? *found->as<AttributeItems>() : AttributeItems();
    };
    const AttributeItems captures = list("@gradient_captures"), results = list("@gradient_results");
    if (graph.inputs.size() != c.y.size() + captures.size()) {
        c.refusal = "its gradient function '" + graph.id + "' takes " + std::to_string(graph.inputs.size()) + " values, of which " +
                    std::to_string(c.y.size() + captures.size()) + " are known";
        return;
    }
    std::vector<GradientValue> operands;
    for (size_t k = 0; k < c.y.size(); ++k) operands.push_back(c.dy[k].valid() ? c.dy[k] : zerosLike(c, c.y[k]));
    CapturedValues captured(model, c);
    for (size_t k = 0; k < captures.size(); ++k) {
        const auto* const places = captures[k].as<AttributeItems>();
        operands.push_back(places ? captured.find(*places) : GradientValue());
        if (operands.back().valid()) continue;
        c.refusal = "its gradient function '" + graph.id + "' takes '" + graph.value(graph.inputs[c.y.size() + k]).id +
                    "', which is not known here";
        return;
    }
    AttributeItems types;
    for (const GraphOutput& output : graph.outputs) types.emplace_back(graph.value(output.value).type.dtype);
    const std::vector<GradientValue> made =
        c.nodes.add("PartitionedCall", operands, {{"Tout", std::move(types)}, {"f", GraphRef{function, nullptr}}});
    for (size_t i = 0; i < c.dx.size(); ++i) {
        const auto* const number = i < results.size() ? results[i].as<int64_t>() : nullptr;
        const int64_t output = number ? *number : results.empty() ? static_cast<int64_t>(i) : -1;
        if (output >= 0 && std::cmp_less(output, made.size())) c.dx[i] = made[static_cast<size_t>(output)];
    }
}

} // namespace loopscope
