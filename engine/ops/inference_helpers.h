// Checks that many operators' inference shares, worded once: operand dtypes, broadcasting, axes.
#pragma once

#include "engine/ops/op_def.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Operands a and b must have one dtype. A dtype that is not known yet passes.
Status requireSameDtype(const InferContext& context, int constraint, int a, int b);
/// Operand i must have one of these dtypes. A dtype that is not known yet passes.
Status requireDtype(const InferContext& context, int constraint, int i, std::initializer_list<DType> allowed);
/// The shape that operands a and b broadcast to.
Result<Shape> broadcastOperands(const InferContext& context, int constraint, int a, int b);
/// `axis` counted from the front; negative ones count from the end. Errors: violated(constraint), if it is outside the rank.
Result<int> normalizedAxis(int constraint, int64_t axis, int rank);
/// "[2,3]", or "of unknown rank".
std::string shapeText(const Shape& shape);

/// One operand, one result of the same dtype and shape.
Status inferSameAsInput(InferContext& context);
/// Definition with one operand and one result; infer is set to inferSameAsInput.
OpDef unaryDef(std::string_view summary, std::string_view source, const ErrorBounds& floatBound = kExact);

} // namespace loopscope
