#include "fixture.h"
#include "tracer/api/trace_check.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

namespace loopscope::test {
namespace {

AddressPattern pattern(const char* text)
{
    auto parsed = AddressPattern::parse(text);
    EXPECT_TRUE(parsed.ok()) << text;
    return std::move(*parsed);
}

IterationSet iterations(const char* text)
{
    auto parsed = parseIterations(text);
    EXPECT_TRUE(parsed.ok()) << text;
    return std::move(*parsed);
}

void expectSound(const Recording& r)
{
    const Result<TraceCheck> check = checkTrace(*r.reader);
    ASSERT_TRUE(check.ok()) << check.error().message();
    for (const TraceViolation& violation : check->violations) ADD_FAILURE() << violation.rule << ": " << violation.text;
}

TEST(Recorder, writesEveryStepWithItsAddressAndStatistics)
{
    const Recording r = record(optionsFor(tracePath()));
    std::vector<std::string> expected;
    for (const Fact& fact : r.facts) {
        double low = INFINITY, high = -INFINITY, sum = 0;
        int64_t zeros = 0;
        for (const double v : fact.data) {
            low = std::min(low, v);
            high = std::max(high, v);
            sum += v;
            zeros += v == 0;
        }
        expected.push_back(cell(fact.step) + "|" + fact.address + "|" + fact.value + "|" + fact.dtype + "|" + cell(low) + "|" + cell(high) +
                           "|" + cell(sum / static_cast<double>(fact.data.size())) + "|" + cell(zeros));
    }
    EXPECT_EQ(r.rows("SELECT step, address, value, dtype, min, max, mean, zeros FROM value_history ORDER BY step, address"), expected);
    EXPECT_EQ(r.summary.steps, r.steps);
    EXPECT_EQ(r.summary.state, "complete");
    expectSound(r);
}

TEST(Recorder, writesInvocationsWithTheirStepsAndTimes)
{
    const Recording r = record(optionsFor(tracePath()));
    std::vector<std::string> expected;
    for (const InvocationFact& fact : r.invocations) {
        expected.push_back(cell(fact.id) + "|" + (fact.parent == 0 ? "NULL" : cell(fact.parent)) + "|" +
                           (fact.iteration < 0 ? "NULL" : cell(fact.iteration)) + "|" + cell(fact.first) + "|" + cell(fact.steps) + "|" +
                           cell(fact.ns) + "|" + fact.path);
    }
    EXPECT_EQ(r.rows("SELECT i.id, parent, iteration, first, steps, ns, path FROM invocation i JOIN path USING (id) ORDER BY i.id"),
              expected);
}

TEST(Recorder, leavesOneFileWithoutAJournal)
{
    const Recording r = record(optionsFor(tracePath()));
    EXPECT_FALSE(std::filesystem::exists(r.path + "-wal"));
    EXPECT_FALSE(std::filesystem::exists(r.path + "-shm"));
    EXPECT_TRUE(isTraceFile(r.path));
    EXPECT_TRUE(r.reader->isIndexed());
    EXPECT_EQ(r.reader->note(), "");
    EXPECT_EQ(r.rows("SELECT value FROM meta WHERE key = 'complete'"), std::vector<std::string>{"1"});
    EXPECT_EQ(r.number("SELECT count(*) FROM recipe"), 52);
}

TEST(Recorder, levelControlKeepsLoopsAndBranchesOnly)
{
    const Recording r = record(optionsFor(tracePath(), TraceLevel::control));
    EXPECT_EQ(r.number("SELECT count(*) FROM event"), 0);
    EXPECT_EQ(r.number("SELECT count(*) FROM invocation"), static_cast<int64_t>(r.invocations.size()));
    EXPECT_EQ(r.recipe("gaps"), std::vector<std::string>{"1|0|" + cell(r.steps - 1) + "|" + cell(r.steps) + "|level"});
    EXPECT_EQ(r.recipe("loop-trips-summary").front(), "while#0|1|12|12|12");
    expectSound(r);
}

TEST(Recorder, levelHashesGivesEqualValuesEqualKeys)
{
    const Recording r = record(optionsFor(tracePath(), TraceLevel::hashes));
    EXPECT_EQ(r.number("SELECT count(*) FROM writes WHERE content IS NULL"), 0);
    EXPECT_EQ(r.number("SELECT count(DISTINCT content) FROM writes WHERE value = 'invariant'"), 1);
    EXPECT_EQ(r.number("SELECT count(DISTINCT content) FROM writes WHERE value = 'i_next'"), 12);
    // The constants of the model are the only bytes.
    EXPECT_EQ(
        r.number(
            "SELECT count(*) FROM write w JOIN blob b ON b.hash = w.content JOIN result x USING (op, slot) JOIN value v ON v.id = x.value "
            "WHERE v.name = 'invariant'"),
        0);
}

TEST(Recorder, levelAllStoresEveryTensorOnce)
{
    RecorderOptions options = optionsFor(tracePath(), TraceLevel::all);
    options.iterations = iterations("all");
    const Recording r = record(std::move(options));
    EXPECT_EQ(r.number("SELECT count(*) FROM writes w WHERE (SELECT count(*) FROM blob WHERE hash = w.content) <> 1 AND w.dtype = 'f32' "
                       "AND w.value <> 'ramp'"),
              0);
    // The loop invariant is written 12 times and stored once.
    EXPECT_EQ(r.recipe("shared-values").front().substr(r.recipe("shared-values").front().find('|')), "|16|12|176") << "zeros of 16 bytes";
    EXPECT_EQ(r.number("SELECT count(*) FROM blob b JOIN writes w ON w.content = b.hash WHERE w.value = 'invariant'"), 12);
    EXPECT_EQ(r.number("SELECT count(DISTINCT b.hash) FROM blob b JOIN writes w ON w.content = b.hash WHERE w.value = 'invariant'"), 1);
    // Single numbers stay in their row.
    EXPECT_EQ(r.number("SELECT count(*) FROM blob WHERE shape = '[]' AND bytes <= 8 AND hash NOT IN (SELECT constant FROM value WHERE "
                       "constant IS NOT NULL)"),
              0);
    expectSound(r);
}

TEST(Recorder, levelValuesStoresCarriedValuesOutputsInputsAndWhatIsKept)
{
    RecorderOptions options = optionsFor(tracePath(), TraceLevel::values);
    options.iterations = iterations("all");
    options.keep.push_back(pattern(".../neg#6"));
    options.feeds.push_back({1, "x.npy"});
    const Recording r = record(std::move(options));
    EXPECT_EQ(r.rows("SELECT DISTINCT value FROM writes JOIN blob ON hash = content WHERE blob.dtype = 'f32' AND graph NOT LIKE 'inner%' "
                     "ORDER BY value"),
              (std::vector<std::string>{"invariant", "square", "x_end", "x_next"}))
        << "x_end has the bytes of the last x_next";
    EXPECT_EQ(r.rows("SELECT position, name, source, f.dtype, f.shape, b.bytes FROM feed f LEFT JOIN blob b ON b.hash = f.content ORDER BY "
                     "position"),
              (std::vector<std::string>{"0|n||i32|[]|4", "1|x|x.npy|f32|[4]|16"}));
}

TEST(Recorder, samplesIterationsOfEveryLoopOnTheWay)
{
    RecorderOptions options = optionsFor(tracePath(), TraceLevel::all);
    options.iterations = iterations("0,4,last-1..last");
    const Recording r = record(std::move(options));
    EXPECT_EQ(r.rows("SELECT iteration FROM writes JOIN blob ON hash = content WHERE value = 'low' ORDER BY step"),
              (std::vector<std::string>{"0", "3", "4", "10", "11"}))
        << "iteration 4 changes nothing, so 3 has the same bytes and shares the blob";
    // Inner loops run 0, 0, 2 and 3 times there (iteration modulo 4): 0 and the last two of each are kept; 3/2 shares a blob again.
    EXPECT_EQ(r.rows("SELECT p.iteration || '/' || w.iteration FROM writes w JOIN blob ON hash = content JOIN invocation p ON p.id = "
                     "w.parent WHERE value = 'product' ORDER BY step"),
              (std::vector<std::string>{"3/2", "10/0", "10/1", "11/0", "11/1", "11/2"}));
    // Statistics stay for every iteration.
    EXPECT_EQ(r.number("SELECT count(*) FROM writes WHERE value = 'low' AND min IS NOT NULL"), 12);
    EXPECT_EQ(r.number("SELECT count(*) FROM gap"), 0);
    expectSound(r);
}

TEST(Recorder, sparseDropsTheEventsOfOtherIterations)
{
    RecorderOptions options = optionsFor(tracePath());
    options.iterations = iterations("0,5,last");
    options.sparse = true;
    const Recording r = record(std::move(options));
    EXPECT_EQ(r.rows("SELECT iteration FROM writes WHERE value = 'i_next' ORDER BY step"), (std::vector<std::string>{"0", "5", "11"}));
    EXPECT_EQ(r.number("SELECT count(*) FROM invocation"), static_cast<int64_t>(r.invocations.size())) << "invocations are always written";
    EXPECT_EQ(r.number("SELECT count(*) FROM event") + r.number("SELECT sum(last - first + 1) FROM gap"), r.steps);
    EXPECT_EQ(r.rows("SELECT DISTINCT reason FROM gap"), std::vector<std::string>{"policy 0,5,last"});
    expectSound(r);
}

TEST(Recorder, filtersLeaveGaps)
{
    RecorderOptions options = optionsFor(tracePath());
    options.only.push_back(pattern(".../add#0"));
    options.except.push_back(pattern(".../while#4@all/add#0"));
    const Recording r = record(std::move(options));
    int64_t expected = 0;
    for (const Fact& fact : r.facts) expected += fact.op == "add#0" && fact.graph != "inner_body" ? 1 : 0;
    EXPECT_EQ(r.number("SELECT count(*) FROM event"), expected);
    EXPECT_EQ(r.rows("SELECT DISTINCT reason FROM gap"), std::vector<std::string>{"filter"});
    expectSound(r);
}

TEST(Recorder, keepsWhatSqliteCannotHold)
{
    const Model model = scriptModel();
    const std::string path = tracePath();
    auto recorder = TraceRecorder::create(model, optionsFor(path));
    ASSERT_TRUE(recorder.ok());
    TraceRecorder& r = **recorder;
    r.runStarted({&model, GraphId(0), {}, 0, {}});
    InvocationStart root;
    root.id = 1;
    root.graph = GraphId(0);
    r.invocationStarted(root);
    float minusZero = -0.0F, nan = std::nanf("");
    uint64_t wide = ~uint64_t{0};
    int64_t exact = (int64_t{1} << 62) + 1;
    int64_t step = 0;
    const auto write = [&](DType dtype, void* data, size_t bytes) {
        Tensor t;
        t.dtype = dtype;
        t.data = static_cast<std::byte*>(data);
        t.bytes = bytes;
        const Tensor* results[] = {&t};
        OperatorEvent e;
        e.step = step++;
        e.invocation = 1;
        e.graph = GraphId(0);
        e.op = OperatorId(1);
        e.results = results;
        r.operatorExecuted(e);
    };
    write(DType::f32, &minusZero, 4);
    write(DType::f32, &nan, 4);
    write(DType::u64, &wide, 8);
    write(DType::i64, &exact, 8);
    r.invocationEnded({1, step, 1});
    r.runEnded({RunEnd::Reason::finished, step, 1, {}, {}});
    ASSERT_TRUE(r.finish().ok());
    auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(rowsOf(**reader, "SELECT e.id, lo, b.dtype, hex(c.data) FROM event e LEFT JOIN blob b ON b.hash = e.content LEFT JOIN chunk "
                               "c ON c.id = b.first"),
              (std::vector<std::string>{"0|0|f32|00000080", "1|NULL|f32|0000C07F", "2|18446744073709551616|u64|FFFFFFFFFFFFFFFF",
                                        "3|4611686018427387905|NULL|"}));
    EXPECT_EQ(rowsOf(**reader, "SELECT event, nan, first_index FROM abnormal"), std::vector<std::string>{"1|1|0"});
}

TEST(Recorder, compressesAndChunksLargeValues)
{
    const Model model = scriptModel();
    const std::string path = tracePath();
    RecorderOptions options = optionsFor(path, TraceLevel::all);
    auto recorder = TraceRecorder::create(model, std::move(options));
    ASSERT_TRUE(recorder.ok());
    TraceRecorder& r = **recorder;
    r.runStarted({&model, GraphId(0), {}, 0, {}});
    InvocationStart root;
    root.id = 1;
    root.graph = GraphId(0);
    r.invocationStarted(root);
    std::vector<float> even(200'000, 1.5F), random(200'000);
    uint32_t state = 1;
    for (float& v : random) {
        state = state * 1664525 + 1013904223;
        v = static_cast<float>(state) / 3e9F;
    }
    int64_t step = 0;
    for (std::vector<float>* data : {&even, &random, &even}) {
        Tensor t;
        t.dtype = DType::f32;
        t.data = reinterpret_cast<std::byte*>(data->data());
        t.bytes = data->size() * 4;
        t.shape = Shape{static_cast<int64_t>(data->size())};
        const Tensor* results[] = {&t};
        OperatorEvent e;
        e.step = step++;
        e.invocation = 1;
        e.graph = GraphId(0);
        e.op = OperatorId(1);
        e.results = results;
        r.operatorExecuted(e);
    }
    r.invocationEnded({1, step, 1});
    r.runEnded({RunEnd::Reason::finished, step, 1, {}, {}});
    ASSERT_TRUE(r.finish().ok());
    Recording recording;
    auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok());
    recording.reader = std::move(*reader);
    EXPECT_EQ(recording.rows("SELECT codec, stored < 8000, chunks FROM blob WHERE bytes = 800000 AND codec = 1"),
              std::vector<std::string>{"1|1|1"});
    EXPECT_EQ(recording.rows("SELECT stored, chunks FROM blob WHERE bytes = 800000 AND codec = 0"), std::vector<std::string>{"800000|4"});
    const Result<TraceCheck> check = checkTrace(*recording.reader);
    ASSERT_TRUE(check.ok());
    EXPECT_THAT(check->passed, testing::Contains("blobs"));
}

TEST(Recorder, onAlertStoresTheIterationsAround)
{
    RecorderOptions options = optionsFor(tracePath());
    options.onAlert = 2;
    const Recording r = record(std::move(options), {{.nanAt = 6}});
    EXPECT_EQ(r.rows("SELECT iteration FROM writes JOIN blob ON hash = content WHERE value = 'low' ORDER BY step"),
              (std::vector<std::string>{"3", "4", "5", "6", "7", "8", "9"}))
        << "alerts in 6 and 7 (the NaN reaches the inner loop); 3 has the bytes of 4";
    EXPECT_EQ(r.rows("SELECT kind, text FROM alert ORDER BY id").front(), "nan|main/while#0@6:body/split#5:1: first NaN, at element 0");
}

TEST(Recorder, severalRunsShareAFile)
{
    const Recording r = record(optionsFor(tracePath()), {{.outer = 3}, {.outer = 5}});
    EXPECT_EQ(r.rows("SELECT id, base % 4096, state FROM run"), (std::vector<std::string>{"1|0|complete", "2|0|complete"}));
    EXPECT_EQ(r.rows("SELECT run, trips FROM loops WHERE loop = 'while#0' ORDER BY run"), (std::vector<std::string>{"1|3", "2|5"}));
    EXPECT_EQ(r.reader->defaultRun()->id, 2);
    expectSound(r);
}

TEST(Recorder, aFailedRunSaysSo)
{
    const Recording r = record(optionsFor(tracePath()), {{.stopAfterStep = 40}});
    EXPECT_EQ(r.rows("SELECT state, error, last - first + 1 FROM run"),
              std::vector<std::string>{"failed|main/mul#1: C2: stopped by the script|41"});
    EXPECT_EQ(r.number("SELECT count(*) FROM invocation WHERE steps IS NULL"), 0);
    EXPECT_EQ(r.summary.state, "failed");
    expectSound(r);
}

TEST(Recorder, finishingEarlyCancelsTheRun)
{
    const Model model = scriptModel();
    const std::string path = tracePath();
    {
        auto recorder = TraceRecorder::create(model, optionsFor(path));
        ASSERT_TRUE(recorder.ok());
        (*recorder)->runStarted({&model, GraphId(0), {}, 0, {}});
        InvocationStart root;
        root.id = 1;
        root.graph = GraphId(0);
        (*recorder)->invocationStarted(root);
        // No runEnded, no finish(): the destructor closes the file.
    }
    auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ((*reader)->runs().at(0).state, "cancelled");
}

TEST(Recorder, marksDeadAndFailedEvents)
{
    const Model model = scriptModel();
    const std::string path = tracePath();
    auto recorder = TraceRecorder::create(model, optionsFor(path));
    ASSERT_TRUE(recorder.ok());
    TraceRecorder& r = **recorder;
    r.runStarted({&model, GraphId(0), {}, 0, {}});
    InvocationStart root;
    root.id = 1;
    root.graph = GraphId(0);
    r.invocationStarted(root);
    int64_t step = 0;
    for (const EventState state : {EventState::dead, EventState::failed, EventState::live}) {
        OperatorEvent e;
        e.step = step++;
        e.invocation = 1;
        e.graph = GraphId(0);
        e.op = OperatorId(1);
        e.state = state;
        e.ns = 5;
        const Tensor* none[] = {nullptr};
        e.results = none;
        r.operatorExecuted(e);
    }
    r.invocationEnded({1, step, 1});
    r.runEnded({RunEnd::Reason::failed, step, 1, "broken", {}});
    ASSERT_TRUE(r.finish().ok());
    auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(rowsOf(**reader, "SELECT id, state, ns, lo FROM event"),
              (std::vector<std::string>{"0|1|NULL|NULL", "1|2|5|NULL", "2|4|5|NULL"}));
}

TEST(Recorder, notesAccessesToVariables)
{
    const Model model = scriptModel();
    const std::string path = tracePath();
    auto recorder = TraceRecorder::create(model, optionsFor(path));
    ASSERT_TRUE(recorder.ok());
    TraceRecorder& r = **recorder;
    r.runStarted({&model, GraphId(0), {}, 0, {}});
    InvocationStart root;
    root.id = 1;
    root.graph = GraphId(0);
    r.invocationStarted(root);
    for (int32_t k = 0; k < 3; ++k) {
        Tensor t;
        t.dtype = DType::i32;
        t.data = reinterpret_cast<std::byte*>(&k);
        t.bytes = 4;
        r.variableAccessed({k == 1 ? VariableAccess::Kind::read : VariableAccess::Kind::write, "count", &t, k});
        OperatorEvent e;
        e.step = k;
        e.invocation = 1;
        e.graph = GraphId(0);
        e.op = OperatorId(1);
        r.operatorExecuted(e);
    }
    r.invocationEnded({1, 3, 1});
    r.runEnded({RunEnd::Reason::finished, 3, 1, {}, {}});
    ASSERT_TRUE(r.finish().ok());
    auto reader = TraceReader::open(path);
    ASSERT_TRUE(reader.ok());
    EXPECT_EQ(rowsOf(**reader, "SELECT event, variable, kind, lo FROM access ORDER BY event"),
              (std::vector<std::string>{"0|count|write|0", "1|count|read|1", "2|count|write|2"}));
    EXPECT_EQ(rowsOf(**reader, findRecipe("variable-history")->sql, {{"name", "count"}}),
              (std::vector<std::string>{"0|mul#1|NULL|0", "2|mul#1|NULL|2"}));
}

TEST(Recorder, saysWhatTheModelWasMadeFrom)
{
    RecorderOptions options = optionsFor(tracePath());
    options.model = {
        "/models/script.tflite", "tflite", 1234, "00", {{"lower", "pb", 99, "11", "raised.pb"}, {"raise", "lsir", 5, "22", "v1.lsir"}}};
    const Recording r = record(std::move(options));
    EXPECT_EQ(r.rows("SELECT m.name, m.path, m.format, m.bytes, m.hash, s.name FROM model m LEFT JOIN model s ON s.id = m.derived_from "
                     "ORDER BY m.id"),
              (std::vector<std::string>{"v1.lsir|NULL|lsir|5|22|NULL", "raised.pb|NULL|pb|99|11|v1.lsir",
                                        "script.tflite|/models/script.tflite|tflite|1234|00|raised.pb"}));
    EXPECT_EQ(r.rows("SELECT DISTINCT m.name FROM run JOIN model m ON m.id = run.model"), std::vector<std::string>{"script.tflite"});
    EXPECT_EQ(r.recipe("models").size(), 3U);
}

TEST(Recorder, describesTheModel)
{
    RecorderOptions options = optionsFor(tracePath());
    options.model = {"/models/script.tflite", "tflite", 1234, "00112233445566778899aabbccddeeff", {}};
    options.listing = [](const Model& model, GraphId graph) {
        TraceListing listing;
        listing.text = "graph " + model.graph(graph).id + "\n";
        for (size_t i = 0; i < model.graph(graph).operators.size(); ++i) listing.operatorLines.push_back(static_cast<int32_t>(i) + 1);
        return listing;
    };
    const Recording r = record(std::move(options));
    EXPECT_EQ(r.rows("SELECT name, format, bytes, hash FROM model"),
              std::vector<std::string>{"script.tflite|tflite|1234|00112233445566778899aabbccddeeff"});
    EXPECT_EQ(r.rows("SELECT ordinal, name, listing FROM graph WHERE id = 3"), std::vector<std::string>{"2|outer_body|graph outer_body\n"});
    EXPECT_EQ(r.rows("SELECT label, kind, attributes, line FROM op WHERE label = 'if#3'"),
              std::vector<std::string>{"if#3|tfl.if|{\"else\":{\"graph\":4},\"then\":{\"graph\":3}}|4"});
    EXPECT_EQ(r.rows("SELECT v.name, v.shape, v.role, v.position FROM value v JOIN graph g ON g.id = v.graph WHERE g.name = 'outer_body' "
                     "AND v.name IN "
                     "('i', 'factor', 'i_next', 'ramp', 'mod') ORDER BY v.id"),
              (std::vector<std::string>{"i|[]|input|0", "factor|[3]|constant|NULL", "i_next|[]|output|0", "mod|[]|temp|NULL",
                                        "ramp|[?]|temp|NULL"}));
    EXPECT_EQ(r.rows("SELECT role, g.name, c.name FROM call JOIN graph g ON g.id = call.graph LEFT JOIN graph c ON c.id = call.cond ORDER "
                     "BY call.id"),
              (std::vector<std::string>{"loop|outer_body|outer_cond", "then|then_graph|NULL", "else|else_graph|NULL",
                                        "loop|inner_body|inner_cond", "main|main|NULL"}));
    EXPECT_EQ(r.rows("SELECT slot, a.name, b.name, c.name FROM carry JOIN op ON op.id = carry.op AND op.label = 'while#0' LEFT JOIN value "
                     "a ON a.id = cond_input "
                     "LEFT JOIN value b ON b.id = body_input LEFT JOIN value c ON c.id = body_output ORDER BY slot"),
              (std::vector<std::string>{"0|i|i|i_next", "1|NULL|acc|acc_next", "2|NULL|x|x_next"}));
}

} // namespace
} // namespace loopscope::test
