// The layout engine on graphs small enough to know, and on random ones by what must hold of any.
#include "tests/unit/viewer/layout/geometry_checks.h"

#include <gtest/gtest.h>

#include <random>

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

} // namespace loopscope::layout
