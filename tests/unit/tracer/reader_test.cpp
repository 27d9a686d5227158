#include "fixture.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>

namespace loopscope::test {
namespace {

using Lines = std::vector<std::string>;

std::string openError(const std::string& path)
{
    const auto reader = TraceReader::open(path);
    return reader.ok() ? "" : reader.error().message();
}

std::string queryError(const TraceReader& reader, std::string_view sql, const QueryParameters& parameters = {},
                       const QueryLimits& limits = {})
{
    const Result<QueryResult> result = reader.query(sql, parameters, limits);
    return result.ok() ? "" : result.error().message();
}

TEST(Reader, refusesWhatIsNoTrace)
{
    const std::string path = tracePath();
    EXPECT_EQ(openError(path), path + ": no such file");
    std::ofstream(path) << "this is text, and more of it than a header";
    EXPECT_EQ(openError(path), path + ": not a trace: not a SQLite database");
    EXPECT_FALSE(isTraceFile(path));
    const std::string folder = std::filesystem::path(path).parent_path();
    EXPECT_EQ(openError(folder), folder + ": is a folder");
    std::ofstream(path, std::ios::trunc) << "";
    EXPECT_NE(openError(path), "");
}

TEST(Reader, survivesTruncationAndDamage)
{
    const Recording r = record(optionsFor(tracePath()));
    std::ifstream file(r.path, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    uint32_t seed = 7;
    const auto next = [&] { return seed = seed * 1664525 + 1013904223; };
    for (int round = 0; round < 60; ++round) {
        std::string damaged = whole;
        if (round % 3 == 0) damaged.resize(next() % whole.size());
        else
            for (int k = 0; k < 40; ++k) damaged[next() % damaged.size()] = static_cast<char>(next());
        const std::string path = tracePath("damaged.lstrace");
        std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
        auto reader = TraceReader::open(path);
        if (!reader.ok()) continue;
        for (const Recipe& recipe : traceRecipes()) {
            static_cast<void>((*reader)->recipe(
                recipe.name,
                {{"op", "if#3"}, {"outer", "while#0"}, {"inner", "while#4"}, {"i", "1"}, {"j", "1"}, {"step", "9"}, {"name", "v"}}));
        }
    }
}

TEST(Reader, refusesFilesThatNeedANewerVersion)
{
    Recording r = record(optionsFor(tracePath()));
    edit(r, "PRAGMA user_version = 4; UPDATE meta SET value = '4' WHERE key = 'schema'");
    EXPECT_NE(r.reader, nullptr) << "added columns keep old readers working";
    r.reader.reset();
    Recording newer = record(optionsFor(tracePath("newer.lstrace")));
    const std::string path = newer.path;
    newer.reader.reset();
    change(path, "PRAGMA user_version = 5; UPDATE meta SET value = '0.4' WHERE key = 'minimum_reader'");
    EXPECT_EQ(openError(path), path + ": schema 5 needs loopscope 0.4 or later; this is 0.1");
}

TEST(Reader, allowsReadingOnly)
{
    const Recording r = record(optionsFor(tracePath()));
    for (const char* sql : {"DELETE FROM event", "CREATE TABLE t(x)", "ATTACH 'x.db' AS x", "PRAGMA journal_mode = DELETE", "BEGIN",
                            "VACUUM", "SELECT load_extension('x')", "CREATE TEMP TABLE t(x)"}) {
        EXPECT_THAT(queryError(*r.reader, sql), testing::AnyOf("query: only reading is allowed", testing::HasSubstr("not authorized")))
            << sql;
    }
    EXPECT_EQ(queryError(*r.reader, "SELECT 1; SELECT 2"), "query: more than one statement, expected one");
    EXPECT_EQ(queryError(*r.reader, "SELECT 1 ; "), "");
    EXPECT_EQ(queryError(*r.reader, "  "), "query: no statement");
    EXPECT_EQ(queryError(*r.reader, "SELEKT 1"), "query: near \"SELEKT\": syntax error");
    EXPECT_EQ(r.number("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT sum(i) FROM n"), 55);
}

TEST(Reader, stopsAtTheTimeLimitAndOnRequest)
{
    const Recording r = record(optionsFor(tracePath()));
    const char* endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    EXPECT_EQ(queryError(*r.reader, endless, {}, {.seconds = 0.2}), "query: stopped after 0.2 s; --limit-time gives more");
    EXPECT_EQ(r.reader->query(endless, {}, {.seconds = 0.05}).error().code(), ErrorCode::execution); // as other budgets
    CancelFlag cancel;
    cancel.request();
    const Result<QueryResult> result = r.reader->query(endless, {}, {.cancel = &cancel});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code(), ErrorCode::cancelled);
}

TEST(Reader, cutsRowsAndSaysSo)
{
    const Recording r = record(optionsFor(tracePath()));
    const Result<QueryResult> five = r.reader->query("SELECT id FROM event", {}, {.rows = 5});
    ASSERT_TRUE(five.ok());
    EXPECT_EQ(five->rows.size(), 5U);
    EXPECT_TRUE(five->more);
    EXPECT_EQ(five->columns, Lines{"id"});
    const Result<QueryResult> all = r.reader->query("SELECT id FROM event WHERE id < 5", {}, {.rows = 5});
    ASSERT_TRUE(all.ok());
    EXPECT_FALSE(all->more);
}

TEST(Reader, findsOperatorsByAddressAndLabel)
{
    const Recording r = record(optionsFor(tracePath()));
    const auto labelOf = [&](std::string_view text) {
        const Result<int64_t> id = r.reader->resolveOperator(text);
        if (!id.ok()) return id.error().message();
        return r.rows("SELECT g.name || '/' || o.label FROM op o JOIN graph g ON g.id = o.graph WHERE o.id = " + std::to_string(*id)).at(0);
    };
    EXPECT_EQ(labelOf("main/while#0"), "main/while#0");
    EXPECT_EQ(labelOf("main/while#0@3:body/if#3:then/mul#0:0"), "then_graph/mul#0");
    EXPECT_EQ(labelOf("main/while#0/while#4/mul#1"), "inner_body/mul#1");
    EXPECT_EQ(labelOf("r1:main/while#0@1/add#0"), "outer_body/add#0");
    EXPECT_EQ(labelOf("main/while#0:cond/less#0"), "outer_cond/less#0");
    EXPECT_EQ(labelOf("main/while#0/less#0"), "outer_cond/less#0") << "without a role the condition is looked through too";
    EXPECT_EQ(labelOf("split#5"), "outer_body/split#5");
    EXPECT_EQ(labelOf("split#5:1"), "outer_body/split#5");
    EXPECT_EQ(
        labelOf("add#0"),
        "query: operator 'add#0' is in several graphs (outer_body, else_graph, inner_body); give its address, as in main/while#0/add#1");
    EXPECT_EQ(labelOf("splat#5"), "query: no operator 'splat#5'; did you mean 'split#5'?");
    EXPECT_EQ(labelOf("main/while#0/addd#0"), "main/while#0/addd#0: no operator 'while#0/addd#0' in main");
    EXPECT_EQ(r.reader->resolveCall("add#7").ok(), false);
}

TEST(Reader, bindsParametersAndNamesMissingOnes)
{
    const Recording r = record(optionsFor(tracePath()), {{.outer = 3}, {.outer = 4}});
    const auto text = [&](std::string_view sql, const QueryParameters& parameters = {}) {
        const Result<QueryResult> result = r.reader->query(sql, parameters);
        return result.ok() ? sqlText(result->rows.at(0).at(0)) + "," + std::to_string(result->rows.at(0).at(0).index())
                           : result.error().message();
    };
    EXPECT_EQ(text("SELECT :run"), "2,1") << "the newest complete run";
    EXPECT_EQ(text("SELECT :run", {{"run", "1"}}), "1,1");
    EXPECT_EQ(text("SELECT :a"), "1,1");
    EXPECT_EQ(text("SELECT :x", {{"x", "0.5"}}), "0.5,2");
    EXPECT_EQ(text("SELECT :x", {{"x", "some text"}}), "some text,3");
    EXPECT_EQ(text("SELECT :x"), "query: parameter 'x' is missing; give --x VALUE");
    EXPECT_EQ(text("SELECT :op"), "query: parameter 'op' is missing; give --op ADDRESS");
    EXPECT_EQ(text("SELECT ?"), "query: a parameter without a name, expected a name, such as :run");
    EXPECT_EQ(r.recipe("value-per-iteration", {{"op", "if#3"}}).size(), 4U) << "slot has a default";
}

TEST(Reader, namesTheNearestRecipe)
{
    const Recording r = record(optionsFor(tracePath()));
    const Result<QueryResult> result = r.reader->recipe("frist-nan", {});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message(), "query: no recipe 'frist-nan'; did you mean 'first-nan'?");
    EXPECT_EQ(result.error().code(), ErrorCode::usage);
}

} // namespace
} // namespace loopscope::test
