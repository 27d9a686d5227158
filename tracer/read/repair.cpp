// Ending in the file what a killed recorder left open: the one thing that writes into a recording that is there, besides going on in it.
#include "tracer/api/trace_check.h"
#include "tracer/read/file_schema.h"
#include "tracer/read/opening.h"
#include "tracer/record/recording_lock.h"
#include "tracer/schema/schema.h"

namespace loopscope {

Result<TraceRepair> repairTrace(const std::string& path, const CancelFlag* cancel)
{
    LS_TRY(const RecordingLock lock, RecordingLock::take(path)); // nobody records into it meanwhile
    LS_CHECK_OK(refuseJournal(path));
    TraceRepair repaired;
    std::vector<std::pair<int64_t, int64_t>> open; ///< runs and the event after their last
    {
        // Looked at first as any reader does: what is opened for writing below holds nothing that would run.
        LS_TRY(OpenedTrace before, openSnapshot(path, cancel));
        LS_TRY(const int64_t schema, before.database->integer("PRAGMA user_version"));
        LS_CHECK_OK(checkFileSchema(*before.database, schema, SchemaUse::writing));
        LS_TRY(Statement s, before.database->prepare("SELECT id FROM main.run WHERE state = 'recording'"));
        for (;;) {
            LS_TRY(const bool hasRow, s.step());
            if (!hasRow) break;
            for (const TraceRun& run : before.runs)
                if (run.id == s.integer(0)) open.emplace_back(run.id, run.last ? *run.last + 1 : run.first);
        }
        repaired.runs = std::ssize(open);
        repaired.hadIndexes = before.isIndexed;
    }
    LS_TRY(auto database, Database::open(path, OpenMode::readWrite));
    const Database::Limits limits(*database, 0, cancel);
    LS_CHECK_OK(database->execute("BEGIN IMMEDIATE"));
    for (const auto& [run, end] : open) {
        LS_TRY(Statement close,
               database->prepare("UPDATE run SET state = 'incomplete', last = iif(?2 > first, ?2 - 1, NULL) WHERE id = ?1"));
        close.bind(1, run);
        close.bind(2, end);
        LS_CHECK_OK(close.run());
        LS_TRY(Statement invocations,
               database->prepare("UPDATE invocation SET steps = max(0, ?2 - first) WHERE run = ?1 AND steps IS NULL"));
        invocations.bind(1, run);
        invocations.bind(2, end);
        LS_CHECK_OK(invocations.run());
    }
    if (!repaired.hadIndexes) {
        for (const TraceIndex& index : traceIndexes()) LS_CHECK_OK(database->execute(createStatement(index)));
        LS_CHECK_OK(database->execute("UPDATE meta SET value = '1' WHERE key = 'indexed'"));
    }
    LS_CHECK_OK(database->execute("COMMIT; PRAGMA analysis_limit = 1000; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)"));
    // Stays as it is while somebody reads the file, which does no harm.
    static_cast<void>(database->execute("PRAGMA journal_mode = DELETE"));
    LS_CHECK_OK(database->close());
    lock.synchronize();
    return repaired;
}

} // namespace loopscope
