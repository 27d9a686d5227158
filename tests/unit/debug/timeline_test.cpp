// What a timeline promises besides right states: undo without re-execution, budgets, reports of nondeterminism, errors, observers.
#include "converters/lsir/lsir.h"
#include "engine/base/swapped_bytes.h"
#include "engine/debug/timeline.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/make_executor.h"
#include "tests/unit/debug/timeline_models.h"

#include <gmock/gmock.h>

namespace loopscope::testing {
namespace {

using ::testing::HasSubstr;

std::string messageOf(Status status) { return status.ok() ? "ok" : std::move(status).takeError().message(); }

TEST(Timeline, aTickIsOneStep)
{
    const Subject subject = textSubject(kEverything, 5);
    const auto stepped = subject.make();
    EXPECT_OK(stepped->start());
    for (int64_t tick = 0;; ++tick) {
        ASSERT_EQ(stepped->tick(), tick);
        const auto ran = subject.make();
        EXPECT_OK(ran->start());
        EXPECT_OK(ran->runTo(tick));
        ASSERT_EQ(ran->tick(), tick);
        ASSERT_EQ(ran->snapshot().hash(), stepped->snapshot().hash());
        if (stepped->position().finished) break;
        EXPECT_OK(stepped->step());
    }
}

TEST(Timeline, sharedSnapshotsEqualFullOnes)
{
    const Subject subject = textSubject(kNested, 4);
    const auto interpreter = subject.make();
    EXPECT_OK(interpreter->start());
    MachineState previous = interpreter->snapshot();
    size_t shared = 0;
    while (!interpreter->position().finished) {
        EXPECT_OK(interpreter->step());
        MachineState state = interpreter->snapshot(previous);
        ASSERT_EQ(state.hash(), interpreter->snapshot().hash());
        shared += state.frames[0].values[0].bytes.data() == previous.frames[0].values[0].bytes.data() ? 1 : 0;
        previous = std::move(state);
    }
    EXPECT_EQ(shared, static_cast<size_t>(interpreter->tick()));
}

TEST(Timeline, goesToTheInnermostStopOfAStep)
{
    const Subject subject = textSubject(kEverything, 5);
    const auto plain = subject.make();
    EXPECT_OK(plain->start());
    std::vector<int64_t> last; // by step: the last tick with no more steps
    for (;;) {
        last.resize(static_cast<size_t>(plain->position().step) + 1, last.empty() ? 0 : last.back());
        last.back() = plain->tick();
        if (plain->position().finished) break;
        EXPECT_OK(plain->step());
    }
    const auto interpreter = subject.make();
    Timeline timeline(*interpreter);
    EXPECT_OK(timeline.start());
    for (const int64_t step : {40, 3, 17, 16, 1, 0, 25, 24, 23, 8}) {
        EXPECT_OK(timeline.goToStep(step));
        EXPECT_EQ(timeline.tick(), last[static_cast<size_t>(step)]) << step;
    }
    EXPECT_OK(timeline.goToStep(1'000'000));
    EXPECT_TRUE(timeline.finished());
}

constexpr const char* kLarge = R"(lsir 1
model tf producer=2474
graph main {
  zero = Const() dtype=i32 value=i32[] 0 : i32[]
  n = Const() dtype=i32 value=i32[] 600 : i32[]
  dims = Const() dtype=i32 value=i32[1] [16384] : i32[1]
  half = Const() dtype=f32 value=f32[] 0.5 : f32[]
  x = Fill(dims, half) T=f32 index_type=i32 : f32[16384]
  loop = While(zero, n, x) T=[i32, i32, f32] body=@step cond=@more : (i32[], i32[], f32[16384])
  return y=loop:2
}
graph more(i: i32[], n: i32[], x: f32[16384]) {
  go = Less(i, n) T=i32 : bool[]
  return go=go
}
graph step(i: i32[], n: i32[], x: f32[16384]) {
  one = Const() dtype=i32 value=i32[] 1 : i32[]
  next = AddV2(i, one) T=i32 : i32[]
  s = Sin(x) T=f32 : f32[16384]
  return i=next, n=n, x=s
}
)";

TEST(Timeline, largeValuesOfSavedStatesMayLieOnDisk)
{
    const Result<Model> model = modelFromText(kLarge, "test");
    ASSERT_TRUE(model.ok());
    const auto made = [&] { return std::move(makeExecutor(*model, GraphId(0))).value(); };
    const auto plain = made();
    EXPECT_OK(plain->start());
    std::vector<uint64_t> hashes = {plain->snapshot().hash()};
    while (!plain->position().finished) {
        EXPECT_OK(plain->step());
        hashes.push_back(plain->snapshot().hash());
    }
    setSwapping(1, "/var/tmp"); // 32 MiB stay in memory
    {
        const auto executor = made();
        TimelineBudget budget;
        budget.undoStates = 100'000;
        Timeline timeline(*executor, budget);
        EXPECT_OK(timeline.start());
        while (!timeline.finished()) EXPECT_OK(timeline.forward());
        EXPECT_GE(timeline.savedBytes(), uint64_t{30} << 20);
        EXPECT_LE(swapShares().inMemory, uint64_t{40} << 20);
        int64_t tick = std::ssize(hashes) - 1;
        for (int k = 0; k < 60 && tick > 0; ++k, tick -= 41) {
            EXPECT_OK(timeline.goTo(tick));
            ASSERT_EQ(executor->snapshot().hash(), hashes[static_cast<size_t>(tick)]) << tick;
        }
        EXPECT_GE(swapShares().inMemory + swapShares().onDisk, uint64_t{24} << 20);
    }
    setSwapping(0, "");
}

TEST(Timeline, editsForkAndBothBranchesStay)
{
    const Subject subject = textSubject(kNested, 4);
    const auto interpreter = subject.make();
    Timeline timeline(*interpreter);
    EXPECT_OK(timeline.start());
    EXPECT_OK(timeline.goToEnd());
    const int64_t end = timeline.tick();
    EXPECT_OK(timeline.goTo(end / 2));
    std::vector<int32_t> one = {1};
    const GraphId outer = interpreter->callStack()[1].graph;
    const ValueId trips = subject.model->graph(outer).inputs[1];
    const Result<TimelineId> fork = timeline.edit(1, trips, tensorOver(one, Shape{}));
    ASSERT_TRUE(fork.ok()) << fork.error().message();
    EXPECT_EQ(*fork, 2);
    EXPECT_OK(timeline.goToEnd());
    EXPECT_LT(timeline.tick(), end) << "fewer trips are left";
    EXPECT_OK(timeline.switchTo(1));
    EXPECT_EQ(timeline.tick(), end / 2);
    EXPECT_OK(timeline.goToEnd());
    EXPECT_EQ(timeline.tick(), end);
    const std::vector<TimelineInfo> lines = timeline.timelines();
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[1].parent, 1);
    EXPECT_EQ(lines[1].forkTick, end / 2);
    EXPECT_THAT(messageOf(timeline.switchTo(3)), HasSubstr("no timeline 3"));
}

