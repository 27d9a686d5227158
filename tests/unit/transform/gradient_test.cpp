// Gradients that are made for SymbolicGradient, held against difference quotients of the functions themselves.
#include "converters/lsir/lsir.h"
#include "engine/transform/run_selection.h"
#include "tests/unit/transform/number_graph.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

/// A function of a and b, all f64: `nodes` compute r.
struct FunctionCase {
    const char* name;
    Shape a, b, r;
    const char* nodes;
};

std::string typeText(const Shape& shape) { return "f64" + toString(shape); }

std::string modelOf(const FunctionCase& f)
{
    const std::string a = typeText(f.a), b = typeText(f.b), r = typeText(f.r);
    return "model tf\ngraph main(a: " + a + ", b: " + b + ", dr: " + r + ") {\n  r = f(a, b) : f64\n" +
           "  g = SymbolicGradient(a, b, dr) Tin=[f64, f64, f64] Tout=[f64, f64] f=@f : (f64, f64)\n  return r=r, ga=g, gb=g:1\n}\n" +
           "graph f(a: f64, b: f64) {\n" + f.nodes + "\n  return r=r\n}\n";
}

std::vector<double> values(const Shape& shape, double first, double step)
{
    std::vector<double> result;
    for (int64_t i = 0; i < shape.elementCount(); ++i) result.push_back(first + step * static_cast<double>(i * 5 % 7));
    return result;
}

double dot(const std::vector<double>& x, const std::vector<double>& y)
{
    double sum = 0;
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) sum += x[i] * y[i];
    return sum;
}

void expectGradients(const FunctionCase& f)
{
    SCOPED_TRACE(f.name);
    Result<Model> model = modelFromText(modelOf(f), f.name);
    ASSERT_TRUE(model.ok()) << model.error().message();
    Result<Model> selected = selectForRun(*model, GraphId(0), {});
    ASSERT_TRUE(selected.ok()) << f.name;
    NumberGraph graph;
    graph.open(std::move(*selected));
    const Numbers dr = values(f.r, 0.5, 0.3);
    const auto run = [&](const Numbers& a, const Numbers& b, int k) { return graph.run({{a, f.a}, {b, f.b}, {dr, f.r}}, k); };
    expectSlopesOf(
        values(f.a, 0.21, 0.09), values(f.b, 0.65, -0.07), [&](const Numbers& a, const Numbers& b) { return dot(run(a, b, 0), dr); },
        [&](const Numbers& a, const Numbers& b, int side) { return run(a, b, 1 + side); });
}

TEST(Gradient, ofElementwiseOperators)
{
    for (const char* kind :
         {"Identity", "Abs",  "Neg",  "Reciprocal", "Inv",       "Square", "Sqrt", "Rsqrt",    "Exp",      "Expm1",   "Log",   "Log1p",
          "Sin",      "Cos",  "Tan",  "Asin",       "Acos",      "Atan",   "Sinh", "Cosh",     "Tanh",     "Asinh",   "Atanh", "Erf",
          "Sigmoid",  "Sign", "Relu", "Relu6",      "LeakyRelu", "Elu",    "Selu", "Softplus", "Softsign", "Snapshot"}) {
        const std::string nodes = std::string("  y = ") + kind + "(a) T=f64 : f64\n  r = Mul(y, b) T=f64 : f64";
        expectGradients({kind, Shape({2, 3}), Shape({3}), Shape({2, 3}), nodes.c_str()});
    }
    expectGradients(
        {"Acosh", Shape({2}), Shape({2}), Shape({2}), "  e = Exp(b) T=f64 : f64\n  y = Acosh(e) T=f64 : f64\n  r = Mul(a, y) T=f64 : f64"});
}

