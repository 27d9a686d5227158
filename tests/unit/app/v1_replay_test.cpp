// Stepping through recordings of TensorFlow 1 graphs: held against the run that was recorded, stop by stop, frames and dead tokens
// included.
#include "app/output/listing.h"
#include "app/replay/replay_executor.h"
#include "engine/debug/inspect/write_search.h"
#include "engine/debug/timeline.h"
#include "engine/exec/machine_state.h"
#include "tests/scratch.h"
#include "tests/unit/exec/dataflow_models.h"
#include "tracer/record/recorder.h"
#include "tracer/sqlite/database.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <random>

namespace loopscope::app {
namespace {

using namespace loopscope::testing;

/// A variable is counted down by reference, and a Switch reads the feed itself.
constexpr const char* kCountdown = R"(
graph main(n: i32[]) {
  one = Const() dtype=i32 value=i32[] 1 : i32
  three = Const() dtype=i32 value=i32[] 3 : i32
  v = VariableV2() container="" dtype=i32 shape=shape[] shared_name="" : i32&[]
  set = Assign(v, n) T=i32 use_locking=true validate_shape=true : i32&[]
  big = Greater(set, three) T=i32 : bool
  s = Switch(set, big) T=i32 : (i32, i32)
  less = Sub(s:1, one) T=i32 : i32
  m = Merge(s, less) N=2 T=i32 : (i32, i32)
  wide = Cast(n) DstT=u64 SrcT=i32 Truncate=false : u64
  table = Const() dtype=f32 value=f32[3] [1.5, 2.5, 3.5] : f32
  doubled = Add(table, table) T=f32 : f32
  return m=m, which=m:1, doubled=doubled, wide=wide
}
)";

struct Recorded {
    std::shared_ptr<const Model> model;
    ExecutionOptions options;
    int32_t n = 0;
    std::string path;

