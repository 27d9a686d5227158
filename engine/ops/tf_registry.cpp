// Reads the table of TensorFlow's operators and answers questions about the slots of a node. The table's columns: operator, inputs,
// outputs, attributes, flags; entries of a column are separated by "; ".
#include "engine/ops/tf_registry.h"

#include "engine/ir/text/literals.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace loopscope {

namespace {

constexpr char kTable[] =
#include "tf_ops_table.inc"
    ;

constexpr std::array<std::pair<std::string_view, DType>, 29> kTypeNames = {{
    {"float", DType::f32},
    {"double", DType::f64},
    {"int32", DType::i32},
    {"uint8", DType::u8},
    {"int16", DType::i16},
    {"int8", DType::i8},
    {"string", DType::string},
    {"complex64", DType::c64},
    {"int64", DType::i64},
    {"bool", DType::boolean},
    {"qint8", DType::qi8},
    {"quint8", DType::qu8},
    {"qint32", DType::qi32},
    {"bfloat16", DType::bf16},
    {"qint16", DType::qi16},
    {"quint16", DType::qu16},
    {"uint16", DType::u16},
    {"complex128", DType::c128},
    {"half", DType::f16},
    {"resource", DType::resource},
    {"variant", DType::variant},
    {"uint32", DType::u32},
    {"uint64", DType::u64},
    {"float8_e5m2", DType::f8e5m2},
    {"float8_e4m3fn", DType::f8e4m3fn},
    {"int4", DType::i4},
    {"uint4", DType::u4},
    {"int2", DType::i2},
    {"", DType::unknown},
}};

std::vector<std::string_view> split(std::string_view text, std::string_view separator)
{
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const size_t end = std::min(text.find(separator), text.size());
        parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + separator.size(), text.size()));
    }
    return parts;
}

