// Differences by the scopes of names.
#include "engine/debug/graph_diff/scopes.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

std::string textOf(const std::vector<ScopeSummary>& lines)
{
    std::string text;
    for (const ScopeSummary& line : lines)
        text += std::string(static_cast<size_t>(line.depth), '>') + line.scope + " " + std::to_string(line.operators) + "/" +
                std::to_string(line.differing) + "/" + std::to_string(line.onlyHere) + "/" + std::to_string(line.onlyThere) + "\n";
    return text;
}

TEST(ScopesTest, showsWhatIsInScopesThatDiffer)
{
    const std::vector<ScopedOperator> operators = {
        {"model/block_1/conv/Conv2D", ScopeState::alike},   {"model/block_1/conv/BiasAdd", ScopeState::alike},
        {"model/block_2/conv/Conv2D", ScopeState::differs}, {"model/block_2/relu/Relu", ScopeState::alike},
        {"model/block_2/norm/mul", ScopeState::onlyHere},   {"model/head/MatMul", ScopeState::onlyThere},
    };
    EXPECT_EQ(textOf(summarizeScopes(operators)), "model 6/1/1/1\n"
                                                  ">block_1/conv 2/0/0/0\n"
                                                  ">block_2 3/1/1/0\n"
                                                  ">>conv 1/1/0/0\n"
                                                  ">>relu 1/0/0/0\n"
                                                  ">>norm 1/0/1/0\n"
                                                  ">head 1/0/0/1\n");
}

TEST(ScopesTest, joinsScopesThatHoldOneScopeAndNeighboursThatAreAlike)
{
    const std::vector<ScopedOperator> operators = {
        {"outer/model/a/x", ScopeState::alike},   {"outer/model/b/x", ScopeState::alike}, {"outer/model/c/x", ScopeState::alike},
        {"outer/model/d/x", ScopeState::differs}, {"outer/model/e/x", ScopeState::alike},
    };
    EXPECT_EQ(textOf(summarizeScopes(operators)), "outer/model 5/1/0/0\n"
                                                  ">a … c 3/0/0/0\n"
                                                  ">d 1/1/0/0\n"
                                                  ">e 1/0/0/0\n");
}

TEST(ScopesTest, namesWithoutScopesHaveNone)
{
    const std::vector<ScopedOperator> operators = {{"a", ScopeState::differs}, {"b", ScopeState::alike}};
    EXPECT_TRUE(summarizeScopes(operators).empty());
    EXPECT_TRUE(summarizeScopes({}).empty());
}

TEST(ScopesTest, aNameIsWhatItIsBehindOpenedCalls)
{
    Graph graph;
    Operator op;
    op.name = "StatefulPartitionedCall_1/PartitionedCall/dense/MatMul";
    EXPECT_EQ(scopedName(graph, op), "dense/MatMul");
    op.name = "PartitionedCall";
    EXPECT_EQ(scopedName(graph, op), "PartitionedCall");
}

} // namespace
} // namespace loopscope
