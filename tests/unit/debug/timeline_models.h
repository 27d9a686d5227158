// Models for tests of time travel, and what a plain forward run says about every stop of them.
#pragma once

#include "converters/lsir/lsir.h"
#include "engine/exec/interpreter.h"
#include "tests/unit/exec/random_model.h"

#include <gtest/gtest.h>

namespace loopscope::testing {

/// A loop with a branch, random numbers, a variable, an init graph and a value that grows.
inline constexpr const char* kEverything = R"(
graph main(n: i32[], x: f32[4]) {
  zero = const i32[] 0
  two = const i32[1] [2]
  call_once() init=@setup
  i, m, y, list = while(zero, n, x, two) cond=@cond body=@body : (i32[], i32[], f32[4], i32[?])
  handle = var_handle() container="" shared_name="total" : resource[]
  total = read_variable(handle) : f32[4]
  sum = add(total, y) : f32[4]
  return sum, list
}
graph setup() {
  start = const f32[4] [1.0, 2.0, 3.0, 4.0]
  handle = var_handle() container="" shared_name="total" : resource[]
  assign_variable(handle, start)
}
graph cond(i: i32[], n: i32[], x: f32[4], list: i32[?]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], x: f32[4], list: i32[?]) {
  one = const i32[] 1
  two = const i32[] 2
  four = const i32[1] [4]
  next = add(i, one) : i32[]
  noise = random_uniform(four) seed=0 seed2=0 : f32[4]
  odd = floor_mod(i, two) : i32[]
  isOdd = equal(odd, one) : bool[]
  y = if(isOdd, x, noise) then=@mix else=@count : f32[4]
  more = concatenation(list, four) axis=0 : i32[?]
  return next, n, y, more
}
graph mix(x: f32[4], noise: f32[4]) {
  y = mul(x, noise) : f32[4]
  return y
}
graph count(x: f32[4], noise: f32[4]) {
  handle = var_handle() container="" shared_name="total" : resource[]
  before = read_variable(handle) : f32[4]
  after = add(before, noise) : f32[4]
  assign_variable(handle, after)
  y = add(x, noise) : f32[4]
  return y
}
)";

/// Loops inside a loop: the trip counts differ.
inline constexpr const char* kNested = R"(
graph main(n: i32[], x: f32[4]) {
  zero = const i32[] 0
  i, m, y = while(zero, n, x) cond=@outerCond body=@outerBody : (i32[], i32[], f32[4])
  return y
}
graph outerCond(i: i32[], n: i32[], x: f32[4]) {
  go = less(i, n) : bool[]
  return go
}
graph outerBody(i: i32[], n: i32[], x: f32[4]) {
  one = const i32[] 1
  zero = const i32[] 0
  next = add(i, one) : i32[]
  k, m, y = while(zero, next, x) cond=@outerCond body=@innerBody : (i32[], i32[], f32[4])
  z = add(y, x) : f32[4]
  return next, n, z
}
graph innerBody(i: i32[], n: i32[], x: f32[4]) {
  one = const i32[] 1
  half = const f32[] 0.5
  next = add(i, one) : i32[]
  y = mul(x, half) : f32[4]
  return next, n, y
}
)";

inline Model textModel(const char* text)
{
    Result<Model> model = modelFromText(text, "test");
    EXPECT_TRUE(model.ok()) << model.error().message();
    return std::move(model).value();
}

/// Something to run again and again from the start.
struct Subject {
    std::shared_ptr<Model> model;
    std::vector<std::pair<Shape, std::vector<std::byte>>> inputs;
    std::vector<DType> dtypes;
    int64_t maxSteps = 4000;

    template <typename T> void add(const Shape& shape, const std::vector<T>& data)
    {
        const auto bytes = std::as_bytes(std::span(data));
        inputs.emplace_back(shape, std::vector<std::byte>(bytes.begin(), bytes.end()));
        dtypes.push_back(dtypeOf<T>());
    }

    std::unique_ptr<Interpreter> make(ExecutionOptions options = {}) const
    {
        options.maxSteps = maxSteps;
        Result<std::unique_ptr<Interpreter>> interpreter = Interpreter::create(*model, GraphId(0), options);
        EXPECT_TRUE(interpreter.ok());
        for (size_t i = 0; i < inputs.size(); ++i) {
            std::vector<std::byte> bytes = inputs[i].second;
            Tensor tensor;
            tensor.data = bytes.data();
            tensor.bytes = bytes.size();
            tensor.dtype = dtypes[i];
            tensor.shape = inputs[i].first;
            EXPECT_TRUE((*interpreter)->setInput(static_cast<int>(i), tensor).ok());
        }
        return std::move(interpreter).value();
    }
};

inline Subject textSubject(const char* text, int32_t trips)
{
    Subject subject;
    subject.model = std::make_shared<Model>(textModel(text));
    subject.add<int32_t>(Shape{}, {trips});
    subject.add<float>(Shape{4}, {1.5F, -2, 0.25F, 3});
    return subject;
}

inline Subject randomSubject(uint32_t seed)
{
    RandomModel random(seed);
    Subject subject;
    subject.model = std::make_shared<Model>(random.model());
    for (const Plain& input : random.inputs()) subject.add<int32_t>(input.shape, input.data);
    return subject;
}

/// Fails the test with the error's words.
#define EXPECT_OK(expression)                                                                                                              \
    do {                                                                                                                                   \
        Status lsStatus = (expression);                                                                                                    \
        EXPECT_TRUE(lsStatus.ok()) << std::move(lsStatus).takeError().message();                                                           \
    } while (false)

} // namespace loopscope::testing
