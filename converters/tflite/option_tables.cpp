#include "converters/tflite/option_tables.h"

#include "converters/tflite/custom_options.h"
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace loopscope::tflite_format {

namespace {

/// Calls `use(T())` with the C++ type of a scalar.
template <typename Use> auto withType(Scalar scalar, Use use)
{
    switch (scalar) {
    case Scalar::boolean:
    case Scalar::u8: return use(uint8_t());
    case Scalar::i8: return use(int8_t());
    case Scalar::u16: return use(uint16_t());
    case Scalar::i16: return use(int16_t());
    case Scalar::u32: return use(uint32_t());
    case Scalar::i32: return use(int32_t());
    case Scalar::u64: return use(uint64_t());
    case Scalar::i64: return use(int64_t());
    case Scalar::f32: return use(float());
    default: return use(double());
    }
}

bool isPadding(const FieldSpec& field) { return field.meaning == Meaning::enumerator && field.enumeration->name == "Padding"; }

/// An integer of the file as the attribute that the field's meaning makes of it.
Attribute integerAttribute(const FieldSpec& field, int64_t value)
{
    if (field.meaning == Meaning::enumerator) {
        const auto found = field.enumeration->names.find(value);
        if (found != field.enumeration->names.end()) return Word{found->second};
    }
    if (field.meaning == Meaning::elementType)
        if (const auto dtype = field.elementTypes->dtypeOf(value)) return *dtype;
    if (field.scalar == Scalar::boolean) return value != 0;
    return value;
}

/// Where graph indices may point, and how to say that one does not.
struct GraphRange {
    FileView& file;
    const std::string& place;
    const FieldSpec& field;
    int count;

    Result<Attribute> reference(const void* at, int64_t index) const
    {
        if (index >= 0 && index < count) return Attribute(GraphRef{GraphId(index), nullptr});
        return file.fault(at, place + "." + field.name + " is subgraph " + std::to_string(index))
            .expected(count == 0 ? "none, since there are no subgraphs" : "0 to " + std::to_string(count - 1));
    }
};

Status readVector(FileView& file, const GraphRange& graphs, const FieldSpec& field, const uint8_t* vectorAt, AttributeList& out)
{
    return withType(field.scalar, [&](auto zero) -> Status {
        using T = decltype(zero);
        const auto& vector = *reinterpret_cast<const flatbuffers::Vector<T>*>(vectorAt);
        LS_CHECK_OK(file.spend(vectorAt, uint64_t{vector.size()} * sizeof(T)));
        if (field.meaning == Meaning::flexBuffer) {
            setAttribute(out, field.key, decodeCustomOptions({reinterpret_cast<const std::byte*>(vector.Data()), vector.size()}));
            return {};
        }
        AttributeItems items;
        for (flatbuffers::uoffset_t i = 0; i < vector.size(); ++i) {
            if constexpr (std::is_same_v<T, float>) {
                items.push_back(floatAttribute(elementAt<T>(vector.Data(), i)));
            } else if constexpr (std::is_same_v<T, double>) {
                items.push_back(elementAt<T>(vector.Data(), i));
            } else {
                const auto value = static_cast<int64_t>(elementAt<T>(vector.Data(), i));
                if (field.meaning == Meaning::branches || field.meaning == Meaning::graphList) {
                    LS_TRY(Attribute graph, graphs.reference(vector.Data() + i * sizeof(T), value));
                    if (field.meaning == Meaning::branches) setAttribute(out, field.key + std::to_string(i), std::move(graph));
                    else items.push_back(std::move(graph));
                } else {
                    items.push_back(integerAttribute(field, value));
                }
            }
        }
        if (field.meaning != Meaning::branches) setAttribute(out, field.key, std::move(items));
        return {};
    });
}

Status readScalar(const GraphRange& graphs, const OptionTable& spec, const FieldSpec& field, const flatbuffers::Table& table,
                  AttributeList& out)
{
    return withType(field.scalar, [&](auto zero) -> Status {
        using T = decltype(zero);
        if constexpr (std::is_floating_point_v<T>) {
            const auto value = table.GetField<T>(field.slot, static_cast<T>(field.defaultReal));
            // Bits, not values: -0.0 is stored and NaN is never equal.
            if (std::memcmp(&value, &zero, sizeof value) == 0) return {};
            if constexpr (std::is_same_v<T, float>) setAttribute(out, field.key, floatAttribute(value));
            else setAttribute(out, field.key, value);
        } else {
            auto value = static_cast<int64_t>(table.GetField<T>(field.slot, static_cast<T>(field.defaultInteger)));
            if (field.scalar == Scalar::boolean) value = value != 0 ? 1 : 0;
            if (field.meaning == Meaning::graph) {
                const uint8_t* at = table.GetAddressOf(field.slot);
                // A composite without a decomposition says -1.
                if (value == -1 && spec.name == "StableHLOCompositeOptions") setAttribute(out, field.name, value);
                else {
                    LS_TRY(Attribute graph, graphs.reference(at ? at : reinterpret_cast<const uint8_t*>(&table), value));
                    setAttribute(out, field.key, std::move(graph));
                }
            } else if (value != field.defaultInteger || isPadding(field)) {
                setAttribute(out, field.key, integerAttribute(field, value));
            }
        }
        return {};
    });
}

Error badValue(const FieldSpec& field, const std::string& expected)
{
    return Error(ErrorCode::unsupported, "attribute '" + field.key + "' does not fit its field").expected(expected);
}

/// The number that stands for an attribute in an integer field.
Result<int64_t> integerOf(const FieldSpec& field, const Attribute& value)
{
    if (const auto* integer = value.as<int64_t>()) {
        const bool fits = withType(field.scalar, [&](auto zero) {
            using T = decltype(zero);
            if constexpr (std::is_floating_point_v<T>) return false;
            else if constexpr (std::is_same_v<T, uint64_t>) return *integer >= 0;
            else return *integer >= int64_t{std::numeric_limits<T>::min()} && *integer <= int64_t{std::numeric_limits<T>::max()};
        });
        return fits ? Result<int64_t>(*integer) : badValue(field, "a number that fits the field, found " + std::to_string(*integer));
    }
    if (const auto* flag = value.as<bool>(); flag && field.scalar == Scalar::boolean) return int64_t{*flag};
    if (const auto* dtype = value.as<DType>(); dtype && field.meaning == Meaning::elementType) {
        if (const auto code = field.elementTypes->numberOf(*dtype)) return int64_t{*code};
        return badValue(field, "a dtype that the format has, found " + std::string(dtypeName(*dtype)));
    }
    if (const auto* word = value.as<Word>(); word && field.enumeration) {
        if (const auto code = field.enumeration->valueOf(word->text)) return *code;
        return badValue(field, "one of the enumerators of " + field.enumeration->name + ", found " + word->text);
    }
    if (const auto* graph = value.as<GraphRef>();
        graph && (field.meaning == Meaning::graph || field.meaning == Meaning::graphList || field.meaning == Meaning::branches))
        return int64_t{graph->graph.index};
    return badValue(field, "a value of the field's type");
}

Result<double> realOf(const FieldSpec& field, const Attribute& value)
{
    if (const auto* real = value.as<double>()) return *real;
    if (const auto* integer = value.as<int64_t>()) return static_cast<double>(*integer);
    return badValue(field, "a number");
}

template <typename T> Result<T> elementOf(const FieldSpec& field, const Attribute& value)
{
    if constexpr (std::is_floating_point_v<T>) {
        LS_TRY(const double real, realOf(field, value));
        return static_cast<T>(real);
    } else {
        LS_TRY(const int64_t integer, integerOf(field, value));
        return static_cast<T>(integer);
    }
}

/// Writes a string or vector ahead of its table. 0 if there is nothing to write.
Result<uint32_t> writeReferenced(flatbuffers::FlatBufferBuilder& builder, const FieldSpec& field, const AttributeList& attributes)
{
    if (field.meaning == Meaning::branches) {
        std::vector<int32_t> branches;
        while (const Attribute* branch = findAttribute(attributes, field.key + std::to_string(branches.size()))) {
            LS_TRY(const int64_t index, integerOf(field, *branch));
            branches.push_back(static_cast<int32_t>(index));
        }
        return branches.empty() ? 0U : builder.CreateVector(branches).o;
    }
    const Attribute* value = findAttribute(attributes, field.key);
    if (!value) return 0U;
    if (field.isString) {
        if (const auto* text = value->as<std::string>()) return builder.CreateString(*text).o;
        return badValue(field, "a string");
    }
    if (field.meaning == Meaning::flexBuffer) {
        if (const auto bytes = encodeCustomOptions(*value))
            return builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()).o;
        return badValue(field, "a map of FlexBuffer values or raw bytes");
    }
    const auto* items = value->as<AttributeItems>();
    if (!items) return badValue(field, "a list");
    return withType(field.scalar, [&](auto zero) -> Result<uint32_t> {
        using T = decltype(zero);
        std::vector<T> elements;
        for (const Attribute& item : *items) {
            LS_TRY(const T element, elementOf<T>(field, item));
            elements.push_back(element);
        }
        return builder.CreateVector(elements).o;
    });
}

bool isReference(const FieldSpec& field) { return field.isString || field.isVector; }

} // namespace

