#include "tracer/read/opening.h"

#include "engine/base/text.h"
#include "tracer/read/file_schema.h"
#include "tracer/record/recording_lock.h"
#include "tracer/schema/schema.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sys/stat.h>
#include <utility>

namespace loopscope {

namespace {

constexpr size_t kHeaderBytes = 100;
constexpr double kSecondsToOpen = 30;
/// Far more runs than anybody makes; a made-up table may have no end.
constexpr size_t kMostRuns = 1'000'000;

std::string headerOf(const std::string& path)
{
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::string(); // a pipe would wait for ever
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
        if (runs.size() > kMostRuns) return Error(ErrorCode::badFile, "damaged: it has no end of runs").at(database.path());
    }
}

/// Ends what a killed recorder left open, for this connection alone: views of the temp schema hide the tables of the file.
Status showAsIncomplete(Database& database, int64_t end)
{
    const std::string after = std::to_string(end);
    return database.execute("CREATE TEMP VIEW run AS SELECT id, model, base, first, iif(state = 'recording', iif(" + after + " > first, " +
                            after +
                            " - 1, NULL), last) AS last, parent, fork, reason, iif(state = 'recording', 'incomplete', "
                            "state) AS state, level, policy, backend, profile, signature, seed, started, ns, error FROM main.run;"
                            "CREATE TEMP VIEW invocation AS SELECT id, run, parent, call, iteration, first, coalesce(steps, max(0, " +
                            after + " - first)) AS steps, ns FROM main.invocation");
}

} // namespace

Result<int64_t> endOfRun(Database& database, const TraceRun& run)
{
    LS_TRY(const int64_t byEvent, database.integer("SELECT coalesce(max(id) + 1, 0) FROM event"));
    // At level control there are no events: the clock knows how far the run came.
    LS_TRY(const int64_t byClock, database.integer("SELECT coalesce(max(event), 0) FROM clock"));
    return std::max({byEvent, byClock, run.first});
}

/// Opening and closing what this process records into would take SQLite's locks away: such a file is known.
bool isTraceFile(const std::string& path) { return RecordingLock::isHeldHere(path) || hasTraceHeader(headerOf(path)); }

Status refuseJournal(const std::string& path)
{
    struct stat info = {};
    const std::string journal = path + "-journal";
    if (lstat(journal.c_str(), &info) != 0 || info.st_size == 0) return {};
    return Error(ErrorCode::badFile, "a journal lies beside the recording, and no recorder of loopscope leaves one")
        .at(journal)
        .note("remove it if it is not yours");
}

namespace {

/// A file that may be asked: a regular file that begins as a recording does, with the tables of one.
Result<std::unique_ptr<Database>> openChecked(const std::string& path, OpenMode mode, const CancelFlag* cancel)
{
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0) return Error(ErrorCode::badFile, "no such file").at(path);
    if (S_ISDIR(info.st_mode)) return Error(ErrorCode::badFile, "is a folder").at(path);
    if (!S_ISREG(info.st_mode)) return Error(ErrorCode::badFile, "is no regular file").at(path);
    LS_TRY(auto database, Database::open(path, mode));
    database->setCancel(cancel);
    const Database::Limits limits(*database, kSecondsToOpen, cancel);
    LS_CHECK_OK(
        database->execute("PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536; PRAGMA mmap_size = 0; PRAGMA cell_size_check = 1"));
    LS_TRY(const int64_t application, database->integer("PRAGMA application_id"));
    if (application != kTraceApplicationId) return Error(ErrorCode::badFile, "not a trace: a SQLite database of another kind").at(path);
    LS_TRY(const int64_t schema, database->integer("PRAGMA user_version"));
    LS_CHECK_OK(checkFileSchema(*database, schema, SchemaUse::reading));
    LS_TRY(const std::string reader, metaValue(*database, "minimum_reader"));
    if (versionOf(reader) > versionOf(kToolVersion)) {
        return Error(ErrorCode::badFile,
                     "schema " + std::to_string(schema) + " needs loopscope " + reader + " or later; this is " + std::string(kToolVersion))
            .at(path);
    }
    return database;
}

Result<OpenedTrace> openReading(const std::string& path, OpenMode mode, const CancelFlag* cancel)
{
    OpenedTrace trace;
    LS_TRY(trace.database, openChecked(path, mode, cancel));
    Database& database = *trace.database;
    const Database::Limits limits(database, kSecondsToOpen, cancel);
    LS_TRY(trace.runs, readRuns(database));
    bool isOpen = false;
    int64_t end = 0;
    for (TraceRun& run : trace.runs) {
        if (run.state != "recording") continue;
        if (!std::exchange(isOpen, true)) {
            LS_TRY(end, endOfRun(database, run));
        }
        // What is committed counts as the run so far.
        if (end > run.first) run.last = end - 1;
        if (mode == OpenMode::live) trace.note = path + ": still being recorded; reading up to step " + groupThousands(end - run.base);
        else run.state = "incomplete";
    }
    if (isOpen && mode != OpenMode::live) LS_CHECK_OK(showAsIncomplete(database, end));
    const auto killed = std::find_if(trace.runs.begin(), trace.runs.end(), [](const TraceRun& run) { return run.state == "incomplete"; });
    if (killed != trace.runs.end())
        trace.note = path + ": incomplete, ends at step " + groupThousands(killed->last ? *killed->last + 1 - killed->base : 0) + ": " +
                     (killed->error ? *killed->error : "its recorder was killed");
    LS_CHECK_OK(createViews(database));
    LS_CHECK_OK(database.execute("PRAGMA query_only = 1"));
    LS_TRY(const int64_t indexed, database.integer("SELECT value = '1' FROM meta WHERE key = 'indexed'"));
    trace.isIndexed = indexed == 1;
    return trace;
}

} // namespace

Result<OpenedTrace> openTrace(const std::string& path, const CancelFlag* cancel)
{
    return openReading(path, RecordingLock::isHeld(path) ? OpenMode::live : OpenMode::snapshot, cancel);
}

Result<OpenedTrace> openSnapshot(const std::string& path, const CancelFlag* cancel)
{
    return openReading(path, OpenMode::snapshot, cancel);
}

} // namespace loopscope
