// Walks both graphs of objects from their roots by the names of children, since they number objects differently.
#include "converters/savedmodel/object_variables.h"

#include "converters/graphdef/messages.h"
#include "engine/ops/op_traits.h"
#include "engine/tensor/strings.h"

#include "object_graph.pb.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace loopscope::savedmodel {

namespace {

constexpr std::string_view kObjectGraphEntry = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr std::string_view kVariableAttribute = "VARIABLE_VALUE";

Result<tfpb::TrackableObjectGraph> checkpointObjects(Checkpoint& checkpoint)
{
    tfpb::TrackableObjectGraph graph;
    if (!checkpoint.entries().contains(kObjectGraphEntry)) return graph;
    LS_TRY(const TensorAttribute entry, checkpoint.read(kObjectGraphEntry));
    if (entry.type.dtype != DType::string) return graph;
    LS_TRY(const std::vector<std::string_view> strings, unpackStrings(entry.data->bytes().view()));
    if (strings.size() != 1) return graph;
    Status status = graphdef::parseBinary(graph, std::as_bytes(std::span(strings.front())));
    if (!status.ok()) return std::move(status).takeError().at("entry '" + std::string(kObjectGraphEntry) + "'");
    return graph;
}

/// The entry of each object that is a variable, by its number in the folder's graph.
std::map<int32_t, std::string> keysOf(const tfpb::SavedObjectGraph& saved, const tfpb::TrackableObjectGraph& tracked)
{
    std::map<int32_t, std::string> keys;
    if (saved.nodes().empty() || tracked.nodes().empty()) return keys;
    std::vector<bool> seen(static_cast<size_t>(saved.nodes_size()), false);
    std::vector<std::pair<int32_t, int32_t>> open = {{0, 0}};
    seen[0] = true;
    while (!open.empty()) {
        const auto [from, to] = open.back();
        open.pop_back();
        const auto& object = tracked.nodes(to);
        for (const auto& attribute : object.attributes())
            if (attribute.name() == kVariableAttribute) keys[from] = attribute.checkpoint_key();
        std::map<std::string_view, int32_t> children;
        for (const auto& child : object.children()) children.emplace(child.local_name(), child.node_id());
        for (const auto& child : saved.nodes(from).children()) {
            const auto same = children.find(child.local_name());
            const bool known = child.node_id() >= 0 && child.node_id() < saved.nodes_size() && same != children.end() &&
                               same->second >= 0 && same->second < tracked.nodes_size();
            if (!known || seen[static_cast<size_t>(child.node_id())]) continue;
            seen[static_cast<size_t>(child.node_id())] = true;
            open.emplace_back(child.node_id(), same->second);
        }
    }
    return keys;
}

bool isVariable(const Operator& op) { return hasTrait(op.kind, OpTrait::variable); }

/// The objects that calls in the main graph bind variables to.
std::map<OperatorId, int32_t> boundVariables(const Model& model, const tfpb::SavedObjectGraph& saved)
{
    std::map<OperatorId, int32_t> bound;
    const Graph& main = model.graphs.front();
    for (const Operator& op : main.operators)
        for (const NamedAttribute& attribute : op.attributes) {
            const auto* callee = attribute.value.as<GraphRef>();
            if (callee == nullptr || !model.hasGraph(callee->graph)) continue;
            const auto function = saved.concrete_functions().find(model.graph(callee->graph).id);
            if (function == saved.concrete_functions().end()) continue;
            const auto& objects = function->second.bound_inputs();
            const auto count = static_cast<size_t>(objects.size());
            if (count > op.inputs.size()) continue;
            for (size_t i = 0; i < count; ++i) {
                const ValueId input = op.inputs[op.inputs.size() - count + i];
                if (!input.valid() || main.value(input).role != ValueRole::result) continue;
                const OperatorId producer = main.value(input).producer;
                if (isVariable(main.op(producer))) bound.emplace(producer, objects.Get(static_cast<int>(i)));
            }
        }
    return bound;
}

} // namespace

Result<std::vector<RestoredVariable>> objectVariables(const Model& model, std::span<const std::byte> metaGraph, Checkpoint& checkpoint)
{
    std::vector<RestoredVariable> list;
    tfpb::MetaGraphObjects message;
    LS_CHECK_OK(graphdef::parseBinary(message, metaGraph));
    const tfpb::SavedObjectGraph& saved = message.object_graph_def();
    if (saved.nodes().empty() || model.graphs.empty()) return list;
    LS_TRY(const tfpb::TrackableObjectGraph tracked, checkpointObjects(checkpoint));
    const std::map<int32_t, std::string> keys = keysOf(saved, tracked);

    std::map<std::string_view, std::vector<int32_t>> byName;
    for (const auto& [object, key] : keys)
        if (const auto& node = saved.nodes(object); node.has_variable()) byName[node.variable().name()].push_back(object);
    const std::map<OperatorId, int32_t> bound = boundVariables(model, saved);
    const Graph& main = model.graphs.front();
    for (size_t i = 0; i < main.operators.size(); ++i) {
        const Operator& op = main.operators[i];
        if (!isVariable(op)) continue;
        const OperatorId id(static_cast<int64_t>(i));
        int32_t object = -1;
        if (const auto at = bound.find(id); at != bound.end()) object = at->second;
        // A name that two objects share says nothing.
        const std::string_view shared = attributeString(op.attributes, "shared_name", "");
        if (const auto named = byName.find(shared.empty() ? std::string_view(op.name) : shared);
            object < 0 && named != byName.end() && named->second.size() == 1)
            object = named->second.front();
        if (const auto key = keys.find(object); key != keys.end()) list.push_back({id, key->second});
    }
    return list;
}

} // namespace loopscope::savedmodel
