// The model that the examples of docs/breakpoints.md are about.
#pragma once

#include "tests/unit/debug/debugger_fixture.h"

namespace loopscope::testing {

inline constexpr const char* kExamples = R"(
graph main(x: i32[], image: f32[1,2,2,1]) {
  zero = const i32[] 0
  filter = const f32[1,1,1,1] [2.0]
  bias = const f32[1] [1.0]
  i, value, n = while(zero, x, zero) cond=@cond body=@body : (i32[], i32[], i32[])
  conv = conv_2d(image, filter, bias) padding=VALID stride_h=1 stride_w=1 : f32[1,2,2,1]
  relu = relu(image) : f32[1,2,2,1]
  q = quantize(relu) : i8[1,2,2,1] q(0.5, 0)
  handle = var_handle() container="" shared_name="count" : resource[]
  assign_variable(handle, n)
  count = read_variable(handle) : i32[]
  return value, q, count
}
graph cond(i: i32[], arg1: i32[], n: i32[]) {
  one = const i32[] 1
  go = not_equal(arg1, one) : bool[]
  return go
}
graph body(i: i32[], arg1: i32[], n: i32[]) {
  zero = const i32[] 0
  one = const i32[] 1
  two = const i32[] 2
  mod = floor_mod(arg1, two) : i32[]
  even = equal(mod, zero) : bool[]
  next = if(even, arg1) then=@halve else=@triple : i32[]
  add = add(n, one) : i32[]
  count = add(i, one) : i32[]
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

/// Collatz of x: 27 takes 111 iterations.
inline Subject examples(int32_t x, const std::vector<float>& image = {1, -2, 0, 300})
{
    Subject subject;
    subject.maxSteps = 1'000'000;
    subject.model = std::make_shared<Model>(textModel(kExamples));
    subject.add<int32_t>(Shape{}, {x});
    subject.add<float>(Shape{1, 2, 2, 1}, image);
    return subject;
}

inline BreakpointCommand commandOf(std::string_view word)
{
    return word == "tbreak"   ? BreakpointCommand::temporary
           : word == "watch"  ? BreakpointCommand::watch
           : word == "rwatch" ? BreakpointCommand::readWatch
           : word == "awatch" ? BreakpointCommand::accessWatch
           : word == "log"    ? BreakpointCommand::log
                              : BreakpointCommand::breakpoint;
}

/// Sets what a line says: "break nan if iter > 3".
inline Result<int> setLine(BreakpointSet& set, std::string_view line)
{
    const size_t blank = line.find(' ');
    return set.add(commandOf(line.substr(0, blank)), line.substr(std::min(blank + 1, line.size())), {});
}

} // namespace loopscope::testing
