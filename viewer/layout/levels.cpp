// Cuts a graph with nested groups into levels: lifts every edge to the groups that it crosses.
#include "viewer/layout/level.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace loopscope::layout {

namespace {

struct Key {
    int level, source, target;
    bool operator==(const Key&) const = default;
};

struct KeyHash {
    size_t operator()(const Key& k) const noexcept
    {
        uint64_t h = (static_cast<uint64_t>(static_cast<uint32_t>(k.level)) << 32) | static_cast<uint32_t>(k.source);
        h ^= static_cast<uint64_t>(static_cast<uint32_t>(k.target)) * 0x9E3779B97F4A7C15ULL;
        h ^= h >> 29;
        h *= 0xBF58476D1CE4E5B9ULL;
        return static_cast<size_t>(h ^ (h >> 32));
    }
};

class Builder {
public:
    Builder(const Graph& graph, const Options& options) : m_graph(graph)
    {
        m_plan.graph = &graph;
        m_plan.options = options;
    }

    Plan build(const std::stop_token& stop)
    {
        makeLevels();
        makeItems();
        m_plan.firstPiece.reserve(m_graph.edges.size() + 1);
        m_plan.pieces.reserve(m_graph.edges.size());
        m_nets.reserve(m_graph.edges.size());
        for (const Edge& edge : m_graph.edges) {
            m_plan.firstPiece.push_back(static_cast<int>(m_plan.pieces.size()));
            addEdge(edge);
            if ((m_plan.firstPiece.size() & 1023U) == 0 && stop.stop_requested()) break;
        }
        m_plan.firstPiece.push_back(static_cast<int>(m_plan.pieces.size()));
        m_plan.portal.assign(m_graph.edges.size(), false);
        sortSinks();
        return std::move(m_plan);
    }

private:
    Level& level(int index) { return m_plan.levels[static_cast<size_t>(index)]; }
    const Node& node(int index) const { return m_graph.nodes[static_cast<size_t>(index)]; }

    void makeLevels()
    {
        m_plan.levels.resize(m_graph.groups.size() + 1);
        m_plan.levelOrder.resize(m_plan.levels.size());
        std::iota(m_plan.levelOrder.begin(), m_plan.levelOrder.end(), 0); // groups stand after their parents
        for (size_t g = 0; g < m_graph.groups.size(); ++g) {
            const Group& group = m_graph.groups[g];
            Level& l = m_plan.levels[g + 1];
            l.group = static_cast<int>(g);
            l.parent = group.parent + 1;
            l.depth = level(l.parent).depth + 1;
            l.head = group.head;
            l.left = group.left;
            l.right = group.right;
            l.top = group.top;
            l.bottom = group.bottom;
            l.minWidth = group.minWidth;
        }
    }

    void makeItems()
    {
        m_plan.itemOfNode.assign(m_graph.nodes.size(), -1);
        m_plan.itemOfGroup.assign(m_graph.groups.size(), -1);
        // A group stands where its first node does: groups are met through their nodes, in order of input.
        for (size_t n = 0; n < m_graph.nodes.size(); ++n) {
            const int key = static_cast<int>(n);
            for (int g = m_graph.nodes[n].group; g >= 0 && m_plan.itemOfGroup[static_cast<size_t>(g)] < 0;
                 g = m_graph.groups[static_cast<size_t>(g)].parent)
                addGroup(g, key);
            Level& l = level(m_graph.nodes[n].group + 1);
            m_plan.itemOfNode[n] = static_cast<int>(l.items.size());
            Item item;
            item.index = key;
            item.key = key;
            item.row = m_graph.nodes[n].row;
            item.width = m_graph.nodes[n].width;
            item.height = m_graph.nodes[n].height;
            l.items.push_back(item);
        }
        for (size_t g = 0; g < m_graph.groups.size(); ++g) // without nodes
            if (m_plan.itemOfGroup[g] < 0) addGroup(static_cast<int>(g), static_cast<int>(m_graph.nodes.size() + g));
        for (Level& l : m_plan.levels) l.realItems = static_cast<int>(l.items.size());
    }

    void addGroup(int g, int key)
    {
        Level& l = level(m_graph.groups[static_cast<size_t>(g)].parent + 1);
        m_plan.itemOfGroup[static_cast<size_t>(g)] = static_cast<int>(l.items.size());
        Item item;
        item.kind = ItemKind::group;
        item.index = g;
        item.key = key;
        l.items.push_back(item);
    }

    /// The net of `source` in a level; made with `item` and `port` if it is new.
    int netOf(int levelIndex, int source, int target, int item, int port, float fraction)
    {
        Level& l = level(levelIndex);
        const auto [found, inserted] = m_nets.try_emplace({levelIndex, source, target}, static_cast<int>(l.nets.size()));
        if (inserted) {
            Net net;
            net.item = item;
            net.port = port;
            net.fraction = fraction;
            l.nets.push_back(net);
        }
        return found->second;
    }

    int addSink(int levelIndex, int net, int item, int port, float fraction, bool feedback)
    {
        Level& l = level(levelIndex);
        Sink sink;
        sink.net = net;
        sink.item = item;
        sink.port = port;
        sink.fraction = fraction;
        sink.feedback = feedback;
        l.hasRails |= feedback;
        l.sinks.push_back(sink);
        return static_cast<int>(l.sinks.size()) - 1;
    }

