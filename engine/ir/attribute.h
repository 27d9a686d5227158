// Attribute values of operators, graphs and values: what a file says about a node beside its operands.
#pragma once

#include "engine/base/ids.h"
#include "engine/tensor/constant.h"
#include "engine/tensor/tensor_type.h"

#include <concepts>
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

    // A constructor for each alternative, and copies that are not made where they stand: fourteen alternatives tried for each argument, and
    // tables of fourteen copies in each unit, took a noticeable part of compiling whatever touches an operator.
    // NOLINTBEGIN(google-explicit-constructor): `{"axis", int64_t{3}}` reads well
    Attribute();
    Attribute(bool value);
    Attribute(double value);
    Attribute(float value) : Attribute(double{value}) {}
    template <std::integral T>
    requires(std::is_signed_v<T> || sizeof(T) < sizeof(int64_t)) Attribute(T value) : Attribute(static_cast<int64_t>(value), 0) {}
    Attribute(std::monostate) : Attribute() {}
    Attribute(std::string value);
    Attribute(const char* value);
    Attribute(HexBytes value);
    Attribute(Word value);
    Attribute(DType value);
    Attribute(Shape value);
    Attribute(GraphRef value);
    Attribute(Placeholder value);
    Attribute(TensorAttribute value);
    Attribute(ValueRef value);
    Attribute(AttributeItems value);
    Attribute(AttributeMap value);
    // NOLINTEND(google-explicit-constructor)
    Attribute(const Attribute& other);
    Attribute(Attribute&& other) noexcept;
    Attribute& operator=(const Attribute& other);
    Attribute& operator=(Attribute&& other) noexcept;
    ~Attribute();

    const Storage& value() const { return m_value; }
    template <typename T> const T* as() const { return std::get_if<T>(&m_value); }
    template <typename T> T* as() { return std::get_if<T>(&m_value); }
    bool operator==(const Attribute& other) const; ///< NaN equals NaN

private:
    Attribute(int64_t value, int);

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
