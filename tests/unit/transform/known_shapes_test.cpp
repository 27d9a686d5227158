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

/// What is known of y, made of x [2,6,4].
std::string madeOf(const std::string& operators) { return refined("graph main(x: f32[2,6,4]) {\n" + operators + "\n  return y=y\n}\n"); }

std::string constant(const std::string& name, const std::string& value)
{
    return "  " + name + " = Const() dtype=i32 value=" + value + " : i32\n";
}

TEST(KnownShapes, ofWhatOperatorsMove)
{
    EXPECT_EQ(madeOf(constant("p", "i32[3] [2, 0, 1]") + "  y = Transpose(x, p) T=f32 Tperm=i32 : f32"), "[4,2,6]");
    EXPECT_EQ(madeOf(constant("p", "i32[3] [2, 0, 7]") + "  y = Transpose(x, p) T=f32 Tperm=i32 : f32"), "?");
    EXPECT_EQ(madeOf("  y = Pack(x, x) N=2 T=f32 axis=-1 : f32"), "[2,6,4,2]");
    EXPECT_EQ(madeOf("  y = Unpack(x) T=f32 axis=0 num=2 : (f32, f32)"), "[6,4]");
    EXPECT_EQ(madeOf(constant("a", "i32[] 1") + "  y = Split(a, x) T=f32 num_split=3 : (f32, f32, f32)"), "[2,2,4]");
    EXPECT_EQ(madeOf(constant("a", "i32[] -2") + "  y = ConcatV2(x, x, a) N=2 T=f32 Tidx=i32 : f32"), "[2,12,4]");
    EXPECT_EQ(madeOf(constant("a", "i32[] -1") + "  y = ExpandDims(x, a) T=f32 Tdim=i32 : f32"), "[2,6,4,1]");
    EXPECT_EQ(madeOf(constant("s", "i32[2] [-1, 8]") + "  y = Reshape(x, s) T=f32 Tshape=i32 : f32"), "[6,8]");
    EXPECT_EQ(madeOf(constant("s", "i32[2] [-1, 7]") + "  y = Reshape(x, s) T=f32 Tshape=i32 : f32"), "[?,7]");
    EXPECT_EQ(madeOf(constant("s", "i32[4] [2147483647, 2147483647, 2147483647, -1]") + "  y = Reshape(x, s) T=f32 Tshape=i32 : f32"),
              "[2147483647,2147483647,2147483647,?]");
    EXPECT_EQ(madeOf(constant("a", "i32[1] [1]") + "  y = Mean(x, a) T=f32 Tidx=i32 keep_dims=true : f32"), "[2,1,4]");
    EXPECT_EQ(madeOf("  y = BatchMatMulV2(x, x) T=f32 adj_x=false adj_y=true : f32"), "[2,6,6]");
}

TEST(KnownShapes, ofSlices)
{
    const auto sliced = [](const char* begin, const char* end, const char* strides, const char* masks) {
        return madeOf(constant("b", begin) + constant("e", end) + constant("s", strides) +
                      "  y = StridedSlice(x, b, e, s) Index=i32 T=f32 ellipsis_mask=0 new_axis_mask=0 " + masks + " : f32");
    };
    EXPECT_EQ(sliced("i32[2] [0, 1]", "i32[2] [0, -1]", "i32[2] [1, 2]", "begin_mask=1 end_mask=1 shrink_axis_mask=0"), "[2,2,4]");
    EXPECT_EQ(sliced("i32[2] [0, -1]", "i32[2] [0, 0]", "i32[2] [1, -1]", "begin_mask=1 end_mask=3 shrink_axis_mask=0"), "[2,6,4]");
    EXPECT_EQ(sliced("i32[2] [1, 4]", "i32[2] [2, 99]", "i32[2] [1, 1]", "begin_mask=0 end_mask=0 shrink_axis_mask=1"), "[2,4]");
    EXPECT_EQ(sliced("i32[1] [1]", "i32[1] [2]", "i32[1] [0]", "begin_mask=0 end_mask=0 shrink_axis_mask=0"), "[?,6,4]");
}

TEST(KnownShapes, followDimensionsThatAreComputedWith)
{
    const std::string first = constant("b", "i32[1] [0]") + constant("e", "i32[1] [1]") + constant("k", "i32[] 5") +
                              "  s = Shape(x) T=f32 out_type=i32 : i32[3]\n"
                              "  n = StridedSlice(s, b, e, e) Index=i32 T=i32 begin_mask=0 ellipsis_mask=0 end_mask=0 new_axis_mask=0 "
                              "shrink_axis_mask=1 : i32[]\n  two = Mul(n, k) T=i32 : i32[]\n"
                              "  d = Pack(two, k) N=2 T=i32 axis=0 : i32[2]\n  z = Const() dtype=f32 value=f32[] 0.0 : f32[]\n";
    EXPECT_EQ(madeOf(first + "  y = Fill(d, z) T=f32 index_type=i32 : f32"), "[10,5]");
    EXPECT_EQ(madeOf(first + "  y = Reshape(x, d) T=f32 Tshape=i32 : f32"), "[10,5]"); // it fails when it runs
}

TEST(KnownShapes, ofWindows)
{
    const auto windowed = [](const char* padding) {
        return refined(std::string("graph main(x: f32[1,9,8,3], w: f32[3,2,3,5]) {\n  y = Conv2D(x, w) T=f32 data_format=\"NHWC\" ") +
                       "dilations=[1, 1, 1, 1] explicit_paddings=[] padding=\"" + padding +
                       "\" strides=[1, 2, 1, 1] use_cudnn_on_gpu=true : f32\n  return y=y\n}\n");
    };
    EXPECT_EQ(windowed("SAME"), "[1,5,8,5]");
    EXPECT_EQ(windowed("VALID"), "[1,4,7,5]");
}

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
