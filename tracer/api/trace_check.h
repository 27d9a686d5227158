// Is a trace what docs/trace_schema.md promises? The invariants of a recording, tested one by one; and ending what a killed recorder left.
#pragma once

#include "engine/base/result.h"
#include "tracer/api/trace_reader.h"

#include <string>
#include <vector>

namespace loopscope {

/// One broken rule, with the first place and how many there are.
struct TraceViolation {
    std::string rule; ///< "events-in-range", …
    std::string text; ///< "run 1: event 17 belongs to invocation 3 of run 2 (4 such events)"
};

struct TraceCheck {
    std::vector<std::string> passed; ///< rules that hold
    std::vector<TraceViolation> violations;
    std::vector<std::string> skipped; ///< rules that cannot be tested on this file, each with the reason
};

/// What repairing a recording came to.
struct TraceRepair {
    int64_t runs = 0;        ///< that were ended; 0: there was nothing to end
    bool hadIndexes = false; ///< else they were made
};

/// Ends in the file what a killed recorder left open: runs are `incomplete`, open invocations end at the last event, the log goes into the
/// file, missing indexes are made. Errors: cannotWrite (is being recorded into, read-only, …), badFile (not a recording of ours, or a
/// journal lies beside it), cancelled.
Result<TraceRepair> repairTrace(const std::string& path, const CancelFlag* cancel = nullptr);

/// Checks SQLite's integrity and the rules of the recording. Reads the whole file. Errors: badFile, cancelled.
Result<TraceCheck> checkTrace(const TraceReader& trace, const CancelFlag* cancel = nullptr);

} // namespace loopscope
