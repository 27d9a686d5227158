// Horizontal places: aligned blocks in four directions and the mean of the two middle results (Brandes and Köpf, "Fast and Simple
// Horizontal Coordinate Assignment"), with ports instead of centres, as in ELK. Blocks are packed along their constraints instead of by
// classes, which the published packing gets wrong.
#include "viewer/layout/index.h"
#include "viewer/layout/level.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

namespace loopscope::layout {

namespace {

class Placer {
public:
    Placer(Level& level, const Options& options, const std::stop_token& stop) : m_level(level), m_options(options), m_stop(stop) {}

    bool place()
    {
        const size_t count = m_level.vertices.size();
        if (count == 0) return true;
        markConflicts();
        markSkips();
        std::array<std::vector<double>, 4> results;
        for (int k = 0; k < 4; ++k) {
            if (m_stop.stop_requested()) return false;
            align(k >= 2, k % 2 == 1);
            if (m_stop.stop_requested()) return false;
            pack(k % 2 == 1, results[at(k)]);
        }
        combine(results);
        if (m_stop.stop_requested()) return false;
        straightenLines();
        straighten();
        return !m_stop.stop_requested();
    }

private:
    Vertex& vertex(int v) { return m_level.vertices[at(v)]; }
    const Segment& segment(int s) const { return m_level.segments[at(s)]; }
    bool isDummy(int v) const { return m_level.vertices[at(v)].item < 0; }
    bool isInner(const Segment& s) const { return isDummy(s.up) && isDummy(s.down); }

    /// Space between the neighbours u and v.
    double gap(int u, int v) const
    {
        const bool narrow = m_level.vertices[at(u)].width == 0 || m_level.vertices[at(v)].width == 0;
        const bool lines = m_level.vertices[at(u)].width == 0 && m_level.vertices[at(v)].width == 0;
        return lines ? m_options.edgeGap : narrow ? std::ceil((m_options.edgeGap + m_options.nodeGap) / 2) : m_options.nodeGap;
    }

    /// A segment that crosses one between two dummies gives way: long edges stay straight.
    void markConflicts()
    {
        m_conflict.assign(m_level.segments.size(), 0);
        for (int r = 0; r + 1 < m_level.ranks; ++r) {
            const std::vector<int>& lower = m_level.order[at(r + 1)];
            const int upperSize = static_cast<int>(m_level.order[at(r)].size());
            int k0 = -1;
            size_t scanned = 0;
            for (size_t p = 0; p < lower.size(); ++p) {
                int inner = -1;
                if (isDummy(lower[p]))
                    for (int k = m_level.upBegin[at(lower[p])]; k < m_level.upBegin[at(lower[p]) + 1]; ++k)
                        if (const Segment& s = segment(m_level.upSegments[at(k)]); isInner(s)) inner = vertex(s.up).position;
                if (p + 1 != lower.size() && inner < 0) continue;
                const int k1 = inner >= 0 ? inner : upperSize;
                for (; scanned <= p; ++scanned)
                    for (int k = m_level.upBegin[at(lower[scanned])]; k < m_level.upBegin[at(lower[scanned]) + 1]; ++k) {
                        const int s = m_level.upSegments[at(k)];
                        const int position = vertex(segment(s).up).position;
                        if ((position < k0 || position > k1) && !isInner(segment(s))) m_conflict[at(s)] = 1;
                    }
                k0 = k1;
            }
        }
    }

    /// The ends of a long edge give way where its item has a neighbour in the next rank: chains stay straight, what skips them runs beside.
    void markSkips()
    {
        const auto hasNear = [&](int v, const std::vector<int>& begin, const std::vector<int>& list, bool up) {
            for (int k = begin[at(v)]; k < begin[at(v) + 1]; ++k)
                if (const int s = list[at(k)]; m_conflict[at(s)] == 0 && !isDummy(up ? segment(s).up : segment(s).down)) return true;
            return false;
        };
        m_skips.assign(m_level.segments.size(), 0);
        for (size_t s = 0; s < m_level.segments.size(); ++s) {
            const Segment& one = m_level.segments[s];
            if (isDummy(one.up) == isDummy(one.down)) continue;
            m_skips[s] = isDummy(one.up) ? hasNear(one.down, m_level.upBegin, m_level.upSegments, true)
                                         : hasNear(one.up, m_level.downBegin, m_level.downSegments, false);
        }
    }

