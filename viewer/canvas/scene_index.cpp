#include "viewer/canvas/scene_index.h"

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kChipReach = 132; ///< of the chips at the ends of cut edges
constexpr double kReach = 8;       ///< how far lines and badges reach beyond their geometry

Rect around(Point a, Point b, double margin)
{
    const double x = std::min(a.x, b.x);
    const double y = std::min(a.y, b.y);
    return {x - margin, y - margin, std::abs(a.x - b.x) + 2 * margin, std::abs(a.y - b.y) + 2 * margin};
}

double distanceTo(Point p, Point a, Point b)
{
    const double dx = b.x - a.x;
    const double dy = b.y - a.y;
    const double length = dx * dx + dy * dy;
    const double t = length == 0 ? 0 : std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0);
    return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

} // namespace

SceneIndex::Grid SceneIndex::gridFor(const Rect& bounds, size_t items)
{
    Grid grid;
    grid.bounds = bounds;
    const double area = std::max(1.0, bounds.width) * std::max(1.0, bounds.height);
    // About four items in a cell, and never more cells than items ask for.
    grid.size = std::max(64.0, std::sqrt(area * 4 / static_cast<double>(std::max<size_t>(1, items))));
    grid.columns = std::max(1, static_cast<int>(std::ceil(bounds.width / grid.size)));
    grid.rows = std::max(1, static_cast<int>(std::ceil(bounds.height / grid.size)));
    return grid;
}

template <typename Boxes> void SceneIndex::fill(Grid& grid, size_t count, const Boxes& boxesOf)
{
    const auto cells = [&grid](const Rect& box, const auto& visit) {
        const auto clampTo = [](double v, int most) { return std::clamp(static_cast<int>(std::floor(v)), 0, most - 1); };
        const int left = clampTo((box.x - grid.bounds.x) / grid.size, grid.columns);
        const int right = clampTo((box.right() - grid.bounds.x) / grid.size, grid.columns);
        const int top = clampTo((box.y - grid.bounds.y) / grid.size, grid.rows);
        const int bottom = clampTo((box.bottom() - grid.bounds.y) / grid.size, grid.rows);
        for (int row = top; row <= bottom; ++row)
            for (int column = left; column <= right; ++column) visit(static_cast<size_t>(row * grid.columns + column));
    };
    grid.first.assign(static_cast<size_t>(grid.columns * grid.rows) + 1, 0);
    for (size_t i = 0; i < count; ++i) boxesOf(i, [&](const Rect& box) { cells(box, [&](size_t cell) { ++grid.first[cell + 1]; }); });
    for (size_t i = 1; i < grid.first.size(); ++i) grid.first[i] += grid.first[i - 1];
    grid.items.resize(static_cast<size_t>(grid.first.back()));
    std::vector<int> next = grid.first;
    for (size_t i = 0; i < count; ++i)
        boxesOf(i, [&](const Rect& box) {
            cells(box, [&](size_t cell) { grid.items[static_cast<size_t>(next[cell]++)] = static_cast<int>(i); });
        });
}

SceneIndex::SceneIndex(const Scene& scene) : m_scene(scene), m_into(scene.nodes.size()), m_outOf(scene.nodes.size())
{
    m_nodes = gridFor(scene.bounds, scene.nodes.size());
    fill(m_nodes, scene.nodes.size(), [&](size_t i, const auto& add) { add(scene.nodes[i].rect); });
    m_edges = gridFor(scene.bounds, scene.edges.size());
    fill(m_edges, scene.edges.size(), [&](size_t i, const auto& add) {
        const SceneEdge& edge = scene.edges[i];
        for (size_t k = 1; k < edge.points.size(); ++k) add(around(edge.points[k - 1], edge.points[k], kReach));
        if (!edge.portal) return;
        for (const int end : {edge.from, edge.to})
            if (end >= 0) {
                const Rect& box = scene.nodes[static_cast<size_t>(end)].rect;
                add({box.x - kChipReach, box.y - kChipReach / 4, box.width + 2 * kChipReach, box.height + kChipReach / 2});
            }
    });
    for (size_t i = 0; i < scene.edges.size(); ++i) {
        const SceneEdge& edge = scene.edges[i];
        if (edge.from >= 0) m_outOf[static_cast<size_t>(edge.from)].push_back(static_cast<int>(i));
        if (edge.to >= 0) m_into[static_cast<size_t>(edge.to)].push_back(static_cast<int>(i));
    }
    m_marks.assign(std::max(scene.nodes.size(), scene.edges.size()), 0);
}

