#include "engine/debug/inspect/expression_text.h"

#include "engine/base/text.h"
#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"
#include "engine/ir/stored_constant.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace loopscope {

namespace {

constexpr int kMaxOperators = 16; ///< that one text expands; what only hands a value on is none
constexpr int kMaxDepth = 32;
constexpr int kTightest = 6;
constexpr size_t kMaxText = 160; ///< of an opened branch
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

/// A graph whose values are written: the one that was asked about, or one that a call in it was opened to.
struct Scope {
    const Graph& graph;
    const Scope* outside = nullptr; ///< where the call stands; null: the graph that was asked about
    const Operator* call = nullptr;
    int firstArgument = 0;
};

/// A written expression, and how tightly its outermost sign binds.
struct Term {
    std::string text;
    int strength = kTightest;
    std::string in(int wanted) const { return strength < wanted ? "(" + text + ")" : text; }
};

class Writer {
public:
    Writer(const Model& model, std::vector<ValueId>& leaves, const FrameAnalysis* frames)
        : m_model(model),
          m_leaves(leaves),
          m_frames(frames)
    {
    }

    Term write(const Scope& scope, ValueId id, int depth)
    {
        if (!id.valid()) return {"_"};
        const Value& value = scope.graph.value(id);
        if (value.role == ValueRole::constant) return {constantText(value)};
        if (value.role == ValueRole::input && scope.outside) return argument(scope, id, depth);
        if (value.role != ValueRole::result || depth > kMaxDepth) return {leaf(scope, id)};
        const Operator& op = scope.graph.op(value.producer);
        if (const std::string text = nodeText(op); !text.empty()) return {text};
        if (isTensorFlow(op, "Identity") || hasRole(op, FlowRole::loopCondition) || isTensorFlow(op, "StopGradient"))
            return write(scope, op.inputs[0], depth + 1);
        if (++m_operators > kMaxOperators) return {leaf(scope, id)};
        if (hasRole(op, FlowRole::enter)) { // the value outside, whatever the iteration
            const Value& outside = scope.graph.value(op.inputs[0]);
            const std::string text = outside.role == ValueRole::result ? nodeText(scope.graph.op(outside.producer)) : "";
            if (!text.empty()) return {text};
            leaf(scope, id);
            return {outside.id};
        }
        if (m_frames && !scope.outside)
            if (const std::optional<Term> term = conditional(scope, op, depth)) return *term;
        if (const std::optional<Term> term = opened(scope, op, value.slot, depth)) return *term;
        if (!calleesOf(op).empty() || op.results.size() != 1) return {leaf(scope, id)};
        return operation(scope, op, value, depth);
    }

private:
    Term operation(const Scope& scope, const Operator& op, const Value& value, int depth)
    {
        if (const Sign* const sign = signOf(op.kind.name); sign && op.inputs.size() == 2) {
            const Term left = write(scope, op.inputs[0], depth + 1), right = write(scope, op.inputs[1], depth + 1);
            return {left.in(sign->strength) + " " + std::string(sign->sign) + " " + right.in(sign->strength + 1), sign->strength};
        }
        if ((op.kind.name == "logical_not" || op.kind.name == "LogicalNot") && op.inputs.size() == 1)
            return {"not " + write(scope, op.inputs[0], depth + 1).in(kTightest)};
        if ((op.kind.name == "cast" || op.kind.name == "reshape") && !op.inputs.empty() && value.type.shape.hasRank() &&
            value.type.shape.rank() == 0)
            return write(scope, op.inputs[0], depth + 1);
        std::string text = op.kind.name + "(";
        for (size_t i = 0; i < op.inputs.size(); ++i) text += (i > 0 ? ", " : "") + write(scope, op.inputs[i], depth + 1).text;
        return {text + ")"};
    }

    /// A formal of an opened graph is what the call hands over.
    Term argument(const Scope& scope, ValueId id, int depth)
    {
        const auto position = std::ranges::find(scope.graph.inputs, id) - scope.graph.inputs.begin();
        const auto operand = static_cast<size_t>(position + scope.firstArgument);
        if (depth > kMaxDepth || operand >= scope.call->inputs.size()) return {leaf(scope, id)};
        return write(*scope.outside, scope.call->inputs[operand], depth + 1);
    }