Status readOptions(FileView& file, const std::string& place, const OptionTable& spec, const flatbuffers::Table& table, int graphCount,
                   AttributeList& out)
{
    for (const FieldSpec& field : spec.fields) {
        if (field.isDeprecated) continue;
        const GraphRange graphs{file, place, field, graphCount};
        if (!isReference(field)) {
            LS_CHECK_OK(readScalar(graphs, spec, field, table, out));
        } else if (const auto* target = table.GetPointer<const uint8_t*>(field.slot)) {
            if (field.isString) {
                const auto& text = *reinterpret_cast<const flatbuffers::String*>(target);
                LS_CHECK_OK(file.spend(target, text.size()));
                setAttribute(out, field.key, text.str());
            } else {
                LS_CHECK_OK(readVector(file, graphs, field, target, out));
            }
        }
    }
    return {};
}

void readAbsentOptions(const OptionTable& spec, AttributeList& out)
{
    for (const FieldSpec& field : spec.fields)
        if (isPadding(field)) setAttribute(out, field.key, integerAttribute(field, field.defaultInteger));
}

bool fitsField(const FieldSpec& field, const Attribute& value)
{
    if (field.isString) return value.as<std::string>() != nullptr;
    if (field.meaning == Meaning::flexBuffer) return encodeCustomOptions(value).has_value();
    const bool isReal = field.scalar == Scalar::f32 || field.scalar == Scalar::f64;
    const auto fits = [&](const Attribute& one) { return isReal ? realOf(field, one).ok() : integerOf(field, one).ok(); };
    if (!field.isVector || field.meaning == Meaning::branches) return fits(value);
    const auto* const items = value.as<AttributeItems>();
    return items != nullptr && std::all_of(items->begin(), items->end(), fits);
}

