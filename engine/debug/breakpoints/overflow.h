// Integer overflow: whether an operator's true result lies outside of what its dtype holds. Found by computing it again in 128 bits.
#pragma once

#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <span>

namespace loopscope {

/// Operators whose wrapping can be told: sums, differences, products, negation, absolute value, casts, sums and products over axes.
bool canOverflow(const Operator& op);
/// Whether an element of the result wrapped. `inputs`: null where missing. False for other dtypes than plain integers.
bool hasOverflow(const Operator& op, std::span<const Tensor* const> inputs, const Tensor& result);

} // namespace loopscope
