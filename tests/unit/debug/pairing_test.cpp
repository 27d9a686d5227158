// Which operators of two models belong together: by name, by what stands between named neighbours, on every way through their calls.
#include "engine/debug/graph_diff/rewrites.h"
#include "engine/debug/graph_diff/structure_pairing.h"
#include "engine/debug/reference/operator_match.h"
#include "tests/unit/debug/inspect_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace loopscope::testing {
namespace {

/// A chain whose ends have names that files of both sides keep; what lies between was renamed, and one operator is new.
constexpr const char* kChain = R"(
graph main(x: f32[2]) {
  a = mul(x, x) : f32[2]
  b = neg(a) : f32[2]
  c = exp(b) : f32[2]
  d = add(c, x) : f32[2]
  return d
}
)";
constexpr const char* kRenamedChain = R"(
graph main(x: f32[2]) {
  a = mul(x, x) : f32[2]
  q = neg(a) : f32[2]
  extra = abs(q) : f32[2]
  r = exp(extra) : f32[2]
  d = add(r, x) : f32[2]
  return d
}
)";

std::vector<std::string> linesOf(const std::vector<OperatorMatch>& matches)
{
    std::vector<std::string> lines;
    for (const OperatorMatch& match : matches)
        lines.push_back(match.here + " " + (match.there.empty() ? "-" : match.there + " " + std::string(pairedByText(match.how))));
    return lines;
}

std::vector<std::string> matched(const Model& a, const Model& b)
{
    const ValuePairing pairing = ValuePairing::create(a, GraphId(0), b, GraphId(0));
    return linesOf(matchOperators(a, GraphId(0), b, GraphId(0), pairing));
}

TEST(Pairing, TakesWhatNamesLeaveOverByKindShapeAndOrder)
{
    const Model a = textModel(kChain), b = textModel(kRenamedChain);
    EXPECT_EQ(matched(a, b), (std::vector<std::string>{"main/mul#0 main/mul#0 name", "main/neg#1 main/neg#1 structure",
                                                       "main/exp#2 main/exp#3 structure", "main/add#3 main/add#4 name"}));
    const ValuePairing pairing = ValuePairing::create(a, GraphId(0), b, GraphId(0));
    EXPECT_EQ(pairing.summary().byStructure, 2);
    EXPECT_EQ(pairing.summary().how, "name");
    EXPECT_TRUE(pairing.summary().unpaired.empty());
    EXPECT_EQ(pairing.summary().unpairedThere, std::vector<std::string>{"main/extra"});
}

/// A layer that is called, as SavedModels have them, and what a converter makes of it: one operator, other names, no call.
constexpr const char* kCalledLayer = R"(
model tf
graph main(x: f32[2,3]) {
  w = Const() dtype=f32 value=f32[3,2] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] : f32[3,2]
  b = Const() dtype=f32 value=f32[2] [0.5, -0.5] : f32[2]
  net = PartitionedCall(x, w, b) Tin=[f32, f32, f32] Tout=[f32] f=@layer : (f32[2,2])
  return net
}
graph layer(x: f32[2,3], w: f32[3,2], b: f32[2]) {
  dense = MatMul(x, w) T=f32 transpose_a=false transpose_b=false : f32[2,2]
  shifted = BiasAdd(dense, b) T=f32 data_format="NHWC" : f32[2,2]
  clamped = Relu(shifted) T=f32 : f32[2,2]
  turned = Tanh(clamped) T=f32 : f32[2,2]
  return turned=turned
}
)";
constexpr const char* kFlatLayer = R"(
graph main(x: f32[2,3]) {
  w = const f32[2,3] [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]
  b = const f32[2] [0.5, -0.5]
  first = fully_connected(x, w, b) fused_activation_function=RELU : f32[2,2]
  last = tanh(first) : f32[2,2]
  return last
}
)";

/// The partner of the value of this name, and how many calls lead to it.
std::string partnerOf(const Model& a, const Model& b, GraphId graph, GraphId there, const std::string& id)
{
    const ValuePairing pairing = ValuePairing::create(a, GraphId(0), b, GraphId(0));
    const auto value = std::ranges::find(a.graph(graph).values, id, &Value::id);
    const auto place = static_cast<uint32_t>(value - a.graph(graph).values.begin());
    const ValuePairing::Partner* const partner = pairing.partner(graph, there, ValueId(place));
    if (partner == nullptr) return "none";
    return b.graph(partner->graph).value(partner->value).id + " behind " + std::to_string(partner->sites.size()) + " calls, by " +
           std::string(pairedByText(partner->how));
}