TEST(Timeline, refusesEditsThatCannotBe)
{
    const Subject subject = textSubject(kNested, 4);
    const auto interpreter = subject.make();
    Timeline timeline(*interpreter);
    EXPECT_OK(timeline.start());
    const uint64_t before = interpreter->snapshot().hash();
    std::vector<float> x = {1, 2, 3};
    const ValueId input = subject.model->graph(GraphId(0)).inputs[1];
    const auto refusal = [&](int depth, ValueId value, const Tensor& tensor) {
        const Result<TimelineId> result = timeline.edit(depth, value, tensor);
        return result.ok() ? "ok" : result.error().message();
    };
    EXPECT_THAT(refusal(0, ValueId(2), tensorOver(x, Shape{3})), HasSubstr("a constant cannot be changed"));
    EXPECT_THAT(refusal(0, ValueId(99), tensorOver(x, Shape{3})), HasSubstr("no value 99"));
    EXPECT_THAT(refusal(3, input, tensorOver(x, Shape{3})), HasSubstr("no frame 3"));
    EXPECT_THAT(refusal(0, subject.model->graph(GraphId(0)).inputs[0], tensorOver(x, Shape{3})), HasSubstr("another dtype"));
    EXPECT_THAT(refusal(0, input, tensorOver(x, Shape{4})), HasSubstr("wrong number of bytes"));
    EXPECT_THAT(refusal(0, subject.model->graph(GraphId(0)).outputs[0].value, tensorOver(x, Shape{3})), HasSubstr("not live here"));
    EXPECT_EQ(interpreter->snapshot().hash(), before);
    EXPECT_EQ(timeline.timelines().size(), 1U);
    EXPECT_THAT(messageOf(timeline.back()), HasSubstr("at its start"));
    EXPECT_THAT(messageOf(timeline.goTo(-1)), HasSubstr("no such tick"));
}

