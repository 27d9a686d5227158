// Ranks by longest path; sources sink to their consumers. Then long edges and edges of values with many consumers become portals, until
// no more places are passed than the bound allows.
#include "viewer/layout/level.h"

#include <algorithm>

namespace loopscope::layout {

namespace {

/// Neighbours of the real items of a level, by sink.
struct Adjacency {
    std::vector<int> begin, sinks;

    /// `outgoing`: sinks of the nets that leave an item; else sinks that end at it.
    Adjacency(const Level& l, bool outgoing)
    {
        begin.assign(static_cast<size_t>(l.realItems) + 1, 0);
        const auto itemOf = [&](const Sink& s) { return outgoing ? l.nets[static_cast<size_t>(s.net)].item : s.item; };
        const auto counts = [&](const Sink& s) {
            return !s.feedback && s.item < l.realItems && l.nets[static_cast<size_t>(s.net)].item < l.realItems;
        };
        for (const Sink& s : l.sinks)
            if (counts(s)) ++begin[static_cast<size_t>(itemOf(s)) + 1];
        for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
        sinks.resize(static_cast<size_t>(begin.back()));
        std::vector<int> next(begin.begin(), begin.end() - 1);
        for (size_t s = 0; s < l.sinks.size(); ++s)
            if (counts(l.sinks[s])) sinks[static_cast<size_t>(next[static_cast<size_t>(itemOf(l.sinks[s]))]++)] = static_cast<int>(s);
    }
};

class Ranker {
public:
    explicit Ranker(Level& level) : m_level(level), m_out(level, true), m_in(level, false) {}

    void rank()
    {
        for (int i = 0; i < m_level.realItems; ++i) {
            m_hasFirst |= item(i).row == 0;
            m_hasLast |= item(i).row == 1;
        }
        breakCycles();
        longestPaths();
        pullDown();
        finish();
    }

private:
    Item& item(int i) { return m_level.items[static_cast<size_t>(i)]; }
    Sink& sink(int s) { return m_level.sinks[static_cast<size_t>(s)]; }
    const Net& net(const Sink& s) const { return m_level.nets[static_cast<size_t>(s.net)]; }

    /// Depth first from what has no producer, in order; an edge to an item that is still open goes back.
    void breakCycles()
    {
        // Into the first row and out of the last one leads only what goes back.
        for (Sink& s : m_level.sinks)
            if (!s.feedback && s.item < m_level.realItems && net(s).item < m_level.realItems)
                s.back = item(s.item).row == 0 || item(net(s).item).row == 1;
        std::vector<char> state(static_cast<size_t>(m_level.realItems), 0); // 0 new, 1 open, 2 done
        std::vector<std::pair<int, int>> stack;
        const auto visit = [&](int root) {
            if (state[static_cast<size_t>(root)] != 0) return;
            stack.emplace_back(root, m_out.begin[static_cast<size_t>(root)]);
            state[static_cast<size_t>(root)] = 1;
            while (!stack.empty()) {
                auto& [at, next] = stack.back();
                if (next == m_out.begin[static_cast<size_t>(at) + 1]) {
                    state[static_cast<size_t>(at)] = 2;
                    stack.pop_back();
                    continue;
                }
                Sink& s = sink(m_out.sinks[static_cast<size_t>(next++)]);
                if (s.back) continue;
                char& target = state[static_cast<size_t>(s.item)];
                if (target == 1) {
                    s.back = true;
                } else if (target == 0) {
                    target = 1;
                    stack.emplace_back(s.item, m_out.begin[static_cast<size_t>(s.item)]);
                }
            }
        };
        for (int i = 0; i < m_level.realItems; ++i)
            if (m_in.begin[static_cast<size_t>(i)] == m_in.begin[static_cast<size_t>(i) + 1]) visit(i);
        for (int i = 0; i < m_level.realItems; ++i) visit(i);
    }

