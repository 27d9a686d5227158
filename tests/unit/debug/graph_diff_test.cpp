// The diff of graphs: what it finds of known edits, and that it says so in the words of its interface.
#include "tests/unit/debug/labelled_pairs.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

using namespace testing_pairs;

TEST(GraphDiff, matches_operators_of_labelled_pairs)
{
    int64_t right = 0, all = 0;
    const std::vector<LabelledPair> pairs = labelledPairs();
    EXPECT_GE(pairs.size(), 30U);
    for (const LabelledPair& pair : pairs) {
        const auto [own, of] = score(pair);
        EXPECT_GE(own * 100, of * 80) << pair.name << ": " << own << " of " << of;
        right += own;
        all += of;
    }
    EXPECT_GE(right * 100, all * 97) << right << " of " << all;
}

TEST(GraphDiff, says_what_was_removed_and_added)
{
    Nodes before = network(20, 7), after = before;
    erase(after, 5);
    const GraphDiff diff = diffGraphs(modelOf(before), GraphId(0), modelOf(after), GraphId(0));
    EXPECT_EQ(diff.onlyHere, 1);
    EXPECT_EQ(diff.onlyThere, 0);
    EXPECT_EQ(diff.matched, 19);
}

TEST(GraphDiff, tells_what_was_fused_into_one)
{
    const Nodes before = {{"conv_2d", {-1}, {{"stride_h", int64_t{1}}}, 3, {0}, "c"}, {"relu", {0}, {}, 0, {1}, "r"}};
    const Nodes after = {{"conv_2d", {-1}, {{"act", Word{"RELU"}}, {"stride_h", int64_t{1}}}, 3, {0, 1}, "r"}};
    const GraphDiff diff = diffGraphs(modelOf(before), GraphId(0), modelOf(after), GraphId(0));
    ASSERT_EQ(diff.groups.size(), 1U);
    EXPECT_EQ(diff.groups[0].here.size(), 2U);
    EXPECT_EQ(diff.groups[0].there.size(), 1U);
}

/// Two products of one input: only names tell which is which.
Model twoProducts(Dialect dialect, const std::vector<std::string>& names, uint32_t weights)
{
    Nodes nodes;
    for (size_t k = 0; k < names.size(); ++k) nodes.push_back({k < 2 ? "matmul" : "add", {-1}, {}, k < 2 ? weights : 0U, {}, names[k]});
    nodes[2].inputs = {0, 1};
    return modelOf(nodes, dialect);
}

TEST(GraphDiff, names_are_those_behind_opened_calls_and_without_a_converters_count)
{
    const Model here = twoProducts(Dialect::tf, {"PartitionedCall/q/MatMul", "PartitionedCall/k/MatMul", "PartitionedCall/add"}, 3);
    Model there = twoProducts(Dialect::tfl, {"k/MatMul1", "q/MatMul1", "sum"}, 5);
    for (Value& value : there.graphs[0].values) // a constant has the name, so that its reader's is counted up
        if (value.id.ends_with("1_w")) value.name = value.id.substr(0, value.id.size() - 3);
    const GraphDiff diff = diffGraphs(here, GraphId(0), there, GraphId(0));
    const auto nameOf = [](const Model& model, OperatorId op) {
        return model.graphs[0].value(model.graphs[0].op(op).results[0]).displayName();
    };
    int pairs = 0;
    for (const MatchedGroup& group : diff.groups) {
        if (group.here.empty() || group.there.empty() || group.how != MatchedBy::name) continue;
        EXPECT_EQ("PartitionedCall/" + nameOf(there, group.there[0]), nameOf(here, group.here[0]) + "1");
        ++pairs;
    }
    EXPECT_EQ(pairs, 2);
}

TEST(GraphDiff, knows_kinds_of_other_dialects)
{
    EXPECT_EQ(kindAcrossDialects({"tf", "DepthwiseConv2dNative"}), kindAcrossDialects({"tfl", "depthwise_conv_2d"}));
    EXPECT_EQ(kindAcrossDialects({"tf", "Sigmoid"}), kindAcrossDialects({"tfl", "logistic"}));
    EXPECT_NE(kindAcrossDialects({"custom", "Relu"}), kindAcrossDialects({"tfl", "relu"}));
}

} // namespace
} // namespace loopscope
