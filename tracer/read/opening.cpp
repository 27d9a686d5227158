#include "tracer/read/opening.h"

#include "engine/base/text.h"
#include "tracer/record/writer_process.h"
#include "tracer/schema/schema.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sys/stat.h>

namespace loopscope {

namespace {

constexpr size_t kHeaderBytes = 100;

std::string headerOf(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::string header(kHeaderBytes, '\0');
    file.read(header.data(), static_cast<std::streamsize>(header.size()));
    header.resize(static_cast<size_t>(file.gcount()));
    return header;
}

uint32_t bigEndian32(const std::string& bytes, size_t at)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

/// The header of a SQLite file holds the application id at offset 68 (sqlite.org/fileformat2.html).
bool hasTraceHeader(const std::string& header)
{
    return header.size() == kHeaderBytes && std::memcmp(header.data(), "SQLite format 3", 16) == 0 &&
           bigEndian32(header, 68) == static_cast<uint32_t>(kTraceApplicationId);
}

/// "0.4" as (0, 4); anything else as (0, 0).
std::pair<int, int> versionOf(std::string_view text)
{
    int major = 0, minor = 0;
    const auto [dot, error] = std::from_chars(text.data(), text.data() + text.size(), major);
    if (error == std::errc() && dot != text.data() + text.size()) std::from_chars(dot + 1, text.data() + text.size(), minor);
    return {major, minor};
}

Result<std::string> metaValue(Database& database, std::string_view key)
{
    LS_TRY(Statement s, database.prepare("SELECT value FROM meta WHERE key = ?"));
    s.bind(1, key);
    LS_TRY(const bool hasRow, s.step());
    return hasRow ? s.text(0) : std::string();
}

Result<std::vector<TraceRun>> readRuns(Database& database)
{
    LS_TRY(
        Statement s,
        database.prepare("SELECT id, model, base, first, last, reason, state, level, policy, backend, profile, started, signature, error, "
                         "seed, ns FROM main.run ORDER BY id"));
    std::vector<TraceRun> runs;
    for (;;) {
        LS_TRY(const bool hasRow, s.step());
        if (!hasRow) return runs;
        TraceRun run;
        run.id = s.integer(0);
        run.model = s.integer(1);
        run.base = s.integer(2);
        run.first = s.integer(3);
        run.last = s.optionalInteger(4);
        run.reason = s.text(5);
        run.state = s.text(6);
        run.level = static_cast<int>(s.integer(7));
        run.policy = s.text(8);
        run.backend = s.text(9);
        run.profile = s.text(10);
        run.started = s.text(11);
        run.signature = s.optionalText(12);
        run.error = s.optionalText(13);
        run.seed = s.optionalInteger(14);
        run.ns = s.optionalInteger(15);
        runs.push_back(std::move(run));
    }
}

/// Event id after the last event of the run that the file holds.
Result<int64_t> endOfRun(Database& database, const TraceRun& run)
{
    LS_TRY(const int64_t byEvent, database.integer("SELECT coalesce(max(id) + 1, 0) FROM event"));
    // At level control there are no events: the clock knows how far the run came.
    LS_TRY(const int64_t byClock, database.integer("SELECT coalesce(max(event), 0) FROM clock"));
    return std::max({byEvent, byClock, run.first});
}

/// Ends what a killed recorder left open, in the file.
Status repair(const std::string& path, const TraceRun& run)
{
    LS_TRY(auto database, Database::open(path, OpenMode::readWrite));
    LS_CHECK_OK(database->execute("BEGIN IMMEDIATE"));
    LS_TRY(const int64_t end, endOfRun(*database, run));
    const std::string id = std::to_string(run.id);
    LS_CHECK_OK(database->execute("UPDATE run SET state = 'incomplete', last = " + (end > run.first ? std::to_string(end - 1) : "NULL") +
                                  " WHERE id = " + id + " AND state = 'recording'; UPDATE invocation SET steps = max(0, " +
                                  std::to_string(end) + " - first) WHERE run = " + id +
                                  " AND steps IS NULL; DELETE FROM meta WHERE key = 'writer'; COMMIT"));
    // What is left of the journal goes into the file. Somebody else reading it may prevent that, which does no harm.
    static_cast<void>(database->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    static_cast<void>(database->execute("PRAGMA journal_mode = DELETE"));
    return database->close();
}

/// The same for this connection alone: the file cannot be written. Views of the temp schema hide the tables of the file.
Status showAsIncomplete(Database& database, const TraceRun& run, int64_t end)
{
    const std::string id = std::to_string(run.id);
    return database.execute(
        "CREATE TEMP VIEW run AS SELECT id, model, base, first, iif(id = " + id + ", " +
        (end > run.first ? std::to_string(end - 1) : "NULL") + ", last) AS last, parent, fork, reason, iif(id = " + id +
        ", 'incomplete', state) AS state, level, policy, backend, profile, signature, seed, started, ns, error FROM main.run;"
        "CREATE TEMP VIEW invocation AS SELECT id, run, parent, call, iteration, first, coalesce(steps, max(0, " +
        std::to_string(end) + " - first)) AS steps, ns FROM main.invocation");
}

Result<std::unique_ptr<Database>> openForReading(const std::string& path)
{
    LS_TRY(auto database, Database::open(path, OpenMode::readOnly));
    // The first read shows whether SQLite can use the journal; where the folder forbids that, the file is read as it lies.
    if (Result<int64_t> probe = database->integer("SELECT count(*) FROM sqlite_schema"); !probe.ok()) {
        const std::string& what = probe.error().detail().what;
        if (what.starts_with("not a trace") || what.starts_with("damaged")) return std::move(probe).takeError();
        LS_TRY(database, Database::openImmutable(path));
    }
    LS_CHECK_OK(
        database->execute("PRAGMA query_only = 1; PRAGMA mmap_size = 2147483648; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536"));
    return database;
}

} // namespace

bool isTraceFile(const std::string& path) { return hasTraceHeader(headerOf(path)); }

Result<OpenedTrace> openTrace(const std::string& path)
{
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0) return Error(ErrorCode::badFile, "no such file").at(path);
    if (S_ISDIR(info.st_mode)) return Error(ErrorCode::badFile, "is a folder").at(path);
    const std::string header = headerOf(path);
    if (header.size() >= 16 && std::memcmp(header.data(), "SQLite format 3", 16) != 0) {
        return Error(ErrorCode::badFile, "not a trace: not a SQLite database").at(path);
    }
    OpenedTrace trace;
    LS_TRY(trace.database, openForReading(path));
    Database* database = trace.database.get();
    LS_TRY(const int64_t application, database->integer("PRAGMA application_id"));
    if (application != kTraceApplicationId) return Error(ErrorCode::badFile, "not a trace: a SQLite database of another kind").at(path);
    LS_TRY(const int64_t schema, database->integer("PRAGMA user_version"));
    LS_TRY(const std::string reader, metaValue(*database, "minimum_reader"));
    if (versionOf(reader) > versionOf(kToolVersion)) {
        return Error(ErrorCode::badFile,
                     "schema " + std::to_string(schema) + " needs loopscope " + reader + " or later; this is " + std::string(kToolVersion))
            .at(path);
    }
    LS_TRY(trace.runs, readRuns(*database));
    const auto open = std::find_if(trace.runs.begin(), trace.runs.end(), [](const TraceRun& run) { return run.state == "recording"; });
    if (open != trace.runs.end()) {
        LS_TRY(const std::string writer, metaValue(*database, "writer"));
        LS_TRY(const int64_t end, endOfRun(*database, *open));
        if (isWriterAlive(writer)) {
            trace.note = path + ": still being recorded; reading up to step " + groupThousands(end - open->base);
            // What is committed counts as the run so far.
            if (end > open->first) open->last = end - 1;
        } else {
            trace.note =
                path + ": incomplete: its recorder was killed at step " + groupThousands(end - open->base) + "; reading up to there";
            trace.database.reset();
            const bool isRepaired = repair(path, *open).ok();
            LS_TRY(trace.database, openForReading(path));
            database = trace.database.get();
            if (!isRepaired) {
                LS_CHECK_OK(database->execute("PRAGMA query_only = 0"));
                LS_CHECK_OK(showAsIncomplete(*database, *open, end));
                LS_CHECK_OK(database->execute("PRAGMA query_only = 1"));
            }
            open->state = "incomplete";
            if (end > open->first) open->last = end - 1;
        }
    } else if (std::any_of(trace.runs.begin(), trace.runs.end(), [](const TraceRun& run) { return run.state == "incomplete"; })) {
        const auto killed =
            std::find_if(trace.runs.begin(), trace.runs.end(), [](const TraceRun& run) { return run.state == "incomplete"; });
        trace.note = path + ": incomplete: its recorder was killed at step " +
                     groupThousands(killed->last ? *killed->last + 1 - killed->base : 0) + "; reading up to there";
    }
    LS_TRY(const int64_t indexed, database->integer("SELECT value = '1' FROM meta WHERE key = 'indexed'"));
    trace.isIndexed = indexed == 1;
    return trace;
}

} // namespace loopscope
