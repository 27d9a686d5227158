// Rules that several operators of shape and data movement share: axes, shapes given as operands, dtypes given as attributes.
#pragma once

#include "engine/ops/op_def.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// No shape that an operand asks for may have more dimensions than this.
inline constexpr int kMaxRank = 64;

/// `axis` counted from the front; none if it lies outside [−rank, rank).
std::optional<int> normalAxis(int64_t axis, int rank);

/// The dtype attribute `key`; `otherwise` if it is absent.
DType attributeDType(const AttributeList& list, std::string_view key, DType otherwise);

/// The shape that operand `i`, a vector of dimensions, asks for: exact where its data is known, else of known rank where its length is
/// known. Errors: constraint `constraint` if the operand is no vector, or a dimension is negative, or the shape has too many elements.
Result<Shape> shapeFromOperand(const InferContext& context, int i, int constraint);

/// Errors: constraint `constraint` unless operand `i` is i32 or i64 (or its dtype is not known yet).
Status requireIndexType(const InferContext& context, int i, int constraint);
/// Errors: constraint `constraint` unless operand `i` has rank `rank` (or its rank is not known yet).
Status requireRank(const InferContext& context, int i, int rank, int constraint);
/// Errors: constraint `constraint` unless operands `i` and `k` have the same dtype (or one is not known yet).
Status requireSameType(const InferContext& context, int i, int k, int constraint);
/// The single integer of operand `i`; none if its data is not known. Errors: constraint `constraint` if it is not one i32 or i64.
Result<std::optional<int64_t>> scalarOperand(const InferContext& context, int i, int constraint);

/// "operand 1 (f32[2,3])" for messages.
std::string describeOperand(const InferContext& context, int i);

/// Errors: an operand before `optionalFrom` is missing (its index is −1).
Status requirePresent(const InferContext& context, int optionalFrom);

/// The values of a known integer operand, checked to be an i32 or i64 vector; none if the data is not known.
Result<std::optional<std::vector<int64_t>>> vectorOperand(const InferContext& context, int i, int constraint);

/// The definition of an exact operator whose inference runs once its operands are known to be there; from `optionalFrom` on they may be
/// missing.
template <Status (*infer)(InferContext&), int optionalFrom = 1 << 30>
OpDef movementDef(int inputs, std::string_view operands, std::string_view summary, std::string_view source)
{
    OpDef def;
    def.minInputs = def.maxInputs = inputs;
    def.operands = operands;
    def.summary = summary;
    def.source = source;
    def.floatBound = kExact;
    def.infer = [](InferContext& context) -> Status {
        LS_CHECK_OK(requirePresent(context, optionalFrom));
        return infer(context);
    };
    return def;
}

/// True if element `i` of a tensor of whole-byte numbers or bool is not zero (−0.0 is zero, NaN is not).
bool elementIsSet(const Tensor& tensor, int64_t i);
/// For each element of a vector of whole-byte numbers the index of the first one equal to it; NaN equals NaN, −0.0 equals 0.0.
std::vector<int64_t> firstOccurrences(const Tensor& tensor);

/// True if the entries are different dimensions of `rank`.
bool areDistinctDimensions(const std::vector<int64_t>& list, int64_t rank);
/// "[1,2]"
std::string listText(const std::vector<int64_t>& list);

/// RESHAPE: `wanted` with its −1 replaced. Dimensions stay unknown where `input` does not tell.
/// Errors: C1 more than one −1 or a dimension below −1; C2 another number of elements than the input has.
Result<Shape> resolveReshape(const Shape& input, std::span<const int64_t> wanted);

} // namespace loopscope
