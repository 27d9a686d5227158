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

namespace {

/// Scopes of both sides for what pairs. Graphs of the reference are known beside the graphs around which calls are opened.
class ScopesOfPairs {
public:
    using Graphs = ValuePairing::Graphs;

    ScopesOfPairs(RunMap& map, const Model& model, const Model& reference) : m_map(map), m_model(model), m_reference(reference) {}

    int32_t here(const Graphs& graphs)
    {
        const auto [scope, isNew] = m_here.try_emplace(graphs, -1);
        if (isNew) scope->second = m_map.addScope(RunMap::here, m_model, graphs.first);
        return scope->second;
    }
    int32_t there(const Graphs& around, GraphId graph)
    {
        const auto [scope, isNew] = m_there.try_emplace({around, graph}, -1);
        if (isNew) scope->second = m_map.addScope(RunMap::there, m_reference, graph);
        return scope->second;
    }

private:
    RunMap& m_map;
    const Model &m_model, &m_reference;
    std::map<Graphs, int32_t> m_here;
    std::map<std::pair<Graphs, GraphId>, int32_t> m_there;
};

/// The graph of the reference in which the last of some calls is.
GraphId graphOfLast(const std::vector<OperatorId>& sites, GraphId from, const std::vector<ValuePairing::Opened>& opened)
{
    for (size_t k = 0; k + 1 < sites.size(); ++k)
        for (const ValuePairing::Opened& call : opened)
            if (call.caller == from && call.site == sites[k]) {
                from = call.callee;
                break;
            }
    return from;
}

} // namespace

RunMap RunMap::ofPairing(const ValuePairing& pairing, const Model& model, GraphId root, const Model& reference, GraphId referenceRoot)
{
    RunMap map;
    map.m_summary = pairing.summary();
    ScopesOfPairs scopes(map, model, reference);
    const ValuePairing::Graphs roots{root, referenceRoot};
    (void)scopes.here(roots);
    (void)scopes.there(roots, referenceRoot);
    for (const auto& [graphs, pairs] : pairing.pairs()) {
        const ValuePairing::Graphs around{pairs.around, graphs.second};
        const int32_t scope = scopes.here(graphs);
        for (const auto& [value, partner] : pairs.values)
            map.addPair(scope, value, scopes.there(around, partner.graph), partner.value, partner.how == PairedBy::address);
        for (const ValuePairing::Opened& call : pairs.openedThere)
            map.addCall(there, scopes.there(around, call.caller), call.site, call.callee, {scopes.there(around, call.callee), 0});
        const std::vector<ValuePairing::Opened>& opened = pairing.pairs().at(around).openedThere;
        std::map<OperatorId, uint32_t> marks; // condition and body are entered by one call
        for (const auto& [call, step] : pairs.calls) {
            const ValuePairing::Graphs inner{call.second, step.graph};
            if (step.sites.empty()) {
                map.addCall(here, scope, call.first, call.second, {scopes.here(inner), 0});
                continue;
            }
            const auto [mark, isNew] = marks.try_emplace(call.first, 0);
            if (isNew) mark->second = map.newMark();
            const int32_t caller = scopes.there(around, graphOfLast(step.sites, graphs.second, opened));
            map.addCall(here, scope, call.first, call.second, {scopes.here(inner), mark->second});
            map.addCall(there, caller, step.sites.back(), step.graph, {scopes.there(inner, step.graph), mark->second});
        }
    }
    return map;
}

} // namespace loopscope
