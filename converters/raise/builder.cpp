#include "converters/raise/builder.h"

#include "engine/ir/origin.h"

#include <cctype>

namespace loopscope::raising {

namespace {

/// The graph of a function, before anything is in it.
std::unique_ptr<Graph> emptyFunction(std::string id, const Graph& source, const std::vector<std::string>& frames)
{
    auto graph = std::make_unique<Graph>();
    graph->id = std::move(id);
    setAttribute(graph->attributes, std::string(kOriginGraph), source.id);
    AttributeItems names;
    for (const std::string& frame : frames) names.emplace_back(frame);
    setAttribute(graph->attributes, std::string(kOriginFrames), std::move(names));
    return graph;
}

/// What TensorFlow allows as the name of a function's argument: `[a-z][a-z0-9_]*`.
std::string argumentName(const std::string& name)
{
    std::string made;
    for (const char c : name.substr(name.rfind('/') + 1)) {
        const auto byte = static_cast<unsigned char>(c);
        made += std::isalnum(byte) ? static_cast<char>(std::tolower(byte)) : '_';
    }
    if (made.empty() || !std::isalpha(static_cast<unsigned char>(made.front()))) made.insert(0, "arg_");
    return made;
}

} // namespace

std::string originText(const Graph& graph, ValueId value)
{
    const Value& v = graph.value(value);
    if (v.role != ValueRole::result) return v.id;
    const std::string& node = graph.op(v.producer).name;
    return v.slot == 0 ? node : node + ":" + std::to_string(v.slot);
}

Builder::Builder(const Flow& flow, Builder& parent, int32_t region, std::string id, const std::vector<std::string>& frames,
                 Invariants* invariants)
    : m_flow(flow),
      m_graph(emptyFunction(std::move(id), flow.graph(), frames)),
      m_ownEditor(std::make_unique<GraphEditor>(*m_graph, Dialect::tf)),
      m_editor(*m_ownEditor),
      m_parent(&parent),
      m_region(region),
      m_invariants(invariants)
{
}

void Builder::fail(OperatorId keep, std::string reason)
{
    if (m_parent) m_parent->fail(keep, std::move(reason));
    else if (!m_failure) m_failure = Failure{keep, std::move(reason)};
}

ValueId Builder::addInput(ValueId value, const std::string& origin, const std::string& name)
{
    TensorType type = m_flow.graph().value(value).type;
    const ValueId input = m_editor.addInput(argumentName(name), std::move(type), {{std::string(kOrigin), origin}});
    define(value, input);
    return input;
}

ValueId Builder::inputFor(ValueId value)
{
    if (const auto known = m_values.find(value.index); known != m_values.end()) return known->second;
    const OperatorId source = m_flow.producer(value);
    std::string name = m_flow.graph().value(value).id;
    if (source.valid() && m_flow.role(source) == FlowRole::enter && m_flow.graph().op(source).inputs[0].valid())
        name = m_flow.graph().value(m_flow.dataOf(m_flow.graph().op(source).inputs[0])).id;
    return addInput(value, originText(m_flow.graph(), value), name);
}

ValueId Builder::lookUp(ValueId wanted)
{
    if (!wanted.valid()) return wanted;
    const ValueId value = m_flow.dataOf(wanted);
    if (const auto known = m_values.find(value.index); known != m_values.end()) return known->second;
    const OperatorId source = m_flow.producer(value);
    if (source.valid() && m_flow.isReference(value) && !isTop())
        fail(source, "'" + m_flow.graph().op(source).name + "' is a reference to a variable, which functions cannot take");
    if (isTop()) {
        if (!source.valid()) return value;
        fail(source, "node '" + m_flow.graph().op(source).name + "' is needed where it is not known");
        return value;
    }
    if (m_invariants) {
        if (source.valid() && m_flow.role(source) != FlowRole::enter)
            fail(source, "node '" + m_flow.graph().op(source).name + "' is needed where it is not known");
        if (m_invariants->places.emplace(value.index, m_invariants->values.size()).second) m_invariants->values.push_back(value);
        return inputFor(value);
    }
    m_captures.push_back(value);
    const OperatorId asked = m_flow.producer(wanted);
    const std::string name = m_flow.graph().value(value).id;
    return addInput(value, originText(m_flow.graph(), wanted), asked.valid() && name.empty() ? m_flow.graph().op(asked).name : name);
}

std::optional<OperatorId> Builder::operatorOf(int32_t item) const
{
    const auto found = m_operators.find(item);
    return found == m_operators.end() ? std::nullopt : std::optional(found->second);
}

Sources Builder::sources(const std::vector<OperatorId>& ops) const
{
    return isTop() ? Sources(ops) : Sources::elsewhere(m_flow.graph(), ops);
}

Graph Builder::finish(const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs)
{
    m_editor.setGraphInputs(inputs);
    std::vector<GraphOutput> named;
    for (size_t k = 0; k < outputs.size(); ++k) named.push_back({"output_" + std::to_string(k), outputs[k]});
    m_editor.setOutputs(std::move(named));
    (void)m_editor.finish();
    return std::move(*m_graph);
}

} // namespace loopscope::raising
