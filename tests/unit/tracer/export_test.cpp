#include "engine/tensor/npz.h"
#include "fixture.h"
#include "tracer/api/trace_export.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace loopscope::test {
namespace {

std::string contentOf(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

Recording everything()
{
    RecorderOptions options = optionsFor(tracePath(), TraceLevel::all);
    options.iterations = *parseIterations("all");
    return record(std::move(options));
}

TEST(Export, npzHoldsOneArrayPerWrite)
{
    const Recording r = everything();
    const std::string path = tracePath("o.npz");
    const Result<TraceExportSummary> done = exportTrace(*r.reader, path, {.format = TraceExportFormat::npz});
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(done->writes, static_cast<int64_t>(r.facts.size()));
    EXPECT_EQ(done->notStored, 0);
    const Result<NpzFile> file = NpzFile::open(path);
    ASSERT_TRUE(file.ok());
    for (const Fact& fact : r.facts) {
        const Result<Array> array = file->read(fact.address);
        ASSERT_TRUE(array.ok()) << fact.address;
        EXPECT_EQ(array->shape, fact.shape) << fact.address;
        EXPECT_EQ(dtypeName(array->dtype), fact.dtype) << fact.address;
        if (fact.dtype == "i32") {
            EXPECT_EQ(static_cast<double>(*array->view().as<int32_t>()), fact.data[0]) << fact.address;
        }
        if (fact.dtype == "f32") {
            for (size_t i = 0; i < fact.data.size(); ++i)
                EXPECT_EQ(static_cast<double>(array->view().as<float>()[i]), fact.data[i]) << fact.address;
        }
    }
}

TEST(Export, npyStacksTheIterationsOfOneOperator)
{
    const Recording r = everything();
    const std::string path = tracePath("o.npy");
    const Result<TraceExportSummary> done =
        exportTrace(*r.reader, path, {.format = TraceExportFormat::npy, .patterns = {"main/while#0@all:body/split#5:1"}});
    ASSERT_TRUE(done.ok()) << done.error().message();
    const std::string content = contentOf(path);
    const Result<Array> array = readNpy(std::as_bytes(std::span(content)));
    ASSERT_TRUE(array.ok());
    EXPECT_EQ(array->shape, (Shape{12, 2}));
    std::vector<double> expected;
    for (const Fact& fact : r.facts) {
        if (fact.op == "split#5" && fact.slot == 1) expected.insert(expected.end(), fact.data.begin(), fact.data.end());
    }
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(static_cast<double>(array->view().as<float>()[i]), expected[i]);
    const Result<TraceExportSummary> mixed =
        exportTrace(*r.reader, tracePath("m.npy"), {.format = TraceExportFormat::npy, .patterns = {"main/while#0@0:body/*"}});
    ASSERT_FALSE(mixed.ok());
    EXPECT_THAT(mixed.error().message(), testing::HasSubstr("an .npy holds arrays of one type and shape"));
}

TEST(Export, saysWhereElementsAreNotStored)
{
    const Recording r = record(optionsFor(tracePath()));
    const Result<TraceExportSummary> done =
        exportTrace(*r.reader, tracePath("o.npz"), {.format = TraceExportFormat::npz, .patterns = {".../split#5"}});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().message(),
              "export: 24 writes match, but their elements are not stored; record with --level values --keep PATTERN, or --level all");
    const Result<TraceExportSummary> none =
        exportTrace(*r.reader, tracePath("o.npz"), {.format = TraceExportFormat::npz, .patterns = {".../conv_2d#5"}});
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().message(), "export: nothing matches");
    EXPECT_FALSE(std::filesystem::exists(tracePath("o.npz")));
}

TEST(Export, refusesElementsThatAreNotThere)
{
    for (const char* damage :
         {"UPDATE blob SET shape = '[4000]' WHERE shape = '[4]'", "UPDATE blob SET dtype = 'c128'", "UPDATE blob SET dtype = 'str'"}) {
        Recording r = everything();
        edit(r, damage);
        const Result<TraceExportSummary> done = exportTrace(*r.reader, tracePath("o.npz"), {.format = TraceExportFormat::npz});
        ASSERT_FALSE(done.ok()) << damage;
        EXPECT_THAT(done.error().message(), testing::HasSubstr("its bytes are not those of its dtype and shape"));
    }
}

