// Which values of graphs and their functions gradients can flow through: what depends on what is differentiated by.
#pragma once

#include "engine/ir/model.h"

#include <vector>

namespace loopscope {

/// The functions that one of TensorFlow's calls runs: branches in their order; cond and body; the function.
std::vector<GraphId> calledGraphs(const Operator& op);
bool isLoop(const Operator& op);   ///< While, StatelessWhile
bool isBranch(const Operator& op); ///< If, Case and their stateless forms
bool isCall(const Operator& op);   ///< PartitionedCall, StatefulPartitionedCall

/// What a stack of TensorFlow 1 gives may depend on anything that was pushed elsewhere: gradients do not find the way, and must not be
/// taken for zeros.
bool isStackPop(const Operator& op);

/// Which of the operator's results depend on the operands that `reached` names, through what it calls.
std::vector<bool> reachedResults(const Model& model, const Operator& op, const std::vector<bool>& reached, int depth = 0);
/// Which outputs of a function depend on those inputs.
std::vector<bool> reachedOutputs(const Model& model, const Graph& graph, const std::vector<bool>& inputs, int depth = 0);
/// Which inputs of a function its outputs `wanted` need.
std::vector<bool> neededInputs(const Graph& graph, const std::vector<bool>& wanted);

/// The type of a value's gradient: its own, of a variable's handle that of what the variable holds. Unknown if nothing says it.
DType gradientDType(const Model& model, const Graph& graph, ValueId value, int depth = 0);

} // namespace loopscope
