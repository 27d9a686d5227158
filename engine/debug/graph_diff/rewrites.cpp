#include "engine/debug/graph_diff/rewrites.h"

#include "engine/debug/graph_diff/flat_graph.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

namespace loopscope {

namespace {

class RewriteFinder {
public:
    RewriteFinder(const Model& here, const Model& there) : m_here(here), m_there(there) {}

    std::vector<GraphRewrite> run(GraphId root, GraphId rootThere)
    {
        enter(root, rootThere);
        while (!m_open.empty()) {
            const auto [a, b] = m_open.front();
            m_open.pop_front();
            compare(a, b);
        }
        return std::move(m_rewrites);
    }

private:
    void enter(GraphId a, GraphId b)
    {
        if (m_here.hasGraph(a) && m_there.hasGraph(b) && m_seen.emplace(a, b).second) m_open.emplace_back(a, b);
    }

    void compare(GraphId a, GraphId b)
    {
        const FlatGraph here(m_here, a), there(m_there, b);
        const GraphDiff diff = diffGraphs(m_here, here.graph(), m_there, there.graph());
        for (const MatchedGroup& group : diff.groups) {
            if (group.here.empty() || group.there.empty()) continue;
            const Operator& one = here.graph().op(group.here.front());
            const Operator& other = there.graph().op(group.there.front());
            callees(one, other);
            const bool isOne = group.here.size() == 1 && group.there.size() == 1;
            if (isOne && kindAcrossDialects(one.kind) == kindAcrossDialects(other.kind)) continue;
            m_rewrites.push_back({placesOf(here, group.here), placesOf(there, group.there), group.how});
        }
    }

    void callees(const Operator& one, const Operator& other)
    {
        const std::vector<Callee> others = calleesOf(other);
        for (const Callee& callee : calleesOf(one))
            if (const auto found = std::ranges::find(others, callee.role, &Callee::role); found != others.end())
                enter(callee.graph, found->graph);
    }

    static std::vector<GraphOperator> placesOf(const FlatGraph& flat, const std::vector<OperatorId>& ops)
    {
        std::vector<GraphOperator> places;
        for (const OperatorId op : ops) {
            const auto [place, own] = flat.originOf(op);
            places.push_back({flat.places[static_cast<size_t>(place)].graph, own});
        }
        std::ranges::sort(places);
        return places;
    }

    const Model& m_here;
    const Model& m_there;
    std::vector<GraphRewrite> m_rewrites;
    std::deque<std::pair<GraphId, GraphId>> m_open;
    std::set<std::pair<GraphId, GraphId>> m_seen;
};

} // namespace

std::vector<GraphRewrite> rewritesBetween(const Model& here, GraphId root, const Model& there, GraphId rootThere)
{
    return RewriteFinder(here, there).run(root, rootThere);
}

} // namespace loopscope
