// Vertical places and routes. Between two ranks lies a channel; every net that changes its place there gets a track of it, so that lines
// of different values never lie on each other.
#include "viewer/layout/index.h"
#include "viewer/layout/level.h"

#include <algorithm>
#include <cmath>

namespace loopscope::layout {

namespace {

/// What one net does in a channel: ends on the upper and the lower side, joined by a horizontal line on its track.
struct Wire {
    std::vector<double> upper, lower;
    double low = 0, high = 0; ///< of the horizontal line
    int track = -1;           ///< −1: straight
    double y = 0;
};

class Router {
public:
    Router(Plan& plan, int level, const std::stop_token& stop) : m_plan(plan), m_level(plan.levels[at(level)]), m_stop(stop) {}

    bool route()
    {
        assignRails();
        makeWires();
        if (m_stop.stop_requested()) return false;
        for (std::vector<Wire>& channel : m_channels) {
            if (m_stop.stop_requested()) return false;
            assignTracks(channel);
        }
        placeRanks();
        if (m_stop.stop_requested()) return false;
        draw();
        return !m_stop.stop_requested();
    }

private:
    const Item& item(int i) const { return m_level.items[at(i)]; }
    const Vertex& vertex(int v) const { return m_level.vertices[at(v)]; }
    double gap() const { return m_plan.options.edgeGap; }

    double sourceX(const Net& net) const { return vertex(item(net.item).vertex).x + net.offset; }
    double targetX(const Sink& sink) const { return vertex(item(sink.item).vertex).x + sink.offset; }

    /// Feedback edges that begin further left turn further inside.
    void assignRails()
    {
        std::vector<int> feedbacks;
        for (size_t s = 0; s < m_level.sinks.size(); ++s)
            if (m_level.sinks[s].feedback && m_level.sinks[s].live > 0) feedbacks.push_back(static_cast<int>(s));
        const auto span = [&](int s) {
            const Sink& sink = m_level.sinks[at(s)];
            return item(m_level.nets[at(sink.net)].item).rank - item(sink.item).rank;
        };
        std::stable_sort(feedbacks.begin(), feedbacks.end(), [&](int a, int b) {
            if (span(a) != span(b)) return span(a) < span(b);
            return targetX(m_level.sinks[at(a)]) < targetX(m_level.sinks[at(b)]);
        });
        for (size_t k = 0; k < feedbacks.size(); ++k) m_level.sinks[at(feedbacks[k])].rail = static_cast<int>(k);
        m_rails = static_cast<int>(feedbacks.size());
    }

    double railX(const Sink& sink) const { return -m_plan.options.railGap * (sink.rail + 1) - 3; }

    int addWire(int channel)
    {
        m_channels[at(channel)].emplace_back();
        return static_cast<int>(m_channels[at(channel)].size()) - 1;
    }

    void makeWires()
    {
        m_channels.resize(at(std::max(m_level.ranks - 1, 1)));
        m_wireOfSegment.assign(m_level.segments.size(), -1);
        m_turns.assign(m_level.sinks.size(), {-1, -1});
        // One wire per upper vertex and net.
        for (size_t v = 0; v < m_level.vertices.size(); ++v) {
            const int channel = m_level.vertices[v].rank;
            std::vector<std::pair<int, int>> mine; // net, wire
            for (int k = m_level.downBegin[v]; k < m_level.downBegin[v + 1]; ++k) {
                const int index = m_level.downSegments[at(k)];
                const Segment& s = m_level.segments[at(index)];
                // Segments of one vertex come net by net.
                if (mine.empty() || mine.back().first != s.net) {
                    mine.emplace_back(s.net, addWire(channel));
                    m_channels[at(channel)].back().upper.push_back(m_level.vertices[v].x + s.upOffset);
                }
                m_wireOfSegment[at(index)] = mine.back().second;
                m_channels[at(channel)][at(mine.back().second)].lower.push_back(vertex(s.down).x + s.downOffset);
            }
        }
        for (size_t s = 0; s < m_level.sinks.size(); ++s) {
            const Sink& sink = m_level.sinks[s];
            if (sink.live == 0 || (!sink.back && !sink.feedback)) continue;
            const Net& net = m_level.nets[at(sink.net)];
            const int below = item(net.item).rank, above = item(sink.item).rank - 1;
            m_turns[s] = {addWire(below), 0};
            Wire& down = m_channels[at(below)].back();
            down.upper = {sourceX(net)};
            m_turns[s].second = addWire(above);
            Wire& up = m_channels[at(above)].back();
            up.lower = {targetX(sink)};
            // (the reference `down` is stale if both are in one channel)
            Wire& first = m_channels[at(below)][at(m_turns[s].first)];
            if (sink.feedback) {
                first.low = up.low = railX(sink);
                first.high = sourceX(net);
                up.high = targetX(sink);
            } else {
                first.upper.push_back(vertex(sink.chain + below - item(sink.item).rank).x);
                up.lower.push_back(vertex(sink.chain).x);
            }
        }
    }

