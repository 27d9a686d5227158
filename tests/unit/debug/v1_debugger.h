// A debugger over a TensorFlow 1 graph in text, with everything that a session has but its thread.
#pragma once

#include "engine/exec/dataflow_executor.h"
#include "tests/unit/debug/debugger_fixture.h"

#include <memory>
#include <string>
#include <string_view>

namespace loopscope::testing {

/// Counts from 0 to 10; in the last iteration what lies behind the Switch's output 1 is dead.
inline constexpr const char* kV1Loop = R"(
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

/// A debugger over a TensorFlow 1 graph.
class V1Debugger {
public:
    explicit V1Debugger(const char* text)
        : model(textModel(text)),
          executor(make(model)),
          timeline(*executor),
          target{model, *executor, timeline, travel},
          breakpoints(target),
          control(target, breakpoints)
    {
    }

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

} // namespace loopscope::testing
