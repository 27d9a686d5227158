// `loopscope query`: recipes and SQL against a trace, as a table, CSV or JSON lines.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/iteration_table.h"
#include "app/output/json_writer.h"
#include "app/output/node_data.h"
#include "app/output/table.h"
#include "app/wiring/signals.h"
#include "engine/base/text.h"
#include "engine/tensor/value_text.h"
#include "tracer/api/trace_reader.h"

#include <algorithm>

namespace loopscope::app {

namespace {

constexpr int64_t kDefaultRows = 40;

void listRecipes(Console& console)
{
    if (console.json()) {
        for (const Recipe& recipe : traceRecipes()) {
            JsonWriter json;
            json.beginObject().key("schema").value(1).key("name").value(recipe.name).key("question").value(recipe.question);
            json.key("parameters").value(recipe.parameters).key("sql").value(recipe.sql).endObject();
            console.line(json.text());
        }
        return;
    }
    Table table({"", ""});
    table.add({std::string(kIterationTable), "What did every iteration of a loop compute?  --op LOOP"});
    for (const Recipe& recipe : traceRecipes()) {
        // `run` has a default everywhere; what is left must be given.
        std::string needed;
        for (const RecipeParameter& parameter : recipe.parameterList()) {
            const bool isFound = parameter.name == "run" || parameter.name == "loop" || parameter.kind == "branch"; // the only one is taken
            if (!isFound && parameter.otherwise.empty()) needed += "  --" + std::string(parameter.name);
        }
        table.add({std::string(recipe.name), std::string(recipe.question) + needed});
    }
    console.page(table.text());
}

/// Parameters a recipe or an SQL text takes, without colons and defaults.
std::vector<std::string> parametersOf(const Recipe* recipe, const std::string& sql)
{
    std::vector<std::string> names;
    if (recipe != nullptr) {
        for (const RecipeParameter& parameter : recipe->parameterList()) {
            names.emplace_back(parameter.name);
            if (parameter.name == "loop") names.emplace_back("op"); // a loop is named by its operator
        }
        return names;
    }
    for (size_t at = sql.find(':'); at != std::string::npos; at = sql.find(':', at + 1)) {
        size_t end = at + 1;
        while (end < sql.size() && (std::isalnum(static_cast<unsigned char>(sql[end])) != 0 || sql[end] == '_')) ++end;
        if (end > at + 1) names.push_back(sql.substr(at + 1, end - at - 1));
    }
    return names;
}

std::string csvCell(const SqlValue& value)
{
    if (std::holds_alternative<std::monostate>(value)) return "";
    const std::string text = sqlText(value);
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

std::string rowJson(const std::vector<std::string>& columns, const std::vector<SqlValue>& row)
{
    JsonWriter json;
    json.beginObject();
    for (size_t c = 0; c < columns.size(); ++c) {
        json.key(columns[c]);
        if (const auto* integer = std::get_if<int64_t>(&row[c])) json.value(*integer);
        else if (const auto* real = std::get_if<double>(&row[c])) json.value(*real);
        else if (const auto* text = std::get_if<std::string>(&row[c])) json.value(*text);
        else if (std::holds_alternative<SqlBlob>(row[c])) json.value(sqlText(row[c]));
        else json.null();
    }
    return json.endObject().text();
}

std::string tableOf(const QueryResult& result)
{
    Table table(result.columns);
    for (size_t c = 0; c < result.columns.size(); ++c) {
        bool number = false, real = false, text = false;
        for (const auto& row : result.rows) {
            number = number || std::holds_alternative<int64_t>(row[c]) || std::holds_alternative<double>(row[c]);
            real = real || std::holds_alternative<double>(row[c]);
            const auto* word = std::get_if<std::string>(&row[c]);
            text = text || (word != nullptr && *word != "nan" && *word != "inf");
        }
        if (number && !text) table.align(c, real ? Align::decimal : Align::right);
    }
    for (const auto& row : result.rows) {
        std::vector<std::string> cells;
        for (const SqlValue& value : row) {
            if (const auto* real = std::get_if<double>(&value)) cells.push_back(realText(*real, 7));
            else if (std::holds_alternative<std::monostate>(value)) cells.emplace_back("-");
            else cells.push_back(sqlText(value));
        }
        table.add(std::move(cells));
    }
    return table.text();
}

/// Rows as objects, as comma-separated values, or as a table.
void printRows(Console& console, const QueryResult& result, bool isCsv)
{
    if (console.json()) {
        for (const auto& row : result.rows) console.line(rowJson(result.columns, row));
    } else if (isCsv) {
        std::string line;
        for (size_t c = 0; c < result.columns.size(); ++c) line += (c > 0 ? "," : "") + csvCell(result.columns[c]);
        console.line(line);
        for (const auto& row : result.rows) {
            line.clear();
            for (size_t c = 0; c < row.size(); ++c) line += (c > 0 ? "," : "") + csvCell(row[c]);
            console.line(line);
        }
    } else {
        console.page(tableOf(result));
        if (result.rows.empty()) console.note("no rows");
    }
}

/// What is not recorded is in no answer: that is said.
void noteGaps(Console& console, const TraceReader& reader, const QueryParameters& parameters)
{
    const auto given = parameters.find("run");
    const TraceRun* run = reader.defaultRun();
    if (run == nullptr) return;
    const std::string id = given != parameters.end() ? given->second : std::to_string(run->id);
    const Result<QueryResult> gaps =
        reader.query("SELECT sum(last - first + 1), group_concat(DISTINCT reason) FROM gap WHERE run = :run", {{"run", id}}, {});
    if (!gaps.ok() || gaps->rows.empty()) return;
    const auto* steps = std::get_if<int64_t>(&gaps->rows[0][0]);
    if (steps == nullptr) return;
    console.note(std::to_string(*steps) + (*steps == 1 ? " step of run " : " steps of run ") + id + " not recorded (" +
                 sqlText(gaps->rows[0][1]) + "); 'gaps' lists them");
}

} // namespace

Result<int> runQuery(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    if (arguments.has("list")) {
        listRecipes(console);
        return 0;
    }
    const std::vector<std::string>& words = arguments.positionals;
    if (words.size() < 2)
        return Error(ErrorCode::usage, "something is missing")
            .at("'query'")
            .expected("loopscope query TRACE RECIPE|'SQL'")
            .note("'loopscope query --list' lists the recipes");
    const std::string& question = words[1];
    const bool isSql = question.find_first_of(" \n\t") != std::string::npos;
    const bool pivot = question == kIterationTable;
    const Recipe* recipe = isSql || pivot ? nullptr : findRecipe(question);
    if (!isSql && !pivot && recipe == nullptr) {
        std::vector<std::string> names = {std::string(kIterationTable)};
        for (const Recipe& r : traceRecipes()) names.emplace_back(r.name);
        return Error(ErrorCode::usage, "no recipe '" + question + "'")
            .at("query")
            .nearest(nearestNames(question, names))
            .note("'loopscope query --list' lists them");
    }
    std::vector<std::string> known = parametersOf(recipe, isSql ? question : "");
    if (pivot) known = {"op", "run"};
    QueryParameters parameters;
    for (const auto& [name, value] : arguments.free) {
        if (std::find(known.begin(), known.end(), name) == known.end())
            return Error(ErrorCode::usage, "unknown option '--" + name + "' for '" + (isSql ? "query" : question) + "'")
                .nearest(nearestNames(name, known));
        parameters[name] = value;
    }
    const std::string format = arguments.text("format", "table");
    const std::vector<std::string> formats = {"table", "csv", "model-explorer"};
    if (std::find(formats.begin(), formats.end(), format) == formats.end())
        return Error(ErrorCode::usage, "option '--format'")
            .found("'" + format + "'")
            .expected(join(formats, ", "))
            .nearest(nearestNames(format, formats));
    const bool isCsv = arguments.has("csv") || format == "csv", isNodes = format == "model-explorer";
    LS_TRY(const int64_t rows, arguments.integer("limit", kDefaultRows));
    LS_TRY(const double seconds, arguments.real("limit-time", 5));
    LS_TRY(const std::unique_ptr<TraceReader> reader, TraceReader::open(words[0]));
    if (!reader->note().empty()) console.note(reader->note());
    // --limit is also a parameter of some recipes.
    if (std::find(known.begin(), known.end(), "limit") != known.end() && arguments.has("limit"))
        parameters["limit"] = rows == 0 ? "-1" : std::to_string(rows);

    std::string sql = isSql ? question : recipe != nullptr ? std::string(recipe->sql) : "";
    if (pivot) {
        LS_TRY(sql, iterationTableSql(*reader, parameters));
        parameters.erase("op");
    }
    if (arguments.has("sql")) {
        console.line(sql);
        return 0;
    }
    QueryLimits limits;
    limits.seconds = seconds;
    limits.rows = console.json() || isCsv || isNodes ? (arguments.has("limit") ? rows : 0) : rows;
    limits.cancel = &interruptFlag();
    Result<QueryResult> result = recipe != nullptr ? reader->recipe(question, parameters, limits) : reader->query(sql, parameters, limits);
    if (!result.ok()) return std::move(result).takeError();

    if (isNodes) {
        LS_TRY(const std::string nodes, nodeDataJson(*reader, *result, arguments.text("column")));
        console.line(nodes);
    } else {
        printRows(console, *result, isCsv);
    }
    if (result->more) console.note("more rows; --limit 0 prints all");
    if (recipe != nullptr && (recipe->readsOperators() || recipe->name == "never-executed")) noteGaps(console, *reader, parameters);
    return 0;
}

} // namespace loopscope::app