    void addPiece(int levelIndex, int sink) { m_plan.pieces.push_back({levelIndex, sink}); }

    void addEdge(const Edge& edge)
    {
        int from = node(edge.from).group + 1;
        const int to = node(edge.to).group + 1;
        int common = from;
        for (int other = to; common != other;) {
            if (level(common).depth >= level(other).depth) common = level(common).parent;
            else other = level(other).parent;
        }
        // A feedback edge is a value of its own: it leaves in another direction.
        const int fraction = static_cast<int>(edge.fromPort * 4096);
        const int net = edge.feedback ? -3 - static_cast<int>(m_feedbacks++) : edge.net >= 0 ? edge.net : -1;
        const int part = edge.feedback || edge.net >= 0 ? 0 : fraction + 1;
        const int source = m_sources.try_emplace(Key{edge.from, net, part}, static_cast<int>(m_sources.size())).first->second;

        int item = m_plan.itemOfNode[static_cast<size_t>(edge.from)];
        int port = -1;
        float at = edge.fromPort;
        while (from != common) { // up: to the lower border of each group
            const int n = netOf(from, source, -1, item, port, at);
            const auto [exit, inserted] = m_exits.try_emplace({from, source, -1}, std::pair<int, int>{});
            if (inserted) {
                Level& l = level(from);
                const int number = static_cast<int>(l.exitItems.size());
                l.exitItems.push_back(addBorderItem(l, ItemKind::exit, number));
                exit->second = {number, addSink(from, n, l.exitItems.back(), -1, 0, false)};
            }
            addPiece(from, exit->second.second);
            item = m_plan.itemOfGroup[static_cast<size_t>(level(from).group)];
            port = exit->second.first;
            at = -1;
            from = level(from).parent;
        }
        const int n = netOf(common, source, -1, item, port, at);
        if (to == common) {
            addPiece(common, addSink(common, n, m_plan.itemOfNode[static_cast<size_t>(edge.to)], -1, edge.toPort, edge.feedback));
            return;
        }
        // Down: from the upper border of each group. What goes to a pill has an entry of its own, above it.
        std::vector<int>& path = m_path;
        path.clear();
        for (int l = to; l != common; l = level(l).parent) path.push_back(l);
        std::reverse(path.begin(), path.end());
        int outer = common, outerNet = n;
        bool feedback = edge.feedback;
        for (const int inner : path) {
            const int target = inner == to && node(edge.to).row == 0 ? edge.to : -1;
            const int holder = m_plan.itemOfGroup[static_cast<size_t>(level(inner).group)];
            const auto [entry, inserted] = m_entries.try_emplace({inner, source, target}, std::pair<int, int>{});
            if (inserted) {
                Level& l = level(inner);
                const int number = static_cast<int>(l.entryItems.size());
                l.entryItems.push_back(addBorderItem(l, ItemKind::entry, number));
                entry->second = {number, addSink(outer, outerNet, holder, number, -1, feedback)};
            }
            addPiece(outer, entry->second.second);
            feedback = false;
            outerNet = netOf(inner, source, target, level(inner).entryItems[static_cast<size_t>(entry->second.first)], -1, 0);
            outer = inner;
        }
        addPiece(to, addSink(to, outerNet, m_plan.itemOfNode[static_cast<size_t>(edge.to)], -1, edge.toPort, false));
    }

    static int addBorderItem(Level& l, ItemKind kind, int number)
    {
        Item item;
        item.kind = kind;
        item.index = number;
        item.key = number;
        l.items.push_back(item);
        return static_cast<int>(l.items.size()) - 1;
    }

    /// Puts the sinks of each net side by side, in the order of the edges.
    void sortSinks()
    {
        std::vector<std::vector<int>> places(m_plan.levels.size());
        for (size_t i = 0; i < m_plan.levels.size(); ++i) {
            Level& l = m_plan.levels[i];
            for (const Sink& sink : l.sinks) ++l.nets[static_cast<size_t>(sink.net)].sinkCount;
            int at = 0;
            for (Net& net : l.nets) {
                net.firstSink = at;
                at += net.sinkCount;
                net.sinkCount = 0;
            }
            std::vector<Sink> sorted(l.sinks.size());
            places[i].resize(l.sinks.size());
            for (size_t s = 0; s < l.sinks.size(); ++s) {
                Net& net = l.nets[static_cast<size_t>(l.sinks[s].net)];
                const int place = net.firstSink + net.sinkCount++;
                sorted[static_cast<size_t>(place)] = l.sinks[s];
                places[i][s] = place;
            }
            l.sinks = std::move(sorted);
        }
        for (Piece& piece : m_plan.pieces) piece.sink = places[static_cast<size_t>(piece.level)][static_cast<size_t>(piece.sink)];
    }

    const Graph& m_graph;
    Plan m_plan;
    std::unordered_map<Key, int, KeyHash> m_sources;
    std::unordered_map<Key, int, KeyHash> m_nets;
    std::unordered_map<Key, std::pair<int, int>, KeyHash> m_exits, m_entries; ///< number and sink
    std::vector<int> m_path;
    int m_feedbacks = 0;
};

} // namespace

Plan makePlan(const Graph& graph, const Options& options, const std::stop_token& stop) { return Builder(graph, options).build(stop); }

} // namespace loopscope::layout
