// A run to debug in tests: model, interpreter that keeps values, timeline, and the target that joins them.
#pragma once

#include "engine/debug/evaluate.h"
#include "engine/debug/target.h"
#include "engine/debug/timeline.h"
#include "tests/unit/debug/timeline_models.h"

#include <memory>
#include <string>

namespace loopscope::testing {

/// The loop of branch_in_loop: arg1 goes the way of Collatz until it is 1; arg0 and arg2 count.
inline constexpr const char* kCollatzOfThree = R"(
graph main(x: i32[]) {
  zero = const i32[] 0
  i, value, steps = while(zero, x, zero) cond=@cond body=@body : (i32[], i32[], i32[])
  return value, steps
}
graph cond(arg0: i32[], arg1: i32[], arg2: i32[]) {
  one = const i32[] 1
  go = not_equal(arg1, one) : bool[]
  return go
}
graph body(arg0: i32[], arg1: i32[], arg2: i32[]) {
  zero = const i32[] 0
  one = const i32[] 1
  two = const i32[] 2
  mod = floor_mod(arg1, two) : i32[]
  even = equal(mod, zero) : bool[]
  next = if(even, arg1) then=@halve else=@triple : i32[]
  add = add(arg2, one) : i32[]
  count = add(arg0, one) : i32[]
  return count, next, add
}
graph halve(arg0: i32[]) {
  two = const i32[] 2
  half = floor_div(arg0, two) : i32[]
  return half
}
graph triple(arg0: i32[]) {
  one = const i32[] 1
  three = const i32[] 3
  mul = mul(arg0, three) : i32[]
  add = add(mul, one) : i32[]
  return add
}
)";

struct DebugRun {
    explicit DebugRun(Subject subject_) : subject(std::move(subject_))
    {
        ExecutionOptions options;
        options.keepAll = true;
        options.cancel = &cancel;
        executor = subject.make(options);
        timeline = std::make_unique<Timeline>(*executor);
        travel.cancel = &cancel;
        target = std::make_unique<DebugTarget>(*subject.model, *executor, *timeline, travel);
    }
    DebugRun(const char* text, int32_t input) : DebugRun(subjectOf(text, input)) {}

    static Subject subjectOf(const char* text, int32_t input)
    {
        Subject subject;
        subject.maxSteps = 1'000'000;
        subject.model = std::make_shared<Model>(textModel(text));
        subject.add<int32_t>(Shape{}, {input});
        return subject;
    }

    /// What `print` would show, values joined by "; ".
    std::string print(std::string_view text, int depth = -1)
    {
        auto values = evaluateList(*target, FrameContext{depth}, text);
        if (!values.ok()) return values.error().message();
        std::string all;
        for (const EvaluatedValue& value : *values) {
            if (!all.empty()) all += "; ";
            all += value.absence == Absence::notWritten ? "not written" : toString(value.value);
        }
        for (const std::string_view scalar : {"i32[] ", "bool[] "}) // of no interest here
            for (size_t at = all.find(scalar); at != std::string::npos; at = all.find(scalar)) all.erase(at, scalar.size());
        return all;
    }

    Subject subject;
    CancelFlag cancel;
    std::unique_ptr<Interpreter> executor;
    std::unique_ptr<Timeline> timeline;
    TravelControl travel;
    std::unique_ptr<DebugTarget> target;
};

} // namespace loopscope::testing
