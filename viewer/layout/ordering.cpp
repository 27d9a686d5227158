// Order within the ranks: barycentre sweeps, then exchanges of neighbours while they cross less. Depends on structure only, never on
// sizes, so that opening a group leaves everything around it in order.
#include "viewer/layout/index.h"
#include "viewer/layout/level.h"

#include <algorithm>
#include <numeric>

namespace loopscope::layout {

namespace {

constexpr int kSweeps = 24;
constexpr int kPatience = 4;            ///< sweeps without improvement
constexpr size_t kSmall = 2000;         ///< segments of a level that is ordered with more care
constexpr size_t kWidestExchange = 160; ///< ranks that exchange neighbours

class Orderer {
public:
    Orderer(Level& level, const std::stop_token& stop) : m_level(level), m_stop(stop) {}

    bool order()
    {
        makeVertices();
        if (m_stop.stop_requested()) return false;
        makeSegments();
        if (m_stop.stop_requested()) return false;
        // Small levels can pay for several beginnings.
        const int starts = m_level.segments.size() <= kSmall ? 3 : 1;
        for (int start = 0; start < starts && (start == 0 || m_level.crossings > 0); ++start) {
            initialOrder(start);
            if (m_stop.stop_requested()) return false;
            sweep();
            exchange(m_best, m_bestCrossings);
            if (start > 0 && m_bestCrossings >= m_level.crossings) continue;
            m_level.order = m_best;
            m_level.crossings = m_bestCrossings;
        }
        setPositions(m_level.order);
        return !m_stop.stop_requested();
    }

private:
    const Item& item(int i) const { return m_level.items[at(i)]; }
    Vertex& vertex(int v) { return m_level.vertices[at(v)]; }

    int addVertex(int itemIndex, int net, int rank)
    {
        Vertex v;
        v.item = itemIndex;
        v.net = net;
        v.rank = rank;
        m_level.vertices.push_back(v);
        return static_cast<int>(m_level.vertices.size()) - 1;
    }

    void makeVertices()
    {
        for (size_t i = 0; i < m_level.items.size(); ++i)
            if (m_level.items[i].live) m_level.items[i].vertex = addVertex(static_cast<int>(i), -1, m_level.items[i].rank);
        for (size_t n = 0; n < m_level.nets.size(); ++n) {
            Net& net = m_level.nets[n];
            const int source = item(net.item).rank;
            int furthest = source;
            for (int s = net.firstSink; s < net.firstSink + net.sinkCount; ++s) {
                Sink& sink = m_level.sinks[at(s)];
                if (sink.live == 0 || sink.feedback) continue;
                const int target = item(sink.item).rank;
                if (sink.back) {
                    sink.chain = static_cast<int>(m_level.vertices.size());
                    for (int rank = target; rank <= source; ++rank) addVertex(-1, static_cast<int>(n), rank);
                    m_level.passed += source - target + 1;
                } else {
                    furthest = std::max(furthest, target);
                }
            }
            net.firstDummy = static_cast<int>(m_level.vertices.size());
            net.dummyCount = std::max(0, furthest - source - 1);
            for (int k = 1; k <= net.dummyCount; ++k) addVertex(-1, static_cast<int>(n), source + k);
            m_level.passed += net.dummyCount;
        }
    }

    void addSegment(int up, int down, int net, int sink)
    {
        Segment s;
        s.up = up;
        s.down = down;
        s.net = net;
        s.sink = sink;
        m_level.segments.push_back(s);
    }

    void makeSegments()
    {
        for (size_t n = 0; n < m_level.nets.size(); ++n) {
            const Net& net = m_level.nets[n];
            if (!item(net.item).live) continue;
            const int source = item(net.item).rank;
            const auto placeAt = [&](int rank) { return rank == source ? item(net.item).vertex : net.firstDummy + rank - source - 1; };
            for (int k = 0; k < net.dummyCount; ++k) addSegment(placeAt(source + k), placeAt(source + k + 1), static_cast<int>(n), -1);
            for (int s = net.firstSink; s < net.firstSink + net.sinkCount; ++s) {
                const Sink& sink = m_level.sinks[at(s)];
                if (sink.live == 0 || sink.feedback) continue;
                const int target = item(sink.item).rank;
                if (sink.back) {
                    for (int rank = target; rank < source; ++rank)
                        addSegment(sink.chain + rank - target, sink.chain + rank - target + 1, static_cast<int>(n), -1);
                } else {
                    addSegment(placeAt(target - 1), item(sink.item).vertex, static_cast<int>(n), s);
                }
            }
        }
        index(m_level.upBegin, m_level.upSegments, true);
        index(m_level.downBegin, m_level.downSegments, false);
    }

