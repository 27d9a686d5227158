#include "engine/transform/run_selection.h"

#include "engine/base/text.h"
#include "engine/ir/verifier.h"
#include "engine/ops/control_flow.h"
#include "engine/ops/dataflow.h"
#include "engine/tensor/strings.h"
#include "engine/transform/call_pruning.h"
#include "engine/transform/function_calls.h"
#include "engine/transform/graph_editor.h"

#include <algorithm>
#include <sstream>
#include <unordered_map>

namespace loopscope {

namespace {

/// A function keeps what its outputs, control outputs and side effects need.
void selectFunction(Graph& graph)
{
    GraphEditor editor(graph, Dialect::tf);
    std::vector<OperatorId> effects;
    for (size_t o = 0; o < graph.operators.size(); ++o)
        if (hasEffects(graph.operators[o])) effects.emplace_back(static_cast<int64_t>(o));
    editor.eraseUnneeded(effects);
    editor.sortTopologically();
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
void feed(GraphEditor& editor, ValueId id)
{
    const OperatorId producer = editor.value(id).producer;
    const bool isPlaceholder = producer.valid() && editor.op(producer).kind.name == "Placeholder";
    TensorType type = editor.value(id).type;
    editor.makeInput(id, editor.value(id).id + ":unfed");
    type.isReference = false;
    // A placeholder's shape is a promise about what is fed, and so is that of what is an input already (of a selection made before);
    // any other value may be fed in any shape.
    if (producer.valid() && !isPlaceholder) type.shape = Shape::unknownRank();
    type.signature.reset();
    editor.setType(id, std::move(type));
    if (!isPlaceholder) return; // a fed placeholder is gone: what waited for it waits no more (TensorFlow's subgraph.cc)
    while (!editor.uses(producer).empty()) editor.removeControlInput(editor.uses(producer).back().op, producer);
}

/// A fetched reference is read when everything else has run, as the session does it.
ValueId readReference(GraphEditor& editor, ValueId reference)
{
    OperatorDraft read;
    read.kind = {"tf", "Identity"};
    read.name = editor.value(reference).id + ":read";
    read.inputs = {reference};
    read.results = {editor.value(reference).type};
    read.results.front().isReference = false;
    read.attributes = {{"T", read.results.front().dtype}};
    const OperatorId producer = editor.value(reference).producer;
    return editor.op(editor.append(std::move(read), producer)).results.front();
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
    GraphEditor editor(graph, Dialect::tf);
    editor.setGraphInputs({});
    editor.setOutputs({});
    editor.setControlOutputs({});
    for (const ValueId value : feeds) {
        if (std::ranges::find(graph.inputs, value) != graph.inputs.end())
            return Error(ErrorCode::usage, "is fed twice").at("feed '" + graph.value(value).id + "'");
        feed(editor, value);
    }
    std::vector<GraphOutput> outputs;
    for (size_t k = 0; k < fetches.size(); ++k) {
        const Value& value = graph.value(fetches[k]);
        const bool isReference = value.type.isReference && value.role == ValueRole::result;
        outputs.push_back({isReference ? value.id : wanted.fetches[k], isReference ? readReference(editor, fetches[k]) : fetches[k]});
    }
    editor.setOutputs(std::move(outputs));
    editor.eraseUnneeded(targets);
    editor.sortTopologically();
    return {};
}

/// Nodes that stand for paths of assets give their names in the model.
void giveAssets(Graph& graph)
{
    GraphEditor editor(graph, Dialect::tf);
    for (const OperatorId id : editor.order()) {
        const std::string asset(attributeString(editor.op(id).attributes, "@asset", ""));
        if (asset.empty()) continue;
        const std::vector<std::byte> name = packStrings(std::vector<std::string>{asset});
        const ConstantPtr data = std::make_shared<Constant>(Bytes::copyOf(name.data(), name.size()));
        editor.setKind(id, {"tf", "Const"});
        editor.setInputs(id, {});
        editor.setAttributes(id, {{"dtype", DType::string}, {"value", TensorAttribute{TensorType(DType::string, Shape()), data}}});
    }
}

/// What a SavedModel runs once when a session begins (it fills tables), as a graph of its own behind the others.
Status addInitialiser(const Model& model, Model& selected)
{
    const std::string init(attributeString(model.attributes, "init_op", ""));
    if (init.empty() || selected.graphs.empty()) return {};
    Graph graph = copyGraph(selected.graphs.front(), selected.graphs.front().id + "__initialiser");
    giveAssets(graph);
    RunSelection nodes;
    for (std::istringstream names(init); names >> nodes.targets.emplace_back();) {
    }
    nodes.targets.pop_back();
    LS_CHECK_OK(selectRoot(graph, nodes));
    setAttribute(selected.attributes, std::string(kInitialiserGraph),
                 GraphRef{GraphId(static_cast<int64_t>(selected.graphs.size())), nullptr});
    selected.graphs.push_back(std::move(graph));
    return {};
}

} // namespace

Result<Model> selectForRun(const Model& model, GraphId root, const RunSelection& selection, const std::vector<OtherRun>& others)
{
    if (!model.hasGraph(root)) return Error(ErrorCode::badFile, "the model has no graph " + std::to_string(root.index));
    Model selected = model;
    resolveFunctionCalls(selected);
    LS_CHECK_OK(verifyCalls(selected)); // before pruning hides what a caller names and no function gives
    const size_t graphs = selected.graphs.size();
    LS_CHECK_OK(addInitialiser(model, selected));
    const bool whole = selection.feeds.empty() && selection.fetches.empty() && selection.targets.empty();
    for (size_t g = 0; g < graphs; ++g) {
        const GraphId graph(static_cast<int64_t>(g));
        const auto other = std::ranges::find(others, graph, &OtherRun::root);
        if (graph == root && !whole) {
            LS_CHECK_OK(selectRoot(selected.graphs[g], selection));
        } else if (other != others.end()) {
            LS_CHECK_OK(selectRoot(selected.graphs[g], other->selection));
        } else {
            selectFunction(selected.graphs[g]);
        }
    }
    if (!whole && others.empty()) pruneCalls(selected, root, selection.targets);
    return selected;
}

} // namespace loopscope
