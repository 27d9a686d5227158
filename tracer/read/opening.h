// Opening a trace: is it one, can this version read it, and was its recorder killed?
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "tracer/api/trace_types.h"
#include "tracer/sqlite/database.h"

#include <memory>
#include <string>
#include <vector>

namespace loopscope {

struct OpenedTrace {
    std::unique_ptr<Database> database; ///< read-only
    std::vector<TraceRun> runs;         ///< as a reader shall see them
    std::string note;
    bool isIndexed = false;
};

/// Nothing is written and nothing runs that the file says. A recording that goes on is read beside its recorder; of any other the file
/// and its log are read as they lie there, and what a killed recorder left open is shown as ended. Errors: badFile, cancelled.
Result<OpenedTrace> openTrace(const std::string& path, const CancelFlag* cancel = nullptr);
/// The same, of a file whose lock the caller holds.
Result<OpenedTrace> openSnapshot(const std::string& path, const CancelFlag* cancel = nullptr);
/// Event id after the last event of the run that the file holds.
Result<int64_t> endOfRun(Database& database, const TraceRun& run);
/// Refuses a rollback journal beside the file: recorders leave none, and SQLite would play it back. Errors: badFile.
Status refuseJournal(const std::string& path);

} // namespace loopscope