    void index(std::vector<int>& begin, std::vector<int>& list, bool upwards)
    {
        begin.assign(m_level.vertices.size() + 1, 0);
        const auto end = [&](const Segment& s) { return at(upwards ? s.down : s.up); };
        for (const Segment& s : m_level.segments) ++begin[end(s) + 1];
        for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
        list.resize(m_level.segments.size());
        std::vector<int> next(begin.begin(), begin.end() - 1);
        for (size_t s = 0; s < m_level.segments.size(); ++s) list[at(next[end(m_level.segments[s])]++)] = static_cast<int>(s);
    }

    void initialOrder(int start)
    {
        // Depth first from above (1: from below, 2: as ranked), in order of input: what belongs together begins together.
        std::vector<std::vector<int>> order(at(m_level.ranks));
        std::vector<char> placed(m_level.vertices.size(), 0);
        std::vector<int> stack;
        const std::vector<int>& before = start == 1 ? m_level.downBegin : m_level.upBegin;
        const std::vector<int>& begin = start == 1 ? m_level.upBegin : m_level.downBegin;
        const std::vector<int>& list = start == 1 ? m_level.upSegments : m_level.downSegments;
        for (size_t root = 0; root < m_level.vertices.size(); ++root) {
            if (start != 2 && before[root] != before[root + 1]) continue;
            stack.push_back(static_cast<int>(root));
            while (!stack.empty()) {
                const int v = stack.back();
                stack.pop_back();
                if (placed[at(v)] != 0) continue;
                placed[at(v)] = 1;
                order[at(vertex(v).rank)].push_back(v);
                if (start == 2) continue;
                for (int k = begin[at(v) + 1] - 1; k >= begin[at(v)]; --k) {
                    const Segment& s = m_level.segments[at(list[at(k)])];
                    stack.push_back(start == 1 ? s.up : s.down);
                }
            }
        }
        const auto arrange = [&](int rank, const std::vector<double>& hints, const std::vector<int>& items) {
            if (hints.size() != items.size()) return;
            std::vector<int>& row = order[at(rank)];
            std::stable_sort(row.begin(), row.end(),
                             [&](int a, int b) { return hints[at(item(vertex(a).item).index)] < hints[at(item(vertex(b).item).index)]; });
        };
        arrange(0, m_level.entryHint, m_level.entryItems);
        arrange(m_level.ranks - 1, m_level.exitHint, m_level.exitItems);
        m_fixed.assign(at(m_level.ranks), 0);
        if (!m_level.entryHint.empty()) m_fixed[0] = 1;
        if (!m_level.exitHint.empty()) m_fixed[at(m_level.ranks - 1)] = 1;
        for (size_t r = 0; r < order.size(); ++r) {
            const bool rows =
                std::any_of(order[r].begin(), order[r].end(), [&](int v) { return vertex(v).item >= 0 && item(vertex(v).item).row >= 0; });
            if (!rows) continue;
            keepRow(order[r]);
        }
        m_best = std::move(order);
        setPositions(m_best);
        if (!m_level.entryHint.empty()) alignEntriesToRow();
        m_bestCrossings = countCrossings(m_level);
    }

    /// Nodes of a row stand in order of input; dummies between them stay where they are.
    void keepRow(std::vector<int>& row)
    {
        const auto inRow = [&](int v) { return vertex(v).item >= 0 && item(vertex(v).item).row >= 0; };
        std::vector<int> nodes;
        for (const int v : row)
            if (inRow(v)) nodes.push_back(v);
        std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) { return item(vertex(a).item).key < item(vertex(b).item).key; });
        size_t next = 0;
        for (int& v : row)
            if (inRow(v)) v = nodes[next++];
    }

    /// An entry of a pill stands above its pill.
    void alignEntriesToRow()
    {
        std::vector<int>& row = m_best[0];
        std::vector<std::pair<double, int>> keyed;
        double last = -1;
        for (const int v : row) {
            double key = -1;
            for (int k = m_level.downBegin[at(v)]; k < m_level.downBegin[at(v) + 1]; ++k) {
                const Vertex& below = vertex(m_level.segments[at(m_level.downSegments[at(k)])].down);
                if (below.item >= 0 && item(below.item).row == 0) key = below.position;
            }
            if (key < 0) key = last + 0.001;
            last = key;
            keyed.emplace_back(key, v);
        }
        std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (size_t i = 0; i < row.size(); ++i) row[i] = keyed[i].second;
        setPositions(m_best);
    }

