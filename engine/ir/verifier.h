// Structural rules that every model obeys before anything runs on it: indices in range, one producer per value, results defined before
// use (except in tf graphs), unique ids. What an operator demands of its operands is engine/ops' business.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

namespace loopscope {

/// Errors: badFile, with the graph, operator and value that break a rule.
Status verifyModel(const Model& model);

/// What a run relies on beyond that: every graph takes the operands and gives the results that its TensorFlow callers name (those of
/// TFLite are checked against their loops and branches while they are prepared). Errors: badFile, with graph, operator and both numbers.
Status verifyCalls(const Model& model);

} // namespace loopscope
