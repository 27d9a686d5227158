// TensorFlow's constants are operators: who infers shapes lets inference see their data before they have run.
#pragma once

#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

namespace loopscope {

/// If `op` is a Const, gives its result, whose dtype and shape are set, the bytes that the operator's attribute holds. They stay the
/// attribute's, are read only, and are not copied. Strings and what does not fit the shape are left alone.
void showConstant(const Operator& op, Tensor& result);

} // namespace loopscope
