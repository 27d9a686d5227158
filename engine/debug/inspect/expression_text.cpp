#include "engine/debug/inspect/expression_text.h"

#include "engine/base/text.h"
#include "engine/ir/stored_constant.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace loopscope {

namespace {

constexpr int kMaxOperators = 12; ///< that one text expands
constexpr int64_t kListed = 4;
constexpr size_t kShownBytes = 60; ///< of a string

struct Sign {
    std::string_view kind, sign;
    int strength; ///< binds tighter than signs with a smaller one
};
constexpr std::array kSigns = std::to_array<Sign>({
    // of both dialects
    {"logical_or", "or", 1}, {"logical_and", "and", 2}, {"equal", "==", 3},     {"not_equal", "!=", 3},
    {"less", "<", 3},        {"less_equal", "<=", 3},   {"greater", ">", 3},    {"greater_equal", ">=", 3},
    {"add", "+", 4},         {"sub", "-", 4},           {"mul", "*", 5},        {"div", "/", 5},
    {"floor_div", "//", 5},  {"floor_mod", "%", 5},     {"LogicalOr", "or", 1}, {"LogicalAnd", "and", 2},
    {"Equal", "==", 3},      {"NotEqual", "!=", 3},     {"Less", "<", 3},       {"LessEqual", "<=", 3},
    {"Greater", ">", 3},     {"GreaterEqual", ">=", 3}, {"Add", "+", 4},        {"AddV2", "+", 4},
    {"Sub", "-", 4},         {"Mul", "*", 5},           {"RealDiv", "/", 5},    {"FloorDiv", "//", 5},
    {"FloorMod", "%", 5},
});

const Sign* signOf(std::string_view kind)
{
    const auto found = std::ranges::find(kSigns, kind, &Sign::kind);
    return found == kSigns.end() ? nullptr : &*found;
}

class Writer {
public:
    Writer(const Graph& graph, std::vector<ValueId>& leaves) : m_graph(graph), m_leaves(leaves) {}

    std::string write(ValueId id, int strength, int depth)
    {
        if (!id.valid()) return "_";
        const Value& value = m_graph.value(id);
        if (value.role == ValueRole::constant) return constantText(value);
        if (value.role != ValueRole::result || depth > 8 || ++m_operators > kMaxOperators) return leaf(id);
        const Operator& op = m_graph.op(value.producer);
        if (const std::string text = nodeText(op); !text.empty()) return text;
        if (isTensorFlow(op, "Identity") || isTensorFlow(op, "LoopCond") || isTensorFlow(op, "StopGradient"))
            return write(op.inputs[0], strength, depth + 1);
        if (isTensorFlow(op, "Enter")) { // the value outside, whatever the iteration
            const Value& outside = m_graph.value(op.inputs[0]);
            const std::string text = outside.role == ValueRole::result ? nodeText(m_graph.op(outside.producer)) : "";
            if (!text.empty()) return text;
            leaf(id);
            return outside.id;
        }
        if (!calleesOf(op).empty() || op.results.size() != 1) return leaf(id);
        if (const Sign* const sign = signOf(op.kind.name); sign && op.inputs.size() == 2) {
            const std::string left = write(op.inputs[0], sign->strength, depth + 1);
            const std::string right = write(op.inputs[1], sign->strength + 1, depth + 1);
            std::string text = left + " " + std::string(sign->sign) + " " + right;
            return sign->strength < strength ? "(" + text + ")" : text;
        }
        if ((op.kind.name == "logical_not" || op.kind.name == "LogicalNot") && op.inputs.size() == 1)
            return "not " + write(op.inputs[0], 6, depth + 1);
        if ((op.kind.name == "cast" || op.kind.name == "reshape") && !op.inputs.empty() && value.type.shape.hasRank() &&
            value.type.shape.rank() == 0)
            return write(op.inputs[0], strength, depth + 1);
        std::string text = op.kind.name + "(";
        for (size_t i = 0; i < op.inputs.size(); ++i) text += (i > 0 ? ", " : "") + write(op.inputs[i], 0, depth + 1);
        return text + ")";
    }

private:
    static bool isTensorFlow(const Operator& op, std::string_view name)
    {
        return op.kind.dialect == "tf" && op.kind.name == name && !op.inputs.empty() && op.inputs[0].valid();
    }
    /// A Const node of one element as a literal; empty: it is none.
    static std::string nodeText(const Operator& op)
    {
        const std::optional<Tensor> tensor = constantNode(op);
        return tensor ? numberText(*tensor, 0, false) : "";
    }
    std::string leaf(ValueId id)
    {
        if (std::ranges::find(m_leaves, id) == m_leaves.end()) m_leaves.push_back(id);
        return m_graph.value(id).id;
    }

