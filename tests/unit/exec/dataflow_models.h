// TensorFlow 1 models for tests of the dataflow executor and of time travel over it.
#pragma once

#include "converters/lsir/lsir.h"
#include "engine/exec/dataflow_executor.h"

#include <gtest/gtest.h>

namespace loopscope::testing {

/// A loop in a loop (sums of 0 to i − 1), a cond in the inner body whose untaken side is dead, and calls of functions in the outer one.
inline constexpr const char* kNestedFrames = R"(
graph main(n: i32[]) {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  one = Const() dtype=i32 value=i32[] 1 : i32
  two = Const() dtype=i32 value=i32[] 2 : i32
  o/n = Enter(n) T=i32 frame_name="outer" is_constant=true parallel_iterations=10 : i32
  o/zero = Enter(zero) T=i32 frame_name="outer" is_constant=true parallel_iterations=10 : i32
  o/one = Enter(one) T=i32 frame_name="outer" is_constant=true parallel_iterations=10 : i32
  o/two = Enter(two) T=i32 frame_name="outer" is_constant=true parallel_iterations=10 : i32
  o/i0 = Enter(zero) T=i32 frame_name="outer" is_constant=false parallel_iterations=10 : i32
  o/sum0 = Enter(zero) T=i32 frame_name="outer" is_constant=false parallel_iterations=10 : i32
  o/i = Merge(o/i0, o/i_next) N=2 T=i32 : (i32, i32)
  o/sum = Merge(o/sum0, o/sum_next) N=2 T=i32 : (i32, i32)
  o/less = Less(o/i, o/n) T=i32 : bool
  o/cond = LoopCond(o/less) : bool
  o/i_s = Switch(o/i, o/cond) T=i32 : (i32, i32)
  o/sum_s = Switch(o/sum, o/cond) T=i32 : (i32, i32)
  o/i_body = Identity(o/i_s:1) T=i32 : i32
  i/n = Enter(o/i_body) T=i32 frame_name="inner" is_constant=true parallel_iterations=2 : i32
  i/one = Enter(o/one) T=i32 frame_name="inner" is_constant=true parallel_iterations=2 : i32
  i/two = Enter(o/two) T=i32 frame_name="inner" is_constant=true parallel_iterations=2 : i32
  i/zero = Enter(o/zero) T=i32 frame_name="inner" is_constant=true parallel_iterations=2 : i32
  i/j0 = Enter(o/zero) T=i32 frame_name="inner" is_constant=false parallel_iterations=2 : i32
  i/acc0 = Enter(o/sum_s:1) T=i32 frame_name="inner" is_constant=false parallel_iterations=2 : i32
  i/j = Merge(i/j0, i/j_next) N=2 T=i32 : (i32, i32)
  i/acc = Merge(i/acc0, i/acc_next) N=2 T=i32 : (i32, i32)
  i/less = Less(i/j, i/n) T=i32 : bool
  i/cond = LoopCond(i/less) : bool
  i/j_s = Switch(i/j, i/cond) T=i32 : (i32, i32)
  i/acc_s = Switch(i/acc, i/cond) T=i32 : (i32, i32)
  i/odd = FloorMod(i/j_s:1, i/two) T=i32 : i32
  i/isOdd = Greater(i/odd, i/zero) T=i32 : bool
  i/c = Switch(i/j_s:1, i/isOdd) T=i32 : (i32, i32)
  i/even = AddV2(i/c, i/one) T=i32 : i32
  i/twice = Mul(i/c:1, i/two) T=i32 : i32
  i/m = Merge(i/even, i/twice) N=2 T=i32 : (i32, i32)
  i/add = AddV2(i/acc_s:1, i/m) T=i32 : i32
  i/acc_next = NextIteration(i/add) T=i32 : i32
  i/inc = AddV2(i/j_s:1, i/one) T=i32 : i32
  i/j_next = NextIteration(i/inc) T=i32 : i32
  i/exit = Exit(i/acc_s) T=i32 : i32
  o/isBig = Greater(o/i_body, o/two) T=i32 : bool
  o/call = If(o/isBig, i/exit) Tcond=bool Tin=[i32] Tout=[i32] else_branch=@keep then_branch=@shrink : i32
  o/sum_next = NextIteration(o/call) T=i32 : i32
  o/inc = AddV2(o/i_body, o/one) T=i32 : i32
  o/i_next = NextIteration(o/inc) T=i32 : i32
  o/exit_i = Exit(o/i_s) T=i32 : i32
  o/exit_sum = Exit(o/sum_s) T=i32 : i32
  return i=o/exit_i, sum=o/exit_sum
}
graph keep(x: i32[]) {
  y = Identity(x) T=i32 : i32
  return y=y
}
graph shrink(x: i32[]) {
  limit = Const() dtype=i32 value=i32[] 7 : i32
  w = While(x, limit) T=[i32, i32] body=@halve cond=@large : (i32, i32)
  return y=w
}
graph large(x: i32[], limit: i32[]) {
  y = Greater(x, limit) T=i32 : bool
  return y=y
}
graph halve(x: i32[], limit: i32[]) {
  two = Const() dtype=i32 value=i32[] 2 : i32
  y = FloorDiv(x, two) T=i32 : i32
  return y=y, limit=limit
}
)";

/// What kNestedFrames computes.
inline int32_t nestedFramesSum(int32_t n)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < n; ++i) {
        for (int32_t j = 0; j < i; ++j) sum += j % 2 != 0 ? 2 * j : j + 1;
        if (i > 2)
            while (sum > 7) sum /= 2;
    }
    return sum;
}

inline std::shared_ptr<const Model> dataflowModel(const char* text)
{
    Result<Model> model = modelFromText(text, "test");
    EXPECT_TRUE(model.ok()) << model.error().message();
    return std::make_shared<const Model>(std::move(model).value());
}

inline Tensor scalarOf(int32_t& value)
{
    Tensor tensor;
    tensor.data = reinterpret_cast<std::byte*>(&value);
    tensor.bytes = sizeof(value);
    tensor.dtype = DType::i32;
    return tensor;
}

/// Started, with `n` as its only input if the graph has one.
inline std::unique_ptr<DataflowExecutor> startedDataflow(const Model& model, int32_t n, const ExecutionOptions& options = {},
                                                         ExecutionObserver* observer = nullptr)
{
    Result<std::unique_ptr<DataflowExecutor>> executor = DataflowExecutor::create(model, GraphId(0), options);
    EXPECT_TRUE(executor.ok());
    (*executor)->setObserver(observer);
    if (!model.graphs[0].inputs.empty()) {
        EXPECT_TRUE((*executor)->setInput(0, scalarOf(n)).ok());
    }
    Status status = (*executor)->start();
    EXPECT_TRUE(status.ok()) << std::move(status).takeError().message();
    return std::move(executor).value();
}

} // namespace loopscope::testing
