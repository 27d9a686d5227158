// Loops that a device runs by itself give what the host gives when it drives them: results, steps, trips, and every place to stop at.
#include "converters/lsir/lsir.h"
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/exec/device_fixture.h"
#include "tests/unit/exec/model_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace loopscope::testing {
namespace {

constexpr const char* kCounting = R"(
graph main(n: i32[]) {
  zero = const i32[] 0
  i, m, sum = while(zero, n, zero) cond=@cond body=@body : (i32[], i32[], i32[])
  out = add(sum, m) : i32[]
  return out
}
graph cond(i: i32[], n: i32[], sum: i32[]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], sum: i32[]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  total = add(sum, next) : i32[]
  return next, n, total
}
)";

/// An If inside, and what it gives in places of its own, of its operands and of constants.
constexpr const char* kCollatz = R"(
graph main(x: i32[]) {
  zero = const i32[] 0
  n, steps, last = while(x, zero, zero) cond=@not_one body=@step : (i32[], i32[], i32[])
  out = add(n, steps) : i32[]
  return out, last
}
graph not_one(n: i32[], count: i32[], last: i32[]) {
  one = const i32[] 1
  more = not_equal(n, one) : bool[]
  return more
}
graph step(n: i32[], count: i32[], last: i32[]) {
  zero = const i32[] 0
  one = const i32[] 1
  two = const i32[] 2
  rest = floor_mod(n, two) : i32[]
  even = equal(rest, zero) : bool[]
  next_n, what = if(even, n, last) else=@triple then=@half : (i32[], i32[])
  next_count = add(count, one) : i32[]
  return next_n, next_count, what
}
graph half(n: i32[], last: i32[]) {
  two = const i32[] 2
  halved = floor_div(n, two) : i32[]
  return halved, last
}
graph triple(n: i32[], last: i32[]) {
  one = const i32[] 1
  three = const i32[] 3
  tripled = mul(n, three) : i32[]
  odd = add(tripled, one) : i32[]
  return odd, three
}
)";

/// Values change places, one becomes a constant, one of each width is carried, and shapes are broadcast, cut and turned.
constexpr const char* kMixed = R"(
graph main(n: i32[], x: f32[2, 3], y: i64[2], z: i8[3]) {
  zero = const i32[] 0
  yes = const bool[2] [true, false]
  i, m, a, b, c, d, e = while(zero, n, x, x, y, z, yes) cond=@cond body=@body : (i32[], i32[], f32[2, 3], f32[2, 3], i64[2], i8[3], bool[2])
  return i, a, b, c, d, e
}
graph cond(i: i32[], n: i32[], a: f32[2, 3], b: f32[2, 3], c: i64[2], d: i8[3], e: bool[2]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], a: f32[2, 3], b: f32[2, 3], c: i64[2], d: i8[3], e: bool[2]) {
  one = const i32[] 1
  row = const f32[3] [0.5, -0.25, 0.125]
  fixed = const bool[2] [false, false]
  turned = const i32[2] [1, 0]
  cut = const i32[2] [0, 1]
  size = const i32[2] [2, 2]
  ends = const i32[2, 2] [0, 0, 1, 0]
  next = add(i, one) : i32[]
  small = tanh(a) : f32[2, 3]
  moved = add(small, row) : f32[2, 3]
  across = transpose(moved, turned) : f32[3, 2]
  back = transpose(across, turned) : f32[2, 3]
  part = slice(b, cut, size) : f32[2, 2]
  padded = pad(part, ends) : f32[2, 3]
  mixed = mul(back, padded) : f32[2, 3]
  twice = add(c, c) : i64[2]
  least = maximum(twice, c) : i64[2]
  return next, n, b, moved, least, d, fixed
}
)";

