// Stepping through recordings: held against the run that was recorded, stop by stop and value by value.
#include "app/output/listing.h"
#include "app/replay/replay_executor.h"
#include "app/replay/run_recording.h"
#include "engine/debug/breakpoints/breakpoint_set.h"
#include "engine/debug/control/run_control.h"
#include "engine/debug/inspect/value_history.h"
#include "engine/debug/inspect/write_search.h"
#include "engine/debug/reference/drift.h"
#include "engine/debug/timeline.h"
#include "tests/scratch.h"
#include "tests/unit/debug/inspect_models.h"
#include "tracer/api/trace_check.h"
#include "tracer/api/trace_diff.h"
#include "tracer/record/recorder.h"
#include "tracer/sqlite/database.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <tuple>

namespace loopscope::app {
namespace {

using namespace loopscope::testing;

std::string tracePath()
{
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    static const ScratchFolder folder;
    return folder.path(std::string(info->name()) + ".lstrace");
}

/// Records a run of the subject to its end, whatever that is.
std::string recorded(const Subject& subject, TraceLevel level = TraceLevel::all)
{
    RecorderOptions options;
    options.path = tracePath();
    options.overwrite = true;
    options.level = level;
    options.iterations = IterationSet();
    options.model.format = "tflite";
    options.listing = graphListing;
    Result<std::unique_ptr<TraceRecorder>> recorder = TraceRecorder::create(*subject.model, options);
    EXPECT_TRUE(recorder.ok()) << recorder.error().message();
    const auto interpreter = subject.make();
    interpreter->setObserver(recorder->get());
    EXPECT_OK(interpreter->start());
    static_cast<void>(interpreter->run().ok());
    EXPECT_OK((*recorder)->finish());
    return options.path;
}

std::unique_ptr<Executor> opened(const std::string& path)
{
    Result<RecordingFile> file = openRecording(path, 0);
    EXPECT_TRUE(file.ok()) << file.error().message();
    return replayExecutor(std::move(file).value(), nullptr);
}

Subject collatz(int32_t x)
{
    Subject subject;
    subject.model = std::make_shared<Model>(textModel(kCountedCollatz));
    subject.add<int32_t>(Shape{}, {x});
    return subject;
}

void expectSameStop(const Executor& live, const Executor& replay, bool values)
{
    ASSERT_EQ(replay.positionAddress(), live.positionAddress());
    ASSERT_EQ(replay.tick(), live.tick());
    ASSERT_EQ(replay.position().step, live.position().step);
    ASSERT_EQ(replay.position().finished, live.position().finished);
    ASSERT_EQ(replay.position().depth, live.position().depth);
    for (int d = 0; d < live.position().depth; ++d) {
        const FrameInfo a = live.frame(d), b = replay.frame(d);
        ASSERT_EQ(a.graph, b.graph);
        ASSERT_EQ(a.site, b.site);
        ASSERT_EQ(a.iteration, b.iteration);
        ASSERT_EQ(a.inCond, b.inCond);
        ASSERT_EQ(a.next, b.next);
        ASSERT_EQ(a.role, b.role);
        if (!values) continue;
        const Graph& graph = live.model().graph(a.graph);
        for (size_t v = 0; v < graph.values.size(); ++v) {
            const ValueId id(static_cast<int64_t>(v));
            const Tensor* const want = live.value(d, id);
            if (!want || want->dtype == DType::resource) continue;
            const Tensor* const got = replay.value(d, replay.model().graph(b.graph).findValue(graph.values[v].id));
            ASSERT_NE(got, nullptr) << live.positionAddress() << " " << graph.values[v].id;
            ASSERT_TRUE(isSameTensor(*want, *got)) << live.positionAddress() << " " << graph.values[v].id;
        }
    }
}

void expectSameRun(const Subject& subject, bool values = true)
{
    const auto live = subject.make();
    const auto replay = opened(recorded(subject));
    EXPECT_OK(live->start());
    EXPECT_OK(replay->start());
    while (!live->position().finished && !::testing::Test::HasFatalFailure()) {
        expectSameStop(*live, *replay, values);
        if (::testing::Test::HasFatalFailure()) return;
        const bool goesOn = live->step().ok();
        EXPECT_EQ(replay->step().ok(), goesOn);
        if (!goesOn) return;
    }
    expectSameStop(*live, *replay, values);
}

TEST(Replay, StepsAsTheRunDid)
{
    expectSameRun(collatz(6));
    expectSameRun(textSubject(kEverything, 7));
    expectSameRun(textSubject(kNested, 4));
}

TEST(Replay, StepsThroughRandomModels)
{
    for (uint32_t seed = 1; seed <= 12; ++seed) expectSameRun(randomSubject(seed));
}

TEST(Replay, TravelsAndAnswersQuestions)
{
    const auto replay = opened(recorded(collatz(27)));
    Timeline timeline(*replay);
    TravelControl control;
    const DebugTarget target{replay->model(), *replay, timeline, control};
    EXPECT_OK(timeline.start());
    EXPECT_OK(timeline.goToEnd());
    EXPECT_EQ(timeline.position().step, 820);
    EXPECT_OK(timeline.goToStep(271));
    EXPECT_EQ(replay->positionAddress(), "main/while#0@36:body/if#2:then/floor_div#0");
    EXPECT_OK(timeline.back());
    EXPECT_EQ(replay->positionAddress(), "main/while#0@36:body/if#2");
    const Result<Address> address = parseAddress("main/while#0@36:body/x");
    const Result<ResolvedAddress> x = resolveAddress(replay->model(), *address);
    const Result<std::optional<ValueWrite>> write = findWrite(target, {}, *x, HistoryQuery::lastWrite);
    ASSERT_TRUE(write.ok() && *write);
    EXPECT_EQ((*write)->address, "main/while#0@35:body/if#2:0");
    EXPECT_EQ(*(*write)->tensor.as<int32_t>(), 1186);
    const Result<ValueSeries> series = collectSeries(target, {}, *x, std::nullopt);
    ASSERT_TRUE(series.ok());
    EXPECT_EQ(series->iterations, 111);
    EXPECT_EQ(series->numbers[77], 9232);
}

struct Stopped {
    explicit Stopped(std::unique_ptr<Executor> made)
        : executor(std::move(made)),
          timeline(*executor),
          target{executor->model(), *executor, timeline, travel},
          breakpoints(target),
          control(target, breakpoints)
    {
        EXPECT_TRUE(control.start().ok());
    }
    ResolvedAddress place(const std::string& text) const { return *resolveAddress(executor->model(), *parseAddress(text)); }

