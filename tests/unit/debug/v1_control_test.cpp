// Run control over TensorFlow 1 graphs, whose stops do not come in the order of addresses and whose frames nothing calls.
#include "engine/exec/dataflow_executor.h"
#include "tests/unit/debug/debugger_fixture.h"

namespace loopscope::testing {
namespace {

constexpr const char* kLoop = R"(
graph main {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  one = Const() dtype=i32 value=i32[] 1 : i32
  n = Const() dtype=i32 value=i32[] 10 : i32
  enter_i = Enter(zero) T=i32 frame_name="foo" is_constant=false parallel_iterations=10 : i32
  enter_one = Enter(one) T=i32 frame_name="foo" is_constant=true parallel_iterations=10 : i32
  enter_n = Enter(n) T=i32 frame_name="foo" is_constant=true parallel_iterations=10 : i32
  merge = Merge(enter_i, next) N=2 T=i32 : (i32, i32)
  less = Less(merge, enter_n) T=i32 : bool
  cond = LoopCond(less) : bool
  switch = Switch(merge, cond) T=i32 : (i32, i32)
  add = AddV2(switch:1, enter_one) T=i32 : i32
  next = NextIteration(add) T=i32 : i32
  exit = Exit(switch) T=i32 : i32
  out = Identity(exit) T=i32 : i32
}
)";

class V1Control : public ::testing::Test {
public:
    V1Control()
        : model(textModel(kLoop)), executor(make(model)), timeline(*executor), target{model, *executor, timeline, travel}, breakpoints(target),
          control(target, breakpoints)
    {}

    static std::unique_ptr<DataflowExecutor> make(const Model& model)
    {
        Result<std::unique_ptr<DataflowExecutor>> made = DataflowExecutor::create(model, GraphId(0));
        EXPECT_TRUE(made.ok());
        return std::move(made).value();
    }
    ResolvedAddress place(std::string_view text) const
    {
        Result<TypedPlace> typed = resolveTyped(target, {}, text);
        EXPECT_TRUE(typed.ok()) << (typed.ok() ? "" : typed.error().message());
        return typed.ok() ? typed->resolved : ResolvedAddress();
    }
    std::string address(const Result<StopReport>& report) const
    {
        if (!report.ok()) return "error: " + report.error().message();
        std::string text = report->address;
        for (const StopReason& reason : report->reasons) text += "; " + toString(reason);
        return text;
    }

    Model model;
    TravelControl travel;
    std::unique_ptr<DataflowExecutor> executor;
    Timeline timeline;
    DebugTarget target;
    BreakpointSet breakpoints;
    RunControl control;
};

TEST_F(V1Control, stops_in_iterations_of_frames)
{
    ASSERT_TRUE(control.start().ok());
    EXPECT_EQ(address(control.goTo(place("main/foo@4:frame/add"))), "main/foo@4:frame/add; step done");
    EXPECT_EQ(address(control.step(Direction::backward)), "main/foo@4:frame/switch; step done");
    EXPECT_EQ(address(control.goTo(place("main/foo@2:frame/less"))), "main/foo@2:frame/less; step done");
    EXPECT_EQ(address(control.iterateBy(5, {})), "main/foo@7:frame/less; step done");
    EXPECT_EQ(address(control.goTo(place("main/foo@11:frame/less"))), "error: main/foo@11:frame/less: the run does not come there");
    EXPECT_EQ(address(control.goTo(place("main/foo@10:frame/less"))), "main/foo@10:frame/less; step done");
    EXPECT_EQ(address(control.finish(Direction::forward)), "main/out; returned");
    EXPECT_EQ(address(control.resume(Direction::forward)), "main; finished");
}

TEST_F(V1Control, leaves_frames_backward)
{
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.goTo(place("main/foo@4:frame/add")).ok());
    const Result<StopReport> report = control.finish(Direction::backward);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->position.depth, 1);
    EXPECT_EQ(address(control.until()), "main; finished");
}

} // namespace
} // namespace loopscope::testing
