// Copies of graphs: a whole one under another name, or one put into another where it was called.
#include "engine/ir/random_stream.h"
#include "engine/transform/graph_editor.h"
#include "engine/transform/value_refs.h"

namespace loopscope {

namespace {

/// Where an operator of another graph came from, as an operator of this one says it.
std::vector<std::string> originsElsewhere(const Graph& graph, OperatorId id)
{
    std::vector<std::string> origins = originsOf(graph.op(id), id);
    for (std::string& origin : origins)
        if (!origin.starts_with('@')) origin = "@" + graph.id + "/" + origin;
    return origins;
}

} // namespace

Sources Sources::elsewhere(const Graph& graph, std::span<const OperatorId> ops)
{
    Sources sources = none();
    for (const OperatorId id : ops)
        for (std::string& origin : originsElsewhere(graph, id)) sources.m_others.push_back(std::move(origin));
    return sources;
}

OperatorId cloneFrom(GraphEditor& editor, const Graph& source, OperatorId id, std::vector<ValueId> inputs, std::vector<OperatorId> controls,
                     InsertPoint place)
{
    const Operator& original = source.op(id);
    OperatorDraft draft;
    draft.kind = original.kind;
    draft.name = original.name.empty() && !original.results.empty() ? source.value(original.results.front()).id : original.name;
    draft.attributes = original.attributes;
    draft.inputs = std::move(inputs);
    draft.controlInputs = std::move(controls);
    for (const ValueId result : original.results) draft.results.push_back(source.value(result).type);
    if (drawsRandomNumbers(original)) draft.streamIdentity = randomStreamIdentity(original);
    return editor.insert(std::move(draft), Sources::elsewhere(source, std::span(&id, 1)), place);
}

Graph copyGraph(const Graph& graph, std::string id)
{
    Graph copy = graph;
    for (size_t o = 0; o < copy.operators.size(); ++o)
        copy.operators[o].origin = originsElsewhere(graph, OperatorId(static_cast<int64_t>(o)));
    copy.id = std::move(id);
    copy.name.clear();
    return copy;
}

CloneMap GraphEditor::cloneGraph(const Graph& source, std::span<const ValueId> arguments, const std::string& prefix, InsertPoint place)
{
    CloneMap map{std::vector<ValueId>(source.values.size()), std::vector<OperatorId>(source.operators.size())};
    for (size_t i = 0; i < source.inputs.size() && i < arguments.size(); ++i)
        map.values[static_cast<size_t>(source.inputs[i].index)] = arguments[i];
    for (size_t v = 0; v < source.values.size(); ++v) { // ids of nodes' results follow below, from their nodes' names
        const Value& original = source.values[v];
        if (original.role == ValueRole::input) continue;
        Value copy = original;
        copy.role = original.role == ValueRole::result ? ValueRole::absent : original.role;
        copy.name.clear();
        if (original.role != ValueRole::result || !isTensorFlow()) copy.id = freshName(prefix + original.id);
        map.values[v] = addValue(std::move(copy));
    }
    const auto here = [&](ValueId id) { return id.valid() ? map.values[static_cast<size_t>(id.index)] : ValueId(); };
    OperatorId last;
    for (size_t o = 0; o < source.operators.size(); ++o) {
        const Operator& original = source.operators[o];
        Operator copy;
        copy.kind = original.kind;
        if (drawsRandomNumbers(original)) copy.streamIdentity = randomStreamIdentity(original);
        copy.origin = originsElsewhere(source, OperatorId(static_cast<int64_t>(o)));
        copy.attributes = original.attributes;
        visitAllValueRefs(copy.attributes, [&](ValueRef& ref) { ref.value = here(ref.value); });
        for (const ValueId input : original.inputs) copy.inputs.push_back(here(input));
        if (isTensorFlow()) copy.name = freshName(prefix + original.name);
        std::vector<ValueId> results;
        for (const ValueId result : original.results) {
            results.push_back(here(result));
            if (!isTensorFlow()) continue;
            std::string id = source.value(result).id; // `node`, `node:1` or `node:out:0`
            if (id.starts_with(original.name)) id = copy.name + id.substr(original.name.size());
            mutableGraph().value(results.back()).id = id == copy.name ? id : freshName(std::move(id));
        }
        last = map.operators[o] = addOperator(std::move(copy), last.valid() ? InsertPoint::after(last) : place);
        setResults(last, std::move(results));
    }
    for (size_t o = 0; o < source.operators.size(); ++o) { // only now: nodes of loops wait for later ones
        std::vector<OperatorId> controls;
        for (const OperatorId before : source.operators[o].controlInputs)
            controls.push_back(map.operators[static_cast<size_t>(before.index)]);
        if (!controls.empty()) setControlInputs(map.operators[o], std::move(controls));
    }
    return map;
}

} // namespace loopscope