void SceneIndex::collect(const Grid& grid, const Rect& area, size_t count, std::vector<int>& out) const
{
    out.clear();
    const Rect& b = grid.bounds;
    if (area.x <= b.x && area.y <= b.y && area.right() >= b.right() && area.bottom() >= b.bottom()) {
        out.resize(count);
        for (size_t i = 0; i < count; ++i) out[i] = static_cast<int>(i);
        return;
    }
    ++m_mark;
    const auto low = [&](double v, int most) { return std::clamp(static_cast<int>(std::floor(v / grid.size)), 0, most - 1); };
    const int left = low(area.x - b.x, grid.columns);
    const int right = low(area.right() - b.x, grid.columns);
    const int top = low(area.y - b.y, grid.rows);
    const int bottom = low(area.bottom() - b.y, grid.rows);
    for (int row = top; row <= bottom; ++row)
        for (int column = left; column <= right; ++column) {
            const auto cell = static_cast<size_t>(row * grid.columns + column);
            for (int k = grid.first[cell]; k < grid.first[cell + 1]; ++k) {
                const int item = grid.items[static_cast<size_t>(k)];
                uint32_t& mark = m_marks[static_cast<size_t>(item)];
                if (mark == m_mark) continue;
                mark = m_mark;
                out.push_back(item);
            }
        }
    std::ranges::sort(out);
}

void SceneIndex::nodesIn(const Rect& area, std::vector<int>& out) const { collect(m_nodes, area, m_scene.nodes.size(), out); }
void SceneIndex::edgesIn(const Rect& area, std::vector<int>& out) const { collect(m_edges, area, m_scene.edges.size(), out); }

int SceneIndex::nodeAt(Point point) const
{
    std::vector<int> near;
    collect(m_nodes, {point.x, point.y, 0, 0}, m_scene.nodes.size(), near);
    int found = -1;
    for (const int node : near)
        if (m_scene.nodes[static_cast<size_t>(node)].rect.contains(point)) found = node;
    return found;
}

int SceneIndex::edgeAt(Point point, double reach) const
{
    std::vector<int> near;
    collect(m_edges, {point.x - reach, point.y - reach, 2 * reach, 2 * reach}, m_scene.edges.size(), near);
    int found = -1;
    double best = reach;
    for (const int edge : near) {
        const std::vector<Point>& points = m_scene.edges[static_cast<size_t>(edge)].points;
        for (size_t k = 1; k < points.size(); ++k) {
            const double distance = distanceTo(point, points[k - 1], points[k]);
            if (distance > best) continue;
            best = distance;
            found = edge;
        }
    }
    return found;
}

int SceneIndex::regionAt(Point point, bool headOnly) const
{
    for (size_t i = m_scene.regions.size(); i-- > 0;) { // children after parents
        const SceneRegion& region = m_scene.regions[i];
        if ((headOnly ? region.head : region.rect).contains(point)) return static_cast<int>(i);
    }
    return -1;
}

std::vector<int> SceneIndex::netOf(int edge) const
{
    std::vector<int> net;
    const SceneEdge& one = m_scene.edges[static_cast<size_t>(edge)];
    if (one.from < 0) return {edge};
    for (const int other : outOf(one.from)) {
        const SceneEdge& candidate = m_scene.edges[static_cast<size_t>(other)];
        if (candidate.value == one.value && candidate.graph == one.graph) net.push_back(other);
    }
    return net;
}

} // namespace loopscope::viewer
