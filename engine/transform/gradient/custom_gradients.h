// Gradients that functions of Python give (tf.custom_gradient): an operator names one by `_gradient_op_type`, and a SavedModel may hold it
// as a function. What that takes besides the gradients of the results says the function's graph in attributes:
//   @gradient_of       the name by which operators ask for it
//   @gradient_captures for each further argument the values that are it, as pairs of a graph's and a value's id: ["f", "Exp", "g", "x"]
//   @gradient_results  for each operand of the operator which output is its gradient, −1 for none; unset: one after the other
#pragma once

#include "engine/transform/gradient/gradient_rules.h"

#include <string_view>

namespace loopscope {

/// The name of the gradient that an operator asks for instead of that of its kind; empty if none. Calls have a name there that means none.
std::string_view customGradientName(const Operator& op);
/// The function that is that gradient; invalid if the model holds none.
GraphId findCustomGradient(const Model& model, std::string_view name);
/// Adds a call of the function. Otherwise says why not in `refusal`.
void callCustomGradient(const Model& model, GradientCase& c, GraphId function);

} // namespace loopscope
