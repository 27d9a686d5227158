// Large elements of lists lie beside them: what no list refers to any more goes while the run goes on, and a state that was saved has what
// its lists refer to.
#include "converters/lsir/lsir.h"
#include "engine/base/swapped_bytes.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/make_executor.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <thread>

namespace loopscope::testing {
namespace {

constexpr GraphId kMain(0);
constexpr uint64_t kMiB = uint64_t{1} << 20;

/// Each trip puts 64 KiB into a new list and takes them out again; one list goes round with an element of the first trip.
std::string trips(int count)
{
    return R"(lsir 1
model tf producer=2474
graph main {
  zero = Const() dtype=i32 value=i32[] 0 : i32[]
  n = Const() dtype=i32 value=i32[] )" +
           std::to_string(count) + R"( : i32[]
  dims = Const() dtype=i32 value=i32[1] [16384] : i32[1]
  any = Const() dtype=i32 value=i32[] -1 : i32[]
  half = Const() dtype=f32 value=f32[] 0.5 : f32[]
  x = Fill(dims, half) T=f32 index_type=i32 : f32[16384]
  none = EmptyTensorList(any, any) element_dtype=f32 shape_type=i32 : variant[]
  one = TensorListPushBack(none, x) element_dtype=f32 : variant[]
  loop = While(zero, n, x, one) T=[i32, i32, f32, variant] body=@step cond=@more : (i32[], i32[], f32[16384], variant[])
  last = TensorListPopBack(loop:3, any) element_dtype=f32 : (variant[], f32[16384])
  y = Add(last:1, loop:2) T=f32 : f32[16384]
  return y=y
}
graph more(i: i32[], n: i32[], x: f32[16384], l: variant[]) {
  go = Less(i, n) T=i32 : bool[]
  return go=go
}
graph step(i: i32[], n: i32[], x: f32[16384], l: variant[]) {
  one = Const() dtype=i32 value=i32[] 1 : i32[]
  next = AddV2(i, one) T=i32 : i32[]
  any = Const() dtype=i32 value=i32[] -1 : i32[]
  none = EmptyTensorList(any, any) element_dtype=f32 shape_type=i32 : variant[]
  full = TensorListPushBack(none, x) element_dtype=f32 : variant[]
  back = TensorListPopBack(full, any) element_dtype=f32 : (variant[], f32[16384])
  s = Sin(back:1) T=f32 : f32[16384]
  return i=next, n=n, x=s, l=l
}
)";
}

Model modelOf(const std::string& text)
{
    Result<Model> model = modelFromText(text, "test");
    EXPECT_TRUE(model.ok()) << model.error().message();
    return model.ok() ? std::move(model).value() : Model();
}

float firstOf(const Executor& executor) { return *executor.output(0).as<float>(); }

TEST(ListElements, go_when_no_list_refers_to_them)
{
    const Model model = modelOf(trips(3000));
    Result<std::unique_ptr<Executor>> free = makeExecutor(model, kMain);
    ASSERT_TRUE(free.ok() && (*free)->start().ok() && (*free)->run().ok());
    setSwapping(1, "/var/tmp");
    {
        Result<std::unique_ptr<Executor>> executor = makeExecutor(model, kMain);
        ASSERT_TRUE(executor.ok() && (*executor)->start().ok() && (*executor)->run().ok());
        EXPECT_EQ(firstOf(**executor), firstOf(**free));
        const SwapShares shares = swapShares();
        EXPECT_LE(shares.inMemory + shares.onDisk, 100 * kMiB); // of 188
    }
    const auto left = [] { return swapShares().inMemory + swapShares().onDisk; };
    for (int wait = 0; wait < 1000 && left() > 8 * kMiB; ++wait) // the thread that writes lets go what it had in hand
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_LE(left(), 8 * kMiB) << "nothing is left of a run that has gone";
    setSwapping(0, "");
}

