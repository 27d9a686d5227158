#include "converters/lsir/known_operators.h"

#include "converters/circle/circle.h"
#include "converters/tflite/flat_format.h"
#include "converters/tflite/option_tables.h"
#include "engine/base/text.h"
#include "engine/ir/text/printer.h"
#include "engine/ops/catalog.h"
#include "engine/ops/tf_registry.h"

#include <algorithm>
#include <unordered_set>

namespace loopscope {

namespace {

using tflite_format::FieldSpec;
using tflite_format::FormatSchema;
using tflite_format::Meaning;
using tflite_format::OptionTable;
using tflite_format::Scalar;

constexpr size_t kMostErrors = 20;

std::string suggestion(const std::vector<std::string>& near) { return near.empty() ? "" : "; did you mean '" + near.front() + "'?"; }

/// "MatMulV" of "MatMulV2": operators of TensorFlow that differ in their number alone are relatives, not slips.
std::string_view withoutNumber(std::string_view name)
{
    while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
    return name.ends_with('V') || name.ends_with('v') ? name.substr(0, name.size() - 1) : name;
}

bool isSameWord(std::string_view a, std::string_view b)
{
    return std::ranges::equal(a, b, [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

/// The names that `name` may have been meant to be.
std::vector<std::string> misspelt(std::string_view name, const std::vector<std::string>& known)
{
    std::vector<std::string> near = nearestNames(name, known);
    const int most = name.size() < 8 ? 1 : 2; // short names are near to many others
    std::erase_if(near, [&](const std::string& candidate) {
        return withoutNumber(candidate) == withoutNumber(name) ||
               (editDistance(name, candidate, most) > most && !isSameWord(name, candidate));
    });
    return near;
}

/// What a field of an option table takes.
std::string takenBy(const FieldSpec& field)
{
    if (field.isString) return "a string";
    if (field.meaning == Meaning::flexBuffer) return "a map, or bytes as hex";
    std::string one = field.scalar == Scalar::boolean                              ? "true or false"
                      : field.scalar == Scalar::f32 || field.scalar == Scalar::f64 ? "a number"
                                                                                   : "a whole number that fits";
    if (field.meaning == Meaning::elementType) one = "a dtype of the format";
    if (field.meaning == Meaning::graph || field.meaning == Meaning::branches || field.meaning == Meaning::graphList)
        one = "a graph, @name";
    if (field.meaning == Meaning::enumerator) {
        std::vector<std::string> names;
        for (const auto& [number, name] : field.enumeration->names) names.push_back(name);
        one = "one of " + join(names, ", ");
    }
    return field.isVector && field.meaning != Meaning::branches ? "a list, of each " + one : one;
}

/// Whether a value is of an attribute's kind: "int", "list(type)". What a function's caller fills in is, and what is left out.
bool isOfKind(const Attribute& value, std::string_view kind)
{
    if (value.as<std::monostate>() || value.as<Placeholder>()) return true;
    if (kind.starts_with("list(") && kind.ends_with(")")) {
        const auto* const items = value.as<AttributeItems>();
        const std::string_view one = kind.substr(5, kind.size() - 6);
        return items != nullptr && std::ranges::all_of(*items, [&](const Attribute& item) { return isOfKind(item, one); });
    }
    if (kind == "type") return value.as<DType>() != nullptr;
    if (kind == "int") return value.as<int64_t>() != nullptr;
    if (kind == "float") return value.as<double>() != nullptr || value.as<int64_t>() != nullptr;
    if (kind == "bool") return value.as<bool>() != nullptr;
    if (kind == "string") return value.as<std::string>() != nullptr;
    if (kind == "shape") return value.as<Shape>() != nullptr;
    if (kind == "tensor") return value.as<TensorAttribute>() != nullptr;
    return true;
}

std::string kindText(const std::string& kind)
{
    if (kind == "type") return "a dtype, such as f32";
    if (kind == "shape") return "a shape, such as shape[2,?]";
    return "a value of kind " + kind;
}

class Checker {
public:
    explicit Checker(const ParsedText& parsed) : m_parsed(parsed), m_model(parsed.model)
    {
        for (const Graph& graph : m_model.graphs) m_functions.insert(graph.name.empty() ? graph.id : graph.name);
    }

    std::vector<TextError> run()
    {
        for (size_t g = 0; g < m_model.graphs.size(); ++g)
            for (size_t i = 0; i < m_model.graphs[g].operators.size() && m_errors.size() < kMostErrors; ++i) {
                m_place = &m_parsed.places[g][i];
                check(m_model.graphs[g].operators[i]);
            }
        return std::move(m_errors);
    }

private:
    void fail(OperatorPlace::At at, std::string message) { m_errors.push_back({at.line, at.column, std::move(message)}); }

    void check(const Operator& op)
    {
        const std::string& dialect = op.kind.dialect;
        if (dialect == "tfl" || dialect == "circle") checkFlat(op);
        else if (dialect == "tf") checkTf(op);
        else if (dialect != "custom") fail(m_place->kind, "unknown dialect '" + dialect + "', expected tfl, circle, tf or custom");
    }

    /// The schema that has the operator: in a Circle model Circle's own comes first.
    const FormatSchema* schemaOf(const Kind& kind) const
    {
        const FormatSchema& tflite = tflite_format::tfliteFormat().schema;
        const bool circleFirst = m_model.dialect == Dialect::circle || kind.dialect == "circle";
        for (const FormatSchema* schema : {circleFirst ? &circleSchema() : &tflite, circleFirst ? &tflite : &circleSchema()})
            if (schema->codeOf(kind)) return schema;
        return nullptr;
    }

    /// A value that its attribute cannot have would be passed over, and the default taken.
    void failValue(size_t a, const Operator& op, const std::string& expected)
    {
        const NamedAttribute& attribute = op.attributes[a];
        fail(m_place->attributes[a],
             op.kind.name + ": '" + attribute.key + "' cannot be " + attributeText(attribute.value, m_model) + ", expected " + expected);
    }

    void checkFlat(const Operator& op)
    {
        const FormatSchema* schema = schemaOf(op.kind);
        if (!schema) {
            const FormatSchema& names = op.kind.dialect == "circle" ? circleSchema() : tflite_format::tfliteFormat().schema;
            std::vector<std::string> near = nearestNames(op.kind.name, names.kindNames(op.kind.dialect));
            if (near.empty() && m_model.dialect == Dialect::circle) { // Circle's own are written with their dialect
                near = nearestNames(op.kind.name, circleSchema().kindNames("circle"));
                for (std::string& name : near) name = "circle." + name;
            }
            fail(m_place->kind, "unknown operator '" + op.kind.name + "'" + suggestion(near));
            return;
        }
        const OptionTable* table = schema->usualOptions(*schema->codeOf(op.kind));
        if (const Attribute* other = findAttribute(op.attributes, "@options"))
            if (const Word* word = other->as<Word>()) table = schema->optionTable(word->text);
        std::vector<std::string> keys;
        if (table)
            for (const FieldSpec& field : table->fields)
                if (!field.isDeprecated) keys.push_back(field.key);
        for (size_t a = 0; a < op.attributes.size(); ++a) {
            const std::string& key = op.attributes[a].key;
            // Facts of the file, and the options of custom operators, which any operator may carry.
            if (key.starts_with('@') || key == "options") continue;
            if (const FieldSpec* field = table ? fieldOf(*table, key) : nullptr) {
                // A number stands for enumerators that a newer schema has.
                const auto* const number = field->meaning == Meaning::enumerator ? op.attributes[a].value.as<int64_t>() : nullptr;
                const bool hasName = number != nullptr && field->enumeration->names.contains(*number);
                if (hasName || !(tflite_format::fitsField(*field, op.attributes[a].value) || fitsCircle(op, op.attributes[a])))
                    failValue(a, op, takenBy(*field));
                continue;
            }
            if (m_model.dialect == Dialect::tf && key.starts_with('_')) continue; // what fused nodes say of where they came from
            std::string message = op.kind.name + " has no attribute '" + key + "'";
            const std::vector<std::string> near = nearestNames(key, keys);
            if (!near.empty()) message += suggestion(near);
            else if (keys.empty()) message += ", it has none";
            else message += ", expected one of " + join(keys, ", ");
            fail(m_place->attributes[a], std::move(message));
        }
    }

    /// Circle has more enumerators for TFLite's operators.
    static bool fitsCircle(const Operator& op, const NamedAttribute& attribute)
    {
        const std::optional<int32_t> code = circleSchema().codeOf(op.kind);
        const OptionTable* const table = code ? circleSchema().usualOptions(*code) : nullptr;
        const FieldSpec* const field = table != nullptr ? fieldOf(*table, attribute.key) : nullptr;
        return field != nullptr && tflite_format::fitsField(*field, attribute.value);
    }

    static const FieldSpec* fieldOf(const OptionTable& table, std::string_view key)
    {
        if (const FieldSpec* field = table.findField(key)) return field;
        const auto branch = std::ranges::find_if(table.fields, [&](const FieldSpec& field) {
            return field.meaning == Meaning::branches && key.starts_with(field.key) &&
                   key.find_first_not_of("0123456789", field.key.size()) == std::string_view::npos;
        });
        return branch != table.fields.end() ? &*branch : nullptr;
    }

    void checkTf(const Operator& op)
    {
        const TfOpSignature* known = findTfOp(op.kind.name);
        if (!known) {
            if (m_functions.contains(op.kind.name) || findOp(op.kind)) return;
            const auto near = misspelt(op.kind.name, registered());
            if (!near.empty()) fail(m_place->kind, "unknown operator '" + op.kind.name + "'" + suggestion(near));
            return;
        }
        std::vector<std::string> keys;
        for (const TfAttributeDef& attribute : known->attributes) keys.push_back(attribute.name);
        for (size_t a = 0; a < op.attributes.size(); ++a) {
            const std::string& key = op.attributes[a].key;
            // An underscore begins what TensorFlow keeps for itself.
            if (key.starts_with('@') || key.starts_with('_')) continue;
            if (const TfAttributeDef* attribute = known->findAttribute(key)) {
                if (!isOfKind(op.attributes[a].value, attribute->kind)) failValue(a, op, kindText(attribute->kind));
                continue;
            }
            if (const auto near = misspelt(key, keys); !near.empty())
                fail(m_place->attributes[a], op.kind.name + " has no attribute '" + key + "'" + suggestion(near));
        }
    }

    /// The names of TensorFlow's operators.
    const std::vector<std::string>& registered()
    {
        if (m_registered.empty())
            for (const TfOpSignature& op : allTfOps()) m_registered.push_back(op.name);
        return m_registered;
    }

    const ParsedText& m_parsed;
    const Model& m_model;
    const OperatorPlace* m_place = nullptr;
    std::unordered_set<std::string> m_functions;
    std::vector<std::string> m_registered;
    std::vector<TextError> m_errors;
};

} // namespace

std::vector<TextError> unknownOperators(const ParsedText& parsed) { return Checker(parsed).run(); }

} // namespace loopscope