TEST(Export, followsInvocationsThatADamagedFileNestsWithoutEnd)
{
    Recording r = everything();
    edit(r, "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) INSERT INTO invocation(id, run, parent, "
            "call, iteration, first, steps)"
            " SELECT i, 1, CASE i WHEN 1000 THEN 1 ELSE i - 1 END, (SELECT call FROM invocation WHERE id = 2), 0, 1, 1 FROM n;"
            " UPDATE event SET invocation = 60000 WHERE id = 5");
    const Result<TraceExportSummary> done = exportTrace(*r.reader, tracePath("o.csv"), {.format = TraceExportFormat::csv});
    EXPECT_TRUE(done.ok()) << done.error().message();
}

TEST(Export, csvHasARowPerWrite)
{
    const Recording r = record(optionsFor(tracePath()));
    const std::string path = tracePath("o.csv");
    ASSERT_TRUE(exportTrace(*r.reader, path, {.format = TraceExportFormat::csv, .patterns = {".../if#3"}}).ok());
    std::string expected = "step,address,iteration,value,dtype,state,min,max,mean,std,zeros,ns\n";
    for (const Fact& fact : r.facts) {
        if (fact.op != "if#3") continue;
        const std::string v = cell(fact.data[0]);
        expected += cell(fact.step) + "," + fact.address + "," + cell(fact.iteration) + ",acc_next,i32,live," + v + "," + v + "," + v +
                    ",0," + (fact.data[0] == 0 ? "1" : "0") + "," + cell(fact.ns) + "\n";
    }
    EXPECT_EQ(contentOf(path), expected);
    const Result<TraceExportSummary> again = exportTrace(*r.reader, path, {.format = TraceExportFormat::csv});
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.error().message(), path + ": exists; --force overwrites");
}

TEST(Export, perfettoNestsOperatorsInInvocations)
{
    const Recording r = record(optionsFor(tracePath()), {{.outer = 6, .nanAt = 3}});
    const std::string path = tracePath("o.json");
    ASSERT_TRUE(exportTrace(*r.reader, path, {.format = TraceExportFormat::perfetto, .counters = {"if#3"}}).ok());
    const nlohmann::json file = nlohmann::json::parse(contentOf(path), nullptr, false);
    ASSERT_FALSE(file.is_discarded());
    int64_t operators = 0, counters = 0, alerts = 0;
    std::map<std::string, std::pair<double, double>> invocations;
    for (const auto& event : file["traceEvents"]) {
        const std::string phase = event["ph"];
        if (phase == "C") ++counters;
        if (phase == "i") ++alerts;
        if (phase != "X") continue;
        if (event["cat"] == "invocation") invocations[event["name"]] = {event["ts"], event["dur"]};
        else ++operators;
    }
    int64_t expected = 0;
    for (const Fact& fact : r.facts) expected += fact.slot == 0 && !fact.isCall ? 1 : 0;
    EXPECT_EQ(operators, expected);
    EXPECT_EQ(counters, 6);
    EXPECT_EQ(alerts, r.number("SELECT count(*) FROM alert"));
    const auto [mainStart, mainLength] = invocations.at("main");
    EXPECT_DOUBLE_EQ(mainLength, static_cast<double>(r.invocations[0].ns) / 1000);
    double before = -1;
    for (int i = 0; i < 6; ++i) {
        const auto [start, length] = invocations.at("while#0@" + std::to_string(i));
        EXPECT_GE(start, before) << "one after the other";
        before = start + length - 1e-9;
    }
    EXPECT_LE(before, mainStart + mainLength);
}

TEST(Export, refusesUnreadablePatterns)
{
    const Recording r = record(optionsFor(tracePath()));
    const Result<TraceExportSummary> done =
        exportTrace(*r.reader, tracePath("o.csv"), {.format = TraceExportFormat::csv, .patterns = {"main/@@"}});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code(), ErrorCode::usage);
    const Result<TraceExportSummary> run = exportTrace(*r.reader, tracePath("o.csv"), {.format = TraceExportFormat::csv, .run = 9});
    ASSERT_FALSE(run.ok());
    EXPECT_THAT(run.error().message(), testing::HasSubstr("no run 9"));
}

} // namespace
} // namespace loopscope::test
