// Shapes that nobody states: through loops, branches and functions, and what gradients make of them.
#include "engine/transform/gradient/known_shapes.h"

#include "converters/lsir/lsir.h"
#include "engine/transform/gradient/model_gradient.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

namespace loopscope {
namespace {

Model modelOf(const std::string& text)
{
    Result<Model> model = modelFromText("model tf\n" + text, "test");
    EXPECT_TRUE(model.ok()) << model.error().message();
    return model.ok() ? std::move(*model) : Model();
}

/// What is known of the graph's first output.
std::string refined(const std::string& text)
{
    Model model = modelOf(text);
    Graph& main = model.graph(GraphId(0));
    KnownShapes(model).refine(main);
    const Shape& shape = main.value(main.outputs[0].value).type.shape;
    return shape.hasRank() ? toString(shape) : "?";
}

std::string loopOf(const std::string& body)
{
    return R"(
graph main(x: f32[1,3], n: i32[]) {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  w = While(zero, n, x) T=[i32, i32, f32] body=@body cond=@cond : (i32, i32, f32)
  y = Identity(w:2) T=f32 : f32
  return y=y
}
graph cond(i: i32, n: i32, x: f32) {
  c = Less(i, n) T=i32 : bool
  return c=c
}
graph body(i: i32, n: i32, x: f32) {
  one = Const() dtype=i32 value=i32[] 1 : i32
  next = AddV2(i, one) T=i32 : i32
)" + body + R"(
  return next=next, n=n, x=r
}
)";
}

constexpr const char* kScaled = "  k = Const() dtype=f32 value=f32[3] [0.5, 0.25, 2.0] : f32\n  r = Mul(x, k) T=f32 : f32";
constexpr const char* kGrowing = "  k = Const() dtype=f32 value=f32[2,1] [0.5, 2.0] : f32\n  r = Mul(x, k) T=f32 : f32";

TEST(KnownShapes, ofWhatALoopKeeps) { EXPECT_EQ(refined(loopOf(kScaled)), "[1,3]"); }

TEST(KnownShapes, loseTheDimensionThatALoopChanges) { EXPECT_EQ(refined(loopOf(kGrowing)), "[?,3]"); }

TEST(KnownShapes, ofBranchesAreWhatBothAgreeOn)
{
    EXPECT_EQ(refined(R"(
graph main(p: bool[], x: f32[1,3]) {
  y = If(p, x) Tcond=bool Tin=[f32] Tout=[f32] then_branch=@all else_branch=@rows : f32
  return y=y
}
graph all(x: f32) {
  r = Neg(x) T=f32 : f32
  return r=r
}
graph rows(x: f32) {
  k = Const() dtype=f32 value=f32[2,1] [0.5, 2.0] : f32
  r = Mul(x, k) T=f32 : f32
  return r=r
}
)"),
              "[?,3]");
}

TEST(KnownShapes, ofFunctionsThatCallThemselvesEnd)
{
    EXPECT_EQ(refined(R"(
graph main(x: f32[2]) {
  y = PartitionedCall(x) Tin=[f32] Tout=[f32] f=@f : f32
  return y=y
}
graph f(x: f32) {
  a = PartitionedCall(x) Tin=[f32] Tout=[f32] f=@f : f32
  b = PartitionedCall(a) Tin=[f32] Tout=[f32] f=@f : f32
  return b=b
}
)"),
              "?");
}

/// How many operators of a kind the gradient of the first output by x has.
size_t countIn(const std::string& text, const std::string& kind)
{
    Model model = modelOf(text);
    const Graph& main = model.graph(GraphId(0));
    GradientRequest request;
    request.graph = GraphId(0);
    request.of = {main.outputs[0].value};
    request.wrt = {main.findValue("x")};
    const Result<ModelGradient> made = addGradients(model, request);
    EXPECT_TRUE(made.ok()) << made.error().message();
    size_t count = 0;
    for (const Graph& graph : model.graphs)
        count += static_cast<size_t>(std::ranges::count_if(graph.operators, [&](const Operator& op) { return op.kind.name == kind; }));
    return count;
}

TEST(KnownShapes, leaveNothingToFindOutInEachIteration)
{
    EXPECT_EQ(countIn(loopOf(kScaled), "BroadcastGradientArgs"), 0U);
    EXPECT_EQ(countIn(loopOf(kScaled), "Shape"), 0U);
    EXPECT_EQ(countIn(loopOf(kGrowing), "BroadcastGradientArgs"), 1U);
}

} // namespace
} // namespace loopscope
