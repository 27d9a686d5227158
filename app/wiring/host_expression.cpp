#include "app/wiring/host_expression.h"

#include "engine/base/text.h"
#include "engine/debug/expression/syntax.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace loopscope::app {

namespace {

/// Part of an expression: a value of the graph, or a number that has no dtype yet.
struct Part {
    ValueId id;
    TensorType type;
    std::optional<double> number; ///< instead of `id`
    bool isReal = false;          ///< number: written with a point
};

constexpr std::pair<const char*, const char*> kElementwise[] = {{"abs", "abs"},     {"sqrt", "sqrt"}, {"exp", "exp"},     {"log", "log"},
                                                                {"floor", "floor"}, {"ceil", "ceil"}, {"round", "round"}, {"sign", "sign"}};
constexpr std::pair<const char*, const char*> kReductions[] = {{"min", "reduce_min"}, {"max", "reduce_max"}, {"sum", "sum"},
                                                               {"mean", "mean"},      {"any", "reduce_any"}, {"all", "reduce_all"}};
constexpr const char* kFunctions =
    "min max sum mean any all count argmin argmax abs sqrt exp log floor ceil round sign clamp isnan and casts";

template <size_t N> const char* inTable(const std::pair<const char*, const char*> (&table)[N], std::string_view name)
{
    const auto found = std::ranges::find(table, name, [](const auto& pair) { return std::string_view(pair.first); });
    return found == std::end(table) ? nullptr : found->second;
}

/// Of two shapes that are broadcast; dimensions that nobody knows stay so.
Shape broadcast(const Shape& a, const Shape& b)
{
    if (!a.hasRank() || !b.hasRank()) return Shape::unknownRank();
    const int rank = std::max(a.rank(), b.rank());
    Shape result = Shape::ofRank(rank, 1);
    for (int i = 1; i <= rank; ++i) {
        const int64_t left = i <= a.rank() ? a[a.rank() - i] : 1, right = i <= b.rank() ? b[b.rank() - i] : 1;
        result[rank - i] = left == 1 ? right : right == 1 || right == kUnknownDim ? left : right;
        if (left == kUnknownDim || (right == kUnknownDim && left == 1)) result[rank - i] = right > 1 ? right : kUnknownDim;
    }
    return result;
}

class HostExpression {
public:
    HostExpression(HostNodes& nodes, std::string_view text, const HostNames& names) : m_nodes(nodes), m_text(text), m_names(names) {}

    Result<Part> write()
    {
        LS_TRY(m_syntax, parseExpression(m_text, false));
        return part(m_syntax.roots.front());
    }

    /// With a dtype of its own: numbers become constants.
    Result<Part> typed(const Part& part, DType dtype, uint32_t at)
    {
        if (part.number) return constant(part, dtype, at);
        if (part.type.dtype == dtype && !part.type.quantization) return part;
        return unary("cast", part, dtype, {});
    }
    Error errorAt(uint32_t at, std::string what) const
    {
        return Error(ErrorCode::usage, std::move(what)).at(expressionPosition(m_text, at));
    }
    uint32_t begin() const { return m_syntax.nodes[m_syntax.roots.front()].begin; }
    std::string textOf(const SyntaxNode& node) const { return std::string(m_text.substr(node.begin, node.end - node.begin)); }
    const SyntaxNode& root() const { return m_syntax.nodes[m_syntax.roots.front()]; }

    Part unary(const char* kind, const Part& x, DType dtype, AttributeList attributes)
    {
        if (m_nodes.isTensorFlow() && std::string_view(kind) == "cast") attributes = {{"DstT", dtype}};
        return made(kind, {x.id}, TensorType(dtype, x.type.shape), std::move(attributes));
    }

private:
    Part made(const char* kind, const std::vector<ValueId>& inputs, TensorType type, AttributeList attributes = {})
    {
        const ValueId id = m_nodes.one(kind, inputs, kind, type, std::move(attributes));
        return {id, std::move(type), {}, false};
    }

