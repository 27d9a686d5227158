// States of recurrent operators. A file of the TFLite family has no word for an operator that starts anew in each run.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

/// Which operands of a recurrent operator are its states.
std::span<const size_t> stateOperands(const Kind& kind);

/// Operators that are `@stateless` keep their states in variables from then on, as TFLite's do; one line for each tells so. Errors:
/// unsupported, where a state does not begin with zeros. Models of TensorFlow stay as they are: lowering does it.
Result<std::vector<std::string>> storeStates(Model& model);

} // namespace loopscope
