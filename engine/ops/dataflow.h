// What graphs of TensorFlow need the rules of its version 1 executor (Switch, Merge, Enter, …, or a cycle), and which operators may not be
// left out.
#pragma once

#include "engine/ir/model.h"

#include <string>

namespace loopscope {

/// Operators that TensorFlow 1's executor treats in its own way.
bool isDataflow(const Operator& op);

/// The first operator of the graphs that `root` reaches which needs TensorFlow 1's dataflow rules (one of isDataflow, or part of a cycle);
/// its address for messages. Empty if there is none.
std::string dataflowOperator(const Model& model, GraphId root);

/// True for operators that a function keeps even if nothing reads their results.
bool hasEffects(const Operator& op);

} // namespace loopscope
