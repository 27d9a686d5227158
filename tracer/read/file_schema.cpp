#include "tracer/read/file_schema.h"

#include "engine/base/text.h"
#include "tracer/schema/schema.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace loopscope {

namespace {

constexpr size_t kMostObjects = 1000;

/// A row of sqlite_schema.
struct FileObject {
    std::string type, sql;
    int64_t root = 0;
};

std::string lowered(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return text;
}

Error notARecording(const Database& database, std::string what)
{
    return Error(ErrorCode::badFile, "not a recording: " + std::move(what)).at(database.path());
}

Status checkColumns(Database& database, const TraceTable& table)
{
    LS_TRY(Statement s, database.prepare(std::string("PRAGMA main.table_xinfo(") + table.name + ")"));
    std::set<std::string> plain;
    for (;;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) break;
        if (s.integer(6) == 0) plain.insert(s.text(1)); // neither hidden nor computed
    }
    for (const TraceColumn& column : table.columns)
        if (!plain.contains(column.name))
            return notARecording(database, std::string("table '") + table.name + "' has no column '" + column.name + "'");
    return {};
}

} // namespace

Status checkFileSchema(Database& database, int64_t schema, SchemaUse use)
{
    std::map<std::string, FileObject> objects;
    LS_TRY(Statement s, database.prepare("SELECT type, name, rootpage, sql FROM main.sqlite_schema"));
    for (;;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) break;
        if (objects.size() == kMostObjects) return notARecording(database, "it has more than " + std::to_string(kMostObjects) + " tables");
        objects[lowered(s.text(1))] = {s.text(0), s.text(3), s.integer(2)};
    }
    std::set<std::string> ours;
    for (const TraceTable& table : traceTables()) {
        const auto found = objects.find(table.name);
        if (found == objects.end()) {
            if (table.since > schema) continue;
            return notARecording(database, std::string("it has no table '") + table.name + "'");
        }
        const FileObject& object = found->second;
        if (object.type != "table")
            return notARecording(database, std::string("'") + table.name + "' is a " + object.type).expected("a table");
        if (object.root < 2) return notARecording(database, std::string("'") + table.name + "' is a virtual table").expected("a table");
        LS_CHECK_OK(checkColumns(database, table));
        if (use == SchemaUse::writing && object.sql != createStatement(table))
            return notARecording(database, std::string("table '") + table.name + "' is declared otherwise");
        ours.insert(found->first);
    }
    if (use == SchemaUse::reading) return {};
    for (const TraceIndex& index : traceIndexes()) {
        const auto found = objects.find(index.name);
        if (found != objects.end() && found->second.type == "index" && found->second.sql == createStatement(index)) ours.insert(index.name);
    }
    for (const auto& [name, object] : objects) {
        const bool isHarmless = ours.contains(name) || object.type == "view" || name.starts_with("sqlite_");
        if (!isHarmless)
            return notARecording(database, "it has a" + std::string(object.type == "index" ? "n " : " ") + object.type + " '" + name + "'");
    }
    return {};
}

Status createViews(Database& database)
{
    LS_TRY(const int64_t known, database.integer("SELECT count(*) FROM main.sqlite_schema WHERE name = 'presence'"));
    if (known == 0) // before schema 3: any operator may be anywhere
        LS_CHECK_OK(
            database.execute("CREATE TEMP VIEW presence AS WITH RECURSIVE b(block) AS (SELECT (SELECT min(id) FROM event) / 4096 UNION ALL "
                             "SELECT block + 1 FROM b WHERE block < (SELECT max(id) FROM event) / 4096) SELECT o.id AS op, b.block FROM "
                             "op o CROSS JOIN b"));
    LS_TRY(const int64_t places, database.integer("SELECT count(*) FROM main.sqlite_schema WHERE name = 'memory'"));
    if (places == 0) // before schema 4 nobody looked
        LS_CHECK_OK(
            database.execute("CREATE TEMP VIEW memory AS SELECT 0 AS event, 0 AS memory, 0 AS disk, 0 AS file, 0 AS device WHERE 0"));
    for (const TraceView& view : traceViews())
        LS_CHECK_OK(database.execute(std::string("CREATE TEMP VIEW ") + view.name + " AS " + view.sql));
    return {};
}

} // namespace loopscope