    void setPositions(const std::vector<std::vector<int>>& order)
    {
        for (const std::vector<int>& row : order)
            for (size_t p = 0; p < row.size(); ++p) vertex(row[p]).position = static_cast<int>(p);
    }

    void sweep()
    {
        std::vector<std::vector<int>> order = m_best;
        int idle = 0;
        for (int round = 0; round < kSweeps && idle < kPatience && m_bestCrossings > 0; ++round) {
            const bool down = round % 2 == 0;
            for (int k = 1; k < m_level.ranks; ++k) {
                if ((k & 255) == 0 && m_stop.stop_requested()) return;
                arrangeByNeighbours(order, down ? k : m_level.ranks - 1 - k, down, round % 4 >= 2);
            }
            if (m_stop.stop_requested()) return;
            int64_t crossings = countCrossings(m_level);
            if (m_level.segments.size() <= kSmall) exchange(order, crossings);
            if (crossings < m_bestCrossings) {
                m_bestCrossings = crossings;
                m_best = order;
                idle = 0;
            } else {
                ++idle;
            }
        }
        setPositions(m_best);
    }

    void arrangeByNeighbours(std::vector<std::vector<int>>& order, int rank, bool down, bool tiesReversed)
    {
        std::vector<int>& row = order[at(rank)];
        if (m_fixed[at(rank)] != 0 || row.size() < 2) return;
        const std::vector<int>& begin = down ? m_level.upBegin : m_level.downBegin;
        const std::vector<int>& list = down ? m_level.upSegments : m_level.downSegments;
        m_keys.clear();
        bool rows = false;
        for (const int v : row) {
            const int first = begin[at(v)], last = begin[at(v) + 1];
            rows |= vertex(v).item >= 0 && item(vertex(v).item).row >= 0;
            if (first == last) continue;
            double sum = 0;
            for (int k = first; k < last; ++k) {
                const Segment& s = m_level.segments[at(list[at(k)])];
                sum += vertex(down ? s.up : s.down).position;
            }
            m_keys.push_back({sum / (last - first), vertex(v).position, v});
        }
        std::sort(m_keys.begin(), m_keys.end(), [&](const Keyed& a, const Keyed& b) {
            if (a.key != b.key) return a.key < b.key;
            return tiesReversed ? a.position > b.position : a.position < b.position;
        });
        // What has no neighbour on this side keeps its place.
        size_t next = 0;
        for (int& v : row)
            if (begin[at(v)] != begin[at(v) + 1]) v = m_keys[next++].vertex;
        if (rows) keepRow(row);
        for (size_t p = 0; p < row.size(); ++p) vertex(row[p]).position = static_cast<int>(p);
    }

    /// Crossings between the segments of `a` and `b` on one side, if a stands left of b, minus those if it stands right of it.
    int gain(int a, int b, bool up)
    {
        const std::vector<int>& begin = up ? m_level.upBegin : m_level.downBegin;
        const std::vector<int>& list = up ? m_level.upSegments : m_level.downSegments;
        int result = 0;
        for (int i = begin[at(a)]; i < begin[at(a) + 1]; ++i) {
            const Segment& s = m_level.segments[at(list[at(i)])];
            const int pa = vertex(up ? s.up : s.down).position;
            for (int k = begin[at(b)]; k < begin[at(b) + 1]; ++k) {
                const Segment& t = m_level.segments[at(list[at(k)])];
                const int pb = vertex(up ? t.up : t.down).position;
                result += pa > pb ? 1 : pa < pb ? -1 : 0;
            }
        }
        return result;
    }

    void exchange(std::vector<std::vector<int>>& order, int64_t& crossings)
    {
        if (crossings == 0) return;
        int64_t budget = 4000000 + 8 * static_cast<int64_t>(m_level.segments.size());
        for (int pass = 0; pass < 8; ++pass) {
            int64_t gained = 0;
            for (int r = 0; r < m_level.ranks; ++r) {
                std::vector<int>& row = order[at(r)];
                if (m_fixed[at(r)] != 0 || row.size() < 2 || row.size() > kWidestExchange) continue;
                if ((r & 255) == 0 && m_stop.stop_requested()) return;
                for (size_t p = 0; p + 1 < row.size() && budget > 0; ++p) {
                    const int a = row[p], b = row[p + 1];
                    const auto inRow = [&](int v) { return vertex(v).item >= 0 && item(vertex(v).item).row >= 0; };
                    if (inRow(a) && inRow(b)) continue;
                    budget -= static_cast<int64_t>(degree(a, true)) * degree(b, true) +
                              static_cast<int64_t>(degree(a, false)) * degree(b, false) + 1;
                    const int g = gain(a, b, true) + gain(a, b, false);
                    if (g <= 0) continue;
                    gained += g;
                    std::swap(row[p], row[p + 1]);
                    vertex(b).position = static_cast<int>(p);
                    vertex(a).position = static_cast<int>(p + 1);
                }
            }
            crossings -= gained;
            if (gained == 0 || budget <= 0) break;
        }
    }

