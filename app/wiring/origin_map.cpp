#include "app/wiring/origin_map.h"

#include "engine/ir/frames.h"
#include "engine/ir/origin.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

namespace loopscope::app {

namespace {

class OriginMapper {
public:
    OriginMapper(const Model& v1, const Model& raised) : m_v1(v1), m_raised(raised) {}

    RunMap map(GraphId root, GraphId raisedRoot)
    {
        addScopes(root, raisedRoot);
        addPairs();
        for (size_t g = 0; g < m_v1.graphs.size(); ++g) addCallsOfV1(GraphId(static_cast<int64_t>(g)));
        for (size_t g = 0; g < m_raised.graphs.size(); ++g) addCallsOfRaised(GraphId(static_cast<int64_t>(g)));
        summarize();
        return std::move(m_map);
    }

private:
    static std::string sourceOf(const Graph& graph) { return std::string(attributeString(graph.attributes, kOriginGraph, graph.id)); }

    void addScopes(GraphId root, GraphId raisedRoot)
    {
        const auto add = [&](RunMap::Side side, const Model& model, GraphId first, std::vector<int32_t>& scopes) {
            scopes.assign(model.graphs.size(), -1);
            scopes[static_cast<size_t>(first.index)] = m_map.addScope(side, model, first);
            for (size_t g = 0; g < scopes.size(); ++g)
                if (scopes[g] < 0) scopes[g] = m_map.addScope(side, model, GraphId(static_cast<int64_t>(g)));
        };
        add(RunMap::here, m_v1, root, m_scopes);
        add(RunMap::there, m_raised, raisedRoot, m_scopesThere);
        for (size_t g = 0; g < m_v1.graphs.size(); ++g) m_sources.emplace(m_v1.graphs[g].id, g);
    }

    void addPairs()
    {
        std::vector<std::unordered_map<std::string, ValueId>> names(m_v1.graphs.size());
        for (size_t g = 0; g < names.size(); ++g)
            for (size_t v = 0; v < m_v1.graphs[g].values.size(); ++v)
                names[g].emplace(m_v1.graphs[g].values[v].id, ValueId(static_cast<int64_t>(v)));
        for (const OriginPair& pair : originPairs(m_raised)) {
            const auto source = m_sources.find(pair.sourceGraph);
            if (source == m_sources.end()) continue;
            const auto& ids = names[source->second];
            const auto value = ids.find(pair.node + (pair.slot == 0 ? "" : ":" + std::to_string(pair.slot)));
            if (value == ids.end() || m_raised.graph(pair.graph).value(pair.value).role != ValueRole::result) continue;
            const Operator& op = m_raised.graph(pair.graph).op(m_raised.graph(pair.graph).value(pair.value).producer);
            const Value& node = m_v1.graphs[source->second].value(value->second);
            // What pruning puts in the place of a result that nobody needs has the origin of what it replaces, and is of another kind.
            if (!findAttribute(op.attributes, kOrigin) && node.role == ValueRole::result &&
                m_v1.graphs[source->second].op(node.producer).kind != op.kind)
                continue;
            m_map.addPair(m_scopes[source->second], value->second, m_scopesThere[static_cast<size_t>(pair.graph.index)], pair.value, true);
        }
    }

    uint32_t markOf(const std::string& source, const std::string& path)
    {
        uint32_t& mark = m_marks[{source, path}];
        if (mark == 0) mark = m_map.newMark();
        return mark;
    }

    static std::string pathText(const std::vector<std::string>& frames)
    {
        std::string text;
        for (const std::string& frame : frames) text += frame + "\n";
        return text;
    }