    Result<Part> constant(const Part& number, DType dtype, uint32_t at)
    {
        const double value = *number.number;
        const TensorType type(dtype, Shape());
        const auto put = [&](auto stored) -> Result<Part> {
            using Stored = decltype(stored);
            if (value != std::floor(value) || value < static_cast<double>(std::numeric_limits<Stored>::min()) ||
                value > static_cast<double>(std::numeric_limits<Stored>::max()))
                return errorAt(at, realText(value, 16) + " is no " + std::string(dtypeName(dtype)));
            stored = static_cast<Stored>(value);
            return Part{m_nodes.constant("number", type, &stored, sizeof stored), type, {}, false};
        };
        switch (dtype) {
        case DType::i8: return put(int8_t());
        case DType::u8: return put(uint8_t());
        case DType::i16: return put(int16_t());
        case DType::i32: return put(int32_t());
        case DType::i64: return put(int64_t());
        case DType::f64: return Part{m_nodes.constant("number", type, &value, sizeof value), type, {}, false};
        default: break;
        }
        const auto single = static_cast<float>(value);
        Part stored{m_nodes.constant("number", TensorType(DType::f32, Shape()), &single, sizeof single),
                    TensorType(DType::f32, Shape()),
                    {},
                    false};
        return dtype == DType::f32 ? stored : unary("cast", stored, dtype, {});
    }

    Result<Part> valueOf(std::string_view name, const SyntaxNode& node)
    {
        const auto found = m_names.values.find(name);
        if (found == m_names.values.end()) {
            std::vector<std::string> known;
            for (const auto& [id, value] : m_names.values) known.push_back(id);
            return std::move(errorAt(node.begin, "no value '" + std::string(name) + "' here").nearest(nearestNames(name, known)));
        }
        const Part stored{found->second, m_nodes.type(found->second), {}, false};
        // A quantized value is the real numbers that it stands for.
        if (!stored.type.quantization || m_keepsStored) return stored;
        return made("dequantize", {stored.id}, TensorType(DType::f32, stored.type.shape));
    }

    Result<Part> part(uint32_t index)
    {
        const SyntaxNode& node = m_syntax.nodes[index];
        switch (node.kind) {
        case SyntaxKind::integer: return Part{{}, {}, static_cast<double>(node.integer), false};
        case SyntaxKind::real: return Part{{}, {}, node.real, true};
        case SyntaxKind::word:
            if (node.text == "iter") return Part{m_names.iteration, m_nodes.type(m_names.iteration), {}, false};
            if (node.text == "true" || node.text == "false") return truth(node.text == "true");
            if (node.text == "inf" || node.text == "nan") return Part{{}, {}, node.text == "inf" ? HUGE_VAL : NAN, true};
            return valueOf(node.text, node);
        case SyntaxKind::named: return valueOf(node.text, node);
        case SyntaxKind::member: return member(node);
        case SyntaxKind::index: return element(node);
        case SyntaxKind::call: return call(node);
        case SyntaxKind::plus: return part(node.children[0]);
        case SyntaxKind::negate: {
            LS_TRY(Part x, part(node.children[0]));
            if (!x.number) return unary("neg", x, x.type.dtype, {});
            x.number = -*x.number;
            return x;
        }
        case SyntaxKind::logicalNot: {
            LS_TRY(const Part x, condition(node.children[0]));
            return unary("logical_not", x, DType::boolean, {});
        }
        case SyntaxKind::logicalAnd:
        case SyntaxKind::logicalOr: {
            LS_TRY(const Part a, condition(node.children[0]));
            LS_TRY(const Part b, condition(node.children[1]));
            return made(node.kind == SyntaxKind::logicalAnd ? "logical_and" : "logical_or", {a.id, b.id},
                        TensorType(DType::boolean, Shape()));
        }
        case SyntaxKind::binary: return binary(node);
        default: return errorAt(node.begin, "'" + textOf(node) + "' has no operators in a loop around a model");
        }
    }

    Part truth(bool value)
    {
        const TensorType type(DType::boolean, Shape());
        return {m_nodes.constant("truth", type, &value, sizeof value), type, {}, false};
    }

public:
    /// One bool.
    Result<Part> oneTruth(Part x, const SyntaxNode& node)
    {
        const Shape& shape = x.type.shape;
        const bool isOne = !x.number && shape.hasRank() && (shape.rank() == 0 || (shape.isStatic() && shape.elementCount() == 1));
        const bool isUnknown = !x.number && !shape.hasRank();
        if (x.number || x.type.dtype != DType::boolean || !(isOne || isUnknown))
            return errorAt(node.begin, textOf(node) + " gives " + (x.number ? "a number" : shortType(x.type)) +
                                           "; a condition needs one bool" + (x.number ? "" : ": any(...) or all(...)"));
        if (shape.hasRank() && shape.rank() == 0) return x;
        return made("reshape", {x.id, m_nodes.integers("scalar", {})}, TensorType(DType::boolean, Shape()));
    }

private:
    Result<Part> condition(uint32_t index)
    {
        LS_TRY(Part x, part(index));
        return oneTruth(std::move(x), m_syntax.nodes[index]);
    }

