#include "engine/debug/graph_diff/graph_diff.h"

#include "engine/debug/graph_diff/graph_side.h"
#include "engine/debug/graph_diff/structure_pairing.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <set>
#include <unordered_map>

namespace loopscope {

namespace {

using Edge = GraphSide::Edge;

/// Pairs of two graphs, from the surest to the weakest.
class GraphMatcher {
public:
    GraphMatcher(const GraphSide& here, const GraphSide& there)
        : partner(here.size(), -1),
          how(here.size(), MatchedBy::content),
          m_here(here),
          m_there(there),
          m_partnerThere(there.size(), -1)
    {
    }

    void run()
    {
        nameOwners();
        pairUnique(m_here.above, m_there.above, MatchedBy::content);
        pairUnique(m_here.below, m_there.below, MatchedBy::content);
        pairAround(m_here.content, m_there.content, MatchedBy::content);
        trustNames();
        pairNames();
        pairOutputs();
        follow();
        pairAround(m_here.kind, m_there.kind, MatchedBy::structure);
        pairStretches();
        follow();
        pairLandmarks();
        follow();
        pairPlaces();
        pairNamedPlaces();
    }

    std::vector<int> partner; ///< of each operator here; −1: none
    std::vector<MatchedBy> how;
    const std::vector<int>& partnersThere() const { return m_partnerThere; }

private:
    static bool isTaken(const std::vector<int>& partners, size_t k) { return partners[k] >= 0; }
    bool isOpen(int a, int b) const
    {
        return a >= 0 && b >= 0 && partner[static_cast<size_t>(a)] < 0 && m_partnerThere[static_cast<size_t>(b)] < 0 &&
               m_here.isConstant[static_cast<size_t>(a)] == m_there.isConstant[static_cast<size_t>(b)];
    }
    bool isSameKind(int a, int b) const { return m_here.kind[static_cast<size_t>(a)] == m_there.kind[static_cast<size_t>(b)]; }

    void pair(int a, int b, MatchedBy by)
    {
        partner[static_cast<size_t>(a)] = b;
        m_partnerThere[static_cast<size_t>(b)] = a;
        how[static_cast<size_t>(a)] = by;
        m_fresh.push_back(a);
    }

    /// Names that one operator of each side has.
    void nameOwners()
    {
        const auto collect = [](const GraphSide& side, std::unordered_map<std::string, int>& owners) {
            for (size_t k = 0; k < side.size(); ++k)
                for (const std::string& name : side.names[k]) {
                    const auto [entry, isNew] = owners.try_emplace(name, static_cast<int>(k));
                    if (!isNew && entry->second != static_cast<int>(k)) entry->second = -1;
                }
        };
        collect(m_here, m_ownersHere);
        collect(m_there, m_ownersThere);
    }

    /// The operator there that is called as this one; −1: none, or several.
    int namesake(int a) const
    {
        int found = -1;
        for (const std::string& name : m_here.names[static_cast<size_t>(a)]) {
            const auto own = m_ownersHere.find(name), other = m_ownersThere.find(name);
            if (own == m_ownersHere.end() || own->second != a || other == m_ownersThere.end() || other->second < 0) continue;
            if (found >= 0 && found != other->second) return -1;
            found = other->second;
        }
        return found;
    }

    /// Those whose number nobody else of their side has; of several, where both sides have as many, each in its order if names agree.
    void pairUnique(const std::vector<uint64_t>& colours, const std::vector<uint64_t>& coloursThere, MatchedBy by)
    {
        std::unordered_map<uint64_t, std::pair<std::vector<int>, std::vector<int>>> classes;
        for (size_t k = 0; k < colours.size(); ++k)
            if (partner[k] < 0 && m_here.isConstant[k] == 0) classes[colours[k]].first.push_back(static_cast<int>(k));
        for (size_t k = 0; k < coloursThere.size(); ++k)
            if (m_partnerThere[k] < 0 && m_there.isConstant[k] == 0) classes[coloursThere[k]].second.push_back(static_cast<int>(k));
        for (const auto& [colour, both] : classes) {
            const auto& [own, others] = both;
            if (own.size() == 1 && others.size() == 1) {
                if (isSameKind(own[0], others[0])) pair(own[0], others[0], by);
                continue;
            }
            if (own.size() > 64 || others.empty()) continue;
            for (const int a : own) {
                const int b = namesake(a);
                if (isOpen(a, b) && isSameKind(a, b) && std::ranges::find(others, b) != others.end()) pair(a, b, by);
            }
            if (own.size() != others.size() || by != MatchedBy::content) continue;
            std::vector<int> left, leftThere; // alike in everything: one is as good as the other
            std::ranges::copy_if(own, std::back_inserter(left), [&](int a) { return partner[static_cast<size_t>(a)] < 0; });
            std::ranges::copy_if(others, std::back_inserter(leftThere), [&](int b) { return m_partnerThere[static_cast<size_t>(b)] < 0; });
            for (size_t k = 0; k < left.size() && k < leftThere.size(); ++k)
                if (isSameKind(left[k], leftThere[k])) pair(left[k], leftThere[k], by);
        }
    }

