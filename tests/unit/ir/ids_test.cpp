// Rules 1 to 5 of ids (docs/text_ir.md, "Ids and names"), one test each, on graphs made of names alone.
#include "engine/ir/ids.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

using testing::ElementsAre;

/// Ids of values with these names; the first `inputs` are graph inputs, those in `results` are written by one operator each, in order.
std::vector<std::string> idsOf(const std::vector<std::string>& names, const std::string& graphName = "main", size_t inputs = 0,
                               const std::vector<int>& results = {})
{
    Model model;
    Graph& graph = model.graphs.emplace_back();
    graph.name = graphName;
    for (const std::string& name : names) graph.values.emplace_back().name = name;
    for (size_t i = 0; i < inputs; ++i) graph.inputs.emplace_back(static_cast<int64_t>(i));
    for (const int result : results) graph.operators.emplace_back().results.emplace_back(result);
    assignIds(model);
    std::vector<std::string> ids;
    for (const Value& value : graph.values) ids.push_back(value.id);
    return ids;
}

TEST(Ids, DropsJoinedNamesAndMarks)
{
    EXPECT_THAT(idsOf({"a/Relu;a/BatchNorm;a/Conv2D"}), ElementsAre("Relu"));
    EXPECT_THAT(idsOf({"serving_default_x:0"}), ElementsAre("x"));
    EXPECT_THAT(idsOf({"StatefulPartitionedCall:0", "StatefulPartitionedCall:1"}),
                ElementsAre("StatefulPartitionedCall", "StatefulPartitionedCall_1"));
    EXPECT_THAT(idsOf({"while_body_arg3", "while_bodyarg4"}, "while_body"), ElementsAre("arg3", "while_bodyarg4"));
}

TEST(Ids, ReplacesOtherCharacters)
{
    EXPECT_THAT(idsOf({"a b<c>"}), ElementsAre("a_b_c_"));
    EXPECT_THAT(idsOf({"m/conv-2d.x"}), ElementsAre("conv_2d.x"));
}

TEST(Ids, TakesTheShortestTellingRunOfParts)
{
    EXPECT_THAT(idsOf({"m/a/w", "m/b/w", "m/a/x"}), ElementsAre("a.w", "b.w", "x"));
    // Values that share the whole path do not lengthen each other's run.
    EXPECT_THAT(idsOf({"m/a/w", "m/a/w"}), ElementsAre("w", "w_1"));
    // A name that is the end of another needs no more than itself; the other needs one part more.
    EXPECT_THAT(idsOf({"w", "a/w"}), ElementsAre("w", "a.w"));
}

TEST(Ids, KeepsFirstAndLastOfLongRuns)
{
    EXPECT_THAT(idsOf({"m/a/s/w", "m/b/s/w"}), ElementsAre("a.w", "b.w"));
    // "a.w" would be the short candidate of two values, so both keep the run.
    EXPECT_THAT(idsOf({"m/a/s/w", "m/a/t/w", "m/b/s/w", "m/b/t/w"}), ElementsAre("a.s.w", "a.t.w", "b.s.w", "b.t.w"));
}

TEST(Ids, TrimsAndNumbersAnonymousValues)
{
    EXPECT_THAT(idsOf({".x.", "3x", "", "_", "é"}), ElementsAre("x", "_3x", "t2", "t3", "__"));
    EXPECT_EQ(idsOf({std::string(50, 'a')}).front(), std::string(40, 'a'));
}

TEST(Ids, DealsPlainIdsToInputsAndResultsFirst)
{
    // 0 is a bias with the name of the result 2; 1 is the graph input.
    EXPECT_THAT(idsOf({"c/BiasAdd;x", "c/BiasAdd;z", "c/BiasAdd;y"}, "main", 0, {2}), ElementsAre("BiasAdd_1", "BiasAdd_2", "BiasAdd"));
    EXPECT_THAT(idsOf({"x", "x", "x_1"}), ElementsAre("x", "x_1", "x_1_1"));
}

TEST(Ids, ClearsNamesThatSayTheId)
{
    Model model;
    Graph& graph = model.graphs.emplace_back();
    graph.name = "main";
    graph.values.emplace_back().name = "plain";
    graph.values.emplace_back().name = "a/other";
    assignIds(model);
    EXPECT_EQ(graph.values[0].name, "");
    EXPECT_EQ(graph.values[1].name, "a/other");
    EXPECT_EQ(graph.name, "");
}

TEST(Ids, NamesGraphs)
{
    Model model;
    for (const char* name : {"", "", "a/b/body", "x/body", "0f", "<lambda>"}) model.graphs.emplace_back().name = name;
    assignIds(model);
    std::vector<std::string> ids;
    for (const Graph& graph : model.graphs) ids.push_back(graph.id);
    EXPECT_THAT(ids, ElementsAre("main", "graph1", "body", "body_1", "_0f", "_lambda_"));
}

TEST(Ids, EscapesAddressNames)
{
    EXPECT_EQ(escapeAddressName("while/add-1.x_", true), "while/add-1.x_");
    EXPECT_EQ(escapeAddressName("my frame/x", false), "my%20frame%2Fx");
    EXPECT_EQ(escapeAddressName("a:b@c#d%", true), "a%3Ab%40c%23d%25");
}

} // namespace
} // namespace loopscope
