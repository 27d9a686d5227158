// The gradient of a TensorFlow function that has none in its library: what SymbolicGradient asks for, built from the operators' rules.
#pragma once

#include "engine/transform/graph_editor.h"

namespace loopscope {

/// Turns a copy of a function into its gradient: it takes the gradients of the function's outputs behind its own inputs, and returns the
/// gradients of those inputs, zeros where nothing depends on one. Calls must be in the one form of function_calls.h; they ask for their
/// callees' gradients by SymbolicGradient in turn. So does an operator without a rule, by its own name, which fails if it runs.
void makeGradient(GraphEditor& function);

} // namespace loopscope
