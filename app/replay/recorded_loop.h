// What a recording tells of a value over the iterations of a loop, read in one pass instead of going there stop by stop.
#pragma once

#include "app/replay/recorded_values.h"
#include "engine/exec/seeking.h"
#include "engine/ir/model.h"
#include "tracer/api/trace_replay.h"

namespace loopscope::app {

/// As Seeking::hearLoop. Unknown: values that no operator of the loop writes, and loops whose conditions call graphs.
Result<LoopAnswer> hearRecordedLoop(const Model& model, const RecordedRun& run, RecordedValues& values, const LoopQuery& query,
                                    LoopListener& listener);

} // namespace loopscope::app
