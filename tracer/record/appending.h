// Going on in a file that holds recordings already: its tables, models and numbers are taken up where they ended.
#pragma once

#include "tracer/record/model_tables.h"
#include "tracer/record/recorder.h"
#include "tracer/sqlite/database.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace loopscope {

struct AppendedTrace {
    std::unique_ptr<Database> database;
    ModelRows rows;
    int64_t lastRun = 0, nextEvent = 0, nextInvocation = 1; ///< ids
};

/// How a recorder's connection works; after the journal mode.
std::string writingPragmas(const RecorderOptions& options);

/// Opens `options.path` to write on. The model's rows are shared with an earlier recording of the same file contents (by hash), else
/// written anew. The caller holds the file's lock. Errors: badFile (no trace, or of another schema, or with a journal beside it),
/// cannotWrite.
Result<AppendedTrace> openForAppending(const Model& model, const RecorderOptions& options);

} // namespace loopscope
