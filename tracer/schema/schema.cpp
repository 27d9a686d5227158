// Turns the description of the trace format into SQL and into its page of documentation.
#include "tracer/schema/schema.h"

#include "engine/base/text.h"
#include "tracer/api/sql_layout.h"

namespace loopscope {

namespace {

const char* sqlType(ColumnType type)
{
    switch (type) {
    case ColumnType::integer: return "INTEGER";
    case ColumnType::text: return "TEXT";
    case ColumnType::real: return "NUMERIC";
    case ColumnType::blob: return "BLOB";
    }
    return "";
}

const char* pageType(ColumnType type)
{
    switch (type) {
    case ColumnType::integer: return "integer";
    case ColumnType::text: return "text";
    case ColumnType::real: return "real";
    case ColumnType::blob: return "blob";
    }
    return "";
}

/// Text inside a table cell of the page: `|` would end the cell.
std::string cell(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        if (c == '|') out += '\\';
        out += c;
    }
    return out;
}

} // namespace

const Recipe* findRecipe(std::string_view name)
{
    for (const Recipe& recipe : traceRecipes()) {
        if (recipe.name == name) return &recipe;
    }
    return nullptr;
}

std::string createStatement(const TraceTable& table)
{
    const bool isRowid = !table.withoutRowid;
    std::string sql = std::string("CREATE TABLE ") + table.name + " (";
    for (const TraceColumn& column : table.columns) {
        if (&column != table.columns.data()) sql += ", ";
        sql += std::string(column.name) + " " + sqlType(column.type);
        if (isRowid && std::string_view(column.name) == table.key) {
            sql += " PRIMARY KEY";
        } else if (!column.nullable) {
            sql += " NOT NULL";
        }
    }
    if (!isRowid) sql += std::string(", PRIMARY KEY (") + table.key + ")) WITHOUT ROWID";
    else sql += ")";
    return sql;
}

std::string createStatement(const TraceIndex& index) { return std::string("CREATE INDEX ") + index.name + " ON " + index.sql; }

std::string createStatements()
{
    std::string sql;
    for (const TraceTable& table : traceTables()) sql += createStatement(table) + ";\n";
    for (const TraceView& view : traceViews()) sql += std::string("CREATE VIEW ") + view.name + " AS\n " + view.sql + ";\n";
    return sql;
}

std::string traceSchemaPage()
{
    std::string page =
        "# The trace schema\n\n"
        "<!-- Generated from tracer/schema; a test compares. Regenerate: LOOPSCOPE_UPDATE=1 build/tests/unit/tracer/unit_tracer "
        "--gtest_filter='SchemaPage.*' -->\n\n"
        "A trace is one SQLite file, `NAME.lstrace`, readable by any SQLite from 3.38 on, without Loopscope and without the model.\n"
        "`PRAGMA application_id` is 0x4C535452 and `PRAGMA user_version` the schema version, " +
        std::to_string(kTraceSchema) +
        ".\nColumns are NOT NULL unless marked `?`. `→ t` refers to `t.id`; `loopscope check TRACE` tests that such references "
        "lead somewhere.\n";
    page += "\n## Tables\n";
    for (const TraceTable& table : traceTables()) {
        page += std::string("\n### ") + table.name + "\n\n" + table.meaning + " Key: (" + table.key +
                ").\n\n| column | type | meaning |\n|---|---|---|\n";
        for (const TraceColumn& column : table.columns) {
            page += std::string("| ") + column.name + (column.nullable ? "?" : "") + " | " + pageType(column.type) + " | " +
                    cell(column.meaning) + " |\n";
        }
    }
    page += "\n## Views\n";
    for (const TraceView& view : traceViews()) {
        page += std::string("\n### ") + view.name + "\n\n" + view.meaning + "\n\n```sql\nCREATE VIEW " + view.name + " AS\n " + view.sql +
                ";\n```\n";
    }
    page += "\n## Indexes\n\nMade when a recording closes, unless `--no-index` was given; `meta.indexed` says whether they are there.\n\n"
            "| index | finds | on |\n|---|---|---|\n";
    for (const TraceIndex& index : traceIndexes()) {
        page += std::string("| ") + index.name + " | " + index.meaning + " | " + index.sql + " |\n";
    }
    page += "\n## Recipes\n\n`loopscope query T.lstrace NAME` runs one; `loopscope query --list` lists them. Parameters: `:run` is the "
            "newest complete run "
            "unless given; `:op` takes an\naddress or a label and is bound to the operator's id; `:outer` and `:inner` likewise to the id "
            "of a loop's `call`.\n";
    for (const Recipe& recipe : traceRecipes()) {
        page += "\n### " + std::string(recipe.name) + "\n\n" + std::string(recipe.question);
        if (!recipe.parameters.empty()) page += " Parameters: `" + std::string(recipe.parameters) + "`.";
        page += "\n\n```sql\n" + laidOutSql(recipe.sql) + "\n```\n";
    }
    return page;
}

} // namespace loopscope
