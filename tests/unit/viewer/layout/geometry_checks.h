// What must hold of every layout, whatever the graph: no overlaps, contiguous groups, orthogonal routes that end at their nodes.
#pragma once

#include "viewer/layout/layout.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace loopscope::layout::testing {

inline bool isInside(const Graph& graph, int group, int outer)
{
    for (; group >= 0; group = graph.groups[static_cast<size_t>(group)].parent)
        if (group == outer) return true;
    return outer < 0;
}

inline std::string rectText(const Rect& r)
{
    return std::to_string(r.x) + "," + std::to_string(r.y) + " " + std::to_string(r.width) + "x" + std::to_string(r.height);
}

/// Boxes side by side at one level, sorted by x, must not meet. Empty: fine.
inline std::string overlapOf(std::vector<std::pair<Rect, std::string>> boxes)
{
    std::sort(boxes.begin(), boxes.end(), [](const auto& a, const auto& b) { return a.first.y < b.first.y; });
    for (size_t i = 0; i < boxes.size(); ++i)
        for (size_t k = i + 1; k < boxes.size() && boxes[k].first.y < boxes[i].first.bottom(); ++k)
            if (boxes[i].first.intersects(boxes[k].first))
                return boxes[i].second + " (" + rectText(boxes[i].first) + ") meets " + boxes[k].second + " (" + rectText(boxes[k].first) +
                       ")";
    return {};
}

/// The first thing that is wrong; empty: nothing.
inline std::string problemOf(const Graph& graph, const Layout& layout, const Options& options)
{
    if (layout.nodes.size() != graph.nodes.size() || layout.routes.size() != graph.edges.size() ||
        layout.groups.size() != graph.groups.size())
        return "sizes differ";
    // Boxes of one level.
    for (int level = -1; level < static_cast<int>(graph.groups.size()); ++level) {
        std::vector<std::pair<Rect, std::string>> boxes;
        for (size_t n = 0; n < graph.nodes.size(); ++n)
            if (graph.nodes[n].group == level) boxes.emplace_back(layout.nodes[n], "node " + std::to_string(n));
        for (size_t g = 0; g < graph.groups.size(); ++g)
            if (graph.groups[g].parent == level) boxes.emplace_back(layout.groups[g], "group " + std::to_string(g));
        const Rect around = level < 0 ? layout.bounds : layout.groups[static_cast<size_t>(level)];
        for (const auto& [box, name] : boxes)
            if (box.x < around.x || box.y < around.y || box.right() > around.right() || box.bottom() > around.bottom())
                return name + " (" + rectText(box) + ") leaves what holds it (" + rectText(around) + ")";
        if (std::string overlap = overlapOf(std::move(boxes)); !overlap.empty()) return overlap;
    }
    for (size_t e = 0; e < graph.edges.size(); ++e) {
        const std::string name = "edge " + std::to_string(e);
        const Route& route = layout.routes[e];
        if (route.portal != route.points.empty()) return name + ": a portal has no points, another has";
        if (route.portal) continue;
        const Edge& edge = graph.edges[e];
        const Rect& from = layout.nodes[static_cast<size_t>(edge.from)];
        const Rect& to = layout.nodes[static_cast<size_t>(edge.to)];
        const Point first = route.points.front(), last = route.points.back();
        const bool begins = options.leftToRight ? first.x == from.right() && first.y >= from.y && first.y <= from.bottom()
                                                : first.y == from.bottom() && first.x >= from.x && first.x <= from.right();
        const bool ends = options.leftToRight ? last.x == to.x && last.y >= to.y && last.y <= to.bottom()
                                              : last.y == to.y && last.x >= to.x && last.x <= to.right();
        if (!begins) return name + " does not begin at its node";
        if (!ends) return name + " does not end at its node";
        for (size_t i = 1; i < route.points.size(); ++i) {
            const Point a = route.points[i - 1], b = route.points[i];
            if (a.x != b.x && a.y != b.y) return name + " is not orthogonal";
            // No line runs through a node of another place; its own ends it may touch.
        }
    }
    if (layout.passed > std::max<int64_t>(2 * static_cast<int64_t>(graph.edges.size()), 4096)) return "too many places passed";
    return {};
}

/// Pairs of a route and a node that it runs through.
inline int64_t linesThroughNodes(const Graph& graph, const Layout& layout)
{
    int64_t count = 0;
    for (size_t e = 0; e < graph.edges.size(); ++e) {
        const std::vector<Point>& points = layout.routes[e].points;
        for (size_t n = 0; n < graph.nodes.size(); ++n) {
            const Rect& box = layout.nodes[n];
            bool through = false;
            for (size_t i = 1; i < points.size() && !through; ++i) {
                const double left = std::min(points[i - 1].x, points[i].x), right = std::max(points[i - 1].x, points[i].x);
                const double top = std::min(points[i - 1].y, points[i].y), bottom = std::max(points[i - 1].y, points[i].y);
                through = left < box.right() - 0.5 && right > box.x + 0.5 && top < box.bottom() - 0.5 && bottom > box.y + 0.5;
            }
            count += through ? 1 : 0;
        }
    }
    return count;
}

} // namespace loopscope::layout::testing
