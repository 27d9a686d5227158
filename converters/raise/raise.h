// Raising: the control flow of TensorFlow 1 (Switch, Merge, Enter, Exit, NextIteration, LoopCond) becomes While and If.
#pragma once

#include "converters/passes/rewrite.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope {

/// What has to keep its name at the top of the primary graph, as a session is asked for it (`node` or `node:slot`).
struct RaiseOptions {
    std::vector<std::string> fetches, targets, feeds;
};

/// Raises all graphs of a TensorFlow model. What cannot be raised stays, and is told. GraphIds stay valid; functions are added behind.
/// Errors: usage, for another dialect and for names that there are not.
Result<RewriteReport> raiseControlFlow(Model& model, const RaiseOptions& options = {});

} // namespace loopscope