/// A loop whose body adds a constant, which a test can change behind the machine's back.
TEST(Timeline, reportsNondeterminism)
{
    const Subject subject = textSubject(kNested, 30);
    const auto interpreter = subject.make();
    TimelineBudget budget;
    budget.undoStates = 0;
    Timeline timeline(*interpreter, budget);
    EXPECT_OK(timeline.start());
    EXPECT_OK(timeline.goTo(900));
    const int64_t step = timeline.position().step;
    EXPECT_OK(timeline.goTo(0));
    EXPECT_OK(timeline.goTo(900));
    EXPECT_OK(timeline.goTo(0));
    for (const Value& value : subject.model->graphs.back().values)
        if (value.role == ValueRole::constant && value.type.dtype == DType::f32) {
            const float other = 0.25F;
            std::memcpy(const_cast<std::byte*>(value.constant->bytes().data()), &other, sizeof other);
        }
    EXPECT_THAT(messageOf(timeline.goTo(900)), HasSubstr("nondeterminism at step " + std::to_string(step)));
}

constexpr const char* kFailing = R"(
graph main(n: i32[], x: f32[4]) {
  zero = const i32[] 0
  i, m, y = while(zero, n, x) cond=@cond body=@body : (i32[], i32[], f32[4])
  return y
}
graph cond(i: i32[], n: i32[], x: f32[4]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], x: f32[4]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  e = gather(x, i) axis=0 batch_dims=0 : f32[]
  y = add(x, e) : f32[4]
  return next, n, y
}
)";

TEST(Timeline, standsBeforeTheOperatorThatFails)
{
    const Subject subject = textSubject(kFailing, 100);
    const auto interpreter = subject.make();
    Timeline timeline(*interpreter);
    EXPECT_OK(timeline.start());
    EXPECT_NE(messageOf(timeline.goToEnd()), "ok");
    const int64_t tick = timeline.tick();
    const std::string address = interpreter->positionAddress();
    EXPECT_THAT(address, HasSubstr("gather"));
    EXPECT_NE(messageOf(timeline.forward()), "ok");
    EXPECT_EQ(timeline.tick(), tick);
    EXPECT_OK(timeline.back());
    EXPECT_EQ(timeline.tick(), tick - 1);
    EXPECT_OK(timeline.forward());
    EXPECT_EQ(interpreter->positionAddress(), address);
}