    std::unique_ptr<Executor> executor;
    Timeline timeline;
    TravelControl travel;
    DebugTarget target;
    BreakpointSet breakpoints;
    RunControl control;
};

TEST(Replay, KnowsLoopsAsTheRunDid)
{
    const Subject subject = collatz(27);
    Stopped live(subject.make());
    Stopped replay(opened(recorded(subject)));
    for (const char* const from : {"main/while#0", "main/while#0@36:body/if#2"}) {
        ASSERT_TRUE(live.control.goTo(live.place(from)).ok() && replay.control.goTo(replay.place(from)).ok());
        for (const char* const role : {"cond", "body"}) {
            const GraphId graph = live.place("main/while#0@3:" + std::string(role)).graph;
            for (const Value& value : live.executor->model().graph(graph).values) {
                if (value.role != ValueRole::result && value.role != ValueRole::input) continue;
                const std::string text = "main/while#0@3:" + std::string(role) + "/" + value.id;
                const Result<ValueSeries> want = collectSeries(live.target, {}, live.place(text), std::nullopt);
                const Result<ValueSeries> got = collectSeries(replay.target, {}, replay.place(text), std::nullopt);
                ASSERT_TRUE(want.ok() && got.ok()) << text;
                const auto all = [](const ValueSeries& s) {
                    return std::tie(s.loop, s.iterations, s.complete, s.isScalar, s.numbers, s.written, s.steps);
                };
                EXPECT_TRUE(all(*got) == all(*want)) << text;
            }
        }
    }
}

TEST(Replay, GoesToEveryPlaceAndBack)
{
    const Subject subject = textSubject(kNested, 4);
    Stopped replay(opened(recorded(subject)));
    const auto live = subject.make();
    EXPECT_OK(live->start());
    std::vector<std::pair<std::string, int64_t>> stops;
    while (!live->position().finished) {
        stops.emplace_back(live->positionAddress(), live->tick());
        ASSERT_TRUE(live->step().ok());
    }
    ASSERT_GT(stops.size(), 30U);
    for (size_t i = 0; i < stops.size(); ++i) {
        const auto& [address, tick] = stops[i * 7 % stops.size()];
        EXPECT_TRUE(replay.control.goTo(replay.place(address)).ok()) << address;
        EXPECT_EQ(replay.timeline.tick(), tick) << address;
    }
    const Result<StopReport> none = replay.control.goTo(replay.place("main/while#0@4000:body"));
    ASSERT_FALSE(none.ok());
    EXPECT_NE(none.error().message().find("the loop ran"), std::string::npos) << none.error().message();
}

TEST(Replay, ServesAsAReferenceRun)
{
    Inspected session(kCountedCollatz, [](Subject& subject) { subject.add<int32_t>(Shape{}, {27}); });
    auto other = referenceToRun("t.lstrace", opened(recorded(collatz(27))), session.model(), GraphId(0), {}, nullptr);
    ASSERT_TRUE(other.ok()) << other.error().message();
    const Result<Drift> drift = collectDrift(session.target(), **other);
    ASSERT_TRUE(drift.ok()) << drift.error().message();
    EXPECT_EQ(drift->first, -1);
    EXPECT_EQ(drift->unpaired, 0);
    EXPECT_EQ(drift->rows.size(), 12U);
}

TEST(Replay, SaysWhatWasNotRecorded)
{
    Subject subject = textSubject(kNested, 3);
    const std::string path = recorded(subject, TraceLevel::statistics);
    Result<RecordingFile> file = openRecording(path, 0);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->level(), "level statistics, iterations all");
    const auto replay = opened(path);
    EXPECT_OK(replay->start());
    EXPECT_OK(replay->run());
    const ValueId y = replay->model().graphs[0].findValue("y");
    EXPECT_EQ(replay->value(0, y), nullptr);
    EXPECT_FALSE(replay->isRecorded(0, y));
    const TensorStatistics* const statistics = replay->recordedStatistics(0, y);
    ASSERT_NE(statistics, nullptr);
    const auto live = subject.make();
    EXPECT_OK(live->start());
    EXPECT_OK(live->run());
    EXPECT_EQ(statistics->max, computeStatistics(live->output(0)).max);
    const ValueId i = replay->model().graphs[0].findValue("i"); // a scalar is a row's own number
    ASSERT_NE(replay->value(0, i), nullptr);
    EXPECT_EQ(*replay->value(0, i)->as<int32_t>(), 3);
    std::vector<int32_t> n = {3};
    EXPECT_FALSE(replay->setInput(0, tensorOver(n, Shape{})).ok());
}

TEST(Replay, KnowsWhichGraphRan)
{
    Subject subject = collatz(6);
    const GraphId triple = subject.model->findGraph("triple");
    RecorderOptions options;
    options.path = tracePath();
    options.overwrite = true;
    options.model.format = "tflite";
    options.listing = graphListing;
    Result<std::unique_ptr<TraceRecorder>> recorder = TraceRecorder::create(*subject.model, options);
    ASSERT_TRUE(recorder.ok());
    Result<std::unique_ptr<Interpreter>> interpreter = Interpreter::create(*subject.model, triple);
    ASSERT_TRUE(interpreter.ok());
    std::vector<int32_t> x = {5};
    EXPECT_OK((*interpreter)->setInput(0, tensorOver(x, Shape{})));
    (*interpreter)->setObserver(recorder->get());
    EXPECT_OK((*interpreter)->start());
    EXPECT_OK((*interpreter)->run());
    EXPECT_OK((*recorder)->finish());
    const auto replay = opened(options.path);
    EXPECT_EQ(replay->model().graph(replay->root()).id, "triple");
    ASSERT_EQ(replay->model().signatures.size(), 1U);
    EXPECT_EQ(replay->model().signatures[0].graph, replay->root());
    EXPECT_OK(replay->start());
    EXPECT_EQ(replay->positionAddress(), "triple/mul#0");
    EXPECT_OK(replay->run());
    EXPECT_EQ(*replay->output(0).as<int32_t>(), 16);
}

TEST(Replay, EndsWhereTheRecordingEnds)
{
    Subject subject = collatz(27);
    subject.maxSteps = 100;
    const auto replay = opened(recorded(subject));
    EXPECT_OK(replay->start());
    const Status status = replay->run();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.detail().code, ErrorCode::execution);
    EXPECT_EQ(replay->position().step, 100);
    EXPECT_FALSE(replay->position().finished);
}

