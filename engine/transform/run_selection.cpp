#include "engine/transform/run_selection.h"

#include "engine/base/text.h"
#include "engine/ops/control_flow.h"
#include "engine/ops/dataflow.h"
#include "engine/tensor/strings.h"
#include "engine/transform/call_pruning.h"
#include "engine/transform/function_calls.h"
#include "engine/transform/graph_selection.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace loopscope {

namespace {

/// A function keeps what its outputs, control outputs and side effects need.
void selectFunction(Graph& graph)
{
    GraphSelection selection(graph);
    for (const GraphOutput& output : graph.outputs) selection.need(output.value);
    for (const auto& [name, op] : graph.controlOutputs) selection.need(op);
    for (size_t o = 0; o < graph.operators.size(); ++o)
        if (hasEffects(graph.operators[o])) selection.need(OperatorId(static_cast<int64_t>(o)));
    selection.close();
    selection.reorder();
}

/// Looks values and nodes of one graph up by the names of a session.
class Names {
public:
    explicit Names(const Graph& graph) : m_graph(graph)
    {
        for (size_t v = 0; v < graph.values.size(); ++v) m_values.emplace(graph.values[v].id, ValueId(static_cast<int64_t>(v)));
        for (size_t o = 0; o < graph.operators.size(); ++o) m_nodes.emplace(graph.operators[o].name, OperatorId(static_cast<int64_t>(o)));
    }

    Result<ValueId> value(const std::string& name, const char* noun) const
    {
        const std::string id = name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
        if (const auto found = m_values.find(id); found != m_values.end()) return found->second;
        for (size_t v = 0; v < m_graph.values.size(); ++v)
            if (m_graph.values[v].displayName() == id) return ValueId(static_cast<int64_t>(v));
        return unknown(std::string(noun) + " '" + name + "'", id);
    }
    Result<OperatorId> node(const std::string& name) const
    {
        if (const auto found = m_nodes.find(name); found != m_nodes.end()) return found->second;
        return unknown("target '" + name + "'", name);
    }

private:
    Error unknown(const std::string& place, const std::string& id) const
    {
        std::vector<std::string> known;
        for (const auto& [name, value] : m_values) known.push_back(name);
        return Error(ErrorCode::usage, "no such node").at(place).nearest(nearestNames(id, known));
    }