    int degree(int v, bool up) const
    {
        const std::vector<int>& begin = up ? m_level.upBegin : m_level.downBegin;
        return begin[at(v) + 1] - begin[at(v)];
    }

    struct Keyed {
        double key;
        int position, vertex;
    };

    Level& m_level;
    const std::stop_token& m_stop;
    std::vector<std::vector<int>> m_best;
    int64_t m_bestCrossings = 0;
    std::vector<char> m_fixed;
    std::vector<Keyed> m_keys;
};

/// Tells the groups of a level in which order their entries and exits are met from outside.
void hintChildren(Plan& plan, const Level& level)
{
    for (const Net& net : level.nets) {
        const Item& source = level.items[at(net.item)];
        double below = 0;
        int count = 0;
        for (int s = net.firstSink; s < net.firstSink + net.sinkCount; ++s) {
            const Sink& sink = level.sinks[at(s)];
            if (sink.live == 0) continue;
            const Item& target = level.items[at(sink.item)];
            if (target.kind == ItemKind::group) {
                Level& child = plan.levels[at(target.index + 1)];
                child.entryHint.resize(child.entryItems.size(), 0);
                double& hint = child.entryHint[at(sink.port)];
                const int rank = target.rank - 1;
                if (sink.feedback) hint = -1;
                else if (sink.back) hint = level.vertices[at(sink.chain)].position;
                else if (rank == source.rank)
                    hint = level.vertices[at(source.vertex)].position + 0.5 * static_cast<double>(net.port < 0 ? 0 : net.port) / 1e6;
                else hint = level.vertices[at(net.firstDummy + rank - source.rank - 1)].position;
            }
            if (source.kind != ItemKind::group || sink.feedback) continue;
            const int next = source.rank + 1;
            if (sink.back) below += level.vertices[at(sink.chain + source.rank - target.rank)].position;
            else below += target.rank == next ? level.vertices[at(target.vertex)].position : level.vertices[at(net.firstDummy)].position;
            ++count;
        }
        if (source.kind == ItemKind::group) {
            Level& child = plan.levels[at(source.index + 1)];
            child.exitHint.resize(child.exitItems.size(), 0);
            child.exitHint[at(net.port)] = count == 0 ? -1 : below / count;
        }
    }
}

} // namespace

int64_t countCrossings(const Level& level)
{
    // Between two ranks: inversions of the far ends, segments sorted by their near ends (Barth, Mutzel, Jünger).
    int64_t crossings = 0;
    std::vector<size_t> begin(at(level.ranks) + 2, 0);
    for (const Segment& s : level.segments) ++begin[at(level.vertices[at(s.up)].rank) + 1];
    for (size_t r = 1; r < begin.size(); ++r) begin[r] += begin[r - 1];
    std::vector<std::pair<int, int>> ends(level.segments.size());
    std::vector<size_t> next(begin.begin(), begin.end() - 1);
    for (const Segment& s : level.segments)
        ends[next[at(level.vertices[at(s.up)].rank)]++] = {level.vertices[at(s.up)].position, level.vertices[at(s.down)].position};
    std::vector<int> tree;
    for (size_t r = 0; r + 1 < begin.size(); ++r) {
        if (begin[r + 1] - begin[r] < 2) continue;
        const auto first = ends.begin() + static_cast<ptrdiff_t>(begin[r]), last = ends.begin() + static_cast<ptrdiff_t>(begin[r + 1]);
        std::sort(first, last);
        int widest = 0;
        for (auto end = first; end != last; ++end) widest = std::max(widest, end->second);
        tree.assign(at(widest) + 2, 0);
        int seen = 0;
        for (auto end = first; end != last; ++end, ++seen) {
            int smaller = 0;
            for (int i = end->second + 1; i > 0; i -= i & -i) smaller += tree[at(i)];
            crossings += seen - smaller;
            for (int i = end->second + 1; i < static_cast<int>(tree.size()); i += i & -i) ++tree[at(i)];
        }
    }
    return crossings;
}

bool orderLevel(Plan& plan, int level, const std::stop_token& stop)
{
    Level& l = plan.levels[at(level)];
    if (!Orderer(l, stop).order()) return false;
    hintChildren(plan, l);
    return true;
}

} // namespace loopscope::layout
