// Where a recorded run stands at a tick, found by halving among its invocations instead of going there operator by operator.
#pragma once

#include "tracer/api/trace_replay.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace loopscope::app {

struct RecordedFrame {
    RecordedInvocation invocation;
    bool inCond = false;
    int32_t next = 0; ///< the operator that comes next, or that is entered
};

struct RecordedStop {
    std::vector<RecordedFrame> frames; ///< root first
    int64_t step = 0;
    int64_t nextInvocation = 0; ///< id of what starts next
};

/// The stop at a tick (Executor::tick) of a run without v1 frames. None: the recording does not say, or the run is over by then.
/// Errors: badFile.
Result<std::optional<RecordedStop>> recordedStopAt(const RecordedRun& run, int64_t tick);

} // namespace loopscope::app