/// Loops inside, of which one depends on the other, one has an If, and one may not go round at all; reductions around them and in them.
constexpr const char* kNested = R"(
graph main(n: i32[]) {
  zero = const i32[] 0
  start = const i32[3] [5, -7, 2]
  i, m, sum, v = while(zero, n, zero, start) cond=@cond body=@body : (i32[], i32[], i32[], i32[3])
  out = add(sum, i) : i32[]
  return out, v
}
graph cond(i: i32[], n: i32[], sum: i32[], v: i32[3]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], sum: i32[], v: i32[3]) {
  zero = const i32[] 0
  one = const i32[] 1
  axes = const i32[1] [0]
  most = reduce_max(v, axes) : i32[]
  j, upto, grown = while(zero, i, v) cond=@inner_cond body=@inner_body : (i32[], i32[], i32[3])
  place = arg_max(grown, zero) : i32[]
  j2, k, w = while(place, j, most) cond=@other_cond body=@other_body : (i32[], i32[], i32[])
  total = sum(grown, axes) : i32[]
  part = add(total, w) : i32[]
  seven = const i32[] 7
  rest = floor_mod(part, seven) : i32[]
  next_sum = add(sum, rest) : i32[]
  next = add(i, one) : i32[]
  return next, n, next_sum, grown
}
graph inner_cond(j: i32[], upto: i32[], v: i32[3]) {
  go = less(j, upto) : bool[]
  return go
}
graph inner_body(j: i32[], upto: i32[], v: i32[3]) {
  zero = const i32[] 0
  one = const i32[] 1
  two = const i32[] 2
  five = const i32[] 5
  axes = const i32[1] [0]
  next = add(j, one) : i32[]
  rest = floor_mod(j, two) : i32[]
  odd = equal(rest, one) : bool[]
  s = sum(v, axes) : i32[]
  turned = if(odd, v, s) else=@same then=@other : (i32[3])
  return next, upto, turned
}
graph other(v: i32[3], s: i32[]) {
  eleven = const i32[] 11
  rest = floor_mod(s, eleven) : i32[]
  turned = sub(v, rest) : i32[3]
  return turned
}
graph same(v: i32[3], s: i32[]) {
  return v
}
graph other_cond(j: i32[], k: i32[], w: i32[]) {
  go = less(j, k) : bool[]
  return go
}
graph other_body(j: i32[], k: i32[], w: i32[]) {
  two = const i32[] 2
  next = add(j, two) : i32[]
  more = add(w, next) : i32[]
  return next, k, more
}
)";

/// A recurrent cell: no step of one workgroup, so the device drives it in chunks. Values change places and become constants here, too.
constexpr const char* kRecurrent = R"(
graph main(n: i32[], x: f32[1, 4]) {
  zero = const i32[] 0
  i, m, h, before, last = while(zero, n, x, x, zero) cond=@cond body=@body : (i32[], i32[], f32[1, 4], f32[1, 4], i32[])
  return i, h, before, last
}
graph cond(i: i32[], n: i32[], h: f32[1, 4], before: f32[1, 4], last: i32[]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], h: f32[1, 4], before: f32[1, 4], last: i32[]) {
  one = const i32[] 1
  seven = const i32[] 7
  w = const f32[4, 4] [0.5, -0.25, 0.125, 1, 0.75, 0.5, -1, 0.25, -0.5, 0.25, 1, -0.125, 1, -0.75, 0.5, 0.25]
  b = const f32[4] [0.1, -0.2, 0.3, -0.4]
  next = add(i, one) : i32[]
  product = fully_connected(h, w, b) : f32[1, 4]
  small = tanh(product) : f32[1, 4]
  mixed = add(small, before) : f32[1, 4]
  return next, n, mixed, h, seven
}
)";

/// The same with a branch and a loop inside: a round of the device may end before an iteration does.
constexpr const char* kRecurrentNested = R"(
graph main(n: i32[], x: f32[1, 4]) {
  zero = const i32[] 0
  i, m, h, taken = while(zero, n, x, zero) cond=@cond body=@body : (i32[], i32[], f32[1, 4], i32[])
  return i, h, taken
}
graph cond(i: i32[], n: i32[], h: f32[1, 4], taken: i32[]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], h: f32[1, 4], taken: i32[]) {
  zero = const i32[] 0
  one = const i32[] 1
  half = const f32[] 0.5
  axes = const i32[2] [0, 1]
  next = add(i, one) : i32[]
  j, upto, k = while(zero, i, h) cond=@inner_cond body=@inner_body : (i32[], i32[], f32[1, 4])
  sum = sum(k, axes) : f32[]
  small = less(sum, half) : bool[]
  g, t = if(small, k, taken) then=@then else=@otherwise : (f32[1, 4], i32[])
  return next, n, g, t
}
graph inner_cond(j: i32[], upto: i32[], h: f32[1, 4]) {
  go = less(j, upto) : bool[]
  return go
}
graph inner_body(j: i32[], upto: i32[], h: f32[1, 4]) {
  one = const i32[] 1
  w = const f32[4, 4] [0.5, -0.25, 0.125, 1, 0.75, 0.5, -1, 0.25, -0.5, 0.25, 1, -0.125, 1, -0.75, 0.5, 0.25]
  next = add(j, one) : i32[]
  product = fully_connected(h, w, _) : f32[1, 4]
  small = tanh(product) : f32[1, 4]
  return next, upto, small
}
graph then(h: f32[1, 4], taken: i32[]) {
  one = const i32[] 1
  more = add(taken, one) : i32[]
  return h, more
}
graph otherwise(h: f32[1, 4], taken: i32[]) {
  less = neg(h) : f32[1, 4]
  return less, taken
}
)";