std::optional<int64_t> integerOf(std::string_view text)
{
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// `x:T`, `inputs:N*T`, `input:[Tin]`, `ref:Ref(T)`, `size:int32`. A word that is no type names an attribute.
TfArgument argumentOf(std::string_view text)
{
    TfArgument argument;
    const size_t colon = text.find(':');
    argument.name = text.substr(0, colon);
    std::string_view type = text.substr(colon + 1);
    if (type.starts_with("Ref(")) {
        argument.isReference = true;
        type = type.substr(4, type.size() - 5);
    }
    if (type.starts_with('[')) {
        argument.typeListAttr = type.substr(1, type.size() - 2);
        return argument;
    }
    if (const size_t star = type.find('*'); star != std::string_view::npos) {
        argument.numberAttr = type.substr(0, star);
        type.remove_prefix(star + 1);
    }
    if (const auto dtype = tfTypeFromName(type)) argument.dtype = *dtype;
    else argument.typeAttr = type;
    return argument;
}

Attribute scalarDefault(std::string_view kind, std::string_view text)
{
    if (kind == "int") return Attribute(integerOf(text).value_or(0));
    if (kind == "float") {
        const auto value = parseDouble(text);
        return floatAttribute(value ? static_cast<float>(*value) : 0.0F);
    }
    if (kind == "bool") return Attribute(text == "True");
    if (kind == "type") return Attribute(tfTypeFromName(text).value_or(DType::unknown));
    if (kind == "shape") return Attribute(text == "[]" ? Shape() : Shape::unknownRank());
    if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') text = text.substr(1, text.size() - 2);
    return Attribute(text == "\\t" ? std::string("\t") : std::string(text));
}

/// None for the two defaults, of operators that only TensorFlow's own tests have, that are messages and not scalars.
std::optional<Attribute> defaultOf(std::string_view kind, std::string_view text)
{
    if (!kind.starts_with("list(")) return scalarDefault(kind, text);
    const std::string_view element = kind.substr(5, kind.size() - 6);
    if (element == "shape" && text != "[]") return std::nullopt;
    if (element == "tensor" || element == "func") {
        if (text != "[]") return std::nullopt;
        return Attribute(AttributeItems());
    }
    AttributeItems items;
    for (const std::string_view part : split(text.substr(1, text.size() - 2), ",")) items.push_back(scalarDefault(element, part));
    return Attribute(std::move(items));
}

/// `T:type=int32 in [int32,int64]`, `N:int >=1`, `data_format:string='NHWC'`.
TfAttributeDef attributeOf(std::string_view text)
{
    TfAttributeDef def;
    const size_t colon = text.find(':');
    def.name = text.substr(0, colon);
    text.remove_prefix(colon + 1);
    const size_t kindEnd = std::min(text.find_first_of("= "), text.size());
    def.kind = text.substr(0, kindEnd);
    text.remove_prefix(kindEnd);
    if (const size_t at = text.rfind(" >="); at != std::string_view::npos) {
        if (const auto minimum = integerOf(text.substr(at + 3))) {
            def.minimum = minimum;
            text = text.substr(0, at);
        }
    }
    if (const size_t at = text.rfind(" in ["); at != std::string_view::npos) {
        for (const std::string_view allowed : split(text.substr(at + 5, text.size() - at - 6), ",")) {
            if (const auto dtype = tfTypeFromName(allowed); dtype && def.kind.find("type") != std::string::npos)
                def.allowedTypes.push_back(*dtype);
            else def.allowedTexts.emplace_back(allowed);
        }
        text = text.substr(0, at);
    }
    if (text.starts_with('=')) def.defaultValue = defaultOf(def.kind, text.substr(1));
    return def;
}

TfOpSignature signatureOf(std::string_view line)
{
    std::array<std::string_view, 5> columns;
    for (std::string_view& column : columns) {
        const size_t end = std::min(line.find('\t'), line.size());
        column = line.substr(0, end);
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    TfOpSignature op;
    op.name = columns[0];
    for (const std::string_view argument : split(columns[1], "; ")) op.inputs.push_back(argumentOf(argument));
    for (const std::string_view argument : split(columns[2], "; ")) op.outputs.push_back(argumentOf(argument));
    for (const std::string_view attribute : split(columns[3], "; ")) op.attributes.push_back(attributeOf(attribute));
    for (const std::string_view flag : split(columns[4], " ")) {
        op.isStateful = op.isStateful || flag == "stateful";
        op.isCommutative = op.isCommutative || flag == "commutative";
        op.isAggregate = op.isAggregate || flag == "aggregate";
        op.allowsUninitializedInput = op.allowsUninitializedInput || flag == "uninitialized-input";
        if (flag.starts_with("deprecated@")) op.deprecatedSince = static_cast<int>(integerOf(flag.substr(11)).value_or(0));
    }
    return op;
}

struct Registry {
    std::vector<TfOpSignature> ops;
    std::unordered_map<std::string_view, const TfOpSignature*> byName;
};

const Registry& registry()
{
    static const Registry kRegistry = [] {
        Registry r;
        const std::vector<std::string_view> lines = split(std::string_view(kTable, sizeof kTable - 1), "\n");
        r.ops.reserve(lines.size());
        for (const std::string_view line : lines)
            if (!line.starts_with('#') && !line.starts_with("op\t")) r.ops.push_back(signatureOf(line));
        for (const TfOpSignature& op : r.ops) r.byName.emplace(op.name, &op);
        return r;
    }();
    return kRegistry;
}

} // namespace

const TfAttributeDef* TfOpSignature::findAttribute(std::string_view attribute) const
{
    const auto found = std::ranges::find(attributes, attribute, &TfAttributeDef::name);
    return found == attributes.end() ? nullptr : &*found;
}

const TfOpSignature* findTfOp(std::string_view name)
{
    const auto found = registry().byName.find(name);
    return found == registry().byName.end() ? nullptr : found->second;
}

std::span<const TfOpSignature> allTfOps() { return registry().ops; }

std::string_view tfTypeName(DType dtype)
{
    for (const auto& [name, type] : kTypeNames)
        if (type == dtype) return name;
    return {};
}

std::optional<DType> tfTypeFromName(std::string_view name)
{
    if (name.empty()) return std::nullopt;
    for (const auto& [known, type] : kTypeNames)
        if (known == name) return type;
    return std::nullopt;
}

const Attribute* tfAttribute(const TfOpSignature& op, const AttributeList& attributes, std::string_view name)
{
    if (const Attribute* stated = findAttribute(attributes, name)) return stated;
    const TfAttributeDef* def = op.findAttribute(name);
    return def && def->defaultValue ? &*def->defaultValue : nullptr;
}

std::optional<int64_t> tfArgumentCount(const TfOpSignature& op, const TfArgument& argument, const AttributeList& attributes)
{
    if (!argument.isList()) return 1;
    const Attribute* value = tfAttribute(op, attributes, argument.typeListAttr.empty() ? argument.numberAttr : argument.typeListAttr);
    if (!value) return std::nullopt;
    int64_t count = -1;
    if (argument.typeListAttr.empty()) {
        if (const auto* number = value->as<int64_t>()) count = *number;
    } else if (const auto* items = value->as<AttributeItems>()) {
        count = static_cast<int64_t>(items->size());
    }
    return count < 0 || count > kMostTfSlots ? std::nullopt : std::optional(count);
}

std::optional<std::vector<TfSlotType>> tfSlotTypes(const TfOpSignature& op, std::span<const TfArgument> arguments,
                                                   const AttributeList& attributes)
{
    std::vector<TfSlotType> types;
    for (const TfArgument& argument : arguments) {
        const auto count = tfArgumentCount(op, argument, attributes);
        if (!count || static_cast<int64_t>(types.size()) + *count > kMostTfSlots) return std::nullopt;
        if (!argument.typeListAttr.empty()) {
            for (const Attribute& item : *tfAttribute(op, attributes, argument.typeListAttr)->as<AttributeItems>()) {
                const auto* dtype = item.as<DType>();
                types.push_back({dtype ? *dtype : DType::unknown, argument.isReference});
            }
            continue;
        }
        TfSlotType type{argument.dtype, argument.isReference};
        if (!argument.typeAttr.empty()) {
            const Attribute* value = tfAttribute(op, attributes, argument.typeAttr);
            if (!value) return std::nullopt;
            if (const auto* dtype = value->as<DType>()) type.dtype = *dtype;
        }
        types.insert(types.end(), static_cast<size_t>(*count), type);
    }
    return types;
}

std::optional<int64_t> tfSlotOf(const TfOpSignature& op, std::span<const TfArgument> arguments, const AttributeList& attributes,
                                std::string_view name, int64_t k)
{
    int64_t slot = 0;
    for (const TfArgument& argument : arguments) {
        const auto count = tfArgumentCount(op, argument, attributes);
        if (!count) return std::nullopt;
        if (argument.name == name) return k >= 0 && k < *count ? std::optional(slot + k) : std::nullopt;
        slot += *count;
    }
    return std::nullopt;
}

std::optional<TfSlotName> tfSlotName(const TfOpSignature& op, std::span<const TfArgument> arguments, const AttributeList& attributes,
                                     int64_t slot)
{
    for (const TfArgument& argument : arguments) {
        const auto count = tfArgumentCount(op, argument, attributes);
        if (!count) return std::nullopt;
        if (slot < *count) return TfSlotName{argument.name, slot};
        slot -= *count;
    }
    return std::nullopt;
}

} // namespace loopscope
