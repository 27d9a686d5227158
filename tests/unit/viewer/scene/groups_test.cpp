// Which operators fold together: scopes in names, what is left of them, and segments where names say nothing.
#include "viewer/scene/op_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace loopscope::viewer::testing {
namespace {

/// A graph of operators with one result each, named and shaped as asked; the first input is the graph's.
class GraphMaker {
public:
    GraphMaker() { m_last = value("x", {1, 64, 64, 8}); }

    /// An operator that reads `inputs` (of operators), or the one before it.
    int add(const std::string& name, std::vector<int> inputs = {}, int64_t extent = 64)
    {
        Operator op;
        op.kind = {"tfl", "relu"};
        if (inputs.empty()) op.inputs = {m_last};
        for (const int input : inputs) op.inputs.push_back(graph.operators[static_cast<size_t>(input)].results.front());
        m_last = value(name, {1, extent, extent, 8});
        Value& made = graph.values.back();
        made.role = ValueRole::result;
        made.producer = OperatorId(static_cast<int64_t>(graph.operators.size()));
        op.results = {m_last};
        graph.operators.push_back(std::move(op));
        return static_cast<int>(graph.operators.size()) - 1;
    }
    OpGroups groups() const
    {
        OpGroups made;
        addNameGroups(graph, made);
        return made;
    }
    Graph graph;

private:
    ValueId value(const std::string& name, std::initializer_list<int64_t> shape)
    {
        Value made;
        made.id = "v" + std::to_string(graph.values.size());
        made.name = name;
        made.type = TensorType(DType::f32, Shape(shape));
        made.role = ValueRole::input;
        graph.values.push_back(std::move(made));
        return ValueId(static_cast<int64_t>(graph.values.size()) - 1);
    }
    ValueId m_last;
};

/// The group of the top level that holds an operator; −1 − operator: it stands alone.
int boxOf(const OpGroups& groups, int op)
{
    int box = -1 - op;
    for (int g = groups.groupOf[static_cast<size_t>(op)]; g >= 0; g = groups.groups[static_cast<size_t>(g)].parent) box = g;
    return box;
}

std::set<int> boxesOf(const Graph& graph, const OpGroups& groups)
{
    std::set<int> boxes;
    for (size_t o = 0; o < graph.operators.size(); ++o) boxes.insert(boxOf(groups, static_cast<int>(o)));
    return boxes;
}

std::string nameOf(const OpGroups& groups, int op)
{
    const int box = boxOf(groups, op);
    return box < 0 ? "" : groups.groups[static_cast<size_t>(box)].name;
}

/// Data flows one way between the boxes of the top level, and parents stand before children.
void expectSound(const Graph& graph, const OpGroups& groups)
{
    for (size_t g = 0; g < groups.groups.size(); ++g) {
        EXPECT_LT(groups.groups[g].parent, static_cast<int>(g));
        EXPECT_GE(groups.groups[g].members.size(), 2U) << groups.groups[g].name;
    }
    std::map<int, std::set<int>> before;
    for (size_t o = 0; o < graph.operators.size(); ++o)
        for (const ValueId input : graph.operators[o].inputs)
            if (const OperatorId from = graph.value(input).producer; from.valid())
                if (boxOf(groups, from.index) != boxOf(groups, static_cast<int>(o)))
                    before[boxOf(groups, static_cast<int>(o))].insert(boxOf(groups, from.index));
    std::set<int> done;
    const std::set<int> boxes = boxesOf(graph, groups);
    for (bool more = true; more;) {
        more = false;
        for (const int box : boxes)
            if (!done.contains(box) && std::ranges::all_of(before[box], [&](int from) { return done.contains(from); }))
                more = done.insert(box).second;
    }
    EXPECT_EQ(done.size(), boxes.size()) << "a cycle";
}

TEST(Groups, WithoutNamesAPageOfSegments)
{
    for (const int count : {100, 450, 2000}) {
        GraphMaker maker;
        for (int i = 0; i < count; ++i) maker.add("");
        const OpGroups groups = maker.groups();
        const size_t boxes = boxesOf(maker.graph, groups).size();
        EXPECT_GE(boxes, 8U) << count;
        EXPECT_LE(boxes, 21U) << count;
        expectSound(maker.graph, groups);
        EXPECT_TRUE(nameOf(groups, 0).starts_with("#0 … #")) << nameOf(groups, 0);
        // What is opened is a page again.
        std::map<int, size_t> inside;
        for (const OpGroup& group : groups.groups) ++inside[group.parent];
        for (size_t o = 0; o < groups.groupOf.size(); ++o) ++inside[groups.groupOf[o]];
        for (const auto& [group, items] : inside) EXPECT_LE(items, 32U) << count;
    }
}

TEST(Groups, SegmentsEndWhereTheSizeChanges)
{
    GraphMaker maker;
    for (int i = 0; i < 100; ++i) maker.add("", {}, i < 47 ? 64 : 32);
    const OpGroups groups = maker.groups();
    EXPECT_NE(boxOf(groups, 46), boxOf(groups, 47));
}

TEST(Groups, SegmentsDoNotCutThroughBranches)
{
    // Blocks of six: a fan of four between two. A cut inside of one would be crossed by four values.
    GraphMaker maker;
    int last = maker.add("");
    for (int b = 0; b < 20; ++b) {
        std::vector<int> fan;
        for (int i = 0; i < 4; ++i) fan.push_back(maker.add("", {last}));
        last = maker.add("", fan);
    }
    const OpGroups groups = maker.groups();
    expectSound(maker.graph, groups);
    for (int b = 0; b < 20; ++b)
        for (int i = 2; i <= 4; ++i) EXPECT_EQ(boxOf(groups, 5 * b + i), boxOf(groups, 5 * b + 1)) << b;
}

TEST(Groups, WhatADissolvedScopeHeldBesideOthersHasItsName)
{
    GraphMaker maker;
    std::vector<int> ends;
    for (int b = 0; b < 16; ++b) {
        for (const char* layer : {"expand/Relu", "depthwise/Relu", "project/Conv", "add/add"})
            maker.add("net/model/block_" + std::to_string(b) + "_" + layer);
        ends.push_back(static_cast<int>(maker.graph.operators.size()) - 1);
    }
    int last = ends.back();
    for (int level = 0; level < 3; ++level) {
        last = maker.add("net/up_sampling2d_" + std::to_string(level) + "/Resize", {last});
        last = maker.add("net/re_lu_" + std::to_string(level) + "/Relu", {last, ends[static_cast<size_t>(level)]});
    }
    const OpGroups groups = maker.groups();
    EXPECT_EQ(nameOf(groups, 0), "block_0");
    EXPECT_EQ(nameOf(groups, last), "net");
    EXPECT_EQ(boxOf(groups, last), boxOf(groups, last - 5)); // layers of one kind are no scope of their own
    EXPECT_EQ(boxesOf(maker.graph, groups).size(), 17U);
    expectSound(maker.graph, groups);
}

TEST(Groups, TooManyNamedGroupsShareSegments)
{
    GraphMaker maker;
    for (int b = 0; b < 60; ++b)
        for (const char* layer : {"conv/Conv", "relu/Relu"}) maker.add("block_" + std::to_string(b) + "_" + layer);
    const OpGroups groups = maker.groups();
    EXPECT_LE(boxesOf(maker.graph, groups).size(), 20U);
    EXPECT_TRUE(nameOf(groups, 0).starts_with("block_0 … block_")) << nameOf(groups, 0);
    expectSound(maker.graph, groups);
}

} // namespace
} // namespace loopscope::viewer::testing