    std::unique_ptr<DataflowExecutor> live(ExecutionObserver* observer = nullptr) const
    {
        return startedDataflow(*model, n, options, observer);
    }
};

Recorded recorded(const char* text, int32_t n, RecorderOptions recording = {}, ExecutionOptions options = {})
{
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    static const ScratchFolder folder;
    options.keepAll = true;
    Recorded subject{dataflowModel(text), options, n, folder.path(std::string("v1_") + info->name() + ".lstrace")};
    recording.path = subject.path;
    recording.overwrite = true;
    recording.model.format = "pb"; // as a file of TensorFlow has it
    recording.listing = graphListing;
    Result<std::unique_ptr<TraceRecorder>> recorder = TraceRecorder::create(*subject.model, recording);
    EXPECT_TRUE(recorder.ok()) << recorder.error().message();
    static_cast<void>(subject.live(recorder->get())->run().ok());
    EXPECT_TRUE((*recorder)->finish().ok());
    return subject;
}

RecorderOptions everything()
{
    RecorderOptions options;
    options.level = TraceLevel::all;
    options.iterations = IterationSet();
    return options;
}

/// Not started.
std::unique_ptr<Executor> opened(const std::string& path)
{
    Result<RecordingFile> file = openRecording(path, 0);
    EXPECT_TRUE(file.ok()) << file.error().message();
    return replayExecutor(std::move(file).value(), nullptr);
}

const DataflowView& viewOf(const Executor& executor) { return *executor.dataflow(); }

void expectSameStop(const Executor& live, const Executor& replay, bool values)
{
    ASSERT_EQ(replay.positionAddress(), live.positionAddress());
    ASSERT_EQ(replay.tick(), live.tick());
    ASSERT_EQ(replay.position().step, live.position().step);
    ASSERT_EQ(replay.position().finished, live.position().finished);
    ASSERT_EQ(replay.position().depth, live.position().depth);
    const DataflowView &ours = viewOf(live), &theirs = viewOf(replay);
    ASSERT_EQ(theirs.nextIsDead(), ours.nextIsDead());
    const std::vector<DataflowFrame> frames = ours.frames(), replayed = theirs.frames();
    ASSERT_EQ(replayed.size(), frames.size());
    for (size_t f = 0; f < frames.size(); ++f) {
        ASSERT_EQ(replayed[f].address, frames[f].address);
        ASSERT_EQ(replayed[f].values, frames[f].values);
        ASSERT_EQ(replayed[f].ready, frames[f].ready);
        ASSERT_EQ(replayed[f].deadExits, frames[f].deadExits);
    }
    const std::vector<DataflowToken> tokens = ours.tokens(), kept = theirs.tokens();
    ASSERT_EQ(kept.size(), tokens.size());
    for (size_t t = 0; t < tokens.size(); ++t) {
        ASSERT_EQ(kept[t].address, tokens[t].address);
        ASSERT_EQ(kept[t].isDead, tokens[t].isDead);
    }
    for (int d = 0; d < live.position().depth; ++d) {
        const FrameInfo a = live.frame(d), b = replay.frame(d);
        ASSERT_EQ(a.graph, b.graph);
        ASSERT_EQ(a.site, b.site);
        ASSERT_EQ(a.iteration, b.iteration);
        ASSERT_EQ(a.role, b.role);
        ASSERT_EQ(a.invocation, b.invocation);
        const Graph& graph = live.model().graph(a.graph);
        for (size_t v = 0; v < graph.values.size(); ++v) {
            const ValueId id(static_cast<int64_t>(v)), there = replay.model().graph(b.graph).findValue(graph.values[v].id);
            ASSERT_EQ(theirs.isDead(d, there), ours.isDead(d, id)) << live.positionAddress() << " " << graph.values[v].id;
            const Tensor* const want = live.value(d, id);
            if (!want || !values || want->dtype == DType::resource) continue;
            const Tensor* const got = replay.value(d, there);
            ASSERT_NE(got, nullptr) << live.positionAddress() << " " << graph.values[v].id;
            ASSERT_TRUE(isSameTensor(*want, *got)) << live.positionAddress() << " " << graph.values[v].id;
        }
    }
}

void expectSameRun(const Recorded& subject, bool values = true)
{
    const auto live = subject.live();
    const auto replay = opened(subject.path);
    ASSERT_TRUE(replay->start().ok());
    while (!live->position().finished) {
        ASSERT_NO_FATAL_FAILURE(expectSameStop(*live, *replay, values));
        Status want = live->step(), got = replay->step();
        ASSERT_EQ(got.ok(), want.ok());
        if (want.ok()) continue;
        EXPECT_EQ(std::move(got).takeError().message(), std::move(want).takeError().message());
        EXPECT_EQ(replay->positionAddress(), live->positionAddress());
        return;
    }
    ASSERT_NO_FATAL_FAILURE(expectSameStop(*live, *replay, values));
    for (size_t k = 0; values && k < subject.model->graphs[0].outputs.size(); ++k)
        EXPECT_TRUE(isSameTensor(live->output(static_cast<int>(k)), replay->output(static_cast<int>(k))));
}

TEST(V1Replay, StepsAsTheRunDid)
{
    expectSameRun(recorded(kNestedFrames, 5, everything()));
    expectSameRun(recorded(kCountdown, 7, everything()));
    expectSameRun(recorded(kCountdown, 2, everything()));
}

TEST(V1Replay, FollowsAnyOrder)
{
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        ExecutionOptions options;
        options.scheduleSeed = seed;
        expectSameRun(recorded(kNestedFrames, 4, everything(), options));
    }
}

TEST(V1Replay, NeedsNoMoreThanStatistics) { expectSameRun(recorded(kNestedFrames, 5)); }

TEST(V1Replay, ShowsStatisticsOfWhatWasNotStored)
{
    const auto replay = opened(recorded(kCountdown, 7).path);
    ASSERT_TRUE(replay->start().ok());
    ASSERT_TRUE(replay->run().ok());
    const ValueId doubled = replay->model().graph(GraphId(0)).findValue("doubled");
    EXPECT_EQ(replay->value(0, doubled), nullptr);
    EXPECT_FALSE(replay->isRecorded(0, doubled));
    const TensorStatistics* const statistics = replay->recordedStatistics(0, doubled);
    ASSERT_NE(statistics, nullptr);
    EXPECT_EQ(statistics->min, 3);
    EXPECT_EQ(statistics->max, 7);
    EXPECT_EQ(replay->output(2).data, nullptr);
    EXPECT_EQ(*replay->output(0).as<int32_t>(), 6);
}

