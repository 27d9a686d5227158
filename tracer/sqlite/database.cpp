#include "tracer/sqlite/database.h"

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

/// A path as a file: URI; everything but plain characters is escaped.
std::string fileUri(const std::string& path)
{
    std::string uri = "file:";
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || std::strchr("/._-~", c) != nullptr) {
            uri += c;
        } else {
            uri += '%';
            uri += "0123456789abcdef"[byte >> 4];
            uri += "0123456789abcdef"[byte & 15];
        }
    }
    return uri;
}

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
    const int code = sqlite3_step(m_handle);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return m_database->lastError("");
}

Status Statement::run()
{
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

Result<std::unique_ptr<Database>> Database::openUri(const std::string& path, const std::string& uri, int flags, OpenMode mode)
{
    sqlite3* handle = nullptr;
    // One thread at a time uses a connection (the recorder hands its over once), so SQLite's own mutexes are only cost.
    const int code = sqlite3_open_v2(uri.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, nullptr);
    std::unique_ptr<Database> database(new Database(path, handle, mode));
    if (handle == nullptr) return Error(ErrorCode::internal, "no memory for a database connection").at(path);
    sqlite3_extended_result_codes(handle, 1);
    if (code != SQLITE_OK) return database->lastError("");
    sqlite3_busy_timeout(handle, 5000);
    return database;
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, OpenMode mode)
{
    int flags = SQLITE_OPEN_READONLY;
    if (mode == OpenMode::readWrite) flags = SQLITE_OPEN_READWRITE;
    if (mode == OpenMode::create) flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    return openUri(path, fileUri(path), flags, mode);
}

Result<std::unique_ptr<Database>> Database::openImmutable(const std::string& path)
{
    return openUri(path, fileUri(path) + "?immutable=1", SQLITE_OPEN_READONLY, OpenMode::readOnly);
}

Database::~Database()
{
    // close_v2 waits for statements that outlive the connection object.
    sqlite3_close_v2(m_handle);
}

Status Database::execute(const std::string& sql)
{
    if (sqlite3_exec(m_handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return lastError("");
    return {};
}

Result<Statement> Database::prepare(std::string_view sql)
{
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

Error Database::lastError(std::string_view doing) const
{
    const int code = sqlite3_errcode(m_handle) & 0xff;
    const int systemError = systemErrorOf(m_handle);
    const bool writing = m_mode != OpenMode::readOnly;
    std::string what(doing);
    if (!what.empty()) what += ": ";
    if (isDiskFull()) return Error(ErrorCode::cannotWrite, what + "disk full").at(m_path);
    switch (code) {
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