    /// The same in narrower and narrower surroundings.
    void pairAround(const std::vector<uint64_t>& colours, const std::vector<uint64_t>& coloursThere, MatchedBy by)
    {
        std::vector<std::vector<uint64_t>> own = {colours}, others = {coloursThere};
        for (int radius = 0; radius < 4; ++radius) {
            own.push_back(m_here.spread(own.back()));
            others.push_back(m_there.spread(others.back()));
        }
        for (size_t radius = own.size(); radius-- > 1;) {
            pairUnique(own[radius], others[radius], by);
            if (by != MatchedBy::content) follow();
        }
    }

    /// Names that were counted anew say nothing: operators that match in everything tell.
    void trustNames()
    {
        int64_t right = 0, wrong = 0;
        for (size_t k = 0; k < partner.size(); ++k) {
            const int called = partner[k] < 0 ? -1 : namesake(static_cast<int>(k));
            if (called >= 0) ++(called == partner[k] ? right : wrong);
        }
        if (wrong > right) m_ownersThere.clear();
    }

    void pairNames()
    {
        for (size_t k = 0; k < partner.size(); ++k) {
            const int a = static_cast<int>(k), b = namesake(a);
            if (isOpen(a, b) && isSameKind(a, b)) pair(a, b, MatchedBy::name);
        }
    }

    void pairOutputs()
    {
        const auto &own = m_here.graph.outputs, &others = m_there.graph.outputs;
        if (own.size() != others.size()) return;
        for (size_t k = 0; k < own.size(); ++k) beside(m_here.producerOf(own[k].value), m_there.producerOf(others[k].value));
    }

    /// From operators that match to what stands beside them.
    void follow()
    {
        while (!m_fresh.empty()) {
            const int a = m_fresh.front();
            m_fresh.pop_front();
            const int b = partner[static_cast<size_t>(a)];
            const auto& own = m_here.producers[static_cast<size_t>(a)];
            const auto& others = m_there.producers[static_cast<size_t>(b)];
            for (size_t i = 0; i < own.size() && i < others.size(); ++i) beside(own[i].op, others[i].op);
            followReaders(a, b);
        }
    }

    void beside(int a, int b)
    {
        if (!isOpen(a, b) || !isSameKind(a, b)) return;
        const int called = namesake(a);
        if (called >= 0 && called != b && isOpen(a, called) && isSameKind(a, called)) return; // its name says another one
        pair(a, b, MatchedBy::neighbours);
    }

    void followReaders(int a, int b)
    {
        std::unordered_map<uint64_t, std::pair<std::vector<int>, std::vector<int>>> byKind;
        const auto& own = m_here.readers[static_cast<size_t>(a)];
        const auto& others = m_there.readers[static_cast<size_t>(b)];
        if (own.size() > 64 || others.size() > 64) return;
        const auto add = [](std::vector<int>& list, int op) {
            if (std::ranges::find(list, op) == list.end()) list.push_back(op);
        };
        for (const Edge& edge : own)
            if (partner[static_cast<size_t>(edge.op)] < 0) add(byKind[m_here.kind[static_cast<size_t>(edge.op)]].first, edge.op);
        for (const Edge& edge : others)
            if (m_partnerThere[static_cast<size_t>(edge.op)] < 0) add(byKind[m_there.kind[static_cast<size_t>(edge.op)]].second, edge.op);
        for (const auto& [kind, both] : byKind)
            if (both.first.size() == 1 && both.second.size() == 1) beside(both.first[0], both.second[0]);
    }

