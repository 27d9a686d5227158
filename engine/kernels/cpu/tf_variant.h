// What kernels do with variants (variants.h). Values copy with their bytes, so a list has value semantics by itself, and snapshots and
// data movement need no special case.
#pragma once

#include "engine/kernels/kernel.h"
#include "engine/tensor/variants.h"

#include <deque>
#include <string>

namespace loopscope {

/// The list in scalar operand `i`. Errors: InvalidArgument if it is none.
Result<VariantValue> listOperand(const KernelArgs& args, int i);
/// Result `k` becomes a scalar variant.
Status writeVariant(const KernelArgs& args, int k, const VariantValue& value);

/// `element` if it is set, else zeros of `shape` (dims static), kept in `storage`.
VariantTensor orZeros(const VariantTensor& element, DType dtype, const Shape& shape, std::deque<std::string>& storage);

/// ZerosLike and AddN/Add of variants: lists element by element.
Status zerosLikeVariants(const KernelArgs& args);
Status addVariants(const KernelArgs& args);

} // namespace loopscope
