#include "fixture.h"
#include "tests/scratch.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <sqlite3.h>

namespace loopscope::test {

std::string tracePath(const std::string& name)
{
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    static const ScratchFolder scratch;
    const std::string folder = scratch.path(info != nullptr ? std::string(info->test_suite_name()) + "." + info->name() : "suite");
    std::filesystem::create_directories(folder);
    return folder + "/" + name;
}

RecorderOptions optionsFor(const std::string& path, TraceLevel level)
{
    RecorderOptions options;
    options.path = path;
    options.level = level;
    options.overwrite = true;
    return options;
}

Recording record(RecorderOptions options, const std::vector<ScriptOptions>& runs)
{
    Recording r;
    r.path = options.path;
    static const Model model = scriptModel();
    auto recorder = TraceRecorder::create(model, std::move(options));
    if (!recorder.ok()) {
        ADD_FAILURE() << recorder.error().message();
        return r;
    }
    Script script(model, **recorder);
    for (const ScriptOptions& run : runs) {
        script.run(run);
        r.factsOfRuns.push_back(script.facts);
    }
    const Status finished = (*recorder)->finish();
    EXPECT_TRUE(finished.ok()) << (finished.ok() ? "" : finished.detail().what);
    r.facts = script.facts;
    r.invocations = script.invocations;
    r.shapes = script.shapes;
    r.steps = script.steps();
    r.summary = (*recorder)->summary();
    auto reader = TraceReader::open(r.path);
    if (reader.ok()) r.reader = std::move(*reader);
    else ADD_FAILURE() << reader.error().message();
    return r;
}

void change(const std::string& path, const std::string& sql)
{
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << (message != nullptr ? message : "");
    sqlite3_free(message);
    sqlite3_close(db);
}

void edit(Recording& recording, const std::string& sql)
{
    recording.reader.reset();
    change(recording.path, sql);
    auto reader = TraceReader::open(recording.path);
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    recording.reader = std::move(*reader);
}

std::vector<std::string> rowsOf(const TraceReader& reader, std::string_view sql, const QueryParameters& parameters)
{
    const Result<QueryResult> result = reader.query(sql, parameters, {.seconds = 60});
    std::vector<std::string> lines;
    if (!result.ok()) {
        ADD_FAILURE() << sql << ": " << result.error().message();
        return lines;
    }
    for (const auto& row : result->rows) {
        std::string line;
        for (const SqlValue& value : row) line += (line.empty() ? "" : "|") + sqlText(value);
        lines.push_back(line);
    }
    return lines;
}

std::vector<std::string> Recording::rows(std::string_view sql, const QueryParameters& parameters) const
{
    return rowsOf(*reader, sql, parameters);
}

std::vector<std::string> Recording::recipe(std::string_view name, const QueryParameters& parameters) const
{
    const Recipe* found = findRecipe(name);
    if (found == nullptr) {
        ADD_FAILURE() << "no recipe " << name;
        return {};
    }
    return rowsOf(*reader, found->sql, parameters);
}

int64_t Recording::number(std::string_view sql) const
{
    const std::vector<std::string> lines = rows(sql);
    return lines.size() == 1 ? std::stoll(lines[0]) : -1;
}

std::string cell(double value)
{
    // A trace keeps whole numbers as integers.
    if (std::floor(value) == value && std::fabs(value) < 1e15) return std::to_string(static_cast<int64_t>(value));
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

std::string cell(int64_t value) { return std::to_string(value); }

} // namespace loopscope::test