    /// Both of one dtype: that of the tensor beside a number, 64 bits for integers that are calculated with, f32 where any is real.
    Status unite(Part& a, Part& b, bool isArithmetic, bool isReal, uint32_t at)
    {
        const auto real = [](const Part& x) { return x.number ? x.isReal : isFloat(x.type.dtype); };
        DType dtype = DType::i64;
        if (isReal || real(a) || real(b)) {
            dtype = DType::f32;
            for (const Part* x : {&a, &b})
                if (!x->number && isFloat(x->type.dtype)) dtype = x->type.dtype;
        } else if (!isArithmetic) {
            if (a.number && !b.number) dtype = b.type.dtype;
            else if (b.number || a.type.dtype == b.type.dtype) dtype = a.number ? DType::i64 : a.type.dtype;
        }
        if (dtype == DType::boolean && isArithmetic) return errorAt(at, "a bool is no number");
        LS_TRY(a, typed(a, dtype, at));
        LS_TRY(b, typed(b, dtype, at));
        return {};
    }

    Result<Part> binary(const SyntaxNode& node)
    {
        LS_TRY(Part a, part(node.children[0]));
        LS_TRY(Part b, part(node.children[1]));
        constexpr std::array kKinds = {"equal", "not_equal", "less",      "less_equal", "greater", "greater_equal", "add", "sub",
                                       "mul",   "div",       "floor_div", "floor_mod",  "pow"};
        const bool isArithmetic = node.op >= BinaryOperator::add;
        LS_CHECK_OK(unite(a, b, isArithmetic, node.op == BinaryOperator::divide, node.at));
        const DType dtype = isArithmetic ? a.type.dtype : DType::boolean;
        AttributeList attributes;
        if (m_nodes.isTensorFlow() && (node.op == BinaryOperator::equal || node.op == BinaryOperator::notEqual))
            attributes = {{"incompatible_shape_error", true}};
        return made(kKinds[static_cast<size_t>(node.op)], {a.id, b.id}, TensorType(dtype, broadcast(a.type.shape, b.type.shape)),
                    std::move(attributes));
    }

    /// `x.q`, or a value whose name has a point in it.
    Result<Part> member(const SyntaxNode& node)
    {
        const std::string whole = textOf(node);
        if (m_names.values.contains(whole)) return valueOf(whole, node);
        if (node.text != "q") return errorAt(node.at, "'." + node.text + "' has no operators in a loop around a model");
        m_keepsStored = true;
        Result<Part> stored = part(node.children[0]);
        m_keepsStored = false;
        if (!stored.ok()) return stored;
        return unary("cast", *stored, DType::i64, {});
    }

    Result<int32_t> wholeNumber(uint32_t index, const char* what)
    {
        LS_TRY(const Part x, part(index));
        if (!x.number || x.isReal || std::abs(*x.number) > 1e9)
            return errorAt(m_syntax.nodes[index].begin, std::string(what) + " of a loop around a model is a whole number");
        return static_cast<int32_t>(*x.number);
    }

