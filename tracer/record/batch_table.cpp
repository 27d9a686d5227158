#include "tracer/record/batch_table.h"

#include "tracer/sqlite/database.h"

#include <bit>
#include <sqlite3.h>

namespace loopscope {

namespace {

void column(const EventRow& row, int number, sqlite3_context* out)
{
    const bool hasRange = (row.flags & kHasRange) != 0;
    switch (number) {
    case 0: sqlite3_result_int64(out, row.id); break;
    case 1: sqlite3_result_int64(out, row.invocation); break;
    case 2: sqlite3_result_int(out, row.op); break;
    case 3:
        if (row.ns >= 0) sqlite3_result_int64(out, row.ns);
        break;
    case 4:
        if (row.state != WriteState::live) sqlite3_result_int(out, static_cast<int>(row.state));
        break;
    case 5:
        if ((row.flags & kHasLo) == 0) break;
        if ((row.flags & kLoIsInteger) != 0) sqlite3_result_int64(out, row.lo);
        else sqlite3_result_double(out, std::bit_cast<double>(row.lo));
        break;
    case 6:
        if (hasRange) sqlite3_result_double(out, row.hi);
        break;
    case 7:
        if (hasRange) sqlite3_result_double(out, row.mean);
        break;
    case 8:
        if (hasRange) sqlite3_result_double(out, row.std);
        break;
    case 9:
        if (hasRange) sqlite3_result_int64(out, row.zeros);
        break;
    case 10:
        if ((row.flags & kHasContent) != 0) sqlite3_result_int64(out, row.content);
        break;
    default: break; // an unset result is NULL
    }
}

void column(const InvocationRow& row, int number, sqlite3_context* out)
{
    switch (number) {
    case 0: sqlite3_result_int64(out, row.id); break;
    case 1: sqlite3_result_int64(out, row.run); break;
    case 2:
        if (row.parent > 0) sqlite3_result_int64(out, row.parent);
        break;
    case 3: sqlite3_result_int(out, row.call); break;
    case 4:
        if (row.iteration >= 0) sqlite3_result_int64(out, row.iteration);
        break;
    case 5: sqlite3_result_int64(out, row.first); break;
    case 6:
        if (row.steps >= 0) sqlite3_result_int64(out, row.steps);
        break;
    case 7:
        if (row.ns >= 0) sqlite3_result_int64(out, row.ns);
        break;
    default: break;
    }
}

/// An eponymous, read-only table over a vector of rows.
template <typename Row> struct Module {
    struct Table {
        sqlite3_vtab base;
        const std::vector<Row>* rows;
    };
    struct Cursor {
        sqlite3_vtab_cursor base;
        size_t at;
    };
    static const std::vector<Row>& rowsOf(sqlite3_vtab_cursor* cursor) { return *reinterpret_cast<Table*>(cursor->pVtab)->rows; }

    static int connect(sqlite3* db, void* rows, int, const char* const*, sqlite3_vtab** table, char**)
    {
        const int code = sqlite3_declare_vtab(db, Row::kDeclaration);
        if (code != SQLITE_OK) return code;
        auto* made = static_cast<Table*>(sqlite3_malloc(sizeof(Table)));
        if (made == nullptr) return SQLITE_NOMEM;
        *made = Table{{}, static_cast<const std::vector<Row>*>(rows)};
        *table = &made->base;
        return SQLITE_OK;
    }
    static int disconnect(sqlite3_vtab* table)
    {
        sqlite3_free(table);
        return SQLITE_OK;
    }
    static int bestIndex(sqlite3_vtab*, sqlite3_index_info* info)
    {
        info->estimatedCost = 1;
        info->estimatedRows = 10000;
        return SQLITE_OK;
    }
    static int open(sqlite3_vtab*, sqlite3_vtab_cursor** cursor)
    {
        auto* made = static_cast<Cursor*>(sqlite3_malloc(sizeof(Cursor)));
        if (made == nullptr) return SQLITE_NOMEM;
        *made = Cursor{};
        *cursor = &made->base;
        return SQLITE_OK;
    }
    static int close(sqlite3_vtab_cursor* cursor)
    {
        sqlite3_free(cursor);
        return SQLITE_OK;
    }
    static int filter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**)
    {
        reinterpret_cast<Cursor*>(cursor)->at = 0;
        return SQLITE_OK;
    }
    static int next(sqlite3_vtab_cursor* cursor)
    {
        ++reinterpret_cast<Cursor*>(cursor)->at;
        return SQLITE_OK;
    }
    static int eof(sqlite3_vtab_cursor* cursor) { return reinterpret_cast<Cursor*>(cursor)->at >= rowsOf(cursor).size() ? 1 : 0; }
    static int value(sqlite3_vtab_cursor* cursor, sqlite3_context* out, int number)
    {
        column(rowsOf(cursor)[reinterpret_cast<Cursor*>(cursor)->at], number, out);
        return SQLITE_OK;
    }
    static int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* id)
    {
        *id = static_cast<sqlite3_int64>(reinterpret_cast<Cursor*>(cursor)->at);
        return SQLITE_OK;
    }
    static const sqlite3_module* module()
    {
        static const sqlite3_module kModule = [] {
            sqlite3_module m = {};
            m.xConnect = connect;
            m.xDisconnect = disconnect;
            m.xBestIndex = bestIndex;
            m.xOpen = open;
            m.xClose = close;
            m.xFilter = filter;
            m.xNext = next;
            m.xEof = eof;
            m.xColumn = value;
            m.xRowid = rowid;
            return m;
        }();
        return &kModule;
    }
};

} // namespace

Status addBatchTables(Database& database, const Batch& batch)
{
    // SQLite hands the pointer back as it got it; the modules only read.
    auto* events = const_cast<std::vector<EventRow>*>(&batch.events);
    auto* invocations = const_cast<std::vector<InvocationRow>*>(&batch.invocations);
    if (sqlite3_create_module(database.handle(), "batch_event", Module<EventRow>::module(), events) != SQLITE_OK)
        return database.lastError("");
    if (sqlite3_create_module(database.handle(), "batch_invocation", Module<InvocationRow>::module(), invocations) != SQLITE_OK) {
        return database.lastError("");
    }
    return {};
}

} // namespace loopscope