enum class Way { host, perOperator, device };

/// Never stops, and by being there makes the host drive what it has traps in.
class Bystander final : public TrapHandler {
public:
    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent&, Tick) override { return false; }
};

class DeviceLoopsTest : public DeviceFixture {
protected:
    static Model modelOf(const char* text)
    {
        Result<Model> model = importLsir("test", Bytes::copyOf(text, std::strlen(text)));
        EXPECT_TRUE(model.ok()) << model.error().message();
        return std::move(model).value();
    }
    std::unique_ptr<Interpreter> interpreterOf(const Model& model, Way way, int64_t maxSteps = 1'000'000'000)
    {
        ExecutionOptions options;
        options.maxSteps = maxSteps;
        if (way != Way::host) {
            options.profile = Profile::vulkan;
            options.device = m_memory.get();
        }
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0), options);
        EXPECT_TRUE(made.ok());
        if (way == Way::perOperator) {
            TrapSet traps;
            traps.add(GraphId(2), OperatorId(0), trapBefore);
            (*made)->setTraps(traps, &m_bystander);
        }
        return std::move(made).value();
    }
    static void start(Interpreter& interpreter, int32_t n)
    {
        std::vector<int32_t> count = {n};
        ASSERT_TRUE(interpreter.setInput(0, tensorOver(count, Shape())).ok());
        ASSERT_TRUE(interpreter.start().ok());
    }
    uint64_t launches() const { return m_memory->traffic().launches; }

    Bystander m_bystander;
};

TEST_F(DeviceLoopsTest, oneDispatchDoesAllIterations)
{
    const Model model = modelOf(kCounting);
    const auto host = interpreterOf(model, Way::host), device = interpreterOf(model, Way::device);
    for (const int32_t n : {-3, 0, 1, 2, 1000}) {
        start(*host, n);
        start(*device, n);
        const uint64_t before = launches();
        ASSERT_TRUE(host->run().ok());
        ASSERT_TRUE(device->run().ok());
        EXPECT_EQ(launches() - before, 2U) << "the loop, and the add behind it";
        EXPECT_EQ(elements<int32_t>(device->output(0)), elements<int32_t>(host->output(0))) << n;
        EXPECT_EQ(device->position().step, host->position().step) << n;
    }
}

