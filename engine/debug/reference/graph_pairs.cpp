#include "engine/debug/reference/graph_pairs.h"

#include "engine/debug/graph_diff/graph_diff.h"
#include "engine/debug/graph_diff/structure_pairing.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

namespace {

/// Parts of a joined name in order, so that "a;b" and "b;a" are one.
std::string sortedName(const std::string& name)
{
    if (name.find(';') == std::string::npos) return name;
    std::vector<std::string> parts;
    for (size_t at = 0; at <= name.size();) {
        const size_t end = std::min(name.find(';', at), name.size());
        parts.push_back(name.substr(at, end - at));
        at = end + 1;
    }
    std::ranges::sort(parts);
    std::string sorted;
    for (const std::string& part : parts) sorted += (sorted.empty() ? "" : ";") + part;
    return sorted;
}

bool isComputed(const Value& value) { return value.role == ValueRole::result || value.role == ValueRole::input; }

/// Not where both are known to have other shapes: a converter may give a layer's name to its unpacked weights.
bool mayBeEqual(const Value& a, const Value& b)
{
    return !a.type.shape.isStatic() || !b.type.shape.isStatic() || a.type.shape == b.type.shape;
}

std::map<std::string, ValueId> byName(const Graph& graph, bool ids)
{
    std::map<std::string, ValueId> names;
    std::map<std::string, int> counts;
    for (size_t v = 0; v < graph.values.size(); ++v) {
        if (graph.values[v].role == ValueRole::absent) continue;
        const std::string name = ids ? graph.values[v].id : sortedName(graph.values[v].displayName());
        ++counts[name];
        names.emplace(name, ValueId(static_cast<int64_t>(v)));
    }
    std::erase_if(names, [&](const auto& entry) { return counts[entry.first] > 1; }); // which of them is meant, nobody knows
    return names;
}

void pairByName(const Graph& here, const Graph& there, PairedValues& pairs)
{
    const std::map<std::string, ValueId> names = byName(there, false), ids = byName(there, true);
    for (size_t v = 0; v < here.values.size(); ++v) {
        const Value& value = here.values[v];
        if (value.role == ValueRole::absent) continue;
        auto found = names.find(sortedName(value.displayName()));
        if (found == names.end()) { // files without full names, and traces
            found = ids.find(value.id);
            if (found == ids.end() || (!value.name.empty() && !there.value(found->second).name.empty())) continue;
        }
        if (isComputed(value) == isComputed(there.value(found->second)) && mayBeEqual(value, there.value(found->second)))
            pairs[ValueId(static_cast<int64_t>(v))] = {found->second, PairedBy::name};
    }
    // Formals of callees, and inputs of the run whose names differ, pair by position.
    for (size_t i = 0; i < here.inputs.size() && here.inputs.size() == there.inputs.size(); ++i)
        pairs.try_emplace(here.inputs[i], PairedValue{there.inputs[i], PairedBy::position});
}

/// What names left over: results of operators that stand in the same order between operators that pair.
void pairOperators(const Graph& here, const Graph& there, PairedValues& pairs)
{
    std::vector<int> partners(here.operators.size(), -1);
    std::vector<char> taken(there.operators.size(), 0);
    for (const auto& [value, partner] : pairs) {
        const OperatorId one = here.value(value).producer, other = there.value(partner.value).producer;
        if (other.valid()) taken[static_cast<size_t>(other.index)] = 1;
        if (one.valid() && other.valid()) partners[static_cast<size_t>(one.index)] = other.index;
    }
    for (const auto& [one, other] : pairByStructure(here, there, partners, taken)) {
        const Operator &a = here.op(one), &b = there.op(other);
        for (size_t k = 0; k < a.results.size(); ++k)
            if (a.results[k].valid() && b.results[k].valid())
                pairs.try_emplace(a.results[k], PairedValue{b.results[k], PairedBy::structure});
    }
}

/// The operator of a group whose results others read; invalid: there are several, or none.
class GroupExits {
public:
    explicit GroupExits(const Graph& graph) : m_graph(graph), m_readers(graph.values.size()), m_isOutput(graph.values.size(), 0)
    {
        for (size_t i = 0; i < graph.operators.size(); ++i)
            for (const ValueId input : graph.operators[i].inputs)
                if (input.valid()) m_readers[static_cast<size_t>(input.index)].emplace_back(static_cast<int64_t>(i));
        for (const GraphOutput& output : graph.outputs)
            if (output.value.valid()) m_isOutput[static_cast<size_t>(output.value.index)] = 1;
    }
    OperatorId of(const std::vector<OperatorId>& group) const
    {
        if (group.size() == 1) return group.front();
        OperatorId exit;
        for (const OperatorId op : group) {
            if (!leaves(op, group)) continue;
            if (exit.valid()) return {};
            exit = op;
        }
        return exit;
    }

private:
    bool leaves(OperatorId op, const std::vector<OperatorId>& group) const
    {
        return std::ranges::any_of(m_graph.op(op).results, [&](ValueId result) {
            if (!result.valid()) return false;
            const auto v = static_cast<size_t>(result.index);
            return m_isOutput[v] != 0 ||
                   std::ranges::any_of(m_readers[v], [&](OperatorId reader) { return std::ranges::find(group, reader) == group.end(); });
        });
    }

