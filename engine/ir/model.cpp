// Look-ups on the model and the table of graph-valued attributes: which roles an operator calls its graphs in, in which order.
#include "engine/ir/model.h"

#include <algorithm>
#include <charconv>

namespace loopscope {

std::string_view dialectName(Dialect dialect)
{
    switch (dialect) {
    case Dialect::tfl: return "tfl";
    case Dialect::circle: return "circle";
    case Dialect::tf: return "tf";
    }
    return "tfl";
}

ValueId Graph::findValue(std::string_view id_) const
{
    for (size_t i = 0; i < values.size(); ++i)
        if (values[i].id == id_) return ValueId(static_cast<int64_t>(i));
    return {};
}

ValueId Model::findValue(GraphId graph_, std::string_view idOrPort) const
{
    const Graph& searched = graph(graph_);
    if (const ValueId value = searched.findValue(idOrPort); value.valid()) return value;
    const auto output = std::ranges::find(searched.outputs, idOrPort, &GraphOutput::name);
    if (output != searched.outputs.end() && !idOrPort.empty()) return output->value;
    // Signatures of a SavedModel share a graph and often their names: meant is what this graph takes or returns.
    for (const Signature& signature : signatures) {
        if (signature.graph != graph_) continue;
        for (const SignatureBinding& input : signature.inputs)
            if (input.name == idOrPort && std::ranges::find(searched.inputs, input.value) != searched.inputs.end()) return input.value;
        for (const SignatureBinding& one : signature.outputs)
            if (one.name == idOrPort && std::ranges::find(searched.outputs, one.value, &GraphOutput::value) != searched.outputs.end())
                return one.value;
    }
    return {};
}

GraphId Model::findGraph(std::string_view id) const
{
    for (size_t i = 0; i < graphs.size(); ++i)
        if (graphs[i].id == id) return GraphId(static_cast<int64_t>(i));
    return {};
}

namespace {

/// Place of a role in the order of execution; −1 for a key that is no role. Numbered roles (`branch3`, `region1`) follow their number.
int64_t roleOrder(std::string_view key)
{
    constexpr int64_t kSpan = int64_t{1} << 32;
    constexpr std::string_view kPlain[] = {"cond", "body", "then", "else", "call", "init", "region"};
    for (size_t i = 0; i < std::size(kPlain); ++i)
        if (key == kPlain[i]) return static_cast<int64_t>(i) * kSpan;
    for (const std::string_view prefix : {std::string_view("branch"), std::string_view("region")}) {
        if (!key.starts_with(prefix) || key.size() == prefix.size()) continue;
        uint32_t number = 0;
        const char* end = key.data() + key.size();
        if (const auto [at, error] = std::from_chars(key.data() + prefix.size(), end, number); error == std::errc() && at == end)
            return 8 * kSpan + number;
    }
    return -1;
}

} // namespace

namespace {

/// TensorFlow's calls: then_branch and else_branch are the roles then and else, f is call, the list of a Case branch0, branch1, …
std::vector<Callee> calleesOfNode(const Operator& op)
{
    static constexpr std::pair<std::string_view, std::string_view> kRoles[] = {
        {"cond", "cond"}, {"body", "body"}, {"then_branch", "then"}, {"else_branch", "else"}, {"f", "call"}};
    std::vector<Callee> callees;
    for (const auto& [key, role] : kRoles)
        if (const Attribute* attribute = findAttribute(op.attributes, key))
            if (const auto* ref = attribute->as<GraphRef>()) callees.push_back({std::string(role), ref->graph});
    if (const Attribute* branches = findAttribute(op.attributes, "branches"))
        if (const auto* list = branches->as<AttributeItems>())
            for (size_t k = 0; k < list->size(); ++k)
                if (const auto* ref = (*list)[k].as<GraphRef>()) callees.push_back({"branch" + std::to_string(k), ref->graph});
    return callees;
}

} // namespace

std::vector<Callee> calleesOf(const Operator& op)
{
    if (op.kind.dialect == "tf") return calleesOfNode(op);
    std::vector<Callee> callees;
    if (op.kind.dialect != "tfl" && op.kind.dialect != "circle" && op.kind.dialect != "custom") return callees;
    for (const NamedAttribute& attribute : op.attributes)
        if (const auto* ref = attribute.value.as<GraphRef>(); ref && roleOrder(attribute.key) >= 0)
            callees.push_back({attribute.key, ref->graph});
    std::stable_sort(callees.begin(), callees.end(),
                     [](const Callee& a, const Callee& b) { return roleOrder(a.role) < roleOrder(b.role); });
    return callees;
}

} // namespace loopscope
