#include "tracer/sqlite/database.h"

#include "engine/base/clock.h"
#include "tracer/sqlite/snapshot_vfs.h"

#include <cctype>
#include <cerrno>
#include <cstring>
#include <sqlite3.h>
#include <utility>

namespace loopscope {

namespace {

bool isOutOfSpace(int systemError) { return systemError == ENOSPC || systemError == EFBIG || systemError == EDQUOT; }

/// errno of what failed last; 0 if nothing is known. SQLite keeps it in the connection for some failures and in the file for others.
int systemErrorOf(sqlite3* handle)
{
    int error = sqlite3_system_errno(handle);
    if (error == 0) sqlite3_file_control(handle, "main", SQLITE_FCNTL_LAST_ERRNO, &error);
    sqlite3_file* journal = nullptr;
    if (error == 0 && sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &journal) == SQLITE_OK && journal != nullptr &&
        journal->pMethods != nullptr) {
        journal->pMethods->xFileControl(journal, SQLITE_FCNTL_LAST_ERRNO, &error);
    }
    return error;
}

constexpr double kMostSecondsOfAStep = 60;
constexpr int kOperationsBetweenLooks = 10'000; ///< of SQLite's machine: less than a millisecond

/// Memory that SQLite may take in this process; sorting a large recording needs some hundred MiB.
constexpr int64_t kMostMemory = int64_t{4} * 1024 * 1024 * 1024;

struct SqliteLimit {
    int which, most;
};
/// Far above what any recording or question needs, far below what a made-up one could ask for.
constexpr SqliteLimit kLimits[] = {
    {SQLITE_LIMIT_LENGTH, 512 * 1024 * 1024}, {SQLITE_LIMIT_SQL_LENGTH, 1'000'000}, {SQLITE_LIMIT_COLUMN, 200},
    {SQLITE_LIMIT_EXPR_DEPTH, 200},           {SQLITE_LIMIT_COMPOUND_SELECT, 50},   {SQLITE_LIMIT_VDBE_OP, 1'000'000},
    {SQLITE_LIMIT_FUNCTION_ARG, 50},          {SQLITE_LIMIT_ATTACHED, 0},           {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},          {SQLITE_LIMIT_WORKER_THREADS, 0},
};

} // namespace

Statement::~Statement() { sqlite3_finalize(m_handle); }