/// Everything that a trace says but times, and what the files are called.
std::string canonicalDump(const std::string& path)
{
    const Result<std::unique_ptr<TraceReader>> reader = TraceReader::open(path);
    if (!reader.ok()) return reader.error().message();
    std::string dump;
    for (const char* sql :
         {"SELECT id, base, first, last, reason, state, level, policy, error FROM run ORDER BY id",
          "SELECT run, position, name, dtype, shape, content FROM feed ORDER BY run, position",
          "SELECT id, run, parent, call, iteration, first, steps FROM invocation ORDER BY id",
          "SELECT id, invocation, op, state, lo, hi, mean, std, zeros, content FROM event ORDER BY id",
          "SELECT * FROM output ORDER BY event, slot", "SELECT * FROM abnormal ORDER BY event, slot",
          "SELECT * FROM access ORDER BY event, variable, kind", "SELECT hash, guard, dtype, shape, bytes FROM blob ORDER BY hash",
          "SELECT * FROM digest ORDER BY last", "SELECT run, first, last, reason FROM gap ORDER BY run, first"}) {
        const Result<QueryResult> rows = (*reader)->query(sql, {}, {});
        if (!rows.ok()) return rows.error().message();
        for (const auto& row : rows->rows) {
            for (const SqlValue& cell : row) dump += sqlText(cell) + "|";
            dump += "\n";
        }
        dump += "--\n";
    }
    return dump;
}

