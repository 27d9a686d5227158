// How a recording ends: open rows, indexes, the planner's statistics, and one file without a journal; or, after a full disk, as much of
// that as still fits.
#include "engine/base/text.h"
#include "tracer/record/writer.h"
#include "tracer/schema/schema.h"

#include <sqlite3.h>
#include <sys/stat.h>

namespace loopscope {

namespace {

/// What the index takes, measured.
constexpr uint64_t kIndexBytesPerInvocation = 20;

} // namespace

uint64_t TraceWriter::fileBytes() const
{
    struct stat info = {};
    return stat(m_options.path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

uint64_t TraceWriter::diskBytes() const
{
    struct stat info = {};
    return fileBytes() + (stat((m_options.path + "-wal").c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0);
}

Status TraceWriter::finish()
{
    if (m_finished) return {};
    m_finished = true;
    if (m_thread.joinable()) {
        {
            const std::lock_guard lock(m_mutex);
            m_stop = true;
        }
        m_wake.notify_all();
        m_thread.join();
    }
    if (!m_failed) {
        Status status = closeFile();
        if (status.ok()) return {};
        fail(status);
    }
    return afterFailure();
}

Status TraceWriter::buildIndexes()
{
    const uint64_t needed = static_cast<uint64_t>(invocations.load()) * kIndexBytesPerInvocation;
    LS_TRY(const int64_t pages, m_database->integer("PRAGMA page_count"));
    const bool fits = m_options.quotaBytes == 0 || static_cast<uint64_t>(pages) * 16384 + needed <= m_options.quotaBytes;
    if (m_options.noIndex || !fits) return {};
    for (const TraceIndex& index : traceIndexes()) {
        LS_CHECK_OK(m_database->execute(createStatement(index)));
    }
    LS_CHECK_OK(m_database->execute("UPDATE meta SET value = '1' WHERE key = 'indexed'"));
    return {};
}

Status TraceWriter::indexFile()
{
    // A run that was cancelled is indexed like any other: only a request that comes now is about the indexes.
    const bool mayBeStopped = m_options.cancel != nullptr && !m_options.cancel->requested();
    const Database::Limits limits(*m_database, 0, mayBeStopped ? m_options.cancel : nullptr);
    // What is sorted goes through temporary files beyond the size of the cache: memory does not grow with the recording.
    LS_CHECK_OK(m_database->execute("PRAGMA temp_store = FILE"));
    // All or nothing: a reader never sees a file that claims indexes it has not got.
    LS_CHECK_OK(m_database->execute("BEGIN IMMEDIATE"));
    const Status indexed = buildIndexes();
    if (indexed.ok()) return m_database->execute("COMMIT");
    // Stopped by the user, or no room for them: the file stays without.
    const bool isDispensable = limits.isCancelled() || m_database->isDiskFull();
    if (sqlite3_get_autocommit(m_database->handle()) == 0) LS_CHECK_OK(m_database->execute("ROLLBACK"));
    return isDispensable ? Status() : Status(Error(ErrorCode::cannotWrite, indexed.detail().what).at(m_options.path));
}

Status TraceWriter::closeFile()
{
    LS_CHECK_OK(indexFile());
    LS_CHECK_OK(m_database->execute("PRAGMA analysis_limit = 1000; ANALYZE"));
    LS_CHECK_OK(m_database->execute("UPDATE meta SET value = '1' WHERE key = 'complete'"));
    LS_CHECK_OK(m_database->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    // Fails while somebody reads the file: it then stays in WAL mode, which is as good until the reader goes.
    sqlite3_busy_timeout(m_database->handle(), 200);
    static_cast<void>(m_database->execute("PRAGMA journal_mode = DELETE"));
    m_sql = Statements();
    return m_database->close();
}

Status TraceWriter::afterFailure()
{
    m_state = "incomplete";
    releaseReserve();
    const int64_t valid = m_committedEvent - m_run.base;
    // What is committed is valid. Say so in the file if there is room for a few rows; emptying the journal into the file may make it.
    const auto attempt = [this](const std::string& sql) {
        if (m_database->execute(sql).ok()) return true;
        if (sqlite3_get_autocommit(m_database->handle()) == 0) static_cast<void>(m_database->execute("ROLLBACK"));
        return false;
    };
    attempt("PRAGMA wal_checkpoint(TRUNCATE)");
    const std::string run = std::to_string(m_run.id);
    const std::string reason = m_diskFull ? "full disk" : "error";
    std::string note = "BEGIN IMMEDIATE; UPDATE run SET state = '" + m_state + "', error = '" + reason + " at step " +
                       std::to_string(valid) + "', last = " + (m_nextEvent > m_run.first ? std::to_string(m_nextEvent - 1) : "NULL") +
                       " WHERE id = " + run + ";";
    if (m_nextEvent > m_committedEvent) {
        note += "INSERT OR REPLACE INTO gap VALUES (" + run + ", " + std::to_string(valid) + ", " +
                std::to_string(m_nextEvent - 1 - m_run.base) + ", '" + reason + "');";
    }
    note += "INSERT INTO alert VALUES (" + std::to_string(m_nextAlert) + ", " + run + ", " + std::to_string(m_committedEvent) +
            ", NULL, '" + reason + "', 'recording ended at step " + std::to_string(valid) + "');";
    note += "UPDATE invocation SET steps = max(0, " + std::to_string(m_nextEvent) + " - first) WHERE steps IS NULL; COMMIT";
    attempt(note);
    attempt("PRAGMA wal_checkpoint(TRUNCATE)");
    attempt("PRAGMA journal_mode = DELETE");
    m_sql = Statements();
    static_cast<void>(m_database->close());
    const std::string until = "; the trace is valid up to step " + groupThousands(valid);
    if (m_diskFull) return Error(ErrorCode::cannotWrite, "disk full after " + formatBytes(fileBytes()) + until).at(m_options.path);
    return Error(ErrorCode::cannotWrite, m_failure + until).at(m_options.path);
}

} // namespace loopscope