    void pairStretches()
    {
        std::vector<char> taken;
        for (const int other : m_partnerThere) taken.push_back(other >= 0 ? 1 : 0);
        for (const auto& [a, b] : pairByStructure(m_here.graph, m_there.graph, partner, taken))
            if (isOpen(a.index, b.index)) pair(a.index, b.index, MatchedBy::structure);
    }

    /// Operators with weights of their own, where both sides have as many: one after the other.
    void pairLandmarks()
    {
        for (const char* const kind : {"conv2d", "depthwiseconv2d", "transposeconv", "matmul", "unidirectionalsequencelstm", "softmax"}) {
            const auto open = [&](const GraphSide& side, const std::vector<int>& partners) {
                std::vector<int> found;
                for (const int k : side.order)
                    if (side.kinds[static_cast<size_t>(k)] == kind && !isTaken(partners, static_cast<size_t>(k))) found.push_back(k);
                return found;
            };
            const std::vector<int> own = open(m_here, partner), others = open(m_there, m_partnerThere);
            if (own.size() != others.size()) continue;
            for (size_t k = 0; k < own.size(); ++k)
                if (isOpen(own[k], others[k])) pair(own[k], others[k], MatchedBy::structure);
        }
    }

    /// What gives a value of the same name computes it in another way.
    void pairNamedPlaces()
    {
        for (size_t k = 0; k < partner.size(); ++k) {
            const int a = static_cast<int>(k), b = namesake(a);
            if (isOpen(a, b) && m_here.isConstant[k] == 0 && m_here.isPassing[k] == 0 && m_there.isPassing[static_cast<size_t>(b)] == 0)
                pair(a, b, MatchedBy::place);
        }
        m_fresh.clear();
    }

    /// What stands alone between operators that match, on both sides, though it is of another kind.
    void pairPlaces()
    {
        for (size_t k = 0; k < partner.size(); ++k) {
            if (partner[k] >= 0 || m_here.isConstant[k] != 0 || m_here.isPassing[k] != 0) continue;
            std::set<int> candidates;
            bool isFirst = true;
            const auto narrow = [&](const std::set<int>& some) {
                std::set<int> both;
                std::ranges::set_intersection(candidates, some, std::inserter(both, both.begin()));
                candidates = isFirst ? some : both;
                isFirst = false;
            };
            for (const Edge& edge : m_here.producers[k]) {
                if (edge.op < 0 || partner[static_cast<size_t>(edge.op)] < 0) continue;
                std::set<int> some;
                for (const Edge& reader : m_there.readers[static_cast<size_t>(partner[static_cast<size_t>(edge.op)])])
                    some.insert(reader.op);
                narrow(some);
            }
            for (const Edge& edge : m_here.readers[k]) {
                if (partner[static_cast<size_t>(edge.op)] < 0) continue;
                std::set<int> some;
                for (const Edge& from : m_there.producers[static_cast<size_t>(partner[static_cast<size_t>(edge.op)])])
                    if (from.op >= 0) some.insert(from.op);
                narrow(some);
            }
            std::erase_if(candidates,
                          [&](int b) { return !isOpen(static_cast<int>(k), b) || m_there.isPassing[static_cast<size_t>(b)] != 0; });
            const int called = namesake(static_cast<int>(k));
            if (candidates.size() == 1 && (called < 0 || called == *candidates.begin() || !isOpen(static_cast<int>(k), called)))
                pair(static_cast<int>(k), *candidates.begin(), MatchedBy::place);
        }
        m_fresh.clear();
    }