    Result<Part> element(const SyntaxNode& node)
    {
        LS_TRY(const Part x, part(node.children[0]));
        if (x.number || !x.type.shape.hasRank())
            return errorAt(node.begin, "the rank of '" + textOf(m_syntax.nodes[node.children[0]]) + "' is not known");
        const Shape& shape = x.type.shape;
        std::vector<int32_t> begins, ends, strides;
        int64_t beginMask = 0, endMask = 0, shrinkMask = 0;
        std::vector<int64_t> dims;
        const auto left = static_cast<int>(node.children.size()) - 1;
        for (size_t k = 1; k < node.children.size(); ++k) {
            const SyntaxNode& index = m_syntax.nodes[node.children[k]];
            const bool isRest = index.kind == SyntaxKind::ellipsis;
            // Everything that `...` stands for.
            for (int times = isRest ? shape.rank() - left + 1 : 1; times > 0; --times) {
                const size_t axis = begins.size();
                if (static_cast<int>(axis) >= shape.rank()) return errorAt(index.begin, "too many indices for " + shortType(x.type));
                const int64_t size = shape[static_cast<int>(axis)], bit = int64_t{1} << axis;
                std::array<int32_t, 3> bounds = {0, 0, 1};
                if (isRest || index.kind == SyntaxKind::slice) {
                    std::array<bool, 3> isGiven = {false, false, false};
                    for (size_t p = 0; !isRest && p < index.children.size(); ++p) {
                        if (m_syntax.nodes[index.children[p]].kind == SyntaxKind::missing) continue;
                        LS_TRY(bounds[p], wholeNumber(index.children[p], "a bound"));
                        isGiven[p] = true;
                    }
                    if (bounds[2] == 0) return errorAt(index.begin, "a slice with step 0");
                    if (!isGiven[0]) beginMask |= bit;
                    if (!isGiven[1]) endMask |= bit;
                    dims.push_back(isGiven[0] || isGiven[1] || isGiven[2] ? kUnknownDim : size);
                } else {
                    LS_TRY(const int32_t at, wholeNumber(node.children[k], "an index"));
                    if (size != kUnknownDim && (at >= size || at < -size))
                        return errorAt(index.begin, "index " + std::to_string(at) + " out of range for dimension " + std::to_string(axis) +
                                                        " of size " + std::to_string(size));
                    bounds = {at, at + 1, 1};
                    if (at == -1) endMask |= bit;
                    shrinkMask |= bit;
                }
                begins.push_back(bounds[0]);
                ends.push_back(bounds[1]);
                strides.push_back(bounds[2]);
            }
        }
        for (int axis = static_cast<int>(begins.size()); axis < shape.rank(); ++axis) dims.push_back(shape[axis]);
        AttributeList attributes = {{"begin_mask", beginMask},
                                    {"ellipsis_mask", int64_t{0}},
                                    {"end_mask", endMask},
                                    {"new_axis_mask", int64_t{0}},
                                    {"shrink_axis_mask", shrinkMask}};
        TensorType type = x.type;
        type.shape = Shape(dims);
        type.signature.reset();
        return made("strided_slice",
                    {x.id, m_nodes.integers("begin", begins), m_nodes.integers("end", ends), m_nodes.integers("stride", strides)},
                    std::move(type), std::move(attributes));
    }

    Result<Part> call(const SyntaxNode& node)
    {
        std::vector<uint32_t> arguments;
        std::optional<int32_t> axis;
        for (const uint32_t child : node.children) {
            const SyntaxNode& argument = m_syntax.nodes[child];
            if (argument.kind != SyntaxKind::keyword) {
                arguments.push_back(child);
                continue;
            }
            if (argument.text != "axis") return errorAt(argument.begin, "unknown argument '" + argument.text + "'");
            LS_TRY(axis, wholeNumber(argument.children[0], "an axis"));
        }
        const std::string& name = node.text;
        const bool isClamp = name == "clamp";
        if (arguments.size() != (isClamp ? 3U : 1U))
            return errorAt(node.begin, name + " takes " + (isClamp ? "3 arguments" : "1 argument") + " here");
        LS_TRY(Part x, part(arguments[0]));
        if (const std::optional<DType> dtype = dtypeFromName(name); dtype && *dtype != DType::unknown) return typed(x, *dtype, node.begin);
        if (x.number) {
            LS_TRY(x, typed(x, x.isReal ? DType::f32 : DType::i64, node.begin));
        }
        if (isClamp) {
            for (const auto& [k, kind] : {std::pair{size_t{1}, "maximum"}, {size_t{2}, "minimum"}}) {
                LS_TRY(Part bound, part(arguments[k]));
                LS_CHECK_OK(unite(x, bound, false, false, node.begin));
                x = made(kind, {x.id, bound.id}, TensorType(x.type.dtype, broadcast(x.type.shape, bound.type.shape)));
            }
            return x;
        }
        if (const char* kind = inTable(kElementwise, name)) {
            // Roots and logarithms are real; whole numbers are their own floor.
            const bool keeps = name == "abs" || name == "sign";
            if (!keeps && !isFloat(x.type.dtype)) {
                LS_TRY(x, typed(x, DType::f32, node.begin));
            }
            return unary(kind, x, x.type.dtype, {});
        }
        if (name == "isnan") return made("not_equal", {x.id, x.id}, TensorType(DType::boolean, x.type.shape));
        if (name == "argmax" || name == "argmin") return place(name == "argmax" ? "arg_max" : "arg_min", std::move(x), axis);
        if (name == "count") {
            LS_TRY(x, typed(x, DType::i64, node.begin));
            return reduced("sum", std::move(x), axis, node);
        }
        if (const char* kind = inTable(kReductions, name)) {
            if (name == "mean" && !isFloat(x.type.dtype)) {
                LS_TRY(x, typed(x, DType::f32, node.begin));
            }
            if (name == "sum" && !isFloat(x.type.dtype)) {
                LS_TRY(x, typed(x, DType::i64, node.begin));
            }
            if ((name == "any" || name == "all") != (x.type.dtype == DType::boolean))
                return errorAt(node.begin, name + " of " + shortType(x.type));
            return reduced(kind, std::move(x), axis, node);
        }
        return std::move(errorAt(node.begin, "'" + name + "' has no operators in a loop around a model").expected(kFunctions));
    }