Result<WrittenTable> writeOptions(flatbuffers::FlatBufferBuilder& builder, const OptionTable& spec, const AttributeList& attributes)
{
    bool any = false;
    for (const NamedAttribute& a : attributes) {
        if (a.key.starts_with('@') || a.key == "options") continue;
        any = true;
        const bool isBranch = a.key.starts_with("branch") && spec.name == "StablehloCaseOptions";
        if (!isBranch && !spec.findField(a.key))
            return Error(ErrorCode::unsupported, "attribute '" + a.key + "' has no field in " + spec.name);
    }
    std::vector<uint32_t> referenced;
    for (const FieldSpec& field : spec.fields) {
        if (field.meaning == Meaning::graph && !findAttribute(attributes, field.key) && !findAttribute(attributes, field.name)) {
            if (!any) return WrittenTable{};
            return Error(ErrorCode::unsupported, "attribute '" + field.key + "' is missing").expected("a graph");
        }
        uint32_t offset = 0;
        if (isReference(field) && !field.isDeprecated) {
            LS_TRY(offset, writeReferenced(builder, field, attributes));
        }
        referenced.push_back(offset);
    }
    const flatbuffers::uoffset_t start = builder.StartTable();
    Status problem;
    for (size_t i = 0; i < spec.fields.size() && problem.ok(); ++i) {
        const FieldSpec& field = spec.fields[i];
        if (referenced[i] != 0) builder.AddOffset(field.slot, flatbuffers::Offset<void>(referenced[i]));
        if (isReference(field) || field.isDeprecated) continue;
        const Attribute* value = findAttribute(attributes, field.key);
        if (!value) value = findAttribute(attributes, field.name);
        if (!value) continue;
        problem = withType(field.scalar, [&](auto zero) -> Status {
            using T = decltype(zero);
            LS_TRY(const T element, elementOf<T>(field, *value));
            if constexpr (std::is_floating_point_v<T>) {
                // Also -0.0, which compares equal to the default.
                if (std::memcmp(&element, &zero, sizeof element) != 0) builder.AddElement<T>(field.slot, element);
            } else {
                builder.AddElement<T>(field.slot, element, static_cast<T>(field.defaultInteger));
            }
            return {};
        });
    }
    const flatbuffers::uoffset_t end = builder.EndTable(start);
    LS_CHECK_OK(std::move(problem));
    return WrittenTable{end};
}

} // namespace loopscope::tflite_format