    /// Chains vertices with their median neighbours to blocks. `upwards`: ranks from below; `rightwards`: from right to left.
    void align(bool upwards, bool rightwards)
    {
        const size_t count = m_level.vertices.size();
        m_root.resize(count);
        m_shift.assign(count, 0);
        m_taken.assign(count, 0);
        for (size_t v = 0; v < count; ++v) m_root[v] = static_cast<int>(v);
        const std::vector<int>& begin = upwards ? m_level.downBegin : m_level.upBegin;
        const std::vector<int>& list = upwards ? m_level.downSegments : m_level.upSegments;
        for (int step = 1; step < m_level.ranks; ++step) {
            const std::vector<int>& row = m_level.order[at(upwards ? m_level.ranks - 1 - step : step)];
            int border = rightwards ? std::numeric_limits<int>::max() : -1;
            for (size_t p = 0; p < row.size(); ++p) {
                const int v = row[rightwards ? row.size() - 1 - p : p];
                m_ends.clear();
                for (int k = begin[at(v)]; k < begin[at(v) + 1]; ++k) {
                    const int s = list[at(k)];
                    if (m_skips[at(s)] != 0) continue;
                    const int u = upwards ? segment(s).down : segment(s).up;
                    m_ends.push_back({vertex(u).position, upwards ? segment(s).downOffset : segment(s).upOffset, s});
                }
                if (m_ends.empty()) continue;
                std::sort(m_ends.begin(), m_ends.end());
                const int d = static_cast<int>(m_ends.size());
                const int low = (d - 1) / 2, high = d / 2;
                for (int m = 0; m < 2; ++m) {
                    const int which = (m == 0) != rightwards ? low : high;
                    const End& end = m_ends[at(which)];
                    if (m_conflict[at(end.segment)] != 0) continue;
                    if (rightwards ? end.position >= border : end.position <= border) continue;
                    const Segment& s = segment(end.segment);
                    const int u = upwards ? s.down : s.up;
                    if (m_taken[at(u)] != 0) continue;
                    m_taken[at(u)] = 1;
                    m_root[at(v)] = m_root[at(u)];
                    m_shift[at(v)] = m_shift[at(u)] + (upwards ? s.downOffset - s.upOffset : s.upOffset - s.downOffset);
                    border = end.position;
                    break;
                }
            }
        }
    }