    static void setSpan(Wire& w)
    {
        bool isSet = w.high != w.low;
        for (const std::vector<double>* xs : {&w.upper, &w.lower})
            for (const double x : *xs) {
                w.low = isSet ? std::min(w.low, x) : x;
                w.high = isSet ? std::max(w.high, x) : x;
                isSet = true;
            }
    }

    static bool near(double a, double b) { return std::abs(a - b) < 3; }

    /// Crossings if `a` has the upper track, plus much for lines that would lie on each other.
    static int64_t cost(const Wire& a, const Wire& b)
    {
        int64_t result = 0;
        for (const double x : b.upper) result += x > a.low && x < a.high ? 1 : 0;
        for (const double x : a.lower) result += x > b.low && x < b.high ? 1 : 0;
        for (const double x : a.lower)
            for (const double y : b.upper)
                if (near(x, y)) result += 1000;
        return result;
    }

    void assignTracks(std::vector<Wire>& wires)
    {
        std::vector<int> bent;
        for (size_t w = 0; w < wires.size(); ++w) {
            setSpan(wires[w]);
            if (wires[w].high > wires[w].low) bent.push_back(static_cast<int>(w));
        }
        // Lines to the right: the rightmost begins highest; to the left: the leftmost.
        const auto key = [&](int i) {
            const Wire& w = wires[at(i)];
            const double from = w.upper.empty() ? w.low : w.upper.front();
            const double mean = (w.low + w.high) / 2;
            return mean >= from ? -from : from;
        };
        std::stable_sort(bent.begin(), bent.end(), [&](int a, int b) { return key(a) < key(b); });
        if (bent.size() <= 400)
            for (int pass = 0; pass < static_cast<int>(bent.size()); ++pass) {
                bool changed = false;
                for (size_t i = 0; i + 1 < bent.size(); ++i) {
                    const Wire &a = wires[at(bent[i])], &b = wires[at(bent[i + 1])];
                    if (cost(b, a) < cost(a, b)) {
                        std::swap(bent[i], bent[i + 1]);
                        changed = true;
                    }
                }
                if (!changed || pass > 24) break;
            }
        // A track holds lines that do not meet.
        for (size_t i = 0; i < bent.size(); ++i) {
            Wire& w = wires[at(bent[i])];
            w.track = 0;
            for (size_t k = 0; k < i; ++k) {
                const Wire& earlier = wires[at(bent[k])];
                if (earlier.track >= w.track && earlier.low < w.high + gap() && w.low < earlier.high + gap()) w.track = earlier.track + 1;
            }
        }
    }

    void placeRanks()
    {
        const Options& options = m_plan.options;
        m_level.rankTop.assign(at(m_level.ranks), 0);
        m_level.rankHeight.assign(at(m_level.ranks), 0);
        for (int i = 0; i < m_level.realItems; ++i)
            m_level.rankHeight[at(item(i).rank)] = std::max(m_level.rankHeight[at(item(i).rank)], item(i).height);
        double left = 0, right = 0;
        for (const Vertex& v : m_level.vertices) right = std::max(right, v.x + v.width);
        if (m_rails > 0) left = options.railGap * (m_rails + 1) + 3;
        for (size_t c = 0; c < m_channels.size(); ++c)
            for (const Wire& w : m_channels[c])
                if (w.track >= 0) right = std::max(right, w.high);
        const double content = left + right + m_level.left + m_level.right;
        const double spare = std::max(0.0, m_level.minWidth - content);
        m_level.contentX = m_level.left + left + std::floor(spare / 2);
        m_level.width = content + spare;
        double y = m_level.head + m_level.top;
        for (int r = 0; r < m_level.ranks; ++r) {
            m_level.rankTop[at(r)] = y;
            y += m_level.rankHeight[at(r)];
            if (r + 1 == m_level.ranks) break;
            int tracks = 0;
            for (const Wire& w : m_channels[at(r)]) tracks = std::max(tracks, w.track + 1);
            const bool border = r == 0 || r + 2 == m_level.ranks;
            double height = tracks == 0 ? 0 : gap() * (tracks + 1);
            if (!border) height = std::max(height, options.rankGap);
            // Few tracks stand in the middle of the channel.
            const double first = tracks == 0 ? 0 : std::floor((height - gap() * (tracks - 1)) / 2);
            for (Wire& w : m_channels[at(r)])
                if (w.track >= 0) w.y = y + first + gap() * w.track;
            y += height;
        }
        m_level.height = y + m_level.bottom;
    }

