// Attribute values of operators, graphs and values: what a file says about a node beside its operands.
#pragma once

#include "engine/base/ids.h"
#include "engine/tensor/constant.h"
#include "engine/tensor/tensor_type.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace loopscope {

class Attribute;

/// One `key=value`. Lists of these are kept sorted by the bytes of the key; keys of facts begin with `@`.
struct NamedAttribute;
using AttributeList = std::vector<NamedAttribute>;

/// An enumerator such as SAME or RELU6.
struct Word {
    std::string text;
    bool operator==(const Word&) const = default;
};

/// Raw bytes, printed hex"…".
struct HexBytes {
    std::string bytes;
    bool operator==(const HexBytes&) const = default;
};

/// A graph of the same model, `@body`; TensorFlow functions may carry attributes of their own.
struct GraphRef {
    GraphId graph;
    std::shared_ptr<const AttributeList> attributes; ///< null: none
    bool operator==(const GraphRef& other) const;
};

/// TensorFlow's `$T`: filled in by the function's caller.
struct Placeholder {
    std::string name;
    bool operator==(const Placeholder&) const = default;
};

/// A tensor as attribute (TensorFlow's Const): `value=f32[2] [1.0, 2.0]`.
struct TensorAttribute {
    TensorType type;
    ConstantPtr data;
    bool operator==(const TensorAttribute& other) const;
};

/// Reference to a value of the graph by id (`@intermediates=[mid, mid2]`).
struct ValueRef {
    ValueId value;
    bool operator==(const ValueRef&) const = default;
};

using AttributeItems = std::vector<Attribute>;                       ///< `[…]`
using AttributeMap = std::vector<std::pair<std::string, Attribute>>; ///< `{key: value, …}`, in stored order

/// One value. `std::monostate` is `unset` (a TensorFlow AttrValue without a value, a FlexBuffer null).
/// Floats are doubles. One that a file stores as f32 is held as the double whose shortest decimal form is the f32's (floatAttribute),
/// so that text reads 0.1 and casting back gives the same bits.
class Attribute {
public:
    using Storage = std::variant<std::monostate, bool, int64_t, double, std::string, HexBytes, Word, DType, Shape, GraphRef, Placeholder,
                                 TensorAttribute, ValueRef, AttributeItems, AttributeMap>;

    Attribute() = default;
    template <typename T, typename = std::enable_if_t<!std::is_same_v<std::decay_t<T>, Attribute> && std::is_constructible_v<Storage, T>>>
    Attribute(T&& value) : m_value(std::forward<T>(value))
    {
    } // NOLINT(google-explicit-constructor): `{"axis", int64_t{3}}` reads well

    const Storage& value() const { return m_value; }
    template <typename T> const T* as() const { return std::get_if<T>(&m_value); }
    template <typename T> T* as() { return std::get_if<T>(&m_value); }
    bool operator==(const Attribute& other) const; ///< NaN equals NaN

private:
    Storage m_value;
};

struct NamedAttribute {
    std::string key;
    Attribute value;
    bool operator==(const NamedAttribute&) const = default;
};

Attribute floatAttribute(float value);

/// The attribute with that key, or null.
const Attribute* findAttribute(const AttributeList& list, std::string_view key);
/// Inserts in key order, or replaces.
void setAttribute(AttributeList& list, std::string key, Attribute value);
void removeAttribute(AttributeList& list, std::string_view key);

/// Typed look-ups with the default that applies when the attribute is absent or of another type.
int64_t attributeInt(const AttributeList& list, std::string_view key, int64_t otherwise);
double attributeFloat(const AttributeList& list, std::string_view key, double otherwise); ///< takes integers too
bool attributeBool(const AttributeList& list, std::string_view key, bool otherwise);
std::string_view attributeWord(const AttributeList& list, std::string_view key, std::string_view otherwise);
std::string_view attributeString(const AttributeList& list, std::string_view key, std::string_view otherwise);
GraphId attributeGraph(const AttributeList& list, std::string_view key); ///< invalid id if absent
std::vector<int64_t> attributeInts(const AttributeList& list, std::string_view key);

} // namespace loopscope