    const GraphSide& m_here;
    const GraphSide& m_there;
    std::vector<int> m_partnerThere;
    std::unordered_map<std::string, int> m_ownersHere, m_ownersThere;
    std::deque<int> m_fresh;
};

/// Into which operator of its own side one without a partner went: −1: none. `partners` of its side.
int absorbedBy(const GraphSide& side, int k, const std::vector<int>& partners, const std::vector<char>& isChanged)
{
    static constexpr std::array kInto = {"pad", "spacetobatch", "quantize", "expanddims"}; // go on into what reads them
    const auto& own = side.producers[static_cast<size_t>(k)];
    const bool goesOn = std::ranges::find(kInto, std::string_view(side.kinds[static_cast<size_t>(k)])) != kInto.end();
    const auto fits = [&](int op) { return op >= 0 && partners[static_cast<size_t>(op)] >= 0 && isChanged[static_cast<size_t>(op)] != 0; };
    if (!goesOn)
        for (const Edge& edge : own)
            if (fits(edge.op) && side.readers[static_cast<size_t>(edge.op)].size() == 1) return edge.op;
    int into = -1; // all of what reads it must have gone there, too
    for (const Edge& edge : side.readers[static_cast<size_t>(k)]) {
        if (!fits(edge.op)) return -1;
        const int to = partners[static_cast<size_t>(edge.op)];
        if (into >= 0 && partners[static_cast<size_t>(into)] != to) return -1;
        into = edge.op;
    }
    return into;
}

class ModelMatcher {
public:
    ModelMatcher(const Model& here, const Model& there) : m_here(here), m_there(there) {}

    GraphDiff run(GraphId root, GraphId rootThere)
    {
        enter(root, rootThere);
        while (!m_open.empty()) {
            const auto [a, b] = m_open.front();
            m_open.pop_front();
            match(a, m_here.graph(a), b, m_there.graph(b));
        }
        return std::move(m_diff);
    }

    GraphDiff run(const Graph& graph, const Graph& graphThere)
    {
        match({}, graph, {}, graphThere);
        return std::move(m_diff);
    }

private:
    void enter(GraphId a, GraphId b)
    {
        if (!m_here.hasGraph(a) || !m_there.hasGraph(b) || !m_seen.insert({a, b}).second) return;
        m_open.emplace_back(a, b);
    }

    /// Whether something other than kinds and neighbours differs, so that an operator may have taken others in.
    static std::vector<char> changed(const GraphSide& side, const GraphSide& other, const std::vector<int>& partners)
    {
        std::vector<char> is(side.size(), 0);
        for (size_t k = 0; k < side.size(); ++k)
            if (partners[k] >= 0) is[k] = side.content[k] != other.content[static_cast<size_t>(partners[k])] ? 1 : 0;
        return is;
    }

    /// `a` and `b`: invalid if they are no graphs of the models; what they call is left alone then.
    void match(GraphId a, const Graph& graph, GraphId b, const Graph& graphThere)
    {
        const GraphSide here(m_here, graph), there(m_there, graphThere);
        GraphMatcher matcher(here, there);
        matcher.run();
        const std::vector<int>& partners = matcher.partner;
        const std::vector<int>& back = matcher.partnersThere();
        const std::vector<char> isChanged = changed(here, there, partners), isChangedThere = changed(there, here, back);
        std::vector<size_t> groupOf(here.size(), SIZE_MAX);
        for (size_t k = 0; k < here.size(); ++k) {
            if (partners[k] < 0) continue;
            groupOf[k] = m_diff.groups.size();
            const OperatorId own(static_cast<int64_t>(k)), other(static_cast<int64_t>(partners[k]));
            m_diff.groups.push_back({a, b, {own}, {other}, matcher.how[k], isMoved(here, there, static_cast<int>(k), partners, back)});
            if (here.isConstant[k] == 0) ++m_diff.matched;
            if (a.valid() && b.valid()) callees(a, own, b, other);
        }
        // Chains: what went into one that went into another.
        std::vector<size_t> groupThere(there.size(), SIZE_MAX);
        for (size_t k = 0; k < there.size(); ++k)
            if (back[k] >= 0) groupThere[k] = groupOf[static_cast<size_t>(back[k])];
        absorb(here, partners, isChanged, groupOf, true);
        absorb(there, back, isChangedThere, groupThere, false);
        for (size_t k = 0; k < here.size(); ++k)
            if (groupOf[k] == SIZE_MAX && counts(here, k)) {
                m_diff.groups.push_back({a, b, {OperatorId(static_cast<int64_t>(k))}, {}, MatchedBy::place, false});
                ++m_diff.onlyHere;
            }
        for (size_t k = 0; k < there.size(); ++k)
            if (groupThere[k] == SIZE_MAX && counts(there, k)) {
                m_diff.groups.push_back({a, b, {}, {OperatorId(static_cast<int64_t>(k))}, MatchedBy::place, false});
                ++m_diff.onlyThere;
            }
    }

