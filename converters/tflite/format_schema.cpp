#include "converters/tflite/format_schema.h"

#include <flatbuffers/reflection_generated.h>
#include "schema_bfbs_generated.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace loopscope::tflite_format {

namespace {

constexpr std::array kDTypes = {
    // In the order of TensorType.
    DType::f32,  DType::f16, DType::i32,      DType::u8,      DType::i64, DType::string, DType::boolean, DType::i16,
    DType::c64,  DType::i8,  DType::f64,      DType::c128,    DType::u64, DType::resource, DType::variant, DType::u32,
    DType::u16,  DType::i4,  DType::bf16,     DType::i2,      DType::u4,  DType::f8e4m3fn, DType::f8e5m2,
};

/// Operators whose option table does not carry their own name. All others: ADD → AddOptions, CONV_2D → Conv2DOptions.
struct Exception {
    std::string_view op, table;
};
constexpr std::array kSharedTables = {
    Exception{"average_pool_2d", "Pool2DOptions"},
    Exception{"l2_pool_2d", "Pool2DOptions"},
    Exception{"max_pool_2d", "Pool2DOptions"},
    Exception{"l2_normalization", "L2NormOptions"},
    Exception{"local_response_normalization", "LocalResponseNormalizationOptions"},
    Exception{"unidirectional_sequence_rnn", "SequenceRNNOptions"},
    Exception{"maximum", "MaximumMinimumOptions"},
    Exception{"minimum", "MaximumMinimumOptions"},
    Exception{"mean", "ReducerOptions"},
    Exception{"sum", "ReducerOptions"},
    Exception{"reduce_prod", "ReducerOptions"},
    Exception{"reduce_max", "ReducerOptions"},
    Exception{"reduce_min", "ReducerOptions"},
    Exception{"reduce_any", "ReducerOptions"},
    Exception{"reduce_all", "ReducerOptions"},
    Exception{"conv_3d_transpose", "Conv3DOptions"},
    Exception{"random_standard_normal", "RandomOptions"},
    Exception{"random_uniform", "RandomOptions"},
    Exception{"multinomial", "RandomOptions"},
};

std::string lowerCase(std::string_view text)
{
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

/// "CONV_2D" and "Conv2DOptions" both give "conv2d".
std::string comparable(std::string_view name)
{
    std::string out = lowerCase(name);
    std::erase(out, '_');
    if (out.ends_with("options")) out.resize(out.size() - 7);
    return out;
}

Scalar scalarOf(reflection::BaseType type)
{
    switch (type) {
    case reflection::Bool: return Scalar::boolean;
    case reflection::Byte: return Scalar::i8;
    case reflection::UByte: return Scalar::u8;
    case reflection::Short: return Scalar::i16;
    case reflection::UShort: return Scalar::u16;
    case reflection::UInt: return Scalar::u32;
    case reflection::Long: return Scalar::i64;
    case reflection::ULong: return Scalar::u64;
    case reflection::Float: return Scalar::f32;
    case reflection::Double: return Scalar::f64;
    default: return Scalar::i32;
    }
}

/// Fields that name subgraphs, and the roles that text and calleesOf() know them by.
void setGraphRole(std::string_view table, FieldSpec& field)
{
    const auto role = [&field](Meaning meaning, std::string_view key) {
        field.meaning = meaning;
        field.key = key;
    };
    if (field.name == "cond_subgraph_index") role(Meaning::graph, "cond");
    else if (field.name == "then_subgraph_index") role(Meaning::graph, "then");
    else if (field.name == "else_subgraph_index") role(Meaning::graph, "else");
    else if (field.name == "init_subgraph_index") role(Meaning::graph, "init");
    else if (field.name == "body_subgraph_index") role(Meaning::graph, table.find("While") != std::string_view::npos ? "body" : "region");
    else if (field.name == "comparator_subgraph_index" || field.name == "update_computation_subgraph_index") role(Meaning::graph, "region");
    else if (field.name == "decomposition_subgraph_index" || table == "CallOptions") role(Meaning::graph, "call");
    else if (field.name == "branch_subgraph_indices") role(Meaning::branches, "branch");
    else if (field.name == "called_computations") role(Meaning::graphList, field.name);
}

/// Everything above, read once.
struct Schema {
    std::vector<EnumSpec> enums;
    std::vector<OptionTable> tables[2]; ///< by tag; tag 0 is NONE
    std::map<int64_t, std::string> opNames;
    std::map<std::string, int32_t, std::less<>> opCodes;
    std::map<int32_t, const OptionTable*> usual;

    Schema()
    {
        const reflection::Schema* schema = reflection::GetSchema(tflite::ModelBinarySchema::data());
        enums.reserve(schema->enums()->size());
        for (const reflection::Enum* e : *schema->enums()) {
            EnumSpec spec;
            spec.name = e->name()->str();
            for (const reflection::EnumVal* v : *e->values()) spec.names[v->value()] = v->name()->str();
            enums.push_back(std::move(spec));
        }
        readUnion(*schema, "tflite.BuiltinOptions", 1);
        readUnion(*schema, "tflite.BuiltinOptions2", 2);
        const reflection::Enum* ops = findEnum(*schema, "tflite.BuiltinOperator");
        for (const reflection::EnumVal* v : *ops->values()) {
            const std::string name = lowerCase(v->name()->str());
            opNames[v->value()] = name;
            opCodes[name] = static_cast<int32_t>(v->value());
            if (const OptionTable* table = findUsual(name)) usual[static_cast<int32_t>(v->value())] = table;
        }
    }

private:
    // Instead of LookupByKey, whose comparison GCC 12 warns of under sanitizers.
    static const reflection::Enum* findEnum(const reflection::Schema& schema, std::string_view name)
    {
        for (const reflection::Enum* e : *schema.enums())
            if (e->name()->string_view() == name) return e;
        return nullptr;
    }

    void readUnion(const reflection::Schema& schema, std::string_view name, int number)
    {
        const reflection::Enum* members = findEnum(schema, name);
        for (const reflection::EnumVal* v : *members->values()) {
            OptionTable table;
            table.name = v->name()->str();
            table.unionNumber = number;
            table.tag = static_cast<uint8_t>(v->value());
            if (v->value() != 0) readFields(schema, *schema.objects()->Get(static_cast<unsigned>(v->union_type()->index())), table);
            tables[number - 1].push_back(std::move(table)); // values come in ascending order without gaps
        }
    }

    void readFields(const reflection::Schema& schema, const reflection::Object& object, OptionTable& table)
    {
        for (const reflection::Field* f : *object.fields()) {
            FieldSpec field;
            field.name = f->name()->str();
            field.key = field.name == "fused_activation_function" ? "act" : field.name;
            field.slot = f->offset();
            field.isDeprecated = f->deprecated();
            field.isString = f->type()->base_type() == reflection::String;
            field.isVector = f->type()->base_type() == reflection::Vector;
            field.scalar = scalarOf(field.isVector ? f->type()->element() : f->type()->base_type());
            field.defaultInteger = f->default_integer();
            field.defaultReal = f->default_real();
            if (f->type()->index() >= 0) {
                const std::string_view name = schema.enums()->Get(static_cast<unsigned>(f->type()->index()))->name()->string_view();
                field.enumeration = &enums[static_cast<size_t>(f->type()->index())];
                field.meaning = name == "tflite.TensorType" ? Meaning::elementType : Meaning::enumerator;
            } else if (field.isVector && field.scalar == Scalar::u8) {
                field.meaning = Meaning::flexBuffer;
            }
            setGraphRole(table.name, field);
            table.fields.push_back(std::move(field));
        }
        std::sort(table.fields.begin(), table.fields.end(), [](const FieldSpec& a, const FieldSpec& b) { return a.slot < b.slot; });
    }

    const OptionTable* findUsual(std::string_view op) const
    {
        for (const Exception& e : kSharedTables)
            if (e.op == op) return find(e.table);
        const std::string wanted = comparable(op);
        for (const auto& tablesOfUnion : tables)
            for (const OptionTable& table : tablesOfUnion)
                if (table.tag != 0 && comparable(table.name) == wanted) return &table;
        return nullptr;
    }

public:
    const OptionTable* find(std::string_view name) const
    {
        for (const auto& tablesOfUnion : tables)
            for (const OptionTable& table : tablesOfUnion)
                if (table.tag != 0 && table.name == name) return &table;
        return nullptr;
    }
};

const Schema& schemaOnce()
{
    static const Schema schema;
    return schema;
}

} // namespace

std::optional<int64_t> EnumSpec::valueOf(std::string_view enumerator) const
{
    for (const auto& [value, text] : names)
        if (text == enumerator) return value;
    return std::nullopt;
}

const FieldSpec* OptionTable::findField(std::string_view key) const
{
    for (const FieldSpec& field : fields)
        if (!field.isDeprecated && (field.key == key || field.name == key)) return &field;
    return nullptr;
}

const OptionTable* optionTable(int unionNumber, uint8_t tag)
{
    const auto& tables = schemaOnce().tables[unionNumber - 1];
    return tag == 0 || tag >= tables.size() ? nullptr : &tables[tag];
}

const OptionTable* optionTable(std::string_view name)
{
    return schemaOnce().find(name);
}

const OptionTable* usualOptions(int32_t code)
{
    const auto& usual = schemaOnce().usual;
    const auto found = usual.find(code);
    return found == usual.end() ? nullptr : found->second;
}

std::string builtinName(int32_t code)
{
    const auto& names = schemaOnce().opNames;
    const auto found = names.find(code);
    return found == names.end() ? "builtin_" + std::to_string(code) : found->second;
}

std::optional<int32_t> builtinCode(std::string_view name)
{
    const auto& codes = schemaOnce().opCodes;
    if (const auto found = codes.find(name); found != codes.end()) return found->second;
    constexpr std::string_view prefix = "builtin_";
    if (!name.starts_with(prefix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    int32_t code = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), code);
    if (problem != std::errc() || end != name.data() + name.size() || code < 0) return std::nullopt;
    return code;
}

std::optional<DType> dtypeOf(int64_t tensorType)
{
    if (tensorType < 0 || tensorType >= static_cast<int64_t>(kDTypes.size())) return std::nullopt;
    return kDTypes[static_cast<size_t>(tensorType)];
}

std::optional<int8_t> tensorTypeOf(DType dtype)
{
    const auto found = std::find(kDTypes.begin(), kDTypes.end(), dtype);
    if (found == kDTypes.end()) return std::nullopt;
    return static_cast<int8_t>(found - kDTypes.begin());
}

} // namespace loopscope::tflite_format