    /// Where the lower side of an item ends; entries have none.
    double lowerY(const Item& i) const { return m_level.rankTop[at(i.rank)] + i.height; }

    void draw()
    {
        m_level.sinkRoutes.assign(m_level.sinks.size(), {});
        const double dx = m_level.contentX;
        for (size_t n = 0; n < m_level.nets.size(); ++n) {
            if ((n & 1023U) == 0 && m_stop.stop_requested()) return;
            const Net& net = m_level.nets[n];
            for (int s = net.firstSink; s < net.firstSink + net.sinkCount; ++s) {
                const Sink& sink = m_level.sinks[at(s)];
                if (sink.live == 0) continue;
                std::vector<Point>& points = m_level.sinkRoutes[at(s)];
                const Item& source = item(net.item);
                const Item& target = item(sink.item);
                const double begin = source.kind == ItemKind::entry ? 0 : lowerY(source);
                const double end = target.kind == ItemKind::exit ? m_level.height : m_level.rankTop[at(target.rank)];
                points.push_back({dx + sourceX(net), begin});
                if (sink.feedback || sink.back) {
                    const Wire& down = m_channels[at(source.rank)][at(m_turns[at(s)].first)];
                    const Wire& up = m_channels[at(target.rank - 1)][at(m_turns[at(s)].second)];
                    points.push_back({dx + sourceX(net), down.y});
                    if (sink.feedback) {
                        points.push_back({dx + railX(sink), down.y});
                        points.push_back({dx + railX(sink), up.y});
                    } else {
                        int rank = source.rank;
                        double x = vertex(sink.chain + rank - target.rank).x;
                        points.push_back({dx + x, down.y});
                        for (--rank; rank >= target.rank; --rank) {
                            const int v = sink.chain + rank - target.rank;
                            if (vertex(v).x != x) {
                                const double y = wireBelow(v).y;
                                points.push_back({dx + x, y});
                                x = vertex(v).x;
                                points.push_back({dx + x, y});
                            }
                        }
                        points.push_back({dx + x, up.y});
                    }
                    points.push_back({dx + targetX(sink), up.y});
                } else {
                    double x = sourceX(net);
                    for (int rank = source.rank + 1; rank <= target.rank; ++rank) {
                        const int above = rank - 1 == source.rank ? source.vertex : net.firstDummy + rank - 2 - source.rank;
                        const double next = rank == target.rank ? targetX(sink) : vertex(net.firstDummy + rank - 1 - source.rank).x;
                        if (next != x) {
                            const double y = wireOf(above, static_cast<int>(n)).y;
                            points.push_back({dx + x, y});
                            points.push_back({dx + next, y});
                        }
                        x = next;
                    }
                }
                points.push_back({dx + targetX(sink), end});
            }
        }
    }

    const Wire& wireOf(int above, int net) const
    {
        int k = m_level.downBegin[at(above)];
        while (m_level.segments[at(m_level.downSegments[at(k)])].net != net) ++k;
        return m_channels[at(vertex(above).rank)][at(m_wireOfSegment[at(m_level.downSegments[at(k)])])];
    }
    const Wire& wireBelow(int dummy) const { return wireOf(dummy, vertex(dummy).net); }

    Plan& m_plan;
    Level& m_level;
    const std::stop_token& m_stop;
    std::vector<std::vector<Wire>> m_channels; ///< channel r lies below rank r
    std::vector<int> m_wireOfSegment;
    std::vector<std::pair<int, int>> m_turns; ///< of back and feedback sinks: wires below the source and above the target
    int m_rails = 0;
};

} // namespace

bool routeLevel(Plan& plan, int level, const std::stop_token& stop) { return Router(plan, level, stop).route(); }

} // namespace loopscope::layout