    const Graph& m_graph;
    std::unordered_map<std::string, ValueId> m_values;
    std::unordered_map<std::string, OperatorId> m_nodes;
};

Result<std::vector<ValueId>> resolve(const Names& names, const std::vector<std::string>& wanted, const char* noun)
{
    std::vector<ValueId> values;
    for (const std::string& name : wanted) {
        LS_TRY(const ValueId value, names.value(name, noun));
        values.push_back(value);
    }
    return values;
}

/// From here on the value comes from the caller. Its producer, should it run for another of its results, writes to a value of no name.
void feed(Graph& graph, ValueId id)
{
    bool isPlaceholder = false;
    if (graph.value(id).role == ValueRole::result) {
        const OperatorId producer = graph.value(id).producer;
        isPlaceholder = graph.op(producer).kind.name == "Placeholder";
        Value aside = graph.value(id);
        aside.id += ":unfed";
        aside.name.clear();
        const ValueId replacement(static_cast<int64_t>(graph.values.size()));
        std::replace(graph.operators[static_cast<size_t>(producer.index)].results.begin(),
                     graph.operators[static_cast<size_t>(producer.index)].results.end(), id, replacement);
        graph.values.push_back(std::move(aside));
    }
    Value& value = graph.value(id);
    value.role = ValueRole::input;
    value.producer = OperatorId();
    value.type.isReference = false;
    // A placeholder's shape is a promise about what is fed; any other value may be fed in any shape.
    if (!isPlaceholder) value.type.shape = Shape::unknownRank();
    value.type.signature.reset();
    graph.inputs.push_back(id);
}

/// A fetched reference is read when everything else has run, as the session does it.
ValueId readReference(Graph& graph, ValueId reference)
{
    Operator op;
    op.kind = {"tf", "Identity"};
    op.name = graph.value(reference).id + ":read";
    setAttribute(op.attributes, "T", graph.value(reference).type.dtype);
    op.inputs = {reference};
    Value value;
    value.id = op.name;
    value.type = graph.value(reference).type;
    value.type.isReference = false;
    value.role = ValueRole::result;
    value.producer = OperatorId(static_cast<int64_t>(graph.operators.size()));
    const ValueId result(static_cast<int64_t>(graph.values.size()));
    op.results = {result};
    graph.values.push_back(std::move(value));
    graph.operators.push_back(std::move(op));
    return result;
}

Status selectRoot(Graph& graph, const RunSelection& wanted)
{
    std::vector<ValueId> feeds;
    std::vector<ValueId> fetches;
    std::vector<OperatorId> targets;
    {
        const Names names(graph);
        LS_TRY(feeds, resolve(names, wanted.feeds, "feed"));
        LS_TRY(fetches, resolve(names, wanted.fetches, "fetch"));
        for (const std::string& name : wanted.targets) {
            LS_TRY(const OperatorId target, names.node(name));
            targets.push_back(target);
        }
    }
    graph.inputs.clear();
    graph.outputs.clear();
    graph.controlOutputs.clear();
    for (const ValueId value : feeds) {
        if (std::find(graph.inputs.begin(), graph.inputs.end(), value) != graph.inputs.end())
            return Error(ErrorCode::usage, "is fed twice").at("feed '" + graph.value(value).id + "'");
        const OperatorId producer = graph.value(value).producer;
        const bool placeholder = producer.valid() && graph.op(producer).kind.name == "Placeholder";
        feed(graph, value);
        if (!placeholder) continue; // a fed placeholder is gone: what waited for it waits no more (TensorFlow's subgraph.cc)
        for (Operator& op : graph.operators) std::erase(op.controlInputs, producer);
    }
    for (size_t k = 0; k < fetches.size(); ++k) {
        ValueId value = fetches[k];
        if (graph.value(value).type.isReference && graph.value(value).role == ValueRole::result) value = readReference(graph, value);
        graph.outputs.push_back({wanted.fetches[k], value});
    }
    GraphSelection selection(graph);
    for (const GraphOutput& output : graph.outputs) selection.need(output.value);
    for (const OperatorId target : targets) selection.need(target);
    selection.close();
    selection.reorder();
    return {};
}

/// What a SavedModel runs once when a session begins (it fills tables), as a graph of its own behind the others. Nodes that stand for paths
/// of assets give their names in the model.
Status addInitialiser(const Model& model, Model& selected)
{
    const std::string init(attributeString(model.attributes, "init_op", ""));
    if (init.empty() || selected.graphs.empty()) return {};
    Graph graph = selected.graphs.front();
    graph.id += "__initialiser";
    graph.name.clear();
    for (Operator& op : graph.operators) {
        const std::string asset(attributeString(op.attributes, "@asset", ""));
        if (asset.empty()) continue;
        const std::vector<std::byte> name = packStrings(std::vector<std::string>{asset});
        op.kind.name = "Const";
        op.inputs.clear();
        op.attributes.clear();
        setAttribute(op.attributes, "dtype", DType::string);
        setAttribute(
            op.attributes, "value",
            TensorAttribute{TensorType(DType::string, Shape()), std::make_shared<Constant>(Bytes::copyOf(name.data(), name.size()))});
    }
    LS_CHECK_OK(selectRoot(graph, {{}, {}, {init}}));
    setAttribute(selected.attributes, std::string(kInitialiserGraph),
                 GraphRef{GraphId(static_cast<int64_t>(selected.graphs.size())), nullptr});
    selected.graphs.push_back(std::move(graph));
    return {};
}

/// Values have other numbers after a selection; signatures follow by id, and lose what was left out.
void rebindSignatures(const Model& model, GraphId root, Model& selected)
{
    std::map<std::string_view, ValueId> ids;
    const std::vector<Value>& values = selected.graph(root).values;
    for (size_t v = 0; v < values.size(); ++v) ids.emplace(values[v].id, ValueId(static_cast<int64_t>(v)));
    for (Signature& signature : selected.signatures) {
        if (signature.graph != root) continue;
        for (auto* bindings : {&signature.inputs, &signature.outputs}) {
            std::erase_if(*bindings, [&](const SignatureBinding& b) { return !ids.contains(model.graph(root).value(b.value).id); });
            for (SignatureBinding& b : *bindings) b.value = ids.at(model.graph(root).value(b.value).id);
        }
    }
}

} // namespace

Result<Model> selectForRun(const Model& model, GraphId root, const RunSelection& selection)
{
    if (!model.hasGraph(root)) return Error(ErrorCode::badFile, "the model has no graph " + std::to_string(root.index));
    Model selected = model;
    resolveFunctionCalls(selected);
    const size_t graphs = selected.graphs.size();
    LS_CHECK_OK(addInitialiser(model, selected));
    const bool whole = selection.feeds.empty() && selection.fetches.empty() && selection.targets.empty();
    for (size_t g = 0; g < graphs; ++g) {
        if (GraphId(static_cast<int64_t>(g)) == root && !whole) {
            LS_CHECK_OK(selectRoot(selected.graphs[g], selection));
        } else {
            selectFunction(selected.graphs[g]);
        }
    }
    if (!whole) pruneCalls(selected, root, selection.targets);
    rebindSignatures(model, root, selected);
    return selected;
}

} // namespace loopscope