    /// Identities and constants are no difference; what quantizes is.
    static bool counts(const GraphSide& side, size_t k)
    {
        if (side.isConstant[k] != 0 || side.kinds[k] == "noop") return false;
        return side.isPassing[k] == 0 || side.kinds[k].find("quant") != std::string::npos;
    }

    void absorb(const GraphSide& side, std::vector<int> partners, std::vector<char> isChanged, std::vector<size_t>& groupOf, bool isHere)
    {
        bool isDone = false;
        for (int round = 0; round < 8 && !isDone; ++round) {
            isDone = true;
            for (const int k : side.order) {
                const auto at = static_cast<size_t>(k);
                if (groupOf[at] != SIZE_MAX || !counts(side, at) || side.isPassing[at] != 0) continue;
                const int into = absorbedBy(side, k, partners, isChanged);
                if (into < 0) continue;
                groupOf[at] = groupOf[static_cast<size_t>(into)];
                MatchedGroup& group = m_diff.groups[groupOf[at]];
                (isHere ? group.here : group.there).emplace_back(static_cast<int64_t>(k));
                if (isHere) ++m_diff.matched;
                partners[at] = partners[static_cast<size_t>(into)];
                isChanged[at] = 1;
                isDone = false;
            }
        }
    }

    static bool isMoved(const GraphSide& here, const GraphSide& there, int k, const std::vector<int>& partners,
                        const std::vector<int>& back)
    {
        const auto& own = here.producers[static_cast<size_t>(k)];
        const auto& others = there.producers[static_cast<size_t>(partners[static_cast<size_t>(k)])];
        for (size_t i = 0; i < own.size() && i < others.size(); ++i) {
            const int a = own[i].op, b = others[i].op;
            if (a < 0 || b < 0 || partners[static_cast<size_t>(a)] < 0 || back[static_cast<size_t>(b)] < 0) continue;
            if (partners[static_cast<size_t>(a)] != b) return true;
        }
        return false;
    }

    void callees(GraphId a, OperatorId own, GraphId b, OperatorId other)
    {
        const auto graphs = [](const Operator& op) {
            std::vector<GraphId> found;
            for (const Callee& callee : calleesOf(op)) found.push_back(callee.graph);
            if (!found.empty()) return found;
            for (const NamedAttribute& attribute : op.attributes) {
                if (const auto* const ref = attribute.value.as<GraphRef>()) found.push_back(ref->graph);
                if (const auto* const items = attribute.value.as<AttributeItems>())
                    for (const Attribute& item : *items)
                        if (const auto* const ref = item.as<GraphRef>()) found.push_back(ref->graph);
            }
            return found;
        };
        const std::vector<GraphId> left = graphs(m_here.graph(a).op(own)), right = graphs(m_there.graph(b).op(other));
        const bool isTurned = left.size() == 2 && right.size() == 2 && m_here.dialect != m_there.dialect &&
                              kindAcrossDialects(m_here.graph(a).op(own).kind) == "while"; // TensorFlow's attributes: body, cond
        for (size_t k = 0; k < left.size() && k < right.size(); ++k) enter(left[k], right[isTurned ? 1 - k : k]);
    }

    const Model& m_here;
    const Model& m_there;
    GraphDiff m_diff;
    std::deque<std::pair<GraphId, GraphId>> m_open;
    std::set<std::pair<GraphId, GraphId>> m_seen;
};

} // namespace

std::string_view matchedByText(MatchedBy how)
{
    switch (how) {
    case MatchedBy::content: return "content";
    case MatchedBy::name: return "name";
    case MatchedBy::neighbours: return "neighbours";
    case MatchedBy::structure: return "structure";
    case MatchedBy::place: break;
    }
    return "place";
}

GraphDiff diffGraphs(const Model& here, GraphId root, const Model& there, GraphId rootThere)
{
    return ModelMatcher(here, there).run(root, rootThere);
}

GraphDiff diffGraphs(const Model& here, const Graph& graph, const Model& there, const Graph& graphThere)
{
    return ModelMatcher(here, there).run(graph, graphThere);
}

} // namespace loopscope
