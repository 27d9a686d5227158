// The layout engine on graphs small enough to know, and on random ones by what must hold of any.
#include "tests/unit/viewer/layout/geometry_checks.h"
#include "viewer/layout/graphviz_export.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <sstream>
#include <stop_token>

namespace loopscope::layout {

namespace {

Graph chain(int count)
{
    Graph graph;
    graph.nodes.resize(static_cast<size_t>(count));
    for (int i = 1; i < count; ++i) graph.edges.push_back({.from = i - 1, .to = i});
    return graph;
}

/// A random graph: nested groups, mostly forward edges, some back and feedback.
Graph randomGraph(std::mt19937& random, int nodes)
{
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(std::max(n, 1))); };
    Graph graph;
    const int groups = below(6);
    for (int g = 0; g < groups; ++g) {
        Group group;
        group.parent = below(3) == 0 ? -1 : below(g + 1) - 1;
        group.head = 20;
        group.minWidth = below(2) * 200;
        graph.groups.push_back(group);
    }
    for (int n = 0; n < nodes; ++n) {
        Node node;
        node.width = 40 + below(120);
        node.height = 18 + below(3) * 8;
        node.group = below(3) == 0 ? -1 : below(groups + 1) - 1;
        if (below(12) == 0) node.row = below(2);
        graph.nodes.push_back(node);
    }
    const int edges = nodes + below(2 * nodes);
    for (int e = 0; e < edges; ++e) {
        int a = below(nodes), b = below(nodes);
        if (below(10) != 0 && a > b) std::swap(a, b);
        Edge edge{.from = a, .to = b};
        if (below(3) != 0) {
            edge.fromPort = edge.toPort = -1;
            edge.net = below(2);
        }
        edge.feedback = below(12) == 0;
        graph.edges.push_back(edge);
    }
    return graph;
}

} // namespace

TEST(Layout, ChainIsOneStraightLine)
{
    const Graph graph = chain(5);
    const auto layout = layOut(graph, {});
    ASSERT_TRUE(layout);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(layout->nodes[static_cast<size_t>(i)].x, 0);
        EXPECT_EQ(layout->ranks[static_cast<size_t>(i)], i);
    }
    for (const Route& route : layout->routes) EXPECT_EQ(route.points.size(), 2U);
    EXPECT_EQ(layout->bounds.height, 5 * 20 + 4 * 10);
}

TEST(Layout, AChainStaysStraightBesideWhatSkipsIt)
{
    // As features of several scales go into one node: 0 → … → 12, and 3, 6 and 9 go to the last one, too.
    Graph graph = chain(13);
    for (Node& node : graph.nodes) {
        node.width = 120;
        node.height = 20;
    }
    for (const int from : {3, 6, 9}) graph.edges.push_back({.from = from, .to = 12});
    const auto laid = layOut(graph, {});
    ASSERT_TRUE(laid);
    for (int node = 1; node < 12; ++node) EXPECT_EQ(laid->nodes[static_cast<size_t>(node)].center().x, laid->nodes[0].center().x) << node;
    EXPECT_LE(laid->bounds.width, 120 * 2.0); // lanes, no second column
}

TEST(Layout, RandomGraphsKeepTheRules)
{
    for (uint32_t seed = 1; seed <= 400; ++seed) {
        std::mt19937 random(seed);
        const Graph graph = randomGraph(random, 2 + static_cast<int>(seed % 60));
        Options options;
        options.leftToRight = seed % 5 == 0;
        const auto layout = layOut(graph, options);
        ASSERT_TRUE(layout);
        ASSERT_EQ(testing::problemOf(graph, *layout, options), "") << "seed " << seed;
        ASSERT_EQ(testing::linesThroughNodes(graph, *layout), 0) << "seed " << seed;
    }
}

TEST(Layout, SameInputSameOutput)
{
    std::mt19937 random(7);
    const Graph graph = randomGraph(random, 80);
    const auto a = layOut(graph, {}), b = layOut(graph, {});
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->nodes, b->nodes);
    EXPECT_EQ(a->groups, b->groups);
    for (size_t e = 0; e < a->routes.size(); ++e) EXPECT_EQ(a->routes[e].points, b->routes[e].points);
}

TEST(Layout, LongEdgesAndCrowdsArePortals)
{
    Graph graph = chain(60);
    graph.edges.push_back({.from = 0, .to = 40}); // 40 ranks: still drawn
    graph.edges.push_back({.from = 2, .to = 43});
    const size_t crowd = graph.edges.size();
    for (int k = 0; k < 17; ++k) graph.edges.push_back({.from = 50, .to = 51 + k % 9, .net = 5});
    const auto layout = layOut(graph, {});
    ASSERT_TRUE(layout);
    EXPECT_EQ(testing::problemOf(graph, *layout, {}), "");
    EXPECT_FALSE(layout->routes[59].portal);
    EXPECT_TRUE(layout->routes[60].portal);
    for (size_t e = crowd; e < graph.edges.size(); ++e) EXPECT_TRUE(layout->routes[e].portal);
    EXPECT_FALSE(layout->routes[50].portal); // another value of the same node
}