    /// What a branch or call computes, from its operands alone. None: it calls nothing, or what is inside has no name here.
    std::optional<Term> opened(const Scope& scope, const Operator& op, int32_t slot, int depth)
    {
        const CallForm form = callForm(op);
        const bool isBranch = form.kind == CallKind::branch && form.callees.size() == 2;
        if (!isBranch && (form.kind != CallKind::call || form.callees.size() != 1)) return std::nullopt;
        for (const Callee& callee : form.callees)
            if (!m_model.hasGraph(callee.graph) || static_cast<size_t>(slot) >= m_model.graph(callee.graph).outputs.size())
                return std::nullopt;
        const auto inside = [&](size_t callee) {
            const Graph& graph = m_model.graph(form.callees[callee].graph);
            return write({graph, &scope, &op, form.firstArgument}, graph.outputs[static_cast<size_t>(slot)].value, depth + 1);
        };
        return attempt([&] {
            if (!isBranch) return inside(0);
            const size_t yes = form.callees[0].role == "then" ? 0 : 1;
            const Term asked = write(scope, op.inputs[0], depth + 1);
            return choice(asked, inside(yes), inside(1 - yes));
        });
    }

    /// A Merge of the two sides of a v1 conditional.
    std::optional<Term> conditional(const Scope& scope, const Operator& op, int depth)
    {
        if (hasRole(op, FlowRole::choice)) return write(scope, op.inputs[0], depth + 1);
        if (!hasRole(op, FlowRole::merge) || op.inputs.size() != 2) return std::nullopt;
        const std::optional<Guard> first = guardOf(scope.graph, op.inputs[0]), second = guardOf(scope.graph, op.inputs[1]);
        if (!first || !second || first->predicate != second->predicate || first->branch == second->branch) return std::nullopt;
        const ValueId yes = op.inputs[first->branch ? 0 : 1], no = op.inputs[first->branch ? 1 : 0];
        return attempt([&] {
            const Term asked = write(scope, first->predicate, depth + 1);
            return choice(asked, write(scope, yes, depth + 1), write(scope, no, depth + 1));
        });
    }

    std::optional<Guard> guardOf(const Graph& graph, ValueId id) const
    {
        if (!id.valid() || graph.value(id).role != ValueRole::result) return std::nullopt;
        const OperatorId producer = graph.value(id).producer;
        const Operator& op = graph.op(producer);
        if (flowRole(op) == FlowRole::nextIteration || flowRole(op) == FlowRole::enter) return std::nullopt;
        if (flowRole(op) == FlowRole::choice && op.inputs.size() == 2) {
            ValueId predicate = op.inputs[1];
            while (predicate.valid() && graph.value(predicate).role == ValueRole::result &&
                   isTensorFlow(graph.op(graph.value(predicate).producer), "Identity"))
                predicate = graph.op(graph.value(predicate).producer).inputs[0];
            return Guard{predicate, graph.value(id).slot == 1};
        }
        const std::vector<Guard>& guards = m_frames->guards[static_cast<size_t>(producer.index)];
        return guards.empty() ? std::nullopt : std::optional(guards.back());
    }

    /// "a and b" of `if a then b else false`, as Python's `and` and `or` come out of AutoGraph; else "b if a else c".
    static Term choice(const Term& asked, const Term& then, const Term& otherwise)
    {
        if (otherwise.text == "false" || otherwise.text == asked.text) return {asked.in(2) + " and " + then.in(3), 2};
        if (then.text == "true" || then.text == asked.text) return {asked.in(1) + " or " + otherwise.in(2), 1};
        if (then.text == "false") return {"not " + asked.in(kTightest) + " and " + otherwise.in(3), 2};
        if (otherwise.text == "true") return {"not " + asked.in(kTightest) + " or " + then.in(2), 1};
        return {then.in(1) + " if " + asked.in(1) + " else " + otherwise.in(1), 0};
    }

    /// The text, unless something in it has no name in the graph that was asked about, or it is too long.
    template <typename Write> std::optional<Term> attempt(Write write)
    {
        const std::vector<ValueId> leaves = m_leaves;
        const int operators = m_operators;
        const bool outer = std::exchange(m_isLost, false);
        Term written = write();
        const bool isLost = std::exchange(m_isLost, outer);
        if (!isLost && written.text.size() <= kMaxText) return written;
        m_leaves = leaves;
        m_operators = operators;
        return std::nullopt;
    }

    static bool hasRole(const Operator& op, FlowRole role) { return flowRole(op) == role && !op.inputs.empty() && op.inputs[0].valid(); }
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
    std::string leaf(const Scope& scope, ValueId id)
    {
        if (scope.outside) m_isLost = true;
        else if (std::ranges::find(m_leaves, id) == m_leaves.end()) m_leaves.push_back(id);
        return scope.graph.value(id).id;
    }

    const Model& m_model;
    std::vector<ValueId>& m_leaves;
    const FrameAnalysis* m_frames;
    int m_operators = 0;
    bool m_isLost = false;
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

std::string expressionText(const Model& model, const Graph& graph, ValueId value, std::vector<ValueId>& leaves, const FrameAnalysis* frames)
{
    return Writer(model, leaves, frames).write({graph}, value, 0).text;
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