TEST(Timeline, canBeCancelled)
{
    const Subject subject = textSubject(kNested, 10'000);
    Subject endless = subject;
    endless.maxSteps = 1'000'000'000;
    const auto interpreter = endless.make();
    Timeline timeline(*interpreter);
    EXPECT_OK(timeline.start());
    CancelFlag cancel;
    TravelControl control;
    control.cancel = &cancel;
    control.progress = [&](int64_t, int64_t) { cancel.request(); };
    EXPECT_THAT(messageOf(timeline.goToEnd(control)), HasSubstr("cancelled at"));
    const int64_t reached = timeline.tick();
    EXPECT_GT(reached, 0);
    EXPECT_OK(timeline.back());
    EXPECT_EQ(timeline.tick(), reached - 1);
}

class Counter final : public ExecutionObserver {
public:
    void operatorExecuted(const OperatorEvent& e) override { EXPECT_EQ(e.step, next++); }
    void runEnded(const RunEnd&) override { ++ended; }
    int64_t next = 0;
    int ended = 0;
};

TEST(Timeline, observersHearEveryStepOnce)
{
    const Subject subject = textSubject(kEverything, 7);
    const auto interpreter = subject.make();
    Counter counter;
    interpreter->setObserver(&counter);
    Timeline timeline(*interpreter);
    EXPECT_OK(timeline.start());
    for (int i = 0; i < 20; ++i) EXPECT_OK(timeline.forward());
    for (int i = 0; i < 15; ++i) EXPECT_OK(timeline.back());
    EXPECT_OK(timeline.goTo(60));
    EXPECT_OK(timeline.goTo(10));
    EXPECT_OK(timeline.goToEnd());
    EXPECT_OK(timeline.back());
    EXPECT_OK(timeline.forward());
    EXPECT_EQ(counter.next, timeline.position().step);
    EXPECT_EQ(counter.ended, 1);
}

TEST(Timeline, replaysLetAListenerHearAPartAgain)
{
    const Subject subject = textSubject(kEverything, 7);
    const auto interpreter = subject.make();
    Counter counter;
    interpreter->setObserver(&counter);
    Timeline timeline(*interpreter);
    EXPECT_OK(timeline.start());
    for (int i = 0; i < 40; ++i) EXPECT_OK(timeline.forward());
    const int64_t half = counter.next;
    EXPECT_OK(timeline.goTo(12));
    Counter listener;
    listener.next = timeline.position().step;
    EXPECT_OK(timeline.replay(60, listener)); // part of it for the second time
    EXPECT_EQ(timeline.tick(), 60);
    EXPECT_EQ(listener.next, timeline.position().step);
    EXPECT_EQ(counter.next, timeline.position().step) << "the run's own observer hears what is new";
    EXPECT_GT(counter.next, half);
    EXPECT_OK(timeline.goTo(12));
    EXPECT_EQ(listener.next, counter.next) << "nothing more";
    EXPECT_THAT(messageOf(timeline.replay(5, listener)), HasSubstr("before here"));
    EXPECT_EQ(timeline.checkpointBefore(12), 0);
}

/// A replay over the edits of two forks ends in the state of the fork.
TEST(Timeline, replaysCrossForks)
{
    const Subject subject = textSubject(kNested, 4);
    const auto interpreter = subject.make();
    Timeline timeline(*interpreter);
    EXPECT_OK(timeline.start());
    std::vector<float> x = {1, 2, 3, 4};
    const ValueId input = subject.model->graph(interpreter->root()).inputs[1];
    ASSERT_TRUE(timeline.edit(0, input, tensorOver(x, Shape{4})).ok());
    EXPECT_OK(timeline.goTo(20));
    const GraphId outer = interpreter->callStack()[1].graph;
    ASSERT_TRUE(timeline.edit(1, subject.model->graph(outer).inputs[2], tensorOver(x, Shape{4})).ok());
    const uint64_t atFork = interpreter->snapshot().hash();
    EXPECT_OK(timeline.goToEnd());
    const uint64_t atEnd = interpreter->snapshot().hash();
    Counter listener;
    EXPECT_OK(timeline.goTo(0));
    EXPECT_OK(timeline.replay(20, listener));
    EXPECT_EQ(interpreter->snapshot().hash(), atFork);
    EXPECT_OK(timeline.goTo(0));
    listener.next = 0;
    EXPECT_OK(timeline.replay(100'000, listener));
    EXPECT_EQ(interpreter->snapshot().hash(), atEnd);
    EXPECT_EQ(listener.next, timeline.position().step);
}

TEST(Timeline, aBudgetThatHoldsNothingIsRefused)
{
    const Subject subject = textSubject(kNested, 3);
    const auto interpreter = subject.make();
    TimelineBudget budget;
    budget.bytes = 100;
    Timeline timeline(*interpreter, budget);
    EXPECT_THAT(messageOf(timeline.start()), HasSubstr("budget"));
    EXPECT_THAT(messageOf(timeline.forward()), HasSubstr("no run was started"));
}

} // namespace
} // namespace loopscope::testing