    /// Places the blocks as near as their neighbours allow. Rightwards: mirrored.
    void pack(bool rightwards, std::vector<double>& x)
    {
        const size_t count = m_level.vertices.size();
        // Constraints between neighbouring blocks: left block, right block, distance of their roots.
        m_next.assign(count + 1, 0);
        m_waiting.assign(count, 0);
        const auto eachPair = [&](auto&& use) {
            for (const std::vector<int>& row : m_level.order)
                for (size_t p = 1; p < row.size(); ++p) {
                    const int u = row[p - 1], v = row[p];
                    const double distance = m_shift[at(u)] + vertex(u).width + gap(u, v) - m_shift[at(v)];
                    use(m_root[at(u)], m_root[at(v)], distance);
                }
        };
        eachPair([&](int a, int b, double) {
            ++m_next[at(rightwards ? b : a) + 1];
            ++m_waiting[at(rightwards ? a : b)];
        });
        for (size_t i = 1; i <= count; ++i) m_next[i] += m_next[i - 1];
        m_constraints.resize(at(m_next[count]));
        m_fill.assign(m_next.begin(), m_next.end() - 1);
        eachPair([&](int a, int b, double distance) {
            const int near = rightwards ? b : a, far = rightwards ? a : b;
            m_constraints[at(m_fill[at(near)]++)] = {far, distance};
        });
        // Rightwards, places count from the right border: xr(v) = −x(v).
        m_place.assign(count, 0);
        m_order.clear();
        for (size_t v = 0; v < count; ++v)
            if (m_root[v] == static_cast<int>(v) && m_waiting[v] == 0) m_order.push_back(static_cast<int>(v));
        for (size_t k = 0; k < m_order.size(); ++k) {
            const int b = m_order[k];
            for (int c = m_next[at(b)]; c < m_next[at(b) + 1]; ++c) {
                const Constraint& constraint = m_constraints[at(c)];
                m_place[at(constraint.far)] = std::max(m_place[at(constraint.far)], m_place[at(b)] + constraint.distance);
                if (--m_waiting[at(constraint.far)] == 0) m_order.push_back(constraint.far);
            }
        }
        // Back: every block as near to what it pushes as it can be.
        for (auto b = m_order.rbegin(); b != m_order.rend(); ++b) {
            double room = std::numeric_limits<double>::max();
            for (int c = m_next[at(*b)]; c < m_next[at(*b) + 1]; ++c) {
                const Constraint& constraint = m_constraints[at(c)];
                room = std::min(room, m_place[at(constraint.far)] - constraint.distance);
            }
            if (room < std::numeric_limits<double>::max()) m_place[at(*b)] = std::max(m_place[at(*b)], room);
        }
        x.resize(count);
        for (size_t v = 0; v < count; ++v) x[v] = (rightwards ? -m_place[at(m_root[v])] : m_place[at(m_root[v])]) + m_shift[v];
    }

    void combine(std::array<std::vector<double>, 4>& results)
    {
        const size_t count = m_level.vertices.size();
        std::array<double, 4> lows{}, highs{};
        for (size_t k = 0; k < 4; ++k) {
            lows[k] = std::numeric_limits<double>::max();
            highs[k] = std::numeric_limits<double>::lowest();
            for (size_t v = 0; v < count; ++v) {
                lows[k] = std::min(lows[k], results[k][v]);
                highs[k] = std::max(highs[k], results[k][v] + m_level.vertices[v].width);
            }
        }
        size_t narrowest = 0;
        for (size_t k = 1; k < 4; ++k)
            if (highs[k] - lows[k] < highs[narrowest] - lows[narrowest]) narrowest = k;
        std::array<double, 4> moves{};
        for (size_t k = 0; k < 4; ++k) moves[k] = k % 2 == 0 ? lows[narrowest] - lows[k] : highs[narrowest] - highs[k];
        double lowest = std::numeric_limits<double>::max();
        for (size_t v = 0; v < count; ++v) {
            std::array<double, 4> xs{};
            for (size_t k = 0; k < 4; ++k) xs[k] = results[k][v] + moves[k];
            std::sort(xs.begin(), xs.end());
            m_level.vertices[v].x = std::floor((xs[1] + xs[2]) / 2);
            lowest = std::min(lowest, m_level.vertices[v].x);
        }
        for (Vertex& v : m_level.vertices) v.x -= lowest;
    }

    /// Where a vertex may move.
    std::pair<double, double> room(int v)
    {
        const std::vector<int>& row = m_level.order[at(vertex(v).rank)];
        const size_t p = at(vertex(v).position);
        const double low = p == 0 ? 0 : vertex(row[p - 1]).x + vertex(row[p - 1]).width + gap(row[p - 1], v);
        const double high =
            p + 1 == row.size() ? std::numeric_limits<double>::max() : vertex(row[p + 1]).x - gap(v, row[p + 1]) - vertex(v).width;
        return {low, high};
    }

