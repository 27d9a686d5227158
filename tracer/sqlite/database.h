// SQLite as values: a connection and statements that give Status and Result instead of codes.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "tracer/api/trace_types.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace loopscope {

class Database;

/// A prepared statement. Parameters are numbered from 1, columns from 0, as in SQLite.
class Statement {
public:
    Statement() = default;
    explicit Statement(Database& database, sqlite3_stmt* handle) : m_database(&database), m_handle(handle) {}
    ~Statement();
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&& other) noexcept;

    void bind(int parameter, int64_t value);
    void bind(int parameter, int value) { bind(parameter, static_cast<int64_t>(value)); }
    void bind(int parameter, double value);
    void bind(int parameter, std::string_view text); ///< copied
    void bind(int parameter, const char* text) { bind(parameter, std::string_view(text)); }
    void bind(int parameter, const std::string& text) { bind(parameter, std::string_view(text)); }
    void bindBlob(int parameter, std::span<const std::byte> bytes); ///< not copied: must live until the next reset
    void bindNull(int parameter);
    template <typename T> void bind(int parameter, const std::optional<T>& value)
    {
        if (value) bind(parameter, *value);
        else bindNull(parameter);
    }

    /// True: a row is there. False: done.
    Result<bool> step();
    /// Steps to the end and resets: for INSERT, UPDATE, DELETE.
    Status run();
    void reset();

    int columns() const;
    std::string columnName(int column) const;
    bool isNull(int column) const;
    bool isNumber(int column) const; ///< integer or real
    int64_t integer(int column) const;
    double real(int column) const;
    std::string text(int column) const;
    std::string_view textView(int column) const;       ///< until the next step
    std::span<const std::byte> blob(int column) const; ///< until the next step
    SqlValue value(int column) const;
    std::optional<int64_t> optionalInteger(int column) const;
    std::optional<double> optionalReal(int column) const;
    std::optional<std::string> optionalText(int column) const;
    sqlite3_stmt* handle() const { return m_handle; }

private:
    Database* m_database = nullptr;
    sqlite3_stmt* m_handle = nullptr;
};

enum class OpenMode : unsigned char {
    snapshot,  ///< reading: the file and its log as they lie there, without locks; nothing beside it is touched
    live,      ///< reading what another connection writes
    readWrite, ///< of a file that is there
};

/// One connection, used by one thread at a time. Whatever the mode, the file's triggers and views are off and its schema is not trusted:
/// views that are asked are those that we made.
class Database {
public:
    /// Errors: badFile (reading) or cannotWrite (writing), with the system's reason.
    static Result<std::unique_ptr<Database>> open(const std::string& path, OpenMode mode);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Runs statements without results. `const char*` as SQLite wants it terminated.
    Status execute(const std::string& sql);
    Result<Statement> prepare(std::string_view sql);
    /// First column of the first row; 0 if there is none.
    Result<int64_t> integer(std::string_view sql);
    /// The error that the connection is in, as ours: cannotWrite for a full or read-only disk, badFile for a damaged file.
    Error lastError(std::string_view doing) const;
    /// True if the connection's last error says that the disk (or a limit of the file's size) is full.
    bool isDiskFull() const;
    /// True if the file is no longer what was opened; only snapshots know.
    bool hasChanged() const;
    /// Bytes of the file and its log; 0 if the mode does not know.
    int64_t bytes() const;
    Status close();

    /// What ends the statements that run while it lives: a time, a request, those of the limits around it. Without any, a single step of a
    /// statement ends after a minute: a damaged tree of pages may have no end.
    class Limits {
    public:
        /// `seconds` 0: no limit in time, not even that of a step. `cancel` may be null.
        Limits(Database& database, double seconds, const CancelFlag* cancel);
        ~Limits() { m_database.m_limits = m_around; }
        Limits(const Limits&) = delete;
        Limits& operator=(const Limits&) = delete;
        bool isLate() const { return m_isLate; }
        bool isCancelled() const { return m_isCancelled; }

    private:
        friend class Database;
        Database& m_database;
        Limits* m_around;
        int64_t m_deadline = 0;
        const CancelFlag* m_cancel;
        bool m_isLate = false, m_isCancelled = false;
    };
    /// A request that ends any statement of this connection from now on; null: none.
    void setCancel(const CancelFlag* cancel) { m_cancel = cancel; }

    const std::string& path() const { return m_path; }
    sqlite3* handle() const { return m_handle; }

private:
    friend class Statement;
    Database(std::string path, sqlite3* handle, OpenMode mode) : m_path(std::move(path)), m_handle(handle), m_mode(mode) {}
    static int mayGoOn(void* database);
    void harden();
    void stepBegins() { m_stepStart = 0; }

    std::string m_path;
    sqlite3* m_handle = nullptr;
    OpenMode m_mode = OpenMode::snapshot;
    Limits* m_limits = nullptr; ///< innermost
    const CancelFlag* m_cancel = nullptr;
    int64_t m_stepStart = 0; ///< when the running step was first seen; 0: not yet
    bool m_isCancelled = false, m_isLate = false;
};

} // namespace loopscope