TEST(Gradient, sumsOverBroadcastDimensions)
{
    for (const char* kind :
         {"Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "DivNoNan", "MulNoNan", "SquaredDifference", "Pow", "Maximum", "Minimum"}) {
        const std::string nodes = std::string("  r = ") + kind + "(a, b) T=f64 : f64";
        expectGradients({kind, Shape({2, 3}), Shape({3}), Shape({2, 3}), nodes.c_str()});
        expectGradients({kind, Shape({3}), Shape({2, 1}), Shape({2, 3}), nodes.c_str()});
    }
}

TEST(Gradient, ofReductions)
{
    for (const char* kind : {"Sum", "Mean", "Max", "Min"})
        for (const char* keep : {"false", "true"}) {
            const std::string nodes =
                std::string("  axes = Const() dtype=i32 value=i32[1] [-1] : i32\n  y = Mul(a, b) T=f64 : f64\n  r = ") + kind +
                "(y, axes) T=f64 Tidx=i32 keep_dims=" + keep + " : f64";
            expectGradients({kind, Shape({2, 3}), Shape({3}), keep[0] == 't' ? Shape({2, 1}) : Shape({2}), nodes.c_str()});
        }
    expectGradients({"L2Loss", Shape({4}), Shape({4}), Shape(), "  y = Mul(a, b) T=f64 : f64\n  r = L2Loss(y) T=f64 : f64"});
}

TEST(Gradient, ofMatrixProducts)
{
    for (const char* ta : {"false", "true"})
        for (const char* tb : {"false", "true"}) {
            const Shape a = ta[0] == 't' ? Shape({3, 2}) : Shape({2, 3}), b = tb[0] == 't' ? Shape({4, 3}) : Shape({3, 4});
            const std::string plain = std::string("  r = MatMul(a, b) T=f64 transpose_a=") + ta + " transpose_b=" + tb + " : f64";
            expectGradients({"MatMul", a, b, Shape({2, 4}), plain.c_str()});
            const std::string batch = std::string("  r = BatchMatMulV2(a, b) T=f64 adj_x=") + ta + " adj_y=" + tb + " : f64";
            expectGradients({"BatchMatMulV2", Shape({2, a[0], a[1]}), b, Shape({2, 2, 4}), batch.c_str()});
        }
}

TEST(Gradient, ofOperatorsThatMoveElements)
{
    const FunctionCase cases[] = {
        {"Reshape", Shape({2, 3}), Shape({3, 2}), Shape({3, 2}),
         "  s = Const() dtype=i32 value=i32[2] [3, 2] : i32\n  y = Reshape(a, s) T=f64 Tshape=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
        {"Transpose", Shape({2, 3}), Shape({3, 2}), Shape({3, 2}),
         "  p = Const() dtype=i32 value=i32[2] [1, 0] : i32\n  y = Transpose(a, p) T=f64 Tperm=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
        {"Pack and Unpack", Shape({3}), Shape({3}), Shape({3}),
         "  p = Pack(a, b) N=2 T=f64 axis=1 : f64\n  u = Unpack(p) T=f64 axis=0 num=3 : (f64, f64, f64)\n  v = Pack(u:2, u, u) N=3 T=f64 "
         "axis=0 : f64\n"
         "  x = Const() dtype=i32 value=i32[] 1 : i32\n  q = Square(v) T=f64 : f64\n"
         "  r = Sum(q, x) T=f64 Tidx=i32 keep_dims=false : f64"},
        {"ConcatV2", Shape({2, 3}), Shape({2, 1}), Shape({2, 4}),
         "  x = Const() dtype=i32 value=i32[] -1 : i32\n  c = ConcatV2(a, b, x) N=2 T=f64 Tidx=i32 : f64\n  r = Square(c) T=f64 : f64"},
        {"Concat", Shape({2, 3}), Shape({1, 3}), Shape({3, 3}),
         "  x = Const() dtype=i32 value=i32[] 0 : i32\n  c = Concat(x, a, b) N=2 T=f64 : f64\n  r = Square(c) T=f64 : f64"},
        {"Split", Shape({4}), Shape({2}), Shape({2}),
         "  x = Const() dtype=i32 value=i32[] 0 : i32\n  s = Split(x, a) T=f64 num_split=2 : (f64, f64)\n  m = Mul(s:1, b) T=f64 : f64\n"
         "  r = Mul(m, s) T=f64 : f64"},
        {"SplitV", Shape({4}), Shape({3}), Shape({3}),
         "  n = Const() dtype=i32 value=i32[2] [1, 3] : i32\n  x = Const() dtype=i32 value=i32[] 0 : i32\n"
         "  s = SplitV(a, n, x) T=f64 Tlen=i32 num_split=2 : (f64, f64)\n  m = Mul(s:1, b) T=f64 : f64\n  r = Mul(m, s) T=f64 : f64"},
        {"Slice", Shape({2, 4}), Shape({2}), Shape({1, 2}),
         "  p = Const() dtype=i32 value=i32[2] [1, 1] : i32\n  n = Const() dtype=i32 value=i32[2] [1, 2] : i32\n"
         "  s = Slice(a, p, n) Index=i32 T=f64 : f64\n  r = Mul(s, b) T=f64 : f64"},
        {"StridedSlice", Shape({4}), Shape({2}), Shape({2}),
         "  p = Const() dtype=i32 value=i32[1] [3] : i32\n  e = Const() dtype=i32 value=i32[1] [0] : i32\n  d = Const() dtype=i32 "
         "value=i32[1] [-2] : i32\n"
         "  s = StridedSlice(a, p, e, d) Index=i32 T=f64 begin_mask=0 ellipsis_mask=0 end_mask=0 new_axis_mask=0 shrink_axis_mask=0 : f64\n"
         "  r = Mul(s, b) T=f64 : f64"},
        {"ReverseV2", Shape({3}), Shape({3}), Shape({3}),
         "  x = Const() dtype=i32 value=i32[1] [0] : i32\n  y = ReverseV2(a, x) T=f64 Tidx=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
        {"Tile", Shape({2}), Shape({6}), Shape({6}),
         "  m = Const() dtype=i32 value=i32[1] [3] : i32\n  y = Tile(a, m) T=f64 Tmultiples=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
        {"BroadcastTo", Shape({2, 1}), Shape({2, 3}), Shape({2, 3}),
         "  s = Const() dtype=i32 value=i32[2] [2, 3] : i32\n  y = BroadcastTo(a, s) T=f64 Tidx=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
        {"Fill", Shape(), Shape({3}), Shape({3}),
         "  s = Const() dtype=i32 value=i32[1] [3] : i32\n  y = Fill(s, a) T=f64 index_type=i32 : f64\n  r = Mul(y, b) T=f64 : f64"},
        {"GatherNd", Shape({3}), Shape({2}), Shape({2}),
         "  i = Const() dtype=i32 value=i32[2,1] [2, 2] : i32\n  y = GatherNd(a, i) Tindices=i32 Tparams=f64 : f64\n  r = Mul(y, b) T=f64 "
         ": f64"},
        {"Select", Shape({3}), Shape({3}), Shape({3}),
         "  c = Const() dtype=bool value=bool[3] [true, false, true] : bool\n  s = Select(c, a, b) T=f64 : f64\n  r = Square(s) T=f64 : "
         "f64"},
        {"AddN", Shape({3}), Shape({3}), Shape({3}), "  s = AddN(a, b, a) N=3 T=f64 : f64\n  r = Square(s) T=f64 : f64"},
        {"Cast and ExpandDims", Shape({3}), Shape({3}), Shape({1, 3}),
         "  m = Mul(a, b) T=f64 : f64\n  c = Cast(m) DstT=c128 SrcT=f64 Truncate=false : c128\n  l = Real(c) T=c128 Tout=f64 : f64\n"
         "  x = Const() dtype=i32 value=i32[] 0 : i32\n  r = ExpandDims(l, x) T=f64 Tdim=i32 : f64"},
    };
    for (const FunctionCase& f : cases) expectGradients(f);
}

TEST(Gradient, ofLayers)
{
    const FunctionCase cases[] = {
        {"Softmax", Shape({2, 3}), Shape({3}), Shape({2, 3}), "  m = Mul(a, b) T=f64 : f64\n  r = Softmax(m) T=f64 : f64"},
        {"LogSoftmax", Shape({2, 3}), Shape({3}), Shape({2, 3}), "  m = Mul(a, b) T=f64 : f64\n  r = LogSoftmax(m) T=f64 : f64"},
        {"SoftmaxCrossEntropyWithLogits", Shape({2, 3}), Shape({2, 3}), Shape({2}),
         "  labels = Softmax(b) T=f64 : f64\n  r = SoftmaxCrossEntropyWithLogits(a, labels) T=f64 : (f64, f64)"},
        {"BiasAdd", Shape({2, 3}), Shape({3}), Shape({2, 3}), "  r = BiasAdd(a, b) T=f64 data_format=\"NHWC\" : f64"},
        {"Conv2D", Shape({1, 4, 4, 2}), Shape({3, 2, 2, 3}), Shape({1, 2, 2, 3}),
         "  r = Conv2D(a, b) T=f64 data_format=\"NHWC\" dilations=[1, 1, 1, 1] padding=\"SAME\" strides=[1, 2, 2, 1] : f64"},
        {"DepthwiseConv2dNative", Shape({1, 3, 3, 2}), Shape({2, 2, 2, 2}), Shape({1, 2, 2, 4}),
         "  r = DepthwiseConv2dNative(a, b) T=f64 data_format=\"NHWC\" dilations=[1, 1, 1, 1] padding=\"VALID\" strides=[1, 1, 1, 1] : "
         "f64"},
        {"pooling", Shape({1, 4, 4, 1}), Shape({1}), Shape({1, 2, 2, 1}),
         "  m = Mul(a, b) T=f64 : f64\n  p = AvgPool(m) T=f64 data_format=\"NHWC\" ksize=[1, 2, 2, 1] padding=\"SAME\" strides=[1, 1, 1, "
         "1] : f64\n"
         "  r = MaxPool(p) T=f64 data_format=\"NHWC\" ksize=[1, 2, 2, 1] padding=\"VALID\" strides=[1, 2, 2, 1] : f64"},
    };
    for (const FunctionCase& f : cases) expectGradients(f);
}

/// Runs a model to its first error, or to its end.
std::string failureOf(const std::string& text)
{
    Result<Model> model = modelFromText(text, "text");
    EXPECT_TRUE(model.ok());
    if (!model.ok()) return {};
    const Result<Model> selected = selectForRun(*model, GraphId(0), {{}, {"main_r:0"}, {}});
    if (!selected.ok()) return selected.error().message();
    const Result<std::unique_ptr<Executor>> executor = makeExecutor(*selected, GraphId(0));
    if (!executor.ok()) return executor.error().message();
    Status status = (*executor)->start();
    if (status.ok()) status = (*executor)->run();
    return status.ok() ? std::string() : std::move(status).takeError().message();
}

const std::string kMain = "model tf\ngraph main {\n  a = Const() dtype=f64 value=f64[1] [1.0] : f64\n";

TEST(Gradient, ofAnOperatorThatLacksAnOperandFailsWhenItRuns)
{
    const std::string error =
        failureOf(kMain + "  main_r = SymbolicGradient(a, a) Tin=[f64, f64] Tout=[f64] f=@f : f64\n  return r=main_r\n}\n"
                          "graph f(a: f64) {\n  r = Mul(a) T=f64 : f64\n  return r=r\n}\n");
    EXPECT_NE(error.find("Mul"), std::string::npos) << error;
}

/// main calls f0, which calls f1, and so on; `call` makes the call of what its argument names.
std::string chainOf(int count, const std::function<std::string(const std::string& callee)>& call, const std::string& last)
{
    std::string text;
    for (int i = 0; i < count; ++i)
        text += "graph f" + std::to_string(i) + "(a: f64) {\n  r = " + (i + 1 < count ? call("f" + std::to_string(i + 1)) : last) +
                "  s = Neg(a) T=f64 : f64\n  return r=r, s=s\n}\n";
    return text;
}

TEST(Gradient, ofFunctionsThatAskForGradientsWithoutEnd)
{
    const auto gradient = [](const std::string& callee) {
        return "SymbolicGradient(a, a, a) Tin=[f64, f64, f64] Tout=[f64] f=@" + callee + " : f64\n";
    };
    const std::string error = failureOf(kMain + "  main_r = " + gradient("f0") + "  return r=main_r\n}\n" +
                                        chainOf(20'000, gradient, "Identity(a) T=f64 : f64\n"));
    EXPECT_NE(error, "") << "the calls are deeper than any run may go";
}

TEST(CallPruning, keepsNoBodyThatALoopWasTriedWith)
{
    const char* const kFormals = "(a: i32, b: i32, c: i32, d: i32)";
    const std::string text =
        std::string("model tf\ngraph main(a: i32[], b: i32[], c: i32[], d: i32[]) {\n"
                    "  w = While(a, b, c, d) T=[i32, i32, i32, i32] _lower_using_switch_merge=true body=@body cond=@cond "
                    "output_shapes=[] parallel_iterations=10 : (i32, i32, i32, i32)\n"
                    "  y = Identity(w:1) T=i32 : i32\n  return y=y, z=w:3\n}\ngraph cond") +
        kFormals + " {\n  r = Less(a, a) T=i32 : bool\n  return r=r\n}\ngraph body" + kFormals +
        " {\n  b1 = AddV2(b, c) T=i32 : i32\n  c1 = AddV2(c, c) T=i32 : i32\n  d1 = AddV2(d, d) T=i32 : i32\n"
        "  return a=a, b=b1, c=c1, d=d1\n}\n";
    const Result<Model> model = modelFromText(text, "loop");
    ASSERT_TRUE(model.ok()) << model.error().message();
    const Result<Model> selected = selectForRun(*model, GraphId(0), {{}, {"y:0"}, {}}); // b is needed, so c, and d is not
    ASSERT_TRUE(selected.ok()) << selected.error().message();
    ASSERT_EQ(selected->graphs.size(), 4U) << "main, cond, body and the part of the body without d";
    EXPECT_EQ(selected->graphs[3].operators.size(), 2U);
    const Operator& loop =
        selected->graphs[0].operators[0].kind.name == "While" ? selected->graphs[0].operators[0] : selected->graphs[0].operators[1];
    EXPECT_EQ(attributeGraph(loop.attributes, "body"), GraphId(3));
}

TEST(CallPruning, ofCallsWithoutEnd)
{
    const auto call = [](const std::string& callee) {
        return "PartitionedCall(a) Tin=[f64] Tout=[f64, f64] f=@" + callee + " : (f64, f64)\n";
    };
    const std::string error = failureOf(kMain + "  c = " + call("f0") + "  main_r = Identity(c) T=f64 : f64\n  return r=main_r\n}\n" +
                                        chainOf(20'000, call, "Identity(a) T=f64 : f64\n"));
    EXPECT_NE(error.find("recursion"), std::string::npos) << error.substr(error.size() < 200 ? 0 : error.size() - 200);
}

} // namespace
} // namespace loopscope::testing
