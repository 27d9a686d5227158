// Which executor steps through a recording.
#pragma once

#include "app/replay/recording_file.h"
#include "engine/exec/executor.h"

#include <memory>

namespace loopscope::app {

/// A DataflowExecutor where the graph has TensorFlow 1 control flow, else a TraceExecutor. `cancel` may be null.
std::unique_ptr<Executor> replayExecutor(RecordingFile file, const CancelFlag* cancel);

} // namespace loopscope::app