    void longestPaths()
    {
        const auto count = static_cast<size_t>(m_level.realItems);
        std::vector<int> waiting(count, 0);
        for (size_t i = 0; i < count; ++i)
            for (int k = m_in.begin[i]; k < m_in.begin[i + 1]; ++k) waiting[i] += sink(m_in.sinks[static_cast<size_t>(k)]).back ? 0 : 1;
        m_order.reserve(count);
        for (size_t i = 0; i < count; ++i) {
            item(static_cast<int>(i)).rank = firstFree(static_cast<int>(i));
            if (waiting[i] == 0) m_order.push_back(static_cast<int>(i));
        }
        for (size_t at = 0; at < m_order.size(); ++at) {
            const int i = m_order[at];
            for (int k = m_out.begin[static_cast<size_t>(i)]; k < m_out.begin[static_cast<size_t>(i) + 1]; ++k) {
                const Sink& s = sink(m_out.sinks[static_cast<size_t>(k)]);
                if (s.back) continue;
                item(s.item).rank = std::max(item(s.item).rank, item(i).rank + 1);
                if (--waiting[static_cast<size_t>(s.item)] == 0) m_order.push_back(s.item);
            }
        }
    }

    int firstFree(int i) { return m_hasFirst && item(i).row != 0 ? 2 : 1; }

    /// An item moves down to its consumers if that shortens more lines than it lengthens.
    void pullDown()
    {
        std::vector<int> values(static_cast<size_t>(m_level.realItems), 0); // values that leave an item
        for (const Net& n : m_level.nets)
            if (n.item < m_level.realItems) ++values[static_cast<size_t>(n.item)];
        for (auto at = m_order.rbegin(); at != m_order.rend(); ++at) {
            const int i = *at;
            if (item(i).row >= 0) continue;
            int below = -1;
            for (int k = m_out.begin[static_cast<size_t>(i)]; k < m_out.begin[static_cast<size_t>(i) + 1]; ++k) {
                const Sink& s = sink(m_out.sinks[static_cast<size_t>(k)]);
                if (!s.back && item(s.item).row != 1) below = below < 0 ? item(s.item).rank : std::min(below, item(s.item).rank);
            }
            const int incoming = m_in.begin[static_cast<size_t>(i) + 1] - m_in.begin[static_cast<size_t>(i)];
            if (below > item(i).rank + 1 && incoming < values[static_cast<size_t>(i)]) item(i).rank = below - 1;
        }
    }

    void finish()
    {
        int last = 0;
        for (int i = 0; i < m_level.realItems; ++i)
            if (item(i).row != 1) last = std::max(last, item(i).rank);
        if (m_hasLast) {
            ++last;
            for (int i = 0; i < m_level.realItems; ++i)
                if (item(i).row == 1) item(i).rank = last;
        }
        m_level.ranks = last + 2;
        for (const int e : m_level.entryItems) item(e).rank = 0;
        for (const int e : m_level.exitItems) item(e).rank = last + 1;
        // A source without ranks between it and a target above it goes back, too (rows).
        for (Sink& s : m_level.sinks)
            if (!s.feedback && !s.back && item(s.item).rank <= item(net(s).item).rank) s.back = true;
    }