TEST(Layout, PlacesPassedAreBounded)
{
    // Every node consumes one 39 ranks above: 39 places each, far more than two per edge.
    Graph graph = chain(4000);
    for (int i = 39; i < 4000; ++i) graph.edges.push_back({.from = i - 39, .to = i, .fromPort = -1, .toPort = -1, .net = 0});
    const auto layout = layOut(graph, {});
    ASSERT_TRUE(layout);
    EXPECT_LE(layout->passed, 2 * static_cast<int64_t>(graph.edges.size()));
    EXPECT_EQ(testing::problemOf(graph, *layout, {}), "");
}

TEST(Layout, FeedbackRunsAtTheLeftOfItsGroup)
{
    Graph graph = chain(4);
    graph.groups.push_back({.head = 24});
    for (Node& node : graph.nodes) node.group = 0;
    graph.nodes.front().row = 0;
    graph.nodes.back().row = 1;
    graph.edges.push_back({.from = 3, .to = 0, .fromPort = 0.25F, .toPort = 0.25F, .feedback = true});
    const auto layout = layOut(graph, {});
    ASSERT_TRUE(layout);
    EXPECT_EQ(testing::problemOf(graph, *layout, {}), "");
    double leftmost = 1e9;
    for (const Point& p : layout->routes.back().points) leftmost = std::min(leftmost, p.x);
    EXPECT_GT(leftmost, layout->groups[0].x);
    for (const Rect& node : layout->nodes) EXPECT_LT(leftmost, node.x);
    EXPECT_EQ(layout->ranks, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Layout, RowsKeepTheOrderOfInput)
{
    // Crossed lines between the pills and their consumers: the pills stay as they are.
    Graph graph;
    for (int i = 0; i < 8; ++i) graph.nodes.push_back({.row = i < 4 ? 0 : -1});
    for (int i = 0; i < 4; ++i) graph.edges.push_back({.from = i, .to = 7 - i});
    const auto layout = layOut(graph, {});
    ASSERT_TRUE(layout);
    for (size_t i = 1; i < 4; ++i) {
        EXPECT_GT(layout->nodes[i].x, layout->nodes[i - 1].x);
        EXPECT_EQ(layout->nodes[i].y, layout->nodes[0].y);
    }
    EXPECT_EQ(layout->crossings, 0);
}

TEST(Layout, GrowingAGroupKeepsTheOrderAroundIt)
{
    for (uint32_t seed = 1; seed <= 60; ++seed) {
        std::mt19937 random(seed);
        Graph folded;
        for (int i = 0; i < 30; ++i) {
            folded.nodes.push_back({});
            for (int k = 0; k < 2 && i > 0; ++k)
                folded.edges.push_back(
                    {.from = static_cast<int>(random() % static_cast<uint32_t>(i)), .to = i, .fromPort = -1, .toPort = -1, .net = 0});
        }
        // As scenes do: a value is drawn once into a box. Node 12 becomes a group of three in sequence.
        const auto same = std::unique(folded.edges.begin(), folded.edges.end(),
                                      [](const Edge& a, const Edge& b) { return a.from == b.from && a.to == b.to; });
        folded.edges.erase(same, folded.edges.end());
        Graph opened = folded;
        opened.groups.push_back({.head = 20});
        opened.nodes[12].group = 0;
        opened.nodes.push_back({.group = 0});
        opened.nodes.push_back({.group = 0});
        for (Edge& edge : opened.edges)
            if (edge.from == 12) edge.from = 31;
        opened.edges.push_back({.from = 12, .to = 30, .fromPort = -1, .toPort = -1, .net = 0});
        opened.edges.push_back({.from = 30, .to = 31, .fromPort = -1, .toPort = -1, .net = 0});
        const auto before = layOut(folded, {}), after = layOut(opened, {});
        ASSERT_TRUE(before && after);
        for (size_t a = 0; a < 30; ++a) {
            if (a == 12) continue;
            EXPECT_EQ(before->ranks[a], after->ranks[a]);
            EXPECT_TRUE(before->nodes[a].y >= before->nodes[12].y || after->nodes[a].y <= after->groups[0].y);
            for (size_t b = 0; b < 30; ++b)
                if (b != 12 && before->ranks[a] == before->ranks[b] && before->nodes[a].x < before->nodes[b].x) {
                    EXPECT_LT(after->nodes[a].x, after->nodes[b].x) << "seed " << seed;
                }
        }
    }
}

TEST(Layout, StopsWhenAsked)
{
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(layOut(chain(10), {}, stop.get_token()));
}

namespace {

using Line = std::vector<Point>;

bool cross(Point a, Point b, Point c, Point d)
{
    const auto side = [](Point p, Point q, Point r) {
        const double v = (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x);
        return v > 1e-9 ? 1 : v < -1e-9 ? -1 : 0;
    };
    return side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
}

/// Pairs of lines without a common node that cross, each counted once.
int64_t crossingsOf(const std::vector<std::pair<Edge, Line>>& lines)
{
    int64_t count = 0;
    for (size_t i = 0; i < lines.size(); ++i)
        for (size_t k = i + 1; k < lines.size(); ++k) {
            const Edge &a = lines[i].first, &b = lines[k].first;
            if (a.from == b.from || a.to == b.to || a.from == b.to || a.to == b.from) continue;
            bool met = false;
            for (size_t s = 1; s < lines[i].second.size() && !met; ++s)
                for (size_t t = 1; t < lines[k].second.size() && !met; ++t)
                    met = cross(lines[i].second[s - 1], lines[i].second[s], lines[k].second[t - 1], lines[k].second[t]);
            count += met ? 1 : 0;
        }
    return count;
}

/// The same graph laid out by Graphviz: its splines as lines of many pieces.
std::vector<std::pair<Edge, Line>> linesOfDot(const Graph& graph)
{
    std::string text = "digraph g { node [shape=box fixedsize=true width=0.78 height=0.28 label=\"\"]; edge [arrowhead=none];\n";
    for (size_t n = 0; n < graph.nodes.size(); ++n) text += "n" + std::to_string(n) + ";";
    for (const Edge& edge : graph.edges) text += "n" + std::to_string(edge.from) + "->n" + std::to_string(edge.to) + ";";
    const GraphvizOutput output = runGraphviz(text + "}", "dot", "plain");
    EXPECT_EQ(output.error, "");
    std::vector<std::pair<Edge, Line>> lines;
    std::istringstream in(output.data);
    for (std::string row; std::getline(in, row);) {
        std::istringstream words(row);
        std::string kind, from, to;
        size_t count = 0;
        words >> kind;
        if (kind != "edge") continue;
        words >> from >> to >> count;
        std::vector<Point> control(count);
        for (Point& p : control) words >> p.x >> p.y;
        Line line{control.front()};
        for (size_t b = 0; b + 3 < control.size(); b += 3)
            for (int k = 1; k <= 8; ++k) {
                const double t = k / 8.0, u = 1 - t;
                const auto mix = [&](double p0, double p1, double p2, double p3) {
                    return u * u * u * p0 + 3 * u * u * t * p1 + 3 * u * t * t * p2 + t * t * t * p3;
                };
                line.push_back({mix(control[b].x, control[b + 1].x, control[b + 2].x, control[b + 3].x),
                                mix(control[b].y, control[b + 1].y, control[b + 2].y, control[b + 3].y)});
            }
        lines.push_back({Edge{.from = std::stoi(from.substr(1)), .to = std::stoi(to.substr(1))}, std::move(line)});
    }
    return lines;
}

} // namespace

TEST(Layout, CrossesAboutAsLittleAsGraphviz)
{
    std::vector<double> ratios;
    for (uint32_t seed = 1; seed <= 40; ++seed) {
        std::mt19937 random(seed);
        Graph graph;
        const int nodes = 20 + static_cast<int>(seed);
        graph.nodes.resize(static_cast<size_t>(nodes));
        for (int i = 1; i < nodes; ++i) // as models are: mostly near operands, some from far
            for (int k = 0; k < 1 + static_cast<int>(random() % 2); ++k) {
                const int reach = random() % 4 == 0 ? i : std::min(i, 6);
                graph.edges.push_back({.from = i - 1 - static_cast<int>(random() % static_cast<uint32_t>(reach)),
                                       .to = i,
                                       .fromPort = -1,
                                       .toPort = -1,
                                       .net = static_cast<int>(graph.edges.size())});
            }
        const auto layout = layOut(graph, {});
        ASSERT_TRUE(layout);
        std::vector<std::pair<Edge, Line>> ours;
        for (size_t e = 0; e < graph.edges.size(); ++e) ours.emplace_back(graph.edges[e], layout->routes[e].points);
        const int64_t mine = crossingsOf(ours), dot = crossingsOf(linesOfDot(graph));
        ratios.push_back(static_cast<double>(mine + 1) / static_cast<double>(dot + 1));
    }
    std::sort(ratios.begin(), ratios.end());
    RecordProperty("median", std::to_string(ratios[ratios.size() / 2]));
    std::printf("crossings against dot: median %.2f, best %.2f, worst %.2f\n", ratios[ratios.size() / 2], ratios.front(), ratios.back());
    EXPECT_LE(ratios[ratios.size() / 2], 1.3);
}

} // namespace loopscope::layout