RecorderOptions recordingOptions(const std::string& name)
{
    RecorderOptions options;
    options.path = tracePath() + name;
    options.overwrite = true;
    options.level = TraceLevel::values;
    options.listing = graphListing;
    return options;
}

TEST(RunRecording, EqualsARecordingOfAPlainRunHoweverOneMoves)
{
    for (const Subject& subject : {textSubject(kEverything, 9), collatz(27), randomSubject(5)}) {
        const RecorderOptions plainOptions = recordingOptions("plain"), options = recordingOptions("debugged");
        {
            Result<std::unique_ptr<TraceRecorder>> recorder = TraceRecorder::create(*subject.model, plainOptions);
            ASSERT_TRUE(recorder.ok());
            const auto interpreter = subject.make();
            interpreter->setObserver(recorder->get());
            EXPECT_OK(interpreter->start());
            EXPECT_OK(interpreter->run());
            EXPECT_OK((*recorder)->finish());
        }
        Result<std::unique_ptr<RunRecording>> recording = RunRecording::create(*subject.model, options);
        ASSERT_TRUE(recording.ok());
        const auto interpreter = subject.make();
        interpreter->setObserver(recording->get());
        Timeline timeline(*interpreter);
        EXPECT_OK(timeline.start());
        std::mt19937 random(3);
        for (int i = 0; i < 30 && !timeline.finished(); ++i) {
            if (random() % 2 == 0) EXPECT_OK(timeline.goTo(static_cast<int64_t>(random() % 60)));
            else EXPECT_OK(timeline.forward());
        }
        EXPECT_OK(timeline.goToEnd());
        EXPECT_OK(timeline.goTo(5));
        EXPECT_OK((*recording)->finish());
        EXPECT_EQ((*recording)->state().outcome, "complete");
        EXPECT_EQ(canonicalDump(options.path), canonicalDump(plainOptions.path));
    }
}