    void addCallsOfV1(GraphId id)
    {
        const Graph& graph = m_v1.graph(id);
        const int32_t scope = m_scopes[static_cast<size_t>(id.index)];
        for (size_t i = 0; i < graph.operators.size(); ++i)
            for (const Callee& callee : calleesOf(graph.operators[i])) {
                if (!m_v1.hasGraph(callee.graph)) continue;
                const uint32_t mark = markOf(graph.id, "call " + graph.operators[i].name);
                m_map.addCall(RunMap::here, scope, OperatorId(static_cast<int64_t>(i)), callee.graph,
                              {m_scopes[static_cast<size_t>(callee.graph.index)], mark});
            }
        if (!hasFramesOrSwitches(graph)) return;
        const FrameAnalysis analysis = analyzeFrames(graph);
        const std::set<std::string> opened = openedFrames(m_raised, graph.id);
        std::vector<std::string> paths(analysis.frames.size());
        for (size_t f = 1; f < analysis.frames.size(); ++f) {
            const Frame& frame = analysis.frames[f];
            const std::string& outside = paths[static_cast<size_t>(std::max(frame.parent, 0))];
            const bool isOpened = !frame.isLoop() && opened.contains(frame.name); // what is in it pairs as if it lay outside
            paths[f] = isOpened ? outside : outside + frame.name + "\n";
            const uint32_t mark = isOpened ? 0 : markOf(graph.id, paths[f]);
            for (const OperatorId enter : frame.enters) m_map.addCall(RunMap::here, scope, enter, id, {scope, mark});
        }
    }

    void addCallsOfRaised(GraphId id)
    {
        const Graph& graph = m_raised.graph(id);
        const int32_t scope = m_scopesThere[static_cast<size_t>(id.index)];
        const std::string source = sourceOf(graph);
        const std::vector<std::string> frames = originFrames(graph);
        for (size_t i = 0; i < graph.operators.size(); ++i)
            for (const Callee& callee : calleesOf(graph.operators[i])) {
                if (!m_raised.hasGraph(callee.graph)) continue;
                const Graph& called = m_raised.graph(callee.graph);
                RunMap::Call call{m_scopesThere[static_cast<size_t>(callee.graph.index)], 0};
                if (!findAttribute(called.attributes, kOriginGraph)) {
                    call.mark = markOf(source, "call " + graph.operators[i].name);
                } else if (const std::vector<std::string> inner = originFrames(called); inner.size() > frames.size()) {
                    call.mark = markOf(source, pathText(inner));
                }
                m_map.addCall(RunMap::there, scope, OperatorId(static_cast<int64_t>(i)), callee.graph, call);
            }
        if (!hasFramesOrSwitches(graph)) return;
        for (const Frame& frame : analyzeFrames(graph).frames) { // what was left as it is
            if (frame.parent < 0) continue;
            const uint32_t mark = markOf(source, pathText(frames) + frame.name + "\n");
            for (const OperatorId enter : frame.enters) m_map.addCall(RunMap::there, scope, enter, id, {scope, mark});
        }
    }

    void summarize()
    {
        PairingSummary summary;
        summary.how = "origin";
        const auto count = [](const Model& model, const std::vector<RunMap::Scope>& scopes, std::vector<std::string>& unpaired,
                              int64_t* paired, int64_t* total) {
            for (const RunMap::Scope& scope : scopes) {
                const Graph& graph = model.graph(scope.graph);
                for (size_t v = 0; v < graph.values.size(); ++v) {
                    if (graph.values[v].role != ValueRole::result) continue;
                    if (total) ++*total;
                    if (scope.keys[v] == 0) unpaired.push_back(graph.id + "/" + graph.values[v].id);
                    else if (paired) ++*paired;
                }
            }
        };
        count(m_v1, m_map.scopes(RunMap::here), summary.unpaired, &summary.paired, &summary.total);
        count(m_raised, m_map.scopes(RunMap::there), summary.unpairedThere, nullptr, nullptr);
        m_map.setSummary(std::move(summary));
    }

    const Model& m_v1;
    const Model& m_raised;
    RunMap m_map;
    std::vector<int32_t> m_scopes, m_scopesThere; ///< by graph
    std::unordered_map<std::string, size_t> m_sources;
    std::map<std::pair<std::string, std::string>, uint32_t> m_marks; ///< by v1 graph and frames, or call
};

} // namespace

RunMap mapOfOrigin(const Model& v1, GraphId root, const Model& raised, GraphId raisedRoot)
{
    return OriginMapper(v1, raised).map(root, raisedRoot);
}

} // namespace loopscope::app