    const Graph& m_graph;
    std::vector<ValueId>& m_leaves;
    int m_operators = 0;
};

Tensor tensorOf(const Value& value)
{
    Tensor tensor;
    tensor.dtype = value.type.dtype;
    tensor.shape = value.type.shape;
    tensor.quantization = value.type.quantization.get();
    const Bytes& bytes = value.constant->bytes();
    tensor.data = const_cast<std::byte*>(bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
    tensor.bytes = bytes.size();
    return tensor;
}

} // namespace

std::optional<Tensor> constantNode(const Operator& op)
{
    const Attribute* const attribute = op.kind.dialect == "tf" && op.kind.name == "Const" ? findAttribute(op.attributes, "value") : nullptr;
    const auto* const value = attribute ? attribute->as<TensorAttribute>() : nullptr;
    if (!value || !value->data || !value->data->hasBytes() || !value->type.shape.isStatic() || value->type.shape.elementCount() != 1 ||
        bitWidth(value->type.dtype) < 8 || value->data->size() < byteSize(value->type.dtype, 1))
        return std::nullopt;
    Tensor tensor;
    tensor.dtype = value->type.dtype;
    tensor.shape = value->type.shape;
    tensor.data = const_cast<std::byte*>(value->data->bytes().data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
    tensor.bytes = value->data->size();
    return tensor;
}

std::string expressionText(const Graph& graph, ValueId value, std::vector<ValueId>& leaves)
{
    return Writer(graph, leaves).write(value, 0, 0);
}

ComparisonText comparisonOf(const Graph& graph, ValueId id)
{
    const Value& value = graph.value(id);
    if (value.role != ValueRole::result) return {};
    const Operator& op = graph.op(value.producer);
    const Sign* const sign = signOf(op.kind.name);
    if (!sign || sign->strength != 3 || op.inputs.size() != 2 || !op.inputs[0].valid() || !op.inputs[1].valid()) return {};
    return {std::string(sign->sign), op.inputs[0], op.inputs[1]};
}

std::string constantText(const Value& value)
{
    const std::optional<int64_t> count = checkedElementCount(value.type.shape);
    const int bits = bitWidth(value.type.dtype);
    if (!count || *count > kListed || *count < 1 || bits < 8 || !value.constant || !value.constant->hasBytes() || isPacked(value) ||
        value.constant->size() < byteSize(value.type.dtype, *count))
        return value.id;
    const Tensor tensor = tensorOf(value);
    if (*count == 1) return numberText(tensor, 0, false);
    std::string text = "[";
    for (int64_t i = 0; i < *count; ++i) text += (i > 0 ? ", " : "") + numberText(tensor, i, false);
    return text + "]";
}

std::string realNumberText(double value, int digits)
{
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::array<char, 40> text = {};
    const auto rounded = std::to_chars(text.data(), text.data() + text.size() - 1, value, std::chars_format::scientific, digits - 1);
    double shown = value;
    std::from_chars(text.data(), rounded.ptr, shown);
    const double size = std::fabs(shown);
    const auto format = size != 0 && (size < 1e-4 || size >= 1e7) ? std::chars_format::scientific : std::chars_format::fixed;
    return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), shown, format).ptr);
}

std::string numberText(const Tensor& tensor, int64_t index, bool grouped)
{
    switch (dtypeClass(tensor.dtype)) {
    case DTypeClass::string: {
        const Result<std::vector<std::string_view>> strings = unpackStrings(tensor.view());
        const bool isThere = strings.ok() && index >= 0 && static_cast<size_t>(index) < strings->size();
        return isThere ? "\"" + std::string((*strings)[static_cast<size_t>(index)].substr(0, kShownBytes)) + "\"" : "?";
    }
    case DTypeClass::handle:
    case DTypeClass::block: return "?";
    case DTypeClass::boolean: return elementAsInteger(tensor, index) != 0 ? "true" : "false";
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger:
        if (!tensor.quantization) {
            const int64_t number = elementAsInteger(tensor, index);
            if (tensor.dtype == DType::u64 && number < 0) return std::to_string(static_cast<uint64_t>(number));
            return grouped ? groupThousands(number) : std::to_string(number);
        }
        [[fallthrough]];
    default: {
        const int digits = tensor.dtype == DType::f64 ? 16 : bitWidth(tensor.dtype) == 16 && isFloat(tensor.dtype) ? 4 : 7;
        return realNumberText(elementAsReal(tensor, index), digits);
    }
    }
}

} // namespace loopscope
