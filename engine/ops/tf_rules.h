// What the TensorFlow families of the catalogue and their kernels share: errors with TensorFlow's class and words, its names of dtypes, and
// inference that leaves what only the kernel can know to the kernel.
#pragma once

#include "engine/ops/op_def.h"
#include "engine/ops/tf_registry.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace loopscope {

/// TensorFlow's status codes as far as its kernels use them.
enum class TfCode : uint8_t {
    invalidArgument,
    failedPrecondition,
    outOfRange,
    notFound,
    internal,
    unimplemented,
    resourceExhausted,
    cancelled
};

/// "InvalidArgumentError": the class a TensorFlow user knows.
std::string_view tfCodeName(TfCode code);
/// An execution error in TensorFlow's words, which users search for. Its class stands in a note ("TensorFlow: InvalidArgumentError").
Error tfError(TfCode code, std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE());
Error invalidArgument(std::string what, const char* file = __builtin_FILE(), int line = __builtin_LINE());
/// The class that a note of the error names; empty if none does.
std::string_view tfClassOf(const ErrorDetail& error);

/// "[2,3]", "[]", "[?,3]", "<unknown>".
std::string tfShapeText(const Shape& shape);

/// TensorFlow's broadcasting. Errors: InvalidArgument "Incompatible shapes: [3] vs. [4]".
Result<Shape> tfBroadcast(const Shape& a, const Shape& b);

/// The dtype attribute `key`, or `otherwise`.
DType tfTypeAttribute(const AttributeList& list, std::string_view key, DType otherwise = DType::unknown);
/// Of a TensorListPopBack: the shape that the elements of its list have for certain, since who made the operator made the list, too.
inline constexpr std::string_view kElementShapeAttribute = "_element_shape";
/// The shape attribute `key`; of unknown rank if it is absent.
Shape tfShapeAttribute(const AttributeList& list, std::string_view key);

/// True if input `i` of the operator is a reference (a variable of TensorFlow 1) that the kernel wants as such: it is shown the
/// variable's handle. Every other operand that is a reference is replaced by the variable's value when the operator runs.
bool takesReference(const Operator& op, int i);

/// The node against its operator's signature: the counts of operands and results, their dtypes, and dtypes that attributes may not name.
/// Kernels rely on it. Null operands pass, and so do references that the kernel takes as such.
/// Errors: InvalidArgument.
Status checkTfSignature(const Operator& op, std::span<const Tensor* const> inputs, std::span<const Tensor* const> outputs);

/// Leaves shapes to the kernel; dtypes are those that the graph states.
Status inferAtRunTime(InferContext& context);
/// One result of operand 0's dtype and shape.
Status inferTfSame(InferContext& context);
/// One result, operands 0 and 1 broadcast; of operand 0's dtype.
Status inferTfBroadcast(InferContext& context);
/// As inferTfBroadcast, of dtype bool.
Status inferTfComparison(InferContext& context);

/// A definition of an operator whose results' sizes the kernel finds out, unless `infer` says otherwise.
struct TfArity {
    int minInputs = 1, maxInputs = 1, minOutputs = 1, maxOutputs = 1;
};
OpDef tfDef(TfArity arity, std::string_view operands, std::string_view summary, Status (*infer)(InferContext&) = inferAtRunTime,
            const ErrorBounds& floatBound = kExact);
/// The same for an operator that reads or writes the session's state.
OpDef tfStatefulDef(TfArity arity, std::string_view operands, std::string_view summary);

} // namespace loopscope
