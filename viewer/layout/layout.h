// Geometry of a layered graph: sizes, edges and nested groups go in, rectangles and routes come out. Knows nothing of models and draws
// nothing. Coordinates are logical pixels, y grows downwards, in the direction of flow (leftToRight swaps the axes of the result).
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace loopscope::layout {

struct Point {
    double x = 0, y = 0;
    bool operator==(const Point&) const = default;
};

struct Rect {
    double x = 0, y = 0, width = 0, height = 0;
    double right() const { return x + width; }
    double bottom() const { return y + height; }
    Point center() const { return {x + width / 2, y + height / 2}; }
    bool contains(Point p) const { return p.x >= x && p.x <= right() && p.y >= y && p.y <= bottom(); }
    bool intersects(const Rect& o) const { return x < o.right() && o.x < right() && y < o.bottom() && o.y < bottom(); }
    bool operator==(const Rect&) const = default;
};

struct Node {
    double width = 56, height = 20;
    int group = -1; ///< index into Graph::groups; −1: none
    int row = -1;   ///< nodes of one group with the same row ≥ 0 share a rank and keep their order of input: a graph's pills. 0 is the
                    ///< first rank of the group, 1 the last
};

/// Ports are fractions of the node's width, from its left: 0.5 is the middle; negative: the layout spreads the ports of that side in the
/// order that crosses least.
struct Edge {
    int from = 0, to = 0;
    float fromPort = 0.5F, toPort = 0.5F;
    int net = -1;          ///< edges of one node with the same net ≥ 0 carry one value: they share a port and a trunk. −1: by fromPort
    bool feedback = false; ///< against the flow: it constrains no rank and is routed at the left of the innermost common group
    bool cut = false;      ///< a portal: constrains ranks, but is not routed (two stubs)
};

/// A box around nodes and other groups. What lies in it is contiguous: nothing else is placed inside its rectangle.
struct Group {
    int parent = -1;
    double head = 0;                                 ///< height of its title, above the content
    double left = 6, right = 6, top = 6, bottom = 6; ///< between content and border; rails of feedback edges come on top of `left`
    double minWidth = 0;
};

struct Options {
    double nodeGap = 12; ///< between neighbours of one rank
    double rankGap = 10;
    double edgeGap = 6;     ///< between parallel edge segments
    double railGap = 5;     ///< between the rails of feedback edges
    int longestEdge = 40;   ///< ranks; longer ones become portals
    int mostConsumers = 16; ///< a node with more out-edges from one port gets portals
    bool leftToRight = false;
};

struct Graph {
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<Group> groups; ///< parents before children
};

/// Orthogonal; empty if the edge is a portal. The first point lies on the border of `from`, the last on that of `to`.
struct Route {
    std::vector<Point> points;
    bool portal = false;
};

struct Layout {
    std::vector<Rect> nodes, groups; ///< in the order of Graph
    std::vector<Route> routes;
    std::vector<int> ranks; ///< of nodes, within their group; for tests and keyboard travel
    Rect bounds;
    int64_t passed = 0;    ///< places where an edge passes a rank without ending there ("dummy nodes")
    int64_t crossings = 0; ///< of edges between neighbouring ranks, in all groups together
};

/// Deterministic: the same input gives the same output; with integral sizes all coordinates are integral. Linear memory (places of edges
/// that pass a rank ≤ max(2 × edges, 4,096), by cutting the longest edges). Cycles that no
/// feedback mark explains are broken where a depth-first search from the inputs, in order, meets them. No recursion on graph depth.
/// none: `stop` was requested.
std::optional<Layout> layOut(const Graph& graph, const Options& options, std::stop_token stop = {});

} // namespace loopscope::layout
