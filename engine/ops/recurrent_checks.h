// Checks that the catalogue entries of recurrent operators share. What is not known yet passes.
#pragma once

#include "engine/ops/op_def.h"

#include <initializer_list>
#include <string>

namespace loopscope {

/// Operand `i` is present. Errors: violated(constraint).
Status requireOperand(const InferContext& context, int constraint, int i);
/// If operand `i` is present it has this shape (kUnknownDim: any size). Errors: violated(constraint).
Status requireShape(const InferContext& context, int constraint, int i, std::initializer_list<int64_t> dims);
/// If operand `i` is present it has that many elements, whatever its shape. Errors: violated(constraint).
Status requireElements(const InferContext& context, int constraint, int i, int64_t elements);
/// If operand `i` is present it has that dtype. Errors: violated(constraint).
Status requireDtypeIfPresent(const InferContext& context, int constraint, int i, DType dtype);
/// A dimension of operand `i`, counted from the end; kUnknownDim if operand or rank are unknown.
int64_t dimensionFromEnd(const InferContext& context, int i, int back);
/// Product of two sizes, kUnknownDim if one is unknown.
int64_t productOf(int64_t a, int64_t b);

} // namespace loopscope