// Mesa's software device ends loops after 65,535 iterations: dispatches stay below.
TEST_F(DeviceLoopsTest, longLoopsAreSeveralDispatches)
{
    const Model model = modelOf(kCounting);
    const auto host = interpreterOf(model, Way::host), device = interpreterOf(model, Way::device);
    start(*host, 200'000);
    start(*device, 200'000);
    ASSERT_TRUE(host->run().ok());
    const uint64_t before = launches();
    ASSERT_TRUE(device->run().ok());
    EXPECT_EQ(elements<int32_t>(device->output(0)), elements<int32_t>(host->output(0)));
    EXPECT_EQ(device->position().step, host->position().step);
    EXPECT_LT(launches() - before, 100U);
}

class DeviceLoopStopsTest : public DeviceLoopsTest, public ::testing::WithParamInterface<std::pair<const char*, int32_t>> {};
INSTANTIATE_TEST_SUITE_P(Models, DeviceLoopStopsTest,
                         ::testing::Values(std::pair(kCounting, 100), std::pair(kCollatz, 97), std::pair(kNested, 12)));

TEST_P(DeviceLoopStopsTest, aRunStopsWhereItWouldOnTheHost)
{
    const Model model = modelOf(GetParam().first);
    const int32_t n = GetParam().second;
    const auto host = interpreterOf(model, Way::host), device = interpreterOf(model, Way::device);
    for (const int64_t tick : {1, 2, 3, 4, 31, 32, 33, 34, 35, 36, 299, 300, 301, 302}) {
        start(*host, n);
        start(*device, n);
        ASSERT_TRUE(host->runTo(tick).ok());
        ASSERT_TRUE(device->runTo(tick).ok());
        EXPECT_EQ(device->positionAddress(), host->positionAddress()) << tick;
        EXPECT_EQ(device->position().invocation, host->position().invocation) << tick;
        EXPECT_EQ(device->frame(-1).iteration, host->frame(-1).iteration) << tick;
        EXPECT_EQ(device->frame(-1).enteredAtStep, host->frame(-1).enteredAtStep) << tick;
        const Graph& graph = model.graph(host->frame(-1).graph);
        for (const ValueId input : graph.inputs) {
            const Tensor* const there = device->value(-1, input);
            const Tensor* const here = host->value(-1, input);
            ASSERT_EQ(there != nullptr, here != nullptr);
            if (!here) continue;
            EXPECT_EQ(elements<int32_t>(*there), elements<int32_t>(*here)) << tick;
        }
        const MachineState state = device->snapshot();
        ASSERT_TRUE(host->run().ok());
        ASSERT_TRUE(device->step().ok());
        ASSERT_TRUE(device->position().finished || device->run().ok());
        EXPECT_EQ(elements<int32_t>(device->output(0)), elements<int32_t>(host->output(0))) << tick;
        EXPECT_EQ(device->position().step, host->position().step) << tick;
        ASSERT_TRUE(device->restore(state).ok());
        ASSERT_TRUE(device->run().ok());
        EXPECT_EQ(elements<int32_t>(device->output(0)), elements<int32_t>(host->output(0))) << tick;
    }
}

TEST_F(DeviceLoopsTest, theBudgetOfStepsEndsItAtTheSamePlace)
{
    const Model model = modelOf(kCounting);
    for (const int64_t budget : {1, 2, 50, 51, 52, 300}) {
        const auto host = interpreterOf(model, Way::host, budget), device = interpreterOf(model, Way::device, budget);
        start(*host, 100);
        start(*device, 100);
        const Status here = host->run(), there = device->run();
        ASSERT_FALSE(here.ok());
        ASSERT_FALSE(there.ok());
        EXPECT_EQ(there.detail().what, here.detail().what);
        EXPECT_EQ(device->frame(-1).iteration, host->frame(-1).iteration);
    }
}

TEST_F(DeviceLoopsTest, branchesAreTakenInsideTheDispatch)
{
    const Model model = modelOf(kCollatz);
    const auto host = interpreterOf(model, Way::host), device = interpreterOf(model, Way::device);
    for (const int32_t x : {1, 2, 3, 27, 97}) {
        start(*host, x);
        start(*device, x);
        const uint64_t before = launches();
        ASSERT_TRUE(host->run().ok());
        ASSERT_TRUE(device->run().ok());
        EXPECT_EQ(launches() - before, 2U);
        for (const int k : {0, 1}) EXPECT_EQ(elements<int32_t>(device->output(k)), elements<int32_t>(host->output(k))) << x;
        EXPECT_EQ(device->position().step, host->position().step) << x;
    }
}

TEST_F(DeviceLoopsTest, loopsInsideRunInTheSameDispatch)
{
    const Model model = modelOf(kNested);
    const auto host = interpreterOf(model, Way::host), device = interpreterOf(model, Way::device);
    for (const int32_t n : {0, 1, 2, 3, 40}) {
        start(*host, n);
        start(*device, n);
        const uint64_t before = launches();
        ASSERT_TRUE(host->run().ok());
        ASSERT_TRUE(device->run().ok());
        EXPECT_LT(launches() - before, 20U) << n;
        for (const int k : {0, 1}) EXPECT_EQ(elements<int32_t>(device->output(k)), elements<int32_t>(host->output(k))) << n;
        EXPECT_EQ(device->position().step, host->position().step) << n;
    }
}

// A dispatch ends in the midst of a loop inside, and the budget of steps in the midst of an iteration, which the device does not complete
// then.
TEST_F(DeviceLoopsTest, aLoopInsideMayTakeLongerThanADispatch)
{
    const Model model = modelOf(kNested);
    for (const int64_t budget : {1'000'000'000, 70'000, 70'001, 70'007, 1'234'567}) {
        const auto host = interpreterOf(model, Way::host, budget), device = interpreterOf(model, Way::device, budget);
        start(*host, 500);
        start(*device, 500);
        EXPECT_EQ(host->run().ok(), device->run().ok());
        EXPECT_EQ(device->positionAddress(), host->positionAddress());
        EXPECT_EQ(device->position().step, host->position().step);
        EXPECT_EQ(device->position().invocation, host->position().invocation);
    }
}

TEST_F(DeviceLoopsTest, aTrapInABranchMakesTheHostDriveTheLoop)
{
    const Model model = modelOf(kCollatz);
    const auto device = interpreterOf(model, Way::device);
    TrapSet traps;
    traps.add(GraphId(4), OperatorId(1), trapAfter);
    device->setTraps(traps, &m_bystander);
    start(*device, 27);
    const uint64_t before = launches();
    ASSERT_TRUE(device->run().ok());
    EXPECT_GT(launches() - before, 300U);
}

TEST_F(DeviceLoopsTest, aTrapInsideMakesTheHostDriveIt)
{
    const Model model = modelOf(kCounting);
    const auto device = interpreterOf(model, Way::perOperator);
    start(*device, 20);
    const uint64_t before = launches();
    ASSERT_TRUE(device->run().ok());
    EXPECT_EQ(launches() - before, 62U);
    device->setTraps({}, nullptr);
    start(*device, 20);
    ASSERT_TRUE(device->run().ok());
    EXPECT_EQ(launches() - before, 64U);
}

TEST_F(DeviceLoopsTest, tensorsOfAllWidthsAreCarriedAndMoved)
{
    const Model model = modelOf(kMixed);
    std::vector<float> x = {0.5F, -1.5F, 2, 3.25F, -0.125F, 0.75F};
    std::vector<int64_t> y = {3, -5'000'000'000};
    std::vector<int8_t> z = {1, -2, 127};
    std::vector<std::vector<std::byte>> results[3];
    for (const Way way : {Way::host, Way::perOperator, Way::device}) {
        const auto interpreter = interpreterOf(model, way);
        std::vector<int32_t> n = {17};
        ASSERT_TRUE(interpreter->setInput(0, tensorOver(n, Shape())).ok());
        ASSERT_TRUE(interpreter->setInput(1, tensorOver(x, Shape({2, 3}))).ok());
        ASSERT_TRUE(interpreter->setInput(2, tensorOver(y, Shape({2}))).ok());
        ASSERT_TRUE(interpreter->setInput(3, tensorOver(z, Shape({3}))).ok());
        ASSERT_TRUE(interpreter->start().ok());
        const uint64_t before = launches();
        const Status status = interpreter->run();
        ASSERT_TRUE(status.ok()) << status.detail().what;
        const uint64_t launched = launches() - before;
        EXPECT_TRUE(way == Way::device ? launched == 1 : way == Way::host ? launched == 0 : launched > 17) << launched;
        for (int k = 0; k < 6; ++k) {
            const std::span<const std::byte> bytes = interpreter->output(k).view();
            results[static_cast<size_t>(way)].emplace_back(bytes.begin(), bytes.end());
        }
    }
    EXPECT_EQ(results[2], results[1]) << "bits of the operators' own kernels";
    for (const size_t k : {0, 3, 4, 5}) EXPECT_EQ(results[2][k], results[0][k]) << "integers are exact: " << k;
}

// Mesa's software device counts the iterations of all loops of an invocation together and ends them silently after 65,535: those over
// elements and dimensions have to be counted, too.
TEST_F(DeviceLoopsTest, loopsOverElementsAreCountedForTheLimitOfADispatch)
{
    const Model model = modelOf(kMixed);
    std::vector<float> x = {0.5F, -1.5F, 2, 3.25F, -0.125F, 0.75F};
    std::vector<int64_t> y = {0, -1};
    std::vector<int8_t> z = {1, -2, 127};
    std::vector<float> results[2];
    for (const Way way : {Way::host, Way::device}) {
        const auto interpreter = interpreterOf(model, way);
        std::vector<int32_t> n = {20'000};
        ASSERT_TRUE(interpreter->setInput(0, tensorOver(n, Shape())).ok());
        ASSERT_TRUE(interpreter->setInput(1, tensorOver(x, Shape({2, 3}))).ok());
        ASSERT_TRUE(interpreter->setInput(2, tensorOver(y, Shape({2}))).ok());
        ASSERT_TRUE(interpreter->setInput(3, tensorOver(z, Shape({3}))).ok());
        ASSERT_TRUE(interpreter->start().ok());
        ASSERT_TRUE(interpreter->run().ok());
        EXPECT_EQ(elements<int32_t>(interpreter->output(0)), n);
        results[way == Way::device] = elements<float>(interpreter->output(1));
    }
    for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(results[1][i], results[0][i], 1e-5) << i;
}

TEST_F(DeviceLoopsTest, bodiesForTheWholeDeviceRunInChunks)
{
    const Model model = modelOf(kRecurrent);
    std::vector<float> x = {0.5F, -1.5F, 2, 3.25F};
    for (const int32_t trips : {0, 1, 2, 7, 8, 9, 40, 41, 170, 171}) {
        std::vector<std::vector<std::byte>> results[3];
        int64_t steps[3] = {};
        for (const Way way : {Way::host, Way::perOperator, Way::device}) {
            const auto interpreter = interpreterOf(model, way);
            std::vector<int32_t> n = {trips};
            ASSERT_TRUE(interpreter->setInput(0, tensorOver(n, Shape())).ok());
            ASSERT_TRUE(interpreter->setInput(1, tensorOver(x, Shape({1, 4}))).ok());
            ASSERT_TRUE(interpreter->start().ok());
            const uint64_t before = m_memory->traffic().submissions;
            ASSERT_TRUE(interpreter->run().ok());
            const uint64_t submissions = m_memory->traffic().submissions - before;
            const uint64_t chunks = trips < 8 ? 1 : trips < 40 ? 2 : trips < 168 ? 3 : 4, outputs = 4;
            EXPECT_TRUE(way != Way::device || submissions <= chunks + outputs + 1) << submissions;
            for (int k = 0; k < 4; ++k) {
                const std::span<const std::byte> bytes = interpreter->output(k).view();
                results[static_cast<size_t>(way)].emplace_back(bytes.begin(), bytes.end());
            }
            steps[static_cast<size_t>(way)] = interpreter->position().step;
        }
        EXPECT_EQ(results[2], results[1]) << trips;
        EXPECT_EQ(results[2][0], results[0][0]) << trips;
        EXPECT_EQ(results[2][3], results[0][3]) << trips;
        EXPECT_EQ(steps[2], steps[0]) << trips;
    }
}

TEST_F(DeviceLoopsTest, chunksHaveBranchesAndLoopsInside)
{
    const Model model = modelOf(kRecurrentNested);
    std::vector<float> x = {0.5F, -1.5F, 2, 3.25F};
    for (const int32_t trips : {0, 1, 2, 9, 30}) {
        std::vector<std::vector<std::byte>> results[3];
        int64_t steps[3] = {}, invocations[3] = {};
        for (const Way way : {Way::host, Way::perOperator, Way::device}) {
            const auto interpreter = interpreterOf(model, way);
            std::vector<int32_t> n = {trips};
            ASSERT_TRUE(interpreter->setInput(0, tensorOver(n, Shape())).ok());
            ASSERT_TRUE(interpreter->setInput(1, tensorOver(x, Shape({1, 4}))).ok());
            ASSERT_TRUE(interpreter->start().ok());
            const uint64_t before = m_memory->traffic().submissions;
            ASSERT_TRUE(interpreter->run().ok());
            EXPECT_TRUE(way != Way::device || m_memory->traffic().submissions - before < 24) << m_memory->traffic().submissions - before;
            for (int k = 0; k < 3; ++k) {
                const std::span<const std::byte> bytes = interpreter->output(k).view();
                results[static_cast<size_t>(way)].emplace_back(bytes.begin(), bytes.end());
            }
            steps[static_cast<size_t>(way)] = interpreter->position().step;
            invocations[static_cast<size_t>(way)] = interpreter->position().invocation;
        }
        EXPECT_EQ(results[2], results[1]) << trips;
        EXPECT_EQ(results[2][2], results[0][2]) << trips;
        EXPECT_EQ(steps[2], steps[0]) << trips;
        EXPECT_EQ(invocations[2], invocations[0]) << trips;
    }
}

TEST_F(DeviceLoopsTest, validationHasNothingToSay) { EXPECT_THAT(m_memory->device().validationMessages(), ::testing::IsEmpty()); }

} // namespace
} // namespace loopscope::testing
