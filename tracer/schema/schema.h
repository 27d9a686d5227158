// The trace format as data: every table, view, index and recipe in one description, from which the CREATE statements, the recipe table
// of each trace and docs/trace_schema.md come.
#pragma once

#include "tracer/api/recipes.h"

#include <span>
#include <string>
#include <string_view>

namespace loopscope {

inline constexpr int kTraceSchema = 4;
/// PRAGMA application_id of a trace: "LSTR".
inline constexpr int kTraceApplicationId = 0x4C535452;
/// The oldest loopscope that reads what this one writes, and this one.
inline constexpr std::string_view kMinimumReader = "0.1";
inline constexpr std::string_view kToolVersion = "0.1";
/// Bases of runs are multiples of this, and a digest closes every block of it, so that the digests of two runs line up.
inline constexpr int64_t kDigestBlock = 4096;
/// Blobs are stored in chunks of at most this many bytes.
inline constexpr size_t kChunkBytes = 256 * 1024;

enum class ColumnType : unsigned char {
    integer,
    text,
    real, ///< a real number, or an integer where that is exact
    blob
};

struct TraceColumn {
    const char* name;
    ColumnType type;
    bool nullable;
    const char* meaning; ///< with unit, and what NULL says where the column is nullable
};

struct TraceTable {
    const char* name;
    const char* meaning;
    std::span<const TraceColumn> columns;
    const char* key;   ///< columns of the primary key, separated by ", "; "id" style single integer keys are the rowid
    bool withoutRowid; ///< a clustered key of several columns or of text
    int since = 1;     ///< version of the schema that brought it
};

struct TraceView {
    const char* name;
    const char* meaning;
    const char* sql; ///< the SELECT
};

struct TraceIndex {
    const char* name;
    const char* meaning;
    const char* sql;
};

std::span<const TraceTable> traceTables();
std::span<const TraceView> traceViews();
std::span<const TraceIndex> traceIndexes();

std::string createStatement(const TraceTable& table);
std::string createStatement(const TraceIndex& index);
/// CREATE statements of all tables and views, separated by ";\n". Indexes are made when a recording closes.
std::string createStatements();
/// The content of docs/trace_schema.md.
std::string traceSchemaPage();

} // namespace loopscope
