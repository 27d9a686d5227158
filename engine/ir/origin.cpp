#include "engine/ir/origin.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace loopscope {

namespace {

/// "@main/while/add" is "while/add" of the graph that the function was made from.
std::string_view withoutGraph(std::string_view origin, std::string_view graph)
{
    if (!origin.starts_with('@') || !origin.substr(1).starts_with(graph)) return origin;
    const std::string_view rest = origin.substr(1 + graph.size());
    return rest.starts_with('/') ? rest.substr(1) : origin;
}

/// The v1 value that a result stands for: "node" or "node:2"; empty: none.
std::string originOfResult(const Operator& op, size_t slot, std::string_view sourceGraph)
{
    const Attribute* const said = findAttribute(op.attributes, kOrigin);
    if (const auto* items = said ? said->as<AttributeItems>() : nullptr) {
        const auto* text = slot < items->size() ? (*items)[slot].as<std::string>() : nullptr;
        return text ? *text : "";
    }
    if (op.origin.size() > 1) return {};
    const std::string_view origin = op.origin.empty() ? std::string_view(op.name) : withoutGraph(op.origin.front(), sourceGraph);
    if (origin.empty() || origin.starts_with('@')) return {};
    return std::string(origin) + (slot == 0 ? "" : ":" + std::to_string(slot));
}

} // namespace

std::vector<std::string> originsOf(const Operator& op, OperatorId id)
{
    if (!op.origin.empty()) return op.origin;
    return {op.name.empty() ? "0:" + std::to_string(id.index) : op.name};
}

std::pair<std::string, int32_t> originParts(std::string_view text)
{
    const size_t colon = text.rfind(':');
    int32_t slot = 0;
    if (colon != std::string_view::npos) {
        const auto [end, error] = std::from_chars(text.data() + colon + 1, text.data() + text.size(), slot);
        if (error == std::errc() && end == text.data() + text.size()) return {std::string(text.substr(0, colon)), slot};
    }
    return {std::string(text), 0};
}

std::vector<std::string> originFrames(const Graph& graph)
{
    std::vector<std::string> frames;
    const Attribute* const said = findAttribute(graph.attributes, kOriginFrames);
    if (const auto* items = said ? said->as<AttributeItems>() : nullptr)
        for (const Attribute& item : *items)
            if (const auto* name = item.as<std::string>()) frames.push_back(*name);
    return frames;
}

std::set<std::string> openedFrames(const Model& raised, std::string_view sourceGraph)
{
    std::set<std::string> frames;
    for (const Graph& graph : raised.graphs) {
        if (attributeString(graph.attributes, kOriginGraph, graph.id) != sourceGraph) continue;
        for (const Operator& op : graph.operators)
            if (const std::string_view frame = attributeString(op.attributes, kOriginOpened, ""); !frame.empty()) frames.emplace(frame);
    }
    return frames;
}

bool isRaised(const Model& model)
{
    return std::ranges::any_of(model.graphs, [](const Graph& graph) {
        return findAttribute(graph.attributes, kOriginGraph) != nullptr || std::ranges::any_of(graph.operators, [](const Operator& op) {
                   return findAttribute(op.attributes, kOriginOpened) != nullptr;
               });
    });
}

std::vector<std::string> originNodes(const Graph& graph, const Operator& op)
{
    const std::string source(attributeString(graph.attributes, kOriginGraph, graph.id));
    std::vector<std::string> nodes;
    const auto add = [&](std::string node) {
        if (!node.empty() && std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(std::move(node));
    };
    const Attribute* const said = findAttribute(op.attributes, kOrigin);
    if (const auto* items = said ? said->as<AttributeItems>() : nullptr) {
        for (const Attribute& item : *items)
            if (const auto* text = item.as<std::string>()) add(originParts(*text).first);
        return nodes;
    }
    for (const std::string& origin : op.origin) add(std::string(withoutGraph(origin, source)));
    if (op.origin.empty()) add(op.name);
    return nodes;
}

std::vector<OriginPair> originPairs(const Model& raised)
{
    std::vector<OriginPair> pairs;
    for (size_t g = 0; g < raised.graphs.size(); ++g) {
        const Graph& graph = raised.graphs[g];
        const std::string source(attributeString(graph.attributes, kOriginGraph, graph.id));
        const std::vector<std::string> frames = originFrames(graph);
        for (size_t v = 0; v < graph.values.size(); ++v) {
            const Value& value = graph.values[v];
            std::string text;
            if (value.role == ValueRole::input) text = attributeString(value.attributes, kOrigin, "");
            if (value.role == ValueRole::result) text = originOfResult(graph.op(value.producer), static_cast<size_t>(value.slot), source);
            if (text.empty()) continue;
            auto [node, slot] = originParts(text);
            pairs.push_back({source, frames, std::move(node), slot, GraphId(static_cast<int64_t>(g)), ValueId(static_cast<int64_t>(v))});
        }
    }
    return pairs;
}

} // namespace loopscope
