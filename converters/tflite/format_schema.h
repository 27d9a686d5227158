// What a schema of the TFLite family says about operator codes, option tables and their fields, read from the compiled schema at run
// time: one description serves the import and the export of all 140 option tables, and no operator needs code of its own.
#pragma once

#include "engine/ir/model.h"
#include "engine/tensor/dtype.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::tflite_format {

/// How one element of a field is stored.
enum class Scalar : uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64 };

/// What a field's value means beyond its number.
enum class Meaning : uint8_t {
    plain,
    enumerator,  ///< a Word
    elementType, ///< a DType
    graph,       ///< index of a subgraph: a GraphRef under `key`
    branches,    ///< vector of subgraph indices: GraphRefs under branch0, branch1, …
    graphList,   ///< vector of subgraph indices: a list of GraphRefs under `key`
    flexBuffer,  ///< bytes, usually a FlexBuffer map
};

/// TensorType of a schema and DType. None where the other side has no such type.
class ElementTypes {
public:
    struct Entry {
        int8_t number;
        DType dtype;
    };
    /// `entries` lives as long as this.
    explicit ElementTypes(std::span<const Entry> entries) : m_entries(entries) {}
    std::optional<DType> dtypeOf(int64_t number) const;
    std::optional<int8_t> numberOf(DType dtype) const;
    /// "0 to 22"
    std::string range() const;

private:
    std::span<const Entry> m_entries;
};

struct EnumSpec {
    std::string name; ///< without the namespace
    std::map<int64_t, std::string> names;
    /// The number of an enumerator; none if there is no such name.
    std::optional<int64_t> valueOf(std::string_view enumerator) const;
};

struct FieldSpec {
    std::string name;  ///< in the schema
    std::string key;   ///< as attribute: the name, its short form `act`, or the role of a graph
    uint16_t slot = 0; ///< offset in the vtable
    bool isVector = false;
    bool isString = false;
    bool isDeprecated = false;
    Scalar scalar = Scalar::i32; ///< of the value, or of a vector's elements
    Meaning meaning = Meaning::plain;
    const EnumSpec* enumeration = nullptr;      ///< enumerator and elementType
    const ElementTypes* elementTypes = nullptr; ///< elementType
    int64_t defaultInteger = 0;
    double defaultReal = 0;
};

struct OptionTable {
    std::string name;    ///< "Conv2DOptions"
    int unionNumber = 0; ///< 1: builtin_options, 2: builtin_options_2
    uint8_t tag = 0;
    std::vector<FieldSpec> fields; ///< in the order of their ids
    const FieldSpec* findField(std::string_view key) const;
};

/// A schema, read once. Look-ups may come from any thread.
class FormatSchema {
public:
    /// `binarySchema` is what flatc embeds; `prefix` is the namespace with its point, "tflite.".
    FormatSchema(const uint8_t* binarySchema, std::string_view prefix, ElementTypes elementTypes);
    FormatSchema(const FormatSchema&) = delete;
    FormatSchema& operator=(const FormatSchema&) = delete;

    /// The option table with that tag in union 1 or 2; null for NONE and for tags of a newer schema.
    const OptionTable* optionTable(int unionNumber, uint8_t tag) const;
    const OptionTable* optionTable(std::string_view name) const;
    /// The table that writers attach to an operator; null if it has none.
    const OptionTable* usualOptions(int32_t builtinCode) const;

    /// `tfl.conv_2d`; `tfl.builtin_210` for a code that the schema does not name; Circle's own, which are negative, are `circle.rope`.
    Kind kindOf(int32_t code) const;
    /// The inverse of kindOf; none if there is no such operator.
    std::optional<int32_t> codeOf(const Kind& kind) const;
    /// The names of its operators of `dialect` ("tfl" or "circle").
    std::vector<std::string> kindNames(std::string_view dialect) const;
    /// The lowest code that the schema names.
    int32_t lowestCode() const { return m_lowestCode; }

    const ElementTypes& elementTypes() const { return m_elementTypes; }

private:
    struct Reader;

    ElementTypes m_elementTypes;
    std::vector<EnumSpec> m_enums;
    std::array<std::vector<OptionTable>, 2> m_tables; ///< by tag; where the schema has no such tag, an entry with tag 0
    std::map<int32_t, Kind> m_kinds;
    std::map<std::string, int32_t> m_codes; ///< by full kind
    std::map<int32_t, const OptionTable*> m_usual;
    int32_t m_lowestCode = 0;
};

inline constexpr int32_t kCustomCode = 32;
/// What writers put into the old one-byte code field for codes that do not fit.
inline constexpr int32_t kPlaceholderCode = 127;

} // namespace loopscope::tflite_format
