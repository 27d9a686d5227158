// Runs the phases and gathers their results in the caller's order.
#include "viewer/layout/layout.h"

#include "viewer/layout/index.h"
#include "viewer/layout/level.h"

#include <algorithm>

namespace loopscope::layout {

namespace {

void transpose(Rect& r)
{
    std::swap(r.x, r.y);
    std::swap(r.width, r.height);
}

/// Drops points between two others on one line, and doubled ones.
void appendPoint(std::vector<Point>& points, Point p)
{
    if (!points.empty() && points.back() == p) return;
    while (points.size() >= 2) {
        const Point& a = points[points.size() - 2];
        const Point& b = points.back();
        const bool onLine =
            (a.x == b.x && b.x == p.x && (b.y - a.y) * (p.y - b.y) >= 0) || (a.y == b.y && b.y == p.y && (b.x - a.x) * (p.x - b.x) >= 0);
        if (!onLine) break;
        points.pop_back();
    }
    points.push_back(p);
}

Layout gather(const Graph& graph, Plan& plan)
{
    Layout layout;
    layout.nodes.resize(graph.nodes.size());
    layout.groups.resize(graph.groups.size());
    layout.ranks.resize(graph.nodes.size());
    layout.routes.resize(graph.edges.size());
    for (const int index : plan.levelOrder) {
        Level& l = plan.levels[at(index)];
        layout.passed += l.passed;
        layout.crossings += l.crossings;
        for (int i = 0; i < l.realItems; ++i) {
            const Item& item = l.items[at(i)];
            const Rect rect{l.originX + l.contentX + l.vertices[at(item.vertex)].x, l.originY + l.rankTop[at(item.rank)], item.width,
                            item.height};
            if (item.kind == ItemKind::group) {
                layout.groups[at(item.index)] = rect;
                plan.levels[at(item.index + 1)].originX = rect.x;
                plan.levels[at(item.index + 1)].originY = rect.y;
            } else {
                layout.nodes[at(item.index)] = rect;
                layout.ranks[at(item.index)] = item.rank - 1;
            }
        }
    }
    for (size_t e = 0; e < graph.edges.size(); ++e) {
        Route& route = layout.routes[e];
        route.portal = plan.portal[e];
        if (route.portal) continue;
        for (int p = plan.firstPiece[e]; p < plan.firstPiece[e + 1]; ++p) {
            const Piece& piece = plan.pieces[at(p)];
            const Level& l = plan.levels[at(piece.level)];
            for (const Point& point : l.sinkRoutes[at(piece.sink)]) appendPoint(route.points, {l.originX + point.x, l.originY + point.y});
        }
    }
    const Level& root = plan.levels.front();
    layout.bounds = {0, 0, root.width, root.height};
    return layout;
}

} // namespace

std::optional<Layout> layOut(const Graph& input, const Options& options, std::stop_token stop)
{
    Graph turned;
    if (options.leftToRight) {
        turned = input;
        for (Node& n : turned.nodes) std::swap(n.width, n.height);
        for (Group& g : turned.groups) {
            const Group old = g;
            g.head = 0;
            g.left = old.head + old.top;
            g.top = old.left;
            g.right = old.bottom;
            g.bottom = old.right;
            g.minWidth = 0;
        }
    }
    const Graph& graph = options.leftToRight ? turned : input;
    Plan plan = makePlan(graph, options, stop);
    if (stop.stop_requested() || !rankLevels(plan, stop)) return std::nullopt;
    for (const int level : plan.levelOrder)
        if (!orderLevel(plan, level, stop)) return std::nullopt;
    for (auto level = plan.levelOrder.rbegin(); level != plan.levelOrder.rend(); ++level) {
        Level& l = plan.levels[at(*level)];
        for (int i = 0; i < l.realItems; ++i) {
            Item& item = l.items[at(i)];
            if (item.kind != ItemKind::group) continue;
            item.width = plan.levels[at(item.index + 1)].width;
            item.height = plan.levels[at(item.index + 1)].height;
        }
        placePorts(plan, l);
        if (!placeLevel(l, options, stop) || !routeLevel(plan, *level, stop)) return std::nullopt;
    }
    Layout layout = gather(graph, plan);
    if (options.leftToRight) {
        for (Rect& r : layout.nodes) transpose(r);
        for (Rect& r : layout.groups) transpose(r);
        for (Route& r : layout.routes)
            for (Point& p : r.points) std::swap(p.x, p.y);
        transpose(layout.bounds);
    }
    return layout;
}

} // namespace loopscope::layout
