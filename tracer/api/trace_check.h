// Is a trace what docs/trace_schema.md promises? The invariants of a recording, tested one by one.
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

/// Checks SQLite's integrity and the rules of the recording. Reads the whole file. Errors: badFile, cancelled.
Result<TraceCheck> checkTrace(const TraceReader& trace, const CancelFlag* cancel = nullptr);

} // namespace loopscope
