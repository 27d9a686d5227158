#include "app/wiring/host_nodes.h"

#include <algorithm>
#include <array>

namespace loopscope::app {

namespace {

constexpr std::pair<const char*, const char*> kTensorFlow[] = {
    {"abs", "Abs"},
    {"add", "AddV2"},
    {"arg_max", "ArgMax"},
    {"arg_min", "ArgMin"},
    {"call", "StatefulPartitionedCall"},
    {"cast", "Cast"},
    {"ceil", "Ceil"},
    {"div", "RealDiv"},
    {"equal", "Equal"},
    {"exp", "Exp"},
    {"floor", "Floor"},
    {"floor_div", "FloorDiv"},
    {"floor_mod", "FloorMod"},
    {"gather", "GatherV2"},
    {"greater", "Greater"},
    {"greater_equal", "GreaterEqual"},
    {"less", "Less"},
    {"less_equal", "LessEqual"},
    {"log", "Log"},
    {"logical_and", "LogicalAnd"},
    {"logical_not", "LogicalNot"},
    {"logical_or", "LogicalOr"},
    {"maximum", "Maximum"},
    {"mean", "Mean"},
    {"minimum", "Minimum"},
    {"mul", "Mul"},
    {"neg", "Neg"},
    {"not_equal", "NotEqual"},
    {"pow", "Pow"},
    {"reduce_all", "All"},
    {"reduce_any", "Any"},
    {"reduce_max", "Max"},
    {"reduce_min", "Min"},
    {"reshape", "Reshape"},
    {"round", "Round"},
    {"shape", "Shape"},
    {"sign", "Sign"},
    {"sqrt", "Sqrt"},
    {"strided_slice", "StridedSlice"},
    {"sub", "Sub"},
    {"sum", "Sum"},
    {"while", "While"},
};

std::string_view tensorFlowName(std::string_view kind)
{
    const auto found = std::ranges::find(kTensorFlow, kind, [](const auto& pair) { return std::string_view(pair.first); });
    return found == std::end(kTensorFlow) ? kind : std::string_view(found->second);
}

Graph named(std::string id)
{
    Graph graph;
    graph.id = std::move(id);
    return graph;
}

} // namespace

HostNodes::HostNodes(std::string id, Dialect dialect)
    : m_dialect(dialect),
      m_graph(named(std::move(id))),
      m_editor(m_graph, dialect),
      m_nodes(m_editor)
{
    m_nodes.setScope("host", Sources::none());
}

ValueId HostNodes::constant(const std::string& name, const TensorType& type, const void* data, size_t bytes)
{
    auto stored = std::make_shared<const Constant>(Bytes::copyOf(data, bytes));
    if (!isTensorFlow()) return m_editor.addConstant(name, type, std::move(stored));
    return m_nodes
        .addNamed(m_editor.freshName(name), "Const", {}, {{"dtype", type.dtype}, {"value", TensorAttribute{type, std::move(stored)}}})
        .front()
        .id;
}

ValueId HostNodes::integers(const std::string& name, const std::vector<int32_t>& values)
{
    return constant(name, TensorType(DType::i32, Shape{std::ssize(values)}), values.data(), values.size() * sizeof(int32_t));
}

std::vector<ValueId> HostNodes::op(const std::string& kind, const std::vector<ValueId>& inputs,
                                   const std::vector<std::pair<std::string, TensorType>>& results, AttributeList attributes,
                                   const std::string& label)
{
    if (isTensorFlow()) {
        // A node has one name, whatever its results are called.
        const std::string name = !label.empty() ? label : results.size() == 1 ? results.front().first : kind;
        std::vector<GradientValue> operands;
        for (const ValueId input : inputs) operands.push_back(m_nodes.value(input));
        std::vector<ValueId> ids;
        for (const GradientValue& made : m_nodes.addNamed(name, tensorFlowName(kind), operands, std::move(attributes))) {
            if (ids.size() < results.size() && results[ids.size()].second.dtype == m_nodes.dtype(made))
                m_editor.setType(made.id, results[ids.size()].second);
            if (ids.size() < results.size() && name != results[ids.size()].first) alsoCalled(made.id, results[ids.size()].first);
            ids.push_back(made.id);
        }
        return ids;
    }
    OperatorDraft draft;
    draft.kind = {"tfl", kind};
    draft.name = results.empty() ? kind : results.front().first;
    draft.attributes = std::move(attributes);
    draft.inputs = inputs;
    for (const auto& [resultName, type] : results) draft.results.push_back(type);
    const std::vector<ValueId> ids = m_editor.op(m_editor.append(std::move(draft), Sources::none())).results;
    for (size_t k = 1; k < ids.size(); ++k) m_names.emplace_back(ids[k], m_editor.freshName(results[k].first));
    if (!label.empty() && !ids.empty()) m_labels.emplace_back(ids.front(), label);
    return ids;
}

Result<Graph> HostNodes::finish()
{
    m_editor.setOutputs(std::move(m_outputs));
    LS_CHECK_OK(m_editor.finish());
    for (auto& [value, name] : m_names) m_graph.value(value).id = std::move(name);
    for (auto& [value, name] : m_fullNames) m_graph.value(value).name = std::move(name);
    for (auto& [value, label] : m_labels)
        m_graph.operators[static_cast<size_t>(m_graph.value(value).producer.index)].name = std::move(label);
    return std::move(m_graph);
}

} // namespace loopscope::app
