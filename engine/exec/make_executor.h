// Which executor a graph needs.
#pragma once

#include "engine/exec/executor.h"
#include "engine/exec/interpreter.h"

#include <memory>

namespace loopscope {

/// Moves what outlives a run (variables, tables, random numbers) from one executor to another of the same session.
Status carryOver(const Executor& from, Executor& to);

/// A DataflowExecutor where the graph, or one that it reaches, has TensorFlow 1 control flow; an Interpreter otherwise. What a session
/// feeds and fetches is selected before (selectForRun); if that found something to run when a session begins, it has run, and the executor
/// begins with what it left. Errors: of either's create(); of that run, but for operators that are not supported: what needs them says so.
Result<std::unique_ptr<Executor>> makeExecutor(const Model& model, GraphId root, const ExecutionOptions& options = {});

} // namespace loopscope