Statement::Statement(Statement&& other) noexcept : m_database(other.m_database), m_handle(std::exchange(other.m_handle, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept
{
    if (this != &other) {
        sqlite3_finalize(m_handle);
        m_database = other.m_database;
        m_handle = std::exchange(other.m_handle, nullptr);
    }
    return *this;
}

// Binding fails only for a parameter that is not there, or without memory; both show when the statement is stepped.

void Statement::bind(int parameter, int64_t value) { sqlite3_bind_int64(m_handle, parameter, value); }

void Statement::bind(int parameter, double value) { sqlite3_bind_double(m_handle, parameter, value); }

void Statement::bind(int parameter, std::string_view text)
{
    sqlite3_bind_text64(m_handle, parameter, text.empty() ? "" : text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::bindBlob(int parameter, std::span<const std::byte> bytes)
{
    sqlite3_bind_blob64(m_handle, parameter, bytes.empty() ? "" : static_cast<const void*>(bytes.data()), bytes.size(), SQLITE_STATIC);
}

void Statement::bindNull(int parameter) { sqlite3_bind_null(m_handle, parameter); }

Result<bool> Statement::step()
{
    m_database->stepBegins();
    const int code = sqlite3_step(m_handle);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return m_database->lastError("");
}

Status Statement::run()
{
    m_database->stepBegins();
    int code = sqlite3_step(m_handle);
    while (code == SQLITE_ROW) code = sqlite3_step(m_handle);
    if (code != SQLITE_DONE) {
        Error error = m_database->lastError("");
        sqlite3_reset(m_handle);
        return error;
    }
    sqlite3_reset(m_handle);
    return {};
}

void Statement::reset() { sqlite3_reset(m_handle); }

int Statement::columns() const { return sqlite3_column_count(m_handle); }

std::string Statement::columnName(int column) const
{
    const char* name = sqlite3_column_name(m_handle, column);
    return name != nullptr ? name : "";
}

bool Statement::isNull(int column) const { return sqlite3_column_type(m_handle, column) == SQLITE_NULL; }

bool Statement::isNumber(int column) const
{
    const int type = sqlite3_column_type(m_handle, column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(m_handle, column); }

double Statement::real(int column) const { return sqlite3_column_double(m_handle, column); }

std::string_view Statement::textView(int column) const
{
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(m_handle, column));
    return text != nullptr ? std::string_view(text, static_cast<size_t>(sqlite3_column_bytes(m_handle, column))) : std::string_view();
}

std::string Statement::text(int column) const { return std::string(textView(column)); }

std::span<const std::byte> Statement::blob(int column) const
{
    const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(m_handle, column));
    return {data, data != nullptr ? static_cast<size_t>(sqlite3_column_bytes(m_handle, column)) : 0};
}

SqlValue Statement::value(int column) const
{
    switch (sqlite3_column_type(m_handle, column)) {
    case SQLITE_INTEGER: return integer(column);
    case SQLITE_FLOAT: return real(column);
    case SQLITE_TEXT: return text(column);
    case SQLITE_BLOB: {
        const std::span<const std::byte> bytes = blob(column);
        return SqlBlob(bytes.begin(), bytes.end());
    }
    default: return std::monostate();
    }
}

std::optional<int64_t> Statement::optionalInteger(int column) const
{
    return isNull(column) ? std::nullopt : std::optional(integer(column));
}

std::optional<double> Statement::optionalReal(int column) const { return isNull(column) ? std::nullopt : std::optional(real(column)); }

std::optional<std::string> Statement::optionalText(int column) const { return isNull(column) ? std::nullopt : std::optional(text(column)); }

Database::Limits::Limits(Database& database, double seconds, const CancelFlag* cancel)
    : m_database(database),
      m_around(std::exchange(database.m_limits, this)),
      m_deadline(seconds > 0 ? nowNs() + static_cast<int64_t>(seconds * 1e9) : 0),
      m_cancel(cancel)
{
}

/// The progress handler of SQLite: not 0 ends the running statement.
int Database::mayGoOn(void* data)
{
    auto& database = *static_cast<Database*>(data);
    const int64_t now = nowNs();
    if (database.m_stepStart == 0) database.m_stepStart = now;
    database.m_isCancelled = database.m_cancel != nullptr && database.m_cancel->requested();
    database.m_isLate = database.m_limits == nullptr && now - database.m_stepStart > static_cast<int64_t>(kMostSecondsOfAStep * 1e9);
    for (Limits* limits = database.m_limits; limits != nullptr; limits = limits->m_around) {
        limits->m_isCancelled |= limits->m_cancel != nullptr && limits->m_cancel->requested();
        limits->m_isLate |= limits->m_deadline != 0 && now > limits->m_deadline;
        database.m_isCancelled |= limits->m_isCancelled;
        database.m_isLate |= limits->m_isLate;
    }
    return database.m_isCancelled || database.m_isLate ? 1 : 0;
}

void Database::harden()
{
    static const auto kHeap = sqlite3_hard_heap_limit64(kMostMemory);
    static_cast<void>(kHeap);
    const auto set = [this](int option, int value) { sqlite3_db_config(m_handle, option, value, nullptr); };
    set(SQLITE_DBCONFIG_DEFENSIVE, 1);
    set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0);
    set(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0);
    set(SQLITE_DBCONFIG_ENABLE_VIEW, 0); // of the file: those of the temp schema, which are ours, work
    set(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0);
    set(SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0);
    set(SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0);
    for (const SqliteLimit& limit : kLimits) sqlite3_limit(m_handle, limit.which, limit.most);
    sqlite3_progress_handler(m_handle, kOperationsBetweenLooks, mayGoOn, this);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, OpenMode mode)
{
    const char* vfs = nullptr;
    if (mode == OpenMode::snapshot && (vfs = snapshotVfs()) == nullptr)
        return Error(ErrorCode::internal, "no memory for a database connection").at(path);
    const int flags = mode == OpenMode::readWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    sqlite3* handle = nullptr;
    // One thread at a time uses a connection (the recorder hands its over once), so SQLite's own mutexes are only cost. A name that begins
    // like a URI is a name all the same.
    const std::string name = path.starts_with("file:") ? "./" + path : path;
    const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, vfs);
    std::unique_ptr<Database> database(new Database(path, handle, mode));
    if (handle == nullptr) return Error(ErrorCode::internal, "no memory for a database connection").at(path);
    sqlite3_extended_result_codes(handle, 1);
    if (code != SQLITE_OK) return database->lastError("");
    sqlite3_busy_timeout(handle, 5000);
    database->harden();
    return database;
}

Database::~Database()
{
    // close_v2 waits for statements that outlive the connection object.
    sqlite3_close_v2(m_handle);
}

Status Database::execute(const std::string& sql)
{
    stepBegins();
    if (sqlite3_exec(m_handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return lastError("");
    return {};
}

Result<Statement> Database::prepare(std::string_view sql)
{
    stepBegins();
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(m_handle, sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) return lastError("");
    return Statement(*this, statement);
}

Result<int64_t> Database::integer(std::string_view sql)
{
    LS_TRY(Statement statement, prepare(sql));
    LS_TRY(const bool hasRow, statement.step());
    return hasRow ? statement.integer(0) : 0;
}

bool Database::isDiskFull() const
{
    const int code = sqlite3_errcode(m_handle) & 0xff; // the low byte of an extended code is the plain one
    if (code == SQLITE_FULL) return true;
    return code == SQLITE_IOERR && isOutOfSpace(systemErrorOf(m_handle));
}

bool Database::hasChanged() const
{
    int changed = 0;
    return m_mode == OpenMode::snapshot && sqlite3_file_control(m_handle, "main", kSnapshotHasChanged, &changed) == SQLITE_OK &&
           changed != 0;
}

int64_t Database::bytes() const
{
    int64_t bytes = 0;
    if (m_mode == OpenMode::snapshot) sqlite3_file_control(m_handle, "main", kSnapshotBytes, &bytes);
    return bytes;
}

Error Database::lastError(std::string_view doing) const
{
    const int code = sqlite3_errcode(m_handle) & 0xff;
    const int systemError = systemErrorOf(m_handle);
    const bool writing = m_mode == OpenMode::readWrite;
    std::string what(doing);
    if (!what.empty()) what += ": ";
    if (isDiskFull()) return Error(ErrorCode::cannotWrite, what + "disk full").at(m_path);
    if (code == SQLITE_IOERR && hasChanged())
        return Error(ErrorCode::badFile, what + "has changed since it was opened")
            .at(m_path)
            .note("open it again to read what it holds now");
    switch (code) {
    case SQLITE_INTERRUPT:
        if (m_isCancelled) return Error(ErrorCode::cancelled, "cancelled").at(m_path);
        return Error(ErrorCode::execution, what + "took too long").at(m_path);
    case SQLITE_NOMEM: return Error(ErrorCode::execution, what + "needs more memory than there is for it").at(m_path);
    case SQLITE_TOOBIG: return Error(ErrorCode::badFile, what + "holds a value that is too large").at(m_path);
    case SQLITE_CANTOPEN:
        if (systemError == ENOENT && !writing) return Error(ErrorCode::badFile, what + "no such file").at(m_path);
        if (writing)
            return Error(ErrorCode::cannotWrite, what + (systemError != 0 ? std::strerror(systemError) : "cannot be opened for writing"))
                .at(m_path);
        return Error(ErrorCode::badFile, what + (systemError != 0 ? std::strerror(systemError) : "cannot be opened")).at(m_path);
    case SQLITE_READONLY: return Error(ErrorCode::cannotWrite, what + "read-only").at(m_path);
    case SQLITE_NOTADB: return Error(ErrorCode::badFile, what + "not a trace: not a SQLite database").at(m_path);
    case SQLITE_CORRUPT: return Error(ErrorCode::badFile, what + "damaged: " + sqlite3_errmsg(m_handle)).at(m_path);
    case SQLITE_IOERR:
        return Error(writing ? ErrorCode::cannotWrite : ErrorCode::badFile,
                     what + "input or output error" + (systemError != 0 ? std::string(": ") + std::strerror(systemError) : ""))
            .at(m_path);
    default: return Error(writing ? ErrorCode::cannotWrite : ErrorCode::usage, what + sqlite3_errmsg(m_handle)).at(m_path);
    }
}

Status Database::close()
{
    if (sqlite3_close(m_handle) != SQLITE_OK) return lastError("closing");
    m_handle = nullptr;
    return {};
}

} // namespace loopscope
