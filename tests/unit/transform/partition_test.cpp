// Graphs with loops, cut at random between devices, compute what they did, bit for bit; and what cannot be cut is told.
#include "converters/lsir/lsir.h"
#include "engine/base/bytes.h"
#include "engine/exec/make_executor.h"
#include "engine/ir/verifier.h"
#include "engine/transform/partition/partition.h"
#include "engine/transform/run_selection.h"

#include <gtest/gtest.h>
#include <set>

namespace loopscope::testing {
namespace {

constexpr GraphId kMain(0);

/// A loop whose body is a conditional and another loop; what is cut are frames in frames and dead branches.
constexpr const char* kNested = R"(model tf
graph main {
  zero = Const() dtype=i32 value=i32[] 0 : i32[]
  i/Enter = Enter(zero) T=i32 frame_name="outer" is_constant=false parallel_iterations=10 : i32
  s/Enter = Enter(zero) T=i32 frame_name="outer" is_constant=false parallel_iterations=10 : i32
  i = Merge(i/Enter, i/Next) N=2 T=i32 : (i32, i32)
  s = Merge(s/Enter, s/Next) N=2 T=i32 : (i32, i32)
  five = Const(^i) dtype=i32 value=i32[] 5 : i32[]
  less = Less(i, five) T=i32 : bool
  go = LoopCond(less) : bool
  i/Switch = Switch(i, go) T=i32 : (i32, i32)
  s/Switch = Switch(s, go) T=i32 : (i32, i32)
  out = Exit(s/Switch) T=i32 : i32
  i/now = Identity(i/Switch:1) T=i32 : i32
  s/now = Identity(s/Switch:1) T=i32 : i32
  one = Const(^i/now) dtype=i32 value=i32[] 1 : i32[]
  i/add = AddV2(i/now, one) T=i32 : i32
  i/Next = NextIteration(i/add) T=i32 : i32
  two = Const(^i/now) dtype=i32 value=i32[] 2 : i32[]
  rest = FloorMod(i/now, two) T=i32 : i32
  odd = Equal(rest, one) T=i32 incompatible_shape_error=true : bool
  c = Switch(s/now, odd) T=i32 : (i32, i32)
  j/zero = Const(^i/now) dtype=i32 value=i32[] 0 : i32[]
  j/guard = Switch(j/zero, odd) T=i32 : (i32, i32)
  j/Enter = Enter(j/guard:1) T=i32 frame_name="inner" is_constant=false parallel_iterations=10 : i32
  t/Enter = Enter(c:1) T=i32 frame_name="inner" is_constant=false parallel_iterations=10 : i32
  n/guard = Switch(i/now, odd) T=i32 : (i32, i32)
  n/Enter = Enter(n/guard:1) T=i32 frame_name="inner" is_constant=true parallel_iterations=10 : i32
  j = Merge(j/Enter, j/Next) N=2 T=i32 : (i32, i32)
  t = Merge(t/Enter, t/Next) N=2 T=i32 : (i32, i32)
  j/less = Less(j, n/Enter) T=i32 : bool
  j/go = LoopCond(j/less) : bool
  j/Switch = Switch(j, j/go) T=i32 : (i32, i32)
  t/Switch = Switch(t, j/go) T=i32 : (i32, i32)
  t/Exit = Exit(t/Switch) T=i32 : i32
  j/now = Identity(j/Switch:1) T=i32 : i32
  j/one = Const(^j/now) dtype=i32 value=i32[] 1 : i32[]
  j/add = AddV2(j/now, j/one) T=i32 : i32
  j/Next = NextIteration(j/add) T=i32 : i32
  t/add = AddV2(t/Switch:1, j/add) T=i32 : i32
  t/Next = NextIteration(t/add) T=i32 : i32
  even = Sub(c, one) T=i32 : i32
  m = Merge(even, t/Exit) N=2 T=i32 : (i32, i32)
  s/Next = NextIteration(m) T=i32 : i32
  twice = AddV2(out, out) T=i32 : i32
}
)";

/// The bytes of all outputs; empty, and a failure, if the run fails.
std::string bytesOf(const Model& model)
{
    Result<std::unique_ptr<Executor>> executor = makeExecutor(model, kMain);
    if (!executor.ok()) return ADD_FAILURE() << executor.error().message(), "";
    Status status = (*executor)->start();
    if (status.ok()) status = (*executor)->run();
    if (!status.ok()) return ADD_FAILURE() << std::move(status).takeError().message(), "";
    std::string bytes;
    for (size_t k = 0; k < model.graph(kMain).outputs.size(); ++k) {
        const Tensor& out = (*executor)->output(static_cast<int>(k));
        bytes += toString(out.shape) + std::string(reinterpret_cast<const char*>(out.data), out.bytes);
    }
    return bytes;
}

Model modelOf(const std::string& text)
{
    Result<Model> model = modelFromText(text, "test");
    EXPECT_TRUE(model.ok()) << model.error().message();
    return model.ok() ? std::move(model).value() : Model();
}

Model sample(const std::string& path)
{
    const auto content = mapFile(path);
    EXPECT_TRUE(content.ok());
    return content.ok() ? modelOf(std::string(content->as<char>(), content->size())) : Model();
}

TEST(Partition, at_random_computes_the_same_bits)
{
    struct Case {
        const char* name;
        Model model;
        std::vector<std::string> fetches;
    };
    const Case cases[] = {{"nested", modelOf(kNested), {"twice"}},
                          {"dead branch", sample("samples/text/v1_dead_branch.lsir"), {"while/Exit"}}};
    for (const Case& c : cases) {
        SCOPED_TRACE(c.name);
        const Result<Model> selected = selectForRun(c.model, kMain, {{}, c.fetches, {}});
        ASSERT_TRUE(selected.ok()) << selected.error().message();
        const std::string want = bytesOf(*selected);
        ASSERT_FALSE(want.empty());
        for (uint64_t seed = 0; seed < 20; ++seed)
            for (const int64_t devices : {2, 5}) {
                Model cut = *selected;
                const Result<CutReport> report = cutGraph(cut, kMain, placeAtRandom(cut.graph(kMain), devices, seed));
                ASSERT_TRUE(report.ok()) << report.error().message();
                ASSERT_TRUE(verifyModel(cut).ok());
                EXPECT_GT(report->edges, 0U);
                EXPECT_EQ(bytesOf(cut), want) << "seed " << seed << ", " << devices << " devices";
            }
    }
}

TEST(Partition, has_a_control_loop_for_each_frame_around_a_receiver)
{
    Model cut = modelOf(kNested);
    std::vector<std::string> wanted(cut.graph(kMain).operators.size());
    for (size_t o = 0; o < wanted.size(); ++o)
        if (cut.graph(kMain).operators[o].name == "t/add") wanted[o] = "b";
    const Result<DevicePlacement> placement = decidePlacement(cut.graph(kMain), wanted, "a");
    ASSERT_TRUE(placement.ok());
    const Result<CutReport> report = cutGraph(cut, kMain, *placement);
    ASSERT_TRUE(report.ok());
    // t/add reads a Switch and an addition; its sum goes back. The inner loop on b goes round where what it gets is live; the outer one,
    // where the inner one begins, gets nothing else and is told the predicate.
    EXPECT_EQ(report->edges, 4U);
    EXPECT_EQ(report->controlLoops, (std::vector<std::string>{"'outer' on b", "'inner' on b", "'outer' on a", "'inner' on a"}));
    const Result<Model> part = partOf(cut, kMain, {"b"});
    ASSERT_TRUE(part.ok());
    EXPECT_TRUE(verifyModel(*part).ok());
    std::multiset<std::string> kinds;
    for (const Operator& op : part->graph(kMain).operators) kinds.insert(op.kind.name);
    EXPECT_EQ(kinds, (std::multiset<std::string>{"AddV2", "Const", "Enter", "Enter", "Identity", "Identity", "Merge", "Merge",
                                                 "NextIteration", "NextIteration", "Switch", "_Recv", "_Recv", "_Recv", "_Send"}));
}

TEST(Partition, keeps_what_shares_a_variable_together)
{
    const Model model =
        modelOf("model tf\ngraph main {\n  v = VarHandleOp() container=\"\" dtype=f32 shape=shape[] shared_name=\"v\" : resource\n"
                "  x = ReadVariableOp(v) dtype=f32 : f32\n  y = Neg(x) T=f32 : f32\n}\n");
    const Result<DevicePlacement> refused = decidePlacement(model.graph(kMain), {"a", "b", "c"}, "a");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message(), "'v' and 'x' share a variable, an array or another handle, or a '_class', found devices a and b, "
                                         "expected one device");
    const Result<DevicePlacement> placed = decidePlacement(model.graph(kMain), {"", "b", "c"}, "a");
    ASSERT_TRUE(placed.ok());
    EXPECT_EQ(placed->devices, (std::vector<std::string>{"b", "c"}));
    EXPECT_EQ(placed->deviceOf, (std::vector<int32_t>{0, 0, 1}));
}

TEST(Partition, needs_a_predicate_to_cut_a_loop)
{
    Model model = modelOf("model tf\ngraph main {\n  x = Const() dtype=i32 value=i32[] 0 : i32[]\n"
                          "  e = Enter(x) T=i32 frame_name=\"f\" is_constant=false parallel_iterations=10 : i32\n"
                          "  m = Merge(e, n) N=2 T=i32 : (i32, i32)\n  y = Neg(m) T=i32 : i32\n  n = NextIteration(y) T=i32 : i32\n}\n");
    const Result<DevicePlacement> placement = decidePlacement(model.graph(kMain), {"", "", "", "b", ""}, "a");
    ASSERT_TRUE(placement.ok());
    const Result<CutReport> report = cutGraph(model, kMain, *placement);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().message(), "a loop that is cut between devices needs a LoopCond, found frame 'f' without one");
}

} // namespace
} // namespace loopscope::testing