TEST(Pairing, OpensFunctionsOnEitherSideAndPairsWhatAFusedOperatorGives)
{
    const Model called = textModel(kCalledLayer), flat = textModel(kFlatLayer);
    EXPECT_EQ(partnerOf(called, flat, GraphId(1), GraphId(0), "dense"), "none"); // inside of the fused operator
    EXPECT_EQ(partnerOf(called, flat, GraphId(1), GraphId(0), "clamped"), "first behind 0 calls, by structure");
    EXPECT_EQ(partnerOf(called, flat, GraphId(1), GraphId(0), "turned"), "last behind 0 calls, by structure");
    EXPECT_EQ(partnerOf(flat, called, GraphId(0), GraphId(0), "first"), "clamped behind 1 calls, by structure");
    EXPECT_EQ(partnerOf(flat, called, GraphId(0), GraphId(0), "last"), "turned behind 1 calls, by structure");
    EXPECT_EQ(ValuePairing::create(flat, GraphId(0), called, GraphId(0)).summary().paired, 3);
}

// As SavedModels have it: another signature, which does not run here, calls the same function.
TEST(Pairing, FunctionsThatOtherRootsCallAreOpenedAllTheSame)
{
    const std::string other = "graph other(x: f32[2,3], w: f32[3,2], b: f32[2]) {\n"
                              "  again = PartitionedCall(x, w, b) Tin=[f32, f32, f32] Tout=[f32] f=@layer : (f32[2,2])\n"
                              "  return again=again\n}\n";
    const Model called = textModel((kCalledLayer + other).c_str()), flat = textModel(kFlatLayer);
    EXPECT_EQ(partnerOf(called, flat, GraphId(1), GraphId(0), "clamped"), "first behind 0 calls, by structure");
}

TEST(Pairing, RewritesAreWhatSeveralOperatorsBecame)
{
    const Model called = textModel(kCalledLayer), flat = textModel(kFlatLayer);
    const std::vector<GraphRewrite> rewrites = rewritesBetween(called, GraphId(0), flat, GraphId(0));
    ASSERT_EQ(rewrites.size(), 1U);
    ASSERT_EQ(rewrites[0].here.size(), 3U); // the product, the sum and what it is clamped by
    EXPECT_EQ(rewrites[0].here[0].graph, GraphId(1));
    EXPECT_EQ(called.graph(GraphId(1)).op(rewrites[0].here[0].op).name, "dense");
    ASSERT_EQ(rewrites[0].there.size(), 1U);
    EXPECT_EQ(flat.graph(GraphId(0)).op(rewrites[0].there[0].op).kind.name, "fully_connected");
    EXPECT_TRUE(rewritesBetween(flat, GraphId(0), flat, GraphId(0)).empty());
}

TEST(Pairing, LeavesAloneWhatIsAlikeByChance)
{
    const Model a = textModel(R"(
graph main(x: f32[2]) {
  p = neg(x) : f32[2]
  q = exp(p) : f32[2]
  r = abs(q) : f32[2]
  return r
}
)");
    const Model b = textModel(R"(
graph main(y: f32[2]) {
  s = sqrt(y) : f32[2]
  t = abs(s) : f32[2]
  u = sin(t) : f32[2]
  return u
}
)");
    EXPECT_EQ(matched(a, b), (std::vector<std::string>{"main/neg#0 -", "main/exp#1 -", "main/abs#2 -"}));
}

TEST(Pairing, AnotherShapeIsAnotherOperator)
{
    const Model a = textModel("graph main(x: f32[2]) {\n  p = neg(x) : f32[2]\n  return p\n}\n");
    const Model b = textModel("graph main(x: f32[3]) {\n  q = neg(x) : f32[3]\n  r = exp(q) : f32[3]\n  return r\n}\n");
    EXPECT_EQ(matched(a, b), std::vector<std::string>{"main/neg#0 -"});
}

TEST(Pairing, ANameOnAnotherShapeMeansSomethingElse)
{
    const Model a = textModel("graph main(x: f32[2]) {\n  layer = neg(x) : f32[2]\n  end = exp(layer) : f32[2]\n  return end\n}\n");
    const Model b = textModel(R"(
graph main(x: f32[2], w: f32[3]) {
  layer = abs(w) : f32[3]
  moved = neg(x) : f32[2]
  end = exp(moved) : f32[2]
  return end
}
)");
    EXPECT_EQ(matched(a, b), (std::vector<std::string>{"main/neg#0 main/neg#1 structure", "main/exp#1 main/exp#2 name"}));
}

TEST(Pairing, FollowsEveryWayThroughCalls)
{
    const Model model = textModel(kCountedCollatz);
    const std::vector<std::string> lines = matched(model, model);
    EXPECT_EQ(lines.front(), "main/while#0 main/while#0 address");
    EXPECT_NE(std::ranges::find(lines, "main/while#0:body/if#2:else/mul#0 main/while#0:body/if#2:else/mul#0 address"), lines.end());
    EXPECT_EQ(lines.size(), 1U + 1 + 5 + 1 + 2); // while, cond, body, half, triple
}

TEST(Pairing, TheLongestRiseSkipsWhatCrosses)
{
    EXPECT_EQ(longestRise({0, 5, 1, -1, 2, 9, 3}), (std::vector<size_t>{0, 2, 4, 6}));
    EXPECT_TRUE(longestRise({-1, -1}).empty());
    EXPECT_EQ(longestRise({4, 4, 4}).size(), 1U);
}

} // namespace
} // namespace loopscope::testing