TEST(RunRecording, GoesOnAfterAPauseAndEndsAtAnEdit)
{
    const Subject subject = collatz(27);
    const RecorderOptions options = recordingOptions("paused");
    Result<std::unique_ptr<RunRecording>> recording = RunRecording::create(*subject.model, options);
    ASSERT_TRUE(recording.ok());
    CancelFlag cancel;
    ExecutionOptions execution;
    execution.cancel = &cancel;
    const auto interpreter = subject.make(execution);
    interpreter->setObserver(recording->get());
    Timeline timeline(*interpreter);
    EXPECT_OK(timeline.start());
    EXPECT_OK(timeline.goTo(100));
    cancel.request();
    EXPECT_FALSE(timeline.goTo(200).ok());
    cancel.clear();
    EXPECT_OK(timeline.goToStep(300));
    const int64_t heard = (*recording)->state().steps; // as far as the run came on its way to the stop
    EXPECT_GE(heard, 300);
    EXPECT_FALSE((*recording)->state().wasEdited);
    EXPECT_OK(timeline.goTo(150));
    const Graph& body = subject.model->graph(interpreter->frame(1).graph);
    std::vector<int32_t> seven = {7};
    const Result<TimelineId> fork = timeline.edit(1, body.inputs[1], tensorOver(seven, Shape{}));
    ASSERT_TRUE(fork.ok()) << fork.error().message();
    EXPECT_OK(timeline.goToEnd());
    EXPECT_TRUE((*recording)->state().wasEdited);
    EXPECT_OK((*recording)->finish());
    const auto replay = opened(options.path);
    EXPECT_OK(replay->start());
    EXPECT_FALSE(replay->run().ok());
    EXPECT_EQ(replay->position().step, heard);
}

TEST(Appending, AddsRunsThatEqualThoseOfOneRecording)
{
    const Subject subject = collatz(27);
    const RecorderOptions both = recordingOptions("both");
    RecorderOptions one = recordingOptions("one");
    one.model.hash = std::string(32, 'a');
    const auto record = [&](const RecorderOptions& options, int runs) {
        Result<std::unique_ptr<TraceRecorder>> recorder = TraceRecorder::create(*subject.model, options);
        ASSERT_TRUE(recorder.ok()) << recorder.error().message();
        const auto interpreter = subject.make();
        interpreter->setObserver(recorder->get());
        for (int run = 0; run < runs; ++run) {
            EXPECT_OK(interpreter->start());
            EXPECT_OK(interpreter->run());
        }
        EXPECT_OK((*recorder)->finish());
    };
    std::filesystem::remove(one.path);
    one.overwrite = false;
    one.append = true;
    record(both, 2);
    record(one, 1); // creates it
    record(one, 1);
    const Result<std::unique_ptr<TraceReader>> reader = TraceReader::open(one.path);
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    ASSERT_EQ((*reader)->runs().size(), 2U);
    EXPECT_TRUE((*reader)->isIndexed());
    const Result<TraceCheck> check = checkTrace(**reader);
    ASSERT_TRUE(check.ok());
    for (const TraceViolation& violation : check->violations) ADD_FAILURE() << violation.rule << ": " << violation.text;
    const Result<QueryResult> models = (*reader)->query("SELECT count(*) FROM model", {}, {});
    ASSERT_TRUE(models.ok());
    EXPECT_EQ(sqlText(models->rows[0][0]), "1");
    const Result<std::unique_ptr<TraceReader>> other = TraceReader::open(both.path);
    ASSERT_TRUE(other.ok());
    const Result<TraceDiff> diff = diffTraces(**reader, **other, {});
    ASSERT_TRUE(diff.ok());
    EXPECT_TRUE(diff->equal);
    const Result<QueryResult> steps = (*reader)->query("SELECT run, count(*) FROM writes WHERE slot = 0 GROUP BY run", {}, {});
    ASSERT_TRUE(steps.ok());
    ASSERT_EQ(steps->rows.size(), 2U);
    EXPECT_EQ(sqlText(steps->rows[1][1]), "820");
    const auto second = opened(one.path); // the newest run
    EXPECT_OK(second->start());
    EXPECT_OK(second->run());
    EXPECT_EQ(second->position().step, 820);
}

