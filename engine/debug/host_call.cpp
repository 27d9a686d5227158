#include "engine/debug/host_call.h"

#include "engine/ir/ids.h"

#include <algorithm>
#include <utility>

namespace loopscope {

namespace {

/// The operator of one of these kinds, and where it stands; null: there is none.
std::pair<const Operator*, int64_t> operatorOf(const Graph& graph, std::string_view tfl, std::string_view tf)
{
    for (size_t k = graph.operators.size(); k-- > 0;)
        if (const Operator& op = graph.operators[k]; op.kind.name == tfl || op.kind.name == tf) return {&op, static_cast<int64_t>(k)};
    return {nullptr, 0};
}

} // namespace

std::string withoutHostCall(const Model& model, std::string_view text)
{
    constexpr std::string_view kBegin = "call@";
    const auto signature = std::ranges::find(model.signatures, kHostLoopKey, &Signature::key);
    if (!text.starts_with(kBegin) || signature == model.signatures.end() || !model.hasGraph(signature->graph)) return std::string(text);
    const Graph& host = model.graph(signature->graph);
    const auto [loop, loopIndex] = operatorOf(host, "while", "While");
    const auto* body = loop != nullptr ? findAttribute(loop->attributes, "body") : nullptr;
    const auto* reference = body != nullptr ? body->as<GraphRef>() : nullptr;
    if (reference == nullptr || !model.hasGraph(reference->graph)) return std::string(text);
    const auto [call, callIndex] = operatorOf(model.graph(reference->graph), "call", "StatefulPartitionedCall");
    if (call == nullptr) return std::string(text);
    const size_t slash = std::min(text.find('/'), text.size());
    std::string place = host.id + "/" + addressSite(*loop, loopIndex) + "@" +
                        std::string(text.substr(kBegin.size(), slash - kBegin.size())) + ":body/" + addressSite(*call, callIndex) + ":call";
    // The graph that is called need not be named: there is only one.
    std::string_view rest = text.substr(slash);
    const Attribute* const callee = findAttribute(call->attributes, call->kind.name == "call" ? "call" : "f");
    const auto* const called = callee != nullptr ? callee->as<GraphRef>() : nullptr;
    if (called != nullptr && model.hasGraph(called->graph)) {
        const std::string name = "/" + model.graph(called->graph).id;
        if (rest == name || rest.starts_with(name + "/")) rest.remove_prefix(name.size());
    }
    return place + std::string(rest);
}

} // namespace loopscope