    /// Moves the long lines that bend at both ends onto one of them.
    void straightenLines()
    {
        for (const Net& net : m_level.nets) {
            if (net.dummyCount == 0) continue;
            const int first = net.firstDummy, last = first + net.dummyCount - 1;
            const double x = vertex(first).x;
            m_moves.clear();
            bool isStraight = false;
            for (const auto& [begin, list, v, up] : {std::tuple(&m_level.downBegin, &m_level.downSegments, last, false),
                                                     std::tuple(&m_level.upBegin, &m_level.upSegments, first, true)})
                for (int k = (*begin)[at(v)]; k < (*begin)[at(v) + 1]; ++k) {
                    const Segment& s = segment((*list)[at(k)]);
                    const double end = up ? vertex(s.up).x + s.upOffset : vertex(s.down).x + s.downOffset;
                    isStraight |= end == x;
                    m_moves.push_back(end);
                }
            for (int v = first; v <= last && !isStraight; ++v) isStraight = vertex(v).x != x;
            if (isStraight) continue;
            for (const double wanted : m_moves) {
                bool fits = true;
                for (int v = first; v <= last && fits; ++v) {
                    const auto [low, high] = room(v);
                    fits = wanted >= low && wanted <= high;
                }
                if (!fits) continue;
                for (int v = first; v <= last; ++v) vertex(v).x = wanted;
                break;
            }
        }
    }

    /// Moves items onto their only line above (or below) where there is room: no small steps.
    void straighten()
    {
        for (int pass = 0; pass < 2; ++pass)
            for (int step = 0; step < m_level.ranks; ++step) {
                const std::vector<int>& row = m_level.order[at(pass == 0 ? step : m_level.ranks - 1 - step)];
                for (size_t p = 0; p < row.size(); ++p) {
                    const int v = row[p];
                    const double wanted = wantedMove(v);
                    if (wanted == 0) continue;
                    const auto [low, high] = room(v);
                    const double moved = vertex(v).x + wanted;
                    if (moved >= low && moved <= high) vertex(v).x = moved;
                }
            }
    }

    /// The move that makes most segments of a vertex straight, if it makes more so than it bends; else 0.
    double wantedMove(int v)
    {
        m_moves.clear();
        int straight = 0;
        const auto collect = [&](const std::vector<int>& begin, const std::vector<int>& list, bool up) {
            if (begin[at(v) + 1] - begin[at(v)] > 8) return false;
            for (int k = begin[at(v)]; k < begin[at(v) + 1]; ++k) {
                const Segment& s = segment(list[at(k)]);
                const double move = up ? vertex(s.up).x + s.upOffset - s.downOffset - vertex(v).x
                                       : vertex(s.down).x + s.downOffset - s.upOffset - vertex(v).x;
                if (move == 0) ++straight;
                else m_moves.push_back(move);
            }
            return true;
        };
        if (!collect(m_level.upBegin, m_level.upSegments, true) || !collect(m_level.downBegin, m_level.downSegments, false)) return 0;
        std::sort(m_moves.begin(), m_moves.end());
        int best = straight;
        double wanted = 0;
        for (size_t i = 0; i < m_moves.size();) {
            size_t end = i;
            while (end < m_moves.size() && m_moves[end] == m_moves[i]) ++end;
            if (static_cast<int>(end - i) > best) {
                best = static_cast<int>(end - i);
                wanted = m_moves[i];
            }
            i = end;
        }
        return wanted;
    }

    struct End {
        int position;
        double offset;
        int segment;
        bool operator<(const End& o) const
        {
            if (position != o.position) return position < o.position;
            if (offset != o.offset) return offset < o.offset;
            return segment < o.segment;
        }
    };
    struct Constraint {
        int far;
        double distance;
    };