TEST(Replay, SeeksToEveryStopThatSteppingReaches)
{
    const Subject subject = collatz(27);
    const std::string path = recorded(subject, TraceLevel::statistics);
    const auto live = subject.make();
    const auto replay = opened(path);
    EXPECT_OK(live->start());
    EXPECT_OK(replay->start());
    const MachineState begin = replay->snapshot();
    while (!live->position().finished && !::testing::Test::HasFatalFailure()) {
        EXPECT_OK(replay->restore(begin));
        EXPECT_OK(replay->runTo(live->tick()));
        expectSameStop(*live, *replay, false);
        if (live->tick() % 7 == 0) { // and goes on from there
            EXPECT_OK(live->step());
            EXPECT_OK(replay->step());
            expectSameStop(*live, *replay, false);
        } else {
            EXPECT_OK(live->step());
        }
    }
    EXPECT_OK(replay->restore(begin));
    EXPECT_OK(replay->run());
    expectSameStop(*live, *replay, false);
}

/// As if the recorder had been killed at step `end`.
void killAt(const std::string& path, int64_t end)
{
    const std::string at = std::to_string(end);
    const Result<std::unique_ptr<Database>> database = Database::open(path, OpenMode::readWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)
                    ->execute("DELETE FROM event WHERE id >= " + at + "; DELETE FROM invocation WHERE first > " + at +
                              "; UPDATE invocation SET steps = NULL, ns = NULL WHERE first + steps > " + at +
                              "; UPDATE run SET state = 'recording', last = NULL; DELETE FROM clock")
                    .ok());
}

TEST(Replay, OfAKilledRecordingEndsWhereThatDoes)
{
    for (int64_t end = 1; end < 50; end += 6) {
        const std::string path = recorded(collatz(6));
        killAt(path, end);
        if (::testing::Test::HasFatalFailure()) return;
        const auto replay = opened(path);
        EXPECT_OK(replay->start());
        Status status = replay->run();
        ASSERT_FALSE(status.ok()) << end;
        const std::string said = std::move(status).takeError().message();
        EXPECT_NE(said.find("incomplete, ends at step " + std::to_string(end) + ":"), std::string::npos) << said;
        EXPECT_FALSE(replay->position().finished);
        EXPECT_EQ(replay->position().step, end);
    }
}

TEST(Appending, RefusesWhatIsNoTraceAndLeavesIt)
{
    RecorderOptions options = recordingOptions("text");
    std::ofstream(options.path) << "not a trace";
    options.append = true;
    EXPECT_FALSE(TraceRecorder::create(*collatz(6).model, options).ok());
    EXPECT_EQ(std::filesystem::file_size(options.path), 11U);
}

