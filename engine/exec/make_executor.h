// Which executor a graph needs.
#pragma once

#include "engine/exec/executor.h"
#include "engine/exec/interpreter.h"

#include <memory>

namespace loopscope {

/// A DataflowExecutor where the graph, or one that it reaches, has TensorFlow 1 control flow; an Interpreter otherwise. What a session
/// feeds and fetches is selected before (selectForRun). Errors: of either's create().
Result<std::unique_ptr<Executor>> makeExecutor(const Model& model, GraphId root, const ExecutionOptions& options = {});

} // namespace loopscope