    Level& m_level;
    const Options& m_options;
    const std::stop_token& m_stop;
    std::vector<char> m_conflict, m_skips, m_taken;
    std::vector<int> m_root, m_waiting, m_order, m_next, m_fill;
    std::vector<double> m_shift, m_place, m_moves;
    std::vector<End> m_ends;
    std::vector<Constraint> m_constraints;
};

/// A free port: where its line comes from, left to right.
struct FreePort {
    double key;
    int index; ///< sink or net
    bool operator<(const FreePort& o) const { return key != o.key ? key < o.key : index < o.index; }
};

double spread(double width, size_t k, size_t count)
{
    return std::floor(width * static_cast<double>(k + 1) / static_cast<double>(count + 1));
}

} // namespace

void placePorts(Plan& plan, Level& level)
{
    std::vector<std::vector<FreePort>> above(level.items.size()), below(level.items.size());
    std::vector<double> sums(level.nets.size(), 0);
    for (size_t i = 0; i < level.items.size(); ++i)
        if (level.items[i].vertex >= 0) level.vertices[at(level.items[i].vertex)].width = level.items[i].width;
    for (size_t n = 0; n < level.nets.size(); ++n) {
        Net& net = level.nets[n];
        const Item& source = level.items[at(net.item)];
        double sum = 0;
        int count = 0;
        for (int s = net.firstSink; s < net.firstSink + net.sinkCount; ++s) {
            Sink& sink = level.sinks[at(s)];
            if (sink.live == 0) continue;
            const Item& target = level.items[at(sink.item)];
            // Where the line comes from, as a position in the rank above the target.
            double from = 0, to = 0;
            if (sink.feedback) {
                from = -1;
                to = -1;
            } else if (sink.back) {
                from = level.vertices[at(sink.chain)].position < level.vertices[at(target.vertex)].position ? -0.5 : 1e9;
                to = level.vertices[at(sink.chain + source.rank - target.rank)].position < level.vertices[at(source.vertex)].position ? -0.5
                                                                                                                                      : 1e9;
            } else {
                const int passed = target.rank - source.rank - 1;
                const Vertex& up = passed == 0 ? level.vertices[at(source.vertex)] : level.vertices[at(net.firstDummy + passed - 1)];
                const Vertex& down = passed == 0 ? level.vertices[at(target.vertex)] : level.vertices[at(net.firstDummy)];
                from = up.position;
                to = down.position;
            }
            sum += to;
            ++count;
            if (target.kind == ItemKind::node) {
                if (sink.fraction < 0) above[at(sink.item)].push_back({from, s});
                else sink.offset = std::round(sink.fraction * target.width);
            } else if (target.kind == ItemKind::group) {
                const Level& child = plan.levels[at(target.index + 1)];
                const Vertex& entry = child.vertices[at(child.items[at(child.entryItems[at(sink.port)])].vertex)];
                sink.offset = child.contentX + entry.x;
            }
        }
        if (source.kind == ItemKind::node && net.fraction < 0) {
            if (count > 0) below[at(net.item)].push_back({sum / count, static_cast<int>(n)});
        } else if (source.kind == ItemKind::node) {
            net.offset = std::round(net.fraction * source.width);
        } else if (source.kind == ItemKind::group && count > 0) {
            const Level& child = plan.levels[at(source.index + 1)];
            const Vertex& exit = child.vertices[at(child.items[at(child.exitItems[at(net.port)])].vertex)];
            net.offset = child.contentX + exit.x;
        }
    }
    for (size_t i = 0; i < level.items.size(); ++i) {
        std::sort(above[i].begin(), above[i].end());
        std::sort(below[i].begin(), below[i].end());
        for (size_t k = 0; k < above[i].size(); ++k)
            level.sinks[at(above[i][k].index)].offset = spread(level.items[i].width, k, above[i].size());
        for (size_t k = 0; k < below[i].size(); ++k)
            level.nets[at(below[i][k].index)].offset = spread(level.items[i].width, k, below[i].size());
    }
    for (Segment& s : level.segments) {
        s.upOffset = level.vertices[at(s.up)].item >= 0 ? level.nets[at(s.net)].offset : 0;
        s.downOffset = s.sink >= 0 ? level.sinks[at(s.sink)].offset : 0;
    }
}

bool placeLevel(Level& level, const Options& options, const std::stop_token& stop) { return Placer(level, options, stop).place(); }

} // namespace loopscope::layout
