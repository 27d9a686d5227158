// A debugger over a model in text, with everything that a session has but its thread.
#pragma once

#include "engine/debug/breakpoints/breakpoint_set.h"
#include "engine/debug/control/run_control.h"
#include "engine/debug/timeline.h"
#include "tests/unit/debug/timeline_models.h"

namespace loopscope::testing {

class DebuggerFixture {
public:
    explicit DebuggerFixture(const Subject& subject, const TimelineBudget& budget = {})
        : subject(subject),
          executor(make(subject)),
          timeline(*executor, budget),
          target{*subject.model, *executor, timeline, travel},
          breakpoints(target),
          control(target, breakpoints)
    {
        travel.cancel = &cancel;
    }

    ResolvedAddress place(std::string_view text) const
    {
        Result<TypedPlace> typed = resolveTyped(target, {}, text);
        EXPECT_TRUE(typed.ok()) << text << ": " << (typed.ok() ? "" : typed.error().message());
        return typed.ok() ? typed->resolved : ResolvedAddress();
    }

    const Subject& subject;
    CancelFlag cancel;
    TravelControl travel;
    std::unique_ptr<Interpreter> executor;
    Timeline timeline;
    DebugTarget target;
    BreakpointSet breakpoints;
    RunControl control;

private:
    std::unique_ptr<Interpreter> make(const Subject& of) const
    {
        ExecutionOptions options;
        options.cancel = &cancel;
        return of.make(options);
    }
};

/// "ADDRESS, step N: reason; reason", or the error.
inline std::string text(const Result<StopReport>& report)
{
    if (!report.ok()) return "error: " + report.error().message();
    std::string text = report->address + ", step " + std::to_string(report->position.step) + ":";
    for (const StopReason& reason : report->reasons) text += (text.back() == ':' ? " " : "; ") + toString(reason);
    return text;
}

/// The Collatz sequence: a branch inside a loop.
inline constexpr const char* kCollatz = R"(
graph main(x: i32[]) {
  zero = const i32[] 0
  y, steps = while(x, zero) cond=@cond body=@body : (i32[], i32[])
  return y, steps
}
graph cond(x: i32[], n: i32[]) {
  one = const i32[] 1
  go = not_equal(x, one) : bool[]
  return go
}
graph body(x: i32[], n: i32[]) {
  zero = const i32[] 0
  one = const i32[] 1
  two = const i32[] 2
  mod = floor_mod(x, two) : i32[]
  even = equal(mod, zero) : bool[]
  y = if(even, x) then=@half else=@triple : i32[]
  m = add(n, one) : i32[]
  return y, m
}
graph half(x: i32[]) {
  two = const i32[] 2
  y = floor_div(x, two) : i32[]
  return y
}
graph triple(x: i32[]) {
  three = const i32[] 3
  one = const i32[] 1
  z = mul(x, three) : i32[]
  y = add(z, one) : i32[]
  return y
}
)";

inline Subject collatz(int32_t x)
{
    Subject subject;
    subject.model = std::make_shared<Model>(textModel(kCollatz));
    subject.add<int32_t>(Shape{}, {x});
    subject.maxSteps = 1'000'000;
    return subject;
}

} // namespace loopscope::testing
