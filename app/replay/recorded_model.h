// The model of a recording, made from what the trace says about it: the recording alone is enough to step through it.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "tracer/api/trace_replay.h"

namespace loopscope::app {

/// Constants whose bytes the trace does not hold are known by their hash only. Errors: badFile.
Result<Model> recordedModel(const RecordedRun& run);

} // namespace loopscope::app