/// A list that each of `count` trips of a loop pushes 8 KiB to, and that another one takes apart: what the first one pushed last comes
/// first.
std::string chapters(int count)
{
    return R"(lsir 1
model tf producer=2474
graph main {
  zero = Const() dtype=i32 value=i32[] 0 : i32[]
  n = Const() dtype=i32 value=i32[] )" +
           std::to_string(count) + R"( : i32[]
  dims = Const() dtype=i32 value=i32[1] [2048] : i32[1]
  any = Const() dtype=i32 value=i32[] -1 : i32[]
  half = Const() dtype=f32 value=f32[] 0.5 : f32[]
  x = Fill(dims, half) T=f32 index_type=i32 : f32[2048]
  none = EmptyTensorList(any, any) element_dtype=f32 shape_type=i32 : variant[]
  up = While(zero, n, x, none) T=[i32, i32, f32, variant] body=@push cond=@more : (i32[], i32[], f32[2048], variant[])
  middle = Const() dtype=i32 value=i32[] 17 : i32[]
  early = TensorListGetItem(up:3, middle, any) element_dtype=f32 : f32[2048]
  down = While(zero, n, x, up:3) T=[i32, i32, f32, variant] body=@pop cond=@more : (i32[], i32[], f32[2048], variant[])
  left = TensorListLength(down:3) : i32[]
  return sum=down:2, early=early, left=left
}
graph more(i: i32[], n: i32[], x: f32[2048], l: variant[]) {
  go = Less(i, n) T=i32 : bool[]
  return go=go
}
graph push(i: i32[], n: i32[], x: f32[2048], l: variant[]) {
  one = Const() dtype=i32 value=i32[] 1 : i32[]
  next = AddV2(i, one) T=i32 : i32[]
  step = Const() dtype=f32 value=f32[] 1.0 : f32[]
  y = AddV2(x, step) T=f32 : f32[2048]
  more = TensorListPushBack(l, y) element_dtype=f32 : variant[]
  return i=next, n=n, x=y, l=more
}
graph pop(i: i32[], n: i32[], x: f32[2048], l: variant[]) {
  one = Const() dtype=i32 value=i32[] 1 : i32[]
  next = AddV2(i, one) T=i32 : i32[]
  any = Const() dtype=i32 value=i32[] -1 : i32[]
  last = TensorListPopBack(l, any) element_dtype=f32 : (variant[], f32[2048])
  less = Const() dtype=f32 value=f32[] 0.5 : f32[]
  half = Mul(x, less) T=f32 : f32[2048]
  y = AddV2(half, last:1) T=f32 : f32[2048]
  return i=next, n=n, x=y, l=last
}
)";
}

TEST(ListElements, of_long_lists_are_found_in_chapters)
{
    constexpr int kTrips = 5000; // four chapters
    const Model model = modelOf(chapters(kTrips));
    float want = 0.5F;
    for (int i = kTrips; i > 0; --i) want = want * 0.5F + 0.5F + static_cast<float>(i);
    setSwapping(1, "/var/tmp");
    Result<std::unique_ptr<Executor>> executor = makeExecutor(model, kMain);
    ASSERT_TRUE(executor.ok() && (*executor)->start().ok());
    uint64_t most = 0;
    while (!(*executor)->position().finished) {
        ASSERT_TRUE((*executor)->runTo((*executor)->position().step + 5000).ok());
        const MachineState state = (*executor)->snapshot(); // holds what its lists refer to
        for (const FrameState& frame : state.frames)
            for (const auto* const values : {&frame.values, &frame.carried})
                for (const ValueState& value : *values)
                    if (value.dtype == DType::variant) most = std::max<uint64_t>(most, value.bytes.size());
    }
    EXPECT_LE(most, kMiB / 8) << "of most elements not even a key";
    EXPECT_EQ(firstOf(**executor), want);
    EXPECT_EQ(*(*executor)->output(1).as<float>(), 18.5F);
    EXPECT_EQ(*(*executor)->output(2).as<int32_t>(), 0);
    setSwapping(0, "");
}

TEST(ListElements, are_there_when_a_state_comes_back)
{
    const Model model = modelOf(trips(40));
    setSwapping(1, "/var/tmp");
    Result<std::unique_ptr<Executor>> executor = makeExecutor(model, kMain);
    ASSERT_TRUE(executor.ok() && (*executor)->start().ok() && (*executor)->runTo(100).ok());
    const MachineState middle = (*executor)->snapshot();
    ASSERT_TRUE((*executor)->run().ok());
    const float want = firstOf(**executor);
    ASSERT_TRUE((*executor)->start().ok()) << "which lets go what the first run had";
    ASSERT_TRUE((*executor)->restore(middle).ok());
    const Status status = (*executor)->run();
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(firstOf(**executor), want);
    Result<std::unique_ptr<Executor>> stepped = makeExecutor(model, kMain);
    ASSERT_TRUE(stepped.ok() && (*stepped)->start().ok());
    while (!(*stepped)->position().finished) ASSERT_TRUE((*stepped)->step().ok());
    EXPECT_EQ(firstOf(**stepped), want);
    setSwapping(0, "");
}

} // namespace
} // namespace loopscope::testing