    /// All elements in a row.
    Part flat(const Part& x)
    {
        Shape row = Shape::ofRank(1, x.type.shape.isStatic() ? x.type.shape.elementCount() : kUnknownDim);
        return made("reshape", {x.id, m_nodes.integers("row", {-1})}, TensorType(x.type.dtype, row));
    }

    Part place(const char* kind, Part x, std::optional<int32_t> axis)
    {
        if (!axis) x = flat(x);
        Shape shape = x.type.shape;
        if (shape.hasRank()) shape = without(shape, axis.value_or(0));
        const ValueId dimension = m_nodes.integer("axis", axis.value_or(0));
        return made(kind, {x.id, dimension}, TensorType(DType::i64, shape), {{"output_type", DType::i64}});
    }

    Result<Part> reduced(const char* kind, Part x, std::optional<int32_t> axis, const SyntaxNode& node)
    {
        if (!axis) x = flat(x);
        const Shape& shape = x.type.shape;
        if (shape.hasRank() && (axis.value_or(0) >= shape.rank() || axis.value_or(0) < -shape.rank()))
            return errorAt(node.begin, "axis " + std::to_string(*axis) + " of " + shortType(x.type));
        const Shape left = shape.hasRank() ? without(shape, axis.value_or(0)) : shape;
        return made(kind, {x.id, m_nodes.integers("axes", {axis.value_or(0)})}, TensorType(x.type.dtype, left), {{"keep_dims", false}});
    }

    static Shape without(const Shape& shape, int axis)
    {
        std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
        const int at = axis < 0 ? axis + shape.rank() : axis;
        if (at >= 0 && at < std::ssize(dims)) dims.erase(dims.begin() + at);
        return Shape(dims);
    }

    HostNodes& m_nodes;
    std::string_view m_text;
    const HostNames& m_names;
    Syntax m_syntax;
    bool m_keepsStored = false;
};

} // namespace

Result<ValueId> hostExpression(HostNodes& nodes, std::string_view text, const HostNames& names, const TensorType& wanted)
{
    // A value alone goes as it is, whatever it is.
    const auto alone = names.values.find(text);
    if (alone != names.values.end() && nodes.type(alone->second).dtype == wanted.dtype) return alone->second;
    HostExpression expression(nodes, text, names);
    LS_TRY(Part part, expression.write());
    if (wanted.quantization && !nodes.isTensorFlow()) {
        LS_TRY(part, expression.typed(part, DType::f32, expression.begin()));
        TensorType type = wanted;
        type.shape = part.type.shape;
        return nodes.one("quantize", {part.id}, "quantize", type);
    }
    LS_TRY(part, expression.typed(part, wanted.dtype, expression.begin()));
    // One number for an input of one element, whatever their ranks.
    const Shape &have = part.type.shape, &want = wanted.shape;
    const bool isOne = have.isStatic() && want.isStatic() && have.elementCount() == 1 && want.elementCount() == 1;
    if (isOne && have.rank() != want.rank()) {
        std::vector<int32_t> ones(static_cast<size_t>(want.rank()), 1);
        return nodes.one("reshape", {part.id, nodes.integers("shape", ones)}, "reshape", TensorType(wanted.dtype, want));
    }
    if (have.isStatic() && want.isStatic() && !(have == want))
        return expression.errorAt(expression.begin(),
                                  std::string(text) + " gives " + shortType(part.type) + ", the input is " + shortType(wanted));
    return part.id;
}

Result<ValueId> hostCondition(HostNodes& nodes, std::string_view text, const HostNames& names)
{
    HostExpression expression(nodes, text, names);
    LS_TRY(Part part, expression.write());
    LS_TRY(part, expression.oneTruth(std::move(part), expression.root()));
    return part.id;
}

} // namespace loopscope::app