TEST(V1Replay, LevelValuesHoldsWhatIsCarried)
{
    constexpr const char* kSum = R"(
graph main(n: i32[]) {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  start = Const() dtype=f32 value=f32[2] [1.0, 2.0] : f32
  i0 = Enter(zero) T=i32 frame_name="loop" is_constant=false parallel_iterations=10 : i32
  x0 = Enter(start) T=f32 frame_name="loop" is_constant=false parallel_iterations=10 : f32
  limit = Enter(n) T=i32 frame_name="loop" is_constant=true parallel_iterations=10 : i32
  i = Merge(i0, i_next) N=2 T=i32 : (i32, i32)
  x = Merge(x0, x_next) N=2 T=f32 : (f32, i32)
  less = Less(i, limit) T=i32 : bool
  goes = LoopCond(less) : bool
  i_s = Switch(i, goes) T=i32 : (i32, i32)
  x_s = Switch(x, goes) T=f32 : (f32, f32)
  one = Const(^i_s) dtype=i32 value=i32[] 1 : i32
  more = AddV2(i_s:1, one) T=i32 : i32
  twice = AddV2(x_s:1, x_s:1) T=f32 : f32
  i_next = NextIteration(more) T=i32 : i32
  x_next = NextIteration(twice) T=f32 : f32
  end = Exit(x_s) T=f32 : f32
  return end=end
}
)";
    RecorderOptions recording = everything();
    recording.level = TraceLevel::values;
    const auto replay = opened(recorded(kSum, 3, recording).path);
    ASSERT_TRUE(replay->start().ok());
    const Graph& graph = replay->model().graph(GraphId(0));
    while (replay->positionAddress() != "main/loop@2:frame/x_s") ASSERT_TRUE(replay->step().ok());
    for (const char* name : {"x_next", "x"}) { // equal bytes are stored once
        const Tensor* const carried = replay->value(-1, graph.findValue(name));
        ASSERT_NE(carried, nullptr) << name;
        EXPECT_EQ(carried->as<float>()[1], 8);
    }
}

TEST(V1Replay, LeadsToTheSameStatesInAnyDirection)
{
    const Recorded subject = recorded(kNestedFrames, 4, everything());
    const auto plain = opened(subject.path);
    ASSERT_TRUE(plain->start().ok());
    std::vector<uint64_t> hashes = {plain->snapshot().hash()};
    std::vector<std::string> places = {plain->positionAddress()};
    while (!plain->position().finished) {
        ASSERT_TRUE(plain->step().ok());
        hashes.push_back(plain->snapshot().hash());
        places.push_back(plain->positionAddress());
    }
    const auto replay = opened(subject.path);
    Timeline timeline(*replay);
    ASSERT_TRUE(timeline.start().ok());
    std::mt19937 random(3);
    for (int i = 0; i < 60; ++i) {
        const auto wanted = static_cast<int64_t>(random() % hashes.size());
        ASSERT_TRUE(timeline.goTo(wanted).ok());
        ASSERT_EQ(replay->positionAddress(), places[static_cast<size_t>(wanted)]);
        ASSERT_EQ(replay->snapshot().hash(), hashes[static_cast<size_t>(wanted)]);
    }
}

TEST(V1Replay, GoesOnPastWhatWasLeftOut)
{
    RecorderOptions recording = everything();
    Result<AddressPattern> pattern = AddressPattern::parse(".../i/inc");
    ASSERT_TRUE(pattern.ok());
    recording.except.push_back(*pattern);
    const Recorded subject = recorded(kNestedFrames, 4, recording);
    expectSameRun(subject, false);
    const auto replay = opened(subject.path);
    ASSERT_TRUE(replay->start().ok());
    while (replay->positionAddress() != "main/outer@2:frame/inner@0:frame/i/j_next") ASSERT_TRUE(replay->step().ok());
    const Graph& graph = replay->model().graph(GraphId(0));
    EXPECT_FALSE(replay->isRecorded(-1, graph.findValue("i/inc")));
    EXPECT_TRUE(replay->isRecorded(-1, graph.findValue("i/isOdd")));
}

TEST(V1Replay, EndsAsTheRunEnded)
{
    constexpr const char* kFails = R"(
graph main(n: i32[]) {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  big = Greater(n, zero) T=i32 : bool
  s = Switch(n, big) T=i32 : (i32, i32)
  bad = FloorDiv(s:1, zero) T=i32 : i32
  m = Merge(s, bad) N=2 T=i32 : (i32, i32)
  return m=m
}
)";
    expectSameRun(recorded(kFails, 4, everything()));
    expectSameRun(recorded(kFails, -4, everything()));

    ExecutionOptions options;
    options.maxSteps = 40;
    const auto replay = opened(recorded(kNestedFrames, 5, everything(), options).path);
    ASSERT_TRUE(replay->start().ok());
    Status status = replay->run();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(replay->position().step, 40);
    EXPECT_NE(std::move(status).takeError().message().find("step budget of 40"), std::string::npos);
}