    Level& m_level;
    Adjacency m_out, m_in;
    std::vector<int> m_order; ///< topological
    bool m_hasFirst = false, m_hasLast = false;
};

int span(const Level& l, const Sink& s)
{
    const int from = l.items[static_cast<size_t>(l.nets[static_cast<size_t>(s.net)].item)].rank;
    const int to = l.items[static_cast<size_t>(s.item)].rank;
    return s.back ? from - to + 2 : to - from;
}

/// Counts for each sink the edges that are still routed through it.
void countLive(Plan& plan)
{
    for (Level& l : plan.levels)
        for (Sink& s : l.sinks) s.live = 0;
    for (size_t e = 0; e < plan.portal.size(); ++e)
        if (!plan.portal[e])
            for (int p = plan.firstPiece[e]; p < plan.firstPiece[e + 1]; ++p) {
                const Piece& piece = plan.pieces[static_cast<size_t>(p)];
                ++plan.levels[static_cast<size_t>(piece.level)].sinks[static_cast<size_t>(piece.sink)].live;
            }
}

int64_t passedPlaces(const Plan& plan, int longest)
{
    int64_t passed = 0;
    for (const Level& l : plan.levels)
        for (const Net& n : l.nets) {
            int furthest = 0;
            for (int s = n.firstSink; s < n.firstSink + n.sinkCount; ++s) {
                const Sink& sink = l.sinks[static_cast<size_t>(s)];
                if (sink.live == 0 || sink.feedback) continue;
                const int spanned = span(l, sink);
                if (spanned > longest) continue;
                if (sink.back) passed += spanned - 1;
                else furthest = std::max(furthest, spanned - 1);
            }
            passed += furthest;
        }
    return passed;
}

void cutLongEdges(Plan& plan, int longest)
{
    for (size_t e = 0; e < plan.portal.size(); ++e)
        for (int p = plan.firstPiece[e]; p < plan.firstPiece[e + 1] && !plan.portal[e]; ++p) {
            const Piece& piece = plan.pieces[static_cast<size_t>(p)];
            const Level& l = plan.levels[static_cast<size_t>(piece.level)];
            const Sink& sink = l.sinks[static_cast<size_t>(piece.sink)];
            if (!sink.feedback && span(l, sink) > longest) plan.portal[e] = true;
        }
}

/// Edges of values with more consumers than `mostConsumers`; and those that were asked to be cut.
void cutCrowds(Plan& plan)
{
    const std::vector<Edge>& edges = plan.graph->edges;
    std::vector<int> order(edges.size());
    for (size_t e = 0; e < edges.size(); ++e) order[e] = static_cast<int>(e);
    const auto key = [&](int e) {
        const Edge& edge = edges[static_cast<size_t>(e)];
        return std::tuple(edge.from, edge.net, edge.net >= 0 ? 0.0F : edge.fromPort);
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
    for (size_t begin = 0; begin < order.size();) {
        size_t end = begin;
        int consumers = 0;
        while (end < order.size() && key(order[end]) == key(order[begin]))
            consumers += edges[static_cast<size_t>(order[end++])].feedback ? 0 : 1;
        for (size_t k = begin; k < end; ++k) {
            const Edge& edge = edges[static_cast<size_t>(order[k])];
            if (edge.cut || (!edge.feedback && consumers > plan.options.mostConsumers)) plan.portal[static_cast<size_t>(order[k])] = true;
        }
        begin = end;
    }
}

} // namespace

bool rankLevels(Plan& plan, const std::stop_token& stop)
{
    for (Level& level : plan.levels) {
        if (stop.stop_requested()) return false;
        Ranker(level).rank();
    }
    if (plan.portal.size() != plan.graph->edges.size()) return false;
    cutCrowds(plan);
    if (stop.stop_requested()) return false;
    countLive(plan);
    const int64_t bound = std::max<int64_t>(2 * static_cast<int64_t>(plan.portal.size()), 4096);
    int longest = std::max(plan.options.longestEdge, 1);
    while (longest > 1 && passedPlaces(plan, longest) > bound) longest -= std::max(1, longest / 8);
    if (stop.stop_requested()) return false;
    cutLongEdges(plan, longest);
    countLive(plan);
    for (Level& l : plan.levels) {
        std::vector<char> used(l.items.size(), 0);
        for (const Sink& s : l.sinks)
            if (s.live > 0) used[static_cast<size_t>(s.item)] = used[static_cast<size_t>(l.nets[static_cast<size_t>(s.net)].item)] = 1;
        for (size_t i = static_cast<size_t>(l.realItems); i < l.items.size(); ++i) l.items[i].live = used[i] != 0;
    }
    return !stop.stop_requested();
}

} // namespace loopscope::layout