TEST(Replay, SurvivesDamagedTraces)
{
    const std::string good = recorded(collatz(6));
    for (const char* damage : {"UPDATE invocation SET call = 999",
                               "UPDATE invocation SET call = 1",
                               "UPDATE invocation SET parent = id WHERE id > 1",
                               "UPDATE invocation SET iteration = iteration + 1",
                               "UPDATE invocation SET steps = -5",
                               "UPDATE invocation SET first = first + 1000000",
                               "DELETE FROM invocation WHERE id % 3 = 0",
                               "DELETE FROM event WHERE id % 2 = 0",
                               "UPDATE event SET op = 1",
                               "DELETE FROM event",
                               "UPDATE graph SET listing = 'graph x() {}' WHERE ordinal = 1",
                               "DELETE FROM graph WHERE ordinal = 2",
                               "UPDATE graph SET listing = ''",
                               "UPDATE op SET ordinal = 9 - ordinal",
                               "UPDATE call SET graph = 1",
                               "UPDATE call SET cond = 3",
                               "UPDATE call SET op = 2",
                               "DELETE FROM call",
                               "UPDATE blob SET shape = '[9,9]'",
                               "UPDATE blob SET dtype = 'f64', shape = '[0]', bytes = 0, codec = 0, stored = 0, chunks = 0",
                               "UPDATE chunk SET data = x'00'",
                               "UPDATE run SET last = last + 1000",
                               "UPDATE run SET base = 77",
                               "UPDATE value SET name = 'v'",
                               "DELETE FROM feed"}) {
        const std::string path = good + ".damaged";
        std::filesystem::copy_file(good, path, std::filesystem::copy_options::overwrite_existing);
        {
            const Result<std::unique_ptr<Database>> database = Database::open(path, OpenMode::readWrite);
            ASSERT_TRUE(database.ok());
            ASSERT_TRUE((*database)->execute(damage).ok()) << damage;
        }
        Result<RecordingFile> file = openRecording(path, 0);
        if (!file.ok()) continue;
        const std::unique_ptr<Executor> owned = replayExecutor(std::move(file).value(), nullptr);
        Executor& executor = *owned;
        if (!executor.start().ok()) continue;
        for (int steps = 0; steps < 500 && !executor.position().finished; ++steps) {
            for (int d = 0; d < executor.position().depth; ++d) {
                const Graph& graph = executor.model().graph(executor.frame(d).graph);
                for (size_t v = 0; v < graph.values.size(); ++v) {
                    const Tensor* const value = executor.value(d, ValueId(static_cast<int64_t>(v)));
                    if (!value || bitWidth(value->dtype) == 0) continue;
                    ASSERT_EQ(value->bytes, byteSize(value->dtype, value->elementCount())) << damage;
                }
            }
            static_cast<void>(executor.positionAddress());
            const MachineState state = executor.snapshot();
            if (!executor.step().ok()) break;
            static_cast<void>(executor.restore(state).ok());
            if (!executor.step().ok()) break;
        }
    }
}

TEST(Replay, StopsBeforeWhatFailed)
{
    Subject subject;
    subject.model = std::make_shared<Model>(textModel(R"(
graph main(x: i32[]) {
  zero = const i32[] 0
  y = add(x, zero) : i32[]
  z = floor_div(y, zero) : i32[]
  return z
}
)"));
    subject.add<int32_t>(Shape{}, {5});
    expectSameRun(subject);
    const auto replay = opened(recorded(subject));
    EXPECT_OK(replay->start());
    Status status = replay->run();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(std::move(status).takeError().message().find("division by zero"), std::string::npos);
    EXPECT_EQ(replay->position().step, 1);
}

TEST(Replay, RefusesWhatIsNoTrace)
{
    const std::string path = tracePath();
    std::filesystem::remove(path);
    EXPECT_FALSE(openRecording(path, 0).ok());
    EXPECT_FALSE(openRecording(recorded(collatz(6)), 99).ok());
}

} // namespace
} // namespace loopscope::app