TEST(V1Replay, TheUntakenSideOfASwitchIsRecordedAsDead)
{
    const Recorded subject = recorded(kCountdown, 7, everything());
    Result<RecordingFile> file = openRecording(subject.path, 0);
    ASSERT_TRUE(file.ok());
    int64_t step = 0;
    const Graph& graph = file->model.graph(GraphId(0));
    for (;; ++step) {
        const Result<std::optional<RecordedEvent>> event = file->run->event(step);
        ASSERT_TRUE(event.ok() && *event);
        if (graph.op(OperatorId((*event)->op)).name == "s") break;
    }
    for (const int slot : {0, 1}) {
        const Result<std::optional<RecordedValue>> value = file->run->value(step, slot);
        ASSERT_TRUE(value.ok() && *value);
        EXPECT_EQ((*value)->isDead, slot == 0);
    }
}

TEST(V1Replay, HoldsWhatTheModelPrinted)
{
    constexpr const char* kSays = R"(
graph main(n: i32[]) {
  hello = Const() dtype=str value=str[] "one\n" : str
  again = Const() dtype=str value=str[] "two" : str
  first = PrintV2(hello) end="" output_stream="stderr"
  second = PrintV2(again, ^first) end="" output_stream="stdout"
  y = Identity(n, ^second) T=i32 : i32
  return y=y
}
)";
    Result<RecordingFile> file = openRecording(recorded(kSays, 1).path, 0);
    ASSERT_TRUE(file.ok());
    const auto printed = [&](int64_t first, int64_t last) { return file->run->printed(first, last).value(); };
    EXPECT_EQ(printed(0, 100), "one\ntwo");
    EXPECT_EQ(printed(0, 2), "one\n");
    EXPECT_EQ(printed(4, 9), "");
}

TEST(V1Replay, TakesNoInputs)
{
    const auto replay = opened(recorded(kNestedFrames, 2).path);
    int32_t n = 3;
    EXPECT_FALSE(replay->setInput(0, scalarOf(n)).ok());
}

TEST(V1Replay, SurvivesDamage)
{
    const std::string good = recorded(kNestedFrames, 4, everything()).path;
    for (const char* damage :
         {"UPDATE invocation SET call = 1", "UPDATE invocation SET iteration = iteration + 1", "DELETE FROM invocation WHERE id % 3 = 0",
          "DELETE FROM event WHERE id % 2 = 0", "UPDATE event SET op = 1", "UPDATE event SET lo = 1 - lo", "DELETE FROM event",
          "DELETE FROM output", "UPDATE event SET invocation = 1", "UPDATE event SET state = 1", "UPDATE event SET state = 2 WHERE id = 20",
          "UPDATE run SET last = last + 1000", "UPDATE run SET last = last - 30", "UPDATE invocation SET parent = 1 WHERE id > 1",
          "UPDATE blob SET shape = '[9,9]'"}) {
        const std::string path = good + ".damaged";
        std::filesystem::copy_file(good, path, std::filesystem::copy_options::overwrite_existing);
        {
            const Result<std::unique_ptr<Database>> database = Database::open(path, OpenMode::readWrite);
            ASSERT_TRUE(database.ok());
            ASSERT_TRUE((*database)->execute(damage).ok()) << damage;
        }
        Result<RecordingFile> file = openRecording(path, 0);
        if (!file.ok()) continue;
        const std::unique_ptr<Executor> executor = replayExecutor(std::move(file).value(), nullptr);
        const DataflowView* const dataflow = executor->dataflow();
        if (!dataflow || !executor->start().ok()) continue;
        for (int steps = 0; steps < 2000 && !executor->position().finished; ++steps) {
            for (int d = 0; d < executor->position().depth; ++d) {
                const Graph& graph = executor->model().graph(executor->frame(d).graph);
                for (size_t v = 0; v < graph.values.size(); ++v) static_cast<void>(executor->value(d, ValueId(static_cast<int64_t>(v))));
            }
            static_cast<void>(dataflow->values());
            const MachineState state = executor->snapshot();
            if (!executor->step().ok()) break;
            ASSERT_TRUE(executor->restore(state).ok());
            if (!executor->step().ok()) break;
        }
    }
}

} // namespace
} // namespace loopscope::app
