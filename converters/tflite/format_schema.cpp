#include "converters/tflite/format_schema.h"

#include <flatbuffers/reflection_generated.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace loopscope::tflite_format {

namespace {

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

/// The attribute of a field, if it has no special role. BATCH_MATMUL's first fields have other names in Circle; the kind is the same.
std::string keyOf(const std::string& field)
{
    if (field == "fused_activation_function") return "act";
    if (field == "adjoint_lhs") return "adj_x";
    if (field == "adjoint_rhs") return "adj_y";
    return field;
}

// Instead of LookupByKey, whose comparison GCC 12 warns of under sanitizers.
const reflection::Enum* findEnum(const reflection::Schema& schema, const std::string& name)
{
    for (const reflection::Enum* e : *schema.enums())
        if (e->name()->string_view() == name) return e;
    return nullptr;
}

} // namespace

/// Fills in a FormatSchema.
struct FormatSchema::Reader {
    FormatSchema& out;
    const reflection::Schema& schema;
    std::string prefix;

    void run()
    {
        out.m_enums.reserve(schema.enums()->size());
        for (const reflection::Enum* e : *schema.enums()) {
            EnumSpec spec;
            spec.name = e->name()->str();
            if (spec.name.starts_with(prefix)) spec.name.erase(0, prefix.size());
            for (const reflection::EnumVal* v : *e->values()) spec.names[v->value()] = v->name()->str();
            out.m_enums.push_back(std::move(spec));
        }
        readUnion("BuiltinOptions", 1);
        readUnion("BuiltinOptions2", 2);
        for (const reflection::EnumVal* v : *findEnum(schema, prefix + "BuiltinOperator")->values()) {
            const auto code = static_cast<int32_t>(v->value());
            const Kind kind{code < 0 ? "circle" : "tfl", lowerCase(v->name()->str())};
            out.m_codes[kind.full()] = code;
            if (const OptionTable* table = findUsual(kind.name)) out.m_usual[code] = table;
            out.m_kinds[code] = kind;
            out.m_lowestCode = std::min(out.m_lowestCode, code);
        }
    }

    void readUnion(std::string_view name, int number)
    {
        auto& tables = out.m_tables[static_cast<size_t>(number - 1)];
        for (const reflection::EnumVal* v : *findEnum(schema, prefix + std::string(name))->values()) {
            OptionTable table;
            table.name = v->name()->str();
            table.unionNumber = number;
            table.tag = static_cast<uint8_t>(v->value());
            if (v->value() != 0) readFields(*schema.objects()->Get(static_cast<unsigned>(v->union_type()->index())), table);
            tables.resize(size_t{table.tag} + 1); // values come in ascending order
            tables.back() = std::move(table);
        }
    }

    void readFields(const reflection::Object& object, OptionTable& table)
    {
        for (const reflection::Field* f : *object.fields()) {
            FieldSpec field;
            field.name = f->name()->str();
            field.key = keyOf(field.name);
            field.slot = f->offset();
            field.isDeprecated = f->deprecated();
            field.isString = f->type()->base_type() == reflection::String;
            field.isVector = f->type()->base_type() == reflection::Vector;
            field.scalar = scalarOf(field.isVector ? f->type()->element() : f->type()->base_type());
            field.defaultInteger = f->default_integer();
            field.defaultReal = f->default_real();
            if (f->type()->index() >= 0) {
                field.enumeration = &out.m_enums[static_cast<size_t>(f->type()->index())];
                field.meaning = field.enumeration->name == "TensorType" ? Meaning::elementType : Meaning::enumerator;
                if (field.meaning == Meaning::elementType) field.elementTypes = &out.m_elementTypes;
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
            if (e.op == op) return out.optionTable(e.table);
        const std::string wanted = comparable(op);
        for (const auto& tablesOfUnion : out.m_tables)
            for (const OptionTable& table : tablesOfUnion)
                if (table.tag != 0 && comparable(table.name) == wanted) return &table;
        return nullptr;
    }
};

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

FormatSchema::FormatSchema(const uint8_t* binarySchema, std::string_view prefix, ElementTypes elementTypes) : m_elementTypes(elementTypes)
{
    Reader{*this, *reflection::GetSchema(binarySchema), std::string(prefix)}.run();
}

const OptionTable* FormatSchema::optionTable(int unionNumber, uint8_t tag) const
{
    const auto& tables = m_tables[static_cast<size_t>(unionNumber - 1)];
    return tag >= tables.size() || tables[tag].tag == 0 ? nullptr : &tables[tag];
}

const OptionTable* FormatSchema::optionTable(std::string_view name) const
{
    for (const auto& tablesOfUnion : m_tables)
        for (const OptionTable& table : tablesOfUnion)
            if (table.tag != 0 && table.name == name) return &table;
    return nullptr;
}

const OptionTable* FormatSchema::usualOptions(int32_t code) const
{
    const auto found = m_usual.find(code);
    return found == m_usual.end() ? nullptr : found->second;
}

Kind FormatSchema::kindOf(int32_t code) const
{
    const auto found = m_kinds.find(code);
    return found == m_kinds.end() ? Kind{"tfl", "builtin_" + std::to_string(code)} : found->second;
}

std::optional<int32_t> FormatSchema::codeOf(const Kind& kind) const
{
    if (const auto found = m_codes.find(kind.full()); found != m_codes.end()) return found->second;
    constexpr std::string_view prefix = "builtin_";
    if (kind.dialect != "tfl" || !kind.name.starts_with(prefix)) return std::nullopt;
    const std::string_view number = std::string_view(kind.name).substr(prefix.size());
    int32_t code = 0;
    const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), code);
    if (problem != std::errc() || end != number.data() + number.size() || code < 0) return std::nullopt;
    return code;
}

std::vector<std::string> FormatSchema::kindNames(std::string_view dialect) const
{
    std::vector<std::string> names;
    for (const auto& [code, kind] : m_kinds)
        if (kind.dialect == dialect) names.push_back(kind.name);
    return names;
}

std::optional<DType> ElementTypes::dtypeOf(int64_t number) const
{
    for (const Entry& e : m_entries)
        if (e.number == number) return e.dtype;
    return std::nullopt;
}

std::optional<int8_t> ElementTypes::numberOf(DType dtype) const
{
    for (const Entry& e : m_entries)
        if (e.dtype == dtype) return e.number;
    return std::nullopt;
}

std::string ElementTypes::range() const
{
    const auto [lowest, highest] = std::ranges::minmax_element(m_entries, {}, &Entry::number);
    return std::to_string(lowest->number) + " to " + std::to_string(highest->number);
}

} // namespace loopscope::tflite_format
