// Opening a trace: is it one, can this version read it, and was its recorder killed?
#pragma once

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

/// Errors: badFile.
Result<OpenedTrace> openTrace(const std::string& path);

} // namespace loopscope
