// Calls of TensorFlow functions in the one form that executors know: old graphs call a function by a node whose operator is its name, and
// ask for gradients by SymbolicGradient; functions with type parameters are made for the types of each call.
#pragma once

#include "engine/ir/model.h"

namespace loopscope {

/// Turns nodes whose operator is a function of the model into PartitionedCall, and SymbolicGradient of a function into a call of the
/// gradient that the model registers for it, else of one that is made from the operators' rules (function_gradient.h). Functions whose
/// parameters or attributes are placeholders (`$T`) are copied for each set of bindings that a call gives them. Copies and gradients stand
/// after the other graphs. GraphIds stay valid.
void resolveFunctionCalls(Model& model);

} // namespace loopscope