    const Graph& m_graph;
    std::vector<std::vector<OperatorId>> m_readers;
    std::vector<char> m_isOutput;
};

/// What leaves operators that belong together, one or several on each side. Where less than half of the operators of either side do,
/// it is by chance.
void pairGroups(const Model& model, const Graph& here, const Model& reference, const Graph& there, PairedValues& pairs)
{
    const GraphDiff diff = diffGraphs(model, here, reference, there);
    int64_t matched = 0, matchedThere = 0, all = 0, allThere = 0;
    const auto isSure = [](const MatchedGroup& group) {
        return !group.here.empty() && !group.there.empty() && group.how != MatchedBy::place;
    };
    for (const MatchedGroup& group : diff.groups) {
        const auto own = static_cast<int64_t>(group.here.size()), others = static_cast<int64_t>(group.there.size());
        all += own;
        allThere += others;
        matched += isSure(group) ? own : 0;
        matchedThere += isSure(group) ? others : 0;
    }
    if (2 * matched < all && 2 * matchedThere < allThere) return;
    std::vector<char> taken(there.values.size(), 0);
    for (const auto& [value, partner] : pairs) taken[static_cast<size_t>(partner.value.index)] = 1;
    const GroupExits exits(here), exitsThere(there);
    for (const MatchedGroup& group : diff.groups) {
        const OperatorId one = isSure(group) ? exits.of(group.here) : OperatorId();
        const OperatorId other = one.valid() ? exitsThere.of(group.there) : OperatorId();
        if (!other.valid()) continue;
        const Operator &a = here.op(one), &b = there.op(other);
        for (size_t k = 0; k < std::min(a.results.size(), b.results.size()); ++k) {
            const ValueId x = a.results[k], y = b.results[k];
            if (!x.valid() || !y.valid() || taken[static_cast<size_t>(y.index)] != 0) continue;
            if (mayBeEqual(here.value(x), there.value(y))) pairs.try_emplace(x, PairedValue{y, PairedBy::structure});
        }
    }
}

/// What only passes a value on is that value.
void pairPassed(const Graph& here, PairedValues& pairs)
{
    static constexpr std::array<std::string_view, 3> kPassing = {"Identity", "StopGradient", "Snapshot"};
    std::vector<ValueId> open;
    for (const auto& [value, partner] : pairs) open.push_back(value);
    std::map<ValueId, std::vector<ValueId>> passed;
    for (const Operator& op : here.operators)
        if (op.kind.dialect == "tf" && op.inputs.size() == 1 && op.results.size() == 1 &&
            std::ranges::find(kPassing, std::string_view(op.kind.name)) != kPassing.end())
            passed[op.inputs.front()].push_back(op.results.front());
    while (!open.empty() && !passed.empty()) {
        const ValueId from = open.back();
        open.pop_back();
        const auto found = passed.find(from);
        if (found == passed.end()) continue;
        const PairedValue partner = pairs.at(from);
        for (const ValueId to : found->second)
            if (to.valid() && pairs.try_emplace(to, partner).second) open.push_back(to);
    }
}

} // namespace

std::string_view pairedByText(PairedBy how)
{
    switch (how) {
    case PairedBy::address: return "address";
    case PairedBy::name: return "name";
    case PairedBy::position: return "position";
    case PairedBy::structure: return "structure";
    }
    return "";
}

PairedValues pairValues(const Model& model, const Graph& here, const Model& reference, const Graph& there)
{
    PairedValues pairs;
    pairByName(here, there, pairs);
    pairOperators(here, there, pairs);
    pairGroups(model, here, reference, there, pairs);
    pairPassed(here, pairs);
    return pairs;
}

} // namespace loopscope
