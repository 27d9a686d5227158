// TensorFlow's operator registry: what each of its operators takes, gives and is parameterised by. It serves import and export
// (`node:out:k`, result types, default attributes) and whoever runs or checks TensorFlow graphs; whether an operator has a kernel here
// is the catalogue's business (catalog.h). The table is tf_ops.tsv, compiled in and read once, at the first look-up.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/dtype.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// An argument or a result as a signature declares it: one tensor, `number` tensors of one type, or a list with a type each.
struct TfArgument {
    std::string name;
    DType dtype = DType::unknown; ///< the type itself; unknown: an attribute says it
    std::string typeAttr;         ///< `T`: attribute of kind type
    std::string numberAttr;       ///< `N*T`: attribute of kind int; how many tensors
    std::string typeListAttr;     ///< `[Tin]`: attribute of kind list(type); one tensor for each entry
    bool isReference = false;     ///< Ref(T)
    bool isList() const { return !numberAttr.empty() || !typeListAttr.empty(); }
};

struct TfAttributeDef {
    std::string name;
    std::string kind;                      ///< "type", "int", "float", "bool", "string", "shape", "tensor", "func", "list(int)", …
    std::optional<Attribute> defaultValue; ///< none: the attribute is required
    std::vector<DType> allowedTypes;       ///< empty: any
    std::vector<std::string> allowedTexts; ///< of kind string or list(string); empty: any
    std::optional<int64_t> minimum;        ///< smallest int, or least length of a list
};

struct TfOpSignature {
    std::string name;
    std::vector<TfArgument> inputs, outputs;
    std::vector<TfAttributeDef> attributes;
    bool isStateful = false;
    bool isCommutative = false;
    bool isAggregate = false;
    bool allowsUninitializedInput = false;
    int deprecatedSince = 0; ///< version of GraphDefs from which on it must not be used; 0: never

    const TfAttributeDef* findAttribute(std::string_view attribute) const;
};

/// The signature of a registered operator, or null. Thread-safe; the pointer stays valid.
const TfOpSignature* findTfOp(std::string_view name);
/// All registered operators, by name.
std::span<const TfOpSignature> allTfOps();

/// `DT_FLOAT` without its prefix, in lower case ("float", "int32", "half", …): how TensorFlow's messages write types. "" for types
/// that TensorFlow has no name for.
std::string_view tfTypeName(DType dtype);
/// The inverse; none for other text.
std::optional<DType> tfTypeFromName(std::string_view name);

/// The type of one result or operand. `dtype` is unknown where the function's caller decides (`$T`).
struct TfSlotType {
    DType dtype = DType::unknown;
    bool isReference = false;
    bool operator==(const TfSlotType&) const = default;
};

/// A node or function stands for no more results or operands than this: attributes may claim billions.
inline constexpr int64_t kMostTfSlots = int64_t{1} << 20;

/// The attribute of a node, or the default that its operator declares; null if there is neither.
const Attribute* tfAttribute(const TfOpSignature& op, const AttributeList& attributes, std::string_view name);

/// How many tensors one argument stands for, given the node's attributes. None if an attribute is missing, has another kind, is
/// negative, a placeholder, or more than kMostTfSlots.
std::optional<int64_t> tfArgumentCount(const TfOpSignature& op, const TfArgument& argument, const AttributeList& attributes);

/// Types of all results (or operands: pass op.inputs) of a node, in slot order. None as for tfArgumentCount; a type that only a
/// placeholder says is unknown.
std::optional<std::vector<TfSlotType>> tfSlotTypes(const TfOpSignature& op, std::span<const TfArgument> arguments,
                                                   const AttributeList& attributes);

/// Slot of `name:k` among `arguments`: `node:indices:0` of TopKV2 is 1. None if there is no such argument, or k is beyond it.
std::optional<int64_t> tfSlotOf(const TfOpSignature& op, std::span<const TfArgument> arguments, const AttributeList& attributes,
                                std::string_view name, int64_t k);

/// The inverse: argument and place in it.
struct TfSlotName {
    std::string_view argument;
    int64_t k = 0;
};
std::optional<TfSlotName> tfSlotName(const TfOpSignature& op, std::span<const TfArgument> arguments, const AttributeList& attributes,
                                     int64_t slot);

} // namespace loopscope
