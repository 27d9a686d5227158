// Tensors as values of a state, and back: what both machines need to save and to restore.
#pragma once

#include "engine/exec/activation.h"
#include "engine/exec/machine_state.h"

namespace loopscope {

ValueState stateOf(ValueId value, const Tensor& tensor);
/// The same, with the bytes of `known` if the tensor still has them; null: nothing is known.
ValueState stateLike(ValueId value, const Tensor& tensor, const ValueState* known);
/// A view of the state's bytes.
Tensor tensorOf(const ValueState& state);
/// Whether `slot` can take the value; `planned` is what the plan says of its shape.
bool fits(const Slot& slot, const Shape& planned, const ValueState& state);
Error foreignState(const char* what);

} // namespace loopscope
