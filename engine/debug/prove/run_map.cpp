#include "engine/debug/prove/run_map.h"

namespace loopscope {

int32_t RunMap::addScope(Side side, const Model& model, GraphId graph)
{
    Scope& scope = m_scopes[side].emplace_back();
    scope.graph = graph;
    scope.keys.assign(model.graph(graph).values.size(), 0);
    return static_cast<int32_t>(m_scopes[side].size()) - 1;
}

bool RunMap::addPair(int32_t scope, ValueId value, int32_t scopeThere, ValueId reference, bool decides)
{
    uint32_t& mine = m_scopes[here][static_cast<size_t>(scope)].keys[static_cast<size_t>(value.index)];
    uint32_t& theirs = m_scopes[there][static_cast<size_t>(scopeThere)].keys[static_cast<size_t>(reference.index)];
    if (theirs != 0) {
        if (mine == theirs && decides) m_decides[mine] = 1;
        return mine == theirs;
    }
    if (mine != 0) {
        theirs = mine;
        return true;
    }
    mine = theirs = keyCount();
    m_decides.push_back(decides ? 1 : 0);
    return true;
}

void RunMap::addCall(Side side, int32_t scope, OperatorId site, GraphId entered, Call call)
{
    m_scopes[side][static_cast<size_t>(scope)].calls[{site, entered}] = call;
}

void RunMap::pair(ValueId value, ValueId reference)
{
    uint32_t& mine = m_scopes[here].front().keys[static_cast<size_t>(value.index)];
    uint32_t& theirs = m_scopes[there].front().keys[static_cast<size_t>(reference.index)];
    if (mine == theirs && mine != 0) {
        m_decides[mine] = 1;
        return;
    }
    mine = theirs = 0; // what was guessed of either is wrong: a key that only one side has is never looked for
    addPair(0, value, 0, reference, true);
}

RunMap RunMap::ofPairing(const ValuePairing& pairing, const Model& model, GraphId root, const Model& reference, GraphId referenceRoot)
{
    RunMap map;
    map.m_summary = pairing.summary();
    std::map<ValuePairing::Graphs, int32_t> scopes;
    const auto add = [&](const ValuePairing::Graphs& graphs) {
        map.addScope(here, model, graphs.first);
        scopes[graphs] = map.addScope(there, reference, graphs.second);
    };
    add({root, referenceRoot});
    for (const auto& [graphs, pairs] : pairing.pairs())
        if (!scopes.contains(graphs)) add(graphs);
    for (const auto& [graphs, pairs] : pairing.pairs()) {
        const int32_t scope = scopes.at(graphs);
        for (const auto& [value, partner] : pairs.values) map.addPair(scope, value, scope, partner.value, partner.how == PairedBy::address);
        std::map<OperatorId, uint32_t> marks; // condition and body are entered by one call
        for (const auto& [call, step] : pairs.calls) {
            const auto [mark, isNew] = marks.try_emplace(call.first, 0);
            if (isNew) mark->second = map.newMark();
            const Call entered{scopes.at({call.second, step.graph}), mark->second};
            map.addCall(here, scope, call.first, call.second, entered);
            map.addCall(there, scope, step.site, step.graph, entered);
        }
    }
    return map;
}

} // namespace loopscope
