#include "engine/debug/breakpoints/scalar_condition.h"

#include "engine/debug/expression/value.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopscope {

namespace {

constexpr int64_t kExactInteger = int64_t{1} << 53; ///< up to here a double holds every integer

bool isComparison(BinaryOperator op) { return op <= BinaryOperator::greaterEqual; }

template <typename T> bool compared(BinaryOperator op, T a, T b)
{
    switch (op) {
    case BinaryOperator::equal: return a == b;
    case BinaryOperator::notEqual: return a != b;
    case BinaryOperator::less: return a < b;
    case BinaryOperator::lessEqual: return a <= b;
    case BinaryOperator::greater: return a > b;
    default: return a >= b;
    }
}

/// Four vectors at a time, each as wide as every x86-64 and Arm64 has them: a debugger looks at whatever is written.
template <bool Most> float extremeOf(const float* x, int64_t count)
{
    typedef float Lanes __attribute__((vector_size(16)));
    constexpr int64_t kLanes = 4;
    constexpr int64_t kVectors = 4;
    float best = x[0];
    bool isNan = x[0] != x[0];
    const auto take = [&](float v) {
        best = (Most ? v > best : v < best) ? v : best;
        isNan |= v != v;
    };
    int64_t i = 0;
    if (count >= kLanes * kVectors) {
        Lanes lanes[kVectors];
        std::memcpy(lanes, x, sizeof lanes);
        auto nans = lanes[0] != lanes[0];
        for (int64_t k = 1; k < kVectors; ++k) nans |= lanes[k] != lanes[k];
        for (i = kLanes * kVectors; i + kLanes * kVectors <= count; i += kLanes * kVectors)
            for (int64_t k = 0; k < kVectors; ++k) {
                Lanes v;
                std::memcpy(&v, x + i + k * kLanes, sizeof v);
                nans |= v != v;
                if constexpr (Most) lanes[k] = v > lanes[k] ? v : lanes[k];
                else lanes[k] = v < lanes[k] ? v : lanes[k];
            }
        for (int64_t lane = 0; lane < kLanes; ++lane) {
            for (int64_t k = 0; k < kVectors; ++k) take(lanes[k][lane]);
            isNan |= nans[lane] != 0;
        }
    }
    for (; i < count; ++i) take(x[i]);
    return isNan ? NAN : best;
}

} // namespace

std::optional<ScalarCondition> ScalarCondition::compile(std::string_view text, ExpressionSource& source)
{
    const Result<Syntax> syntax = parseExpression(text, false);
    if (!syntax.ok()) return std::nullopt;
    ScalarCondition condition;
    const std::optional<size_t> root = condition.add(*syntax, syntax->roots[0], source);
    if (!root || condition.m_nodes[*root].type != Type::boolean) return std::nullopt;
    return condition;
}

std::optional<size_t> ScalarCondition::addLoad(const SyntaxNode& word, Kind kind, int64_t back, ExpressionSource& source)
{
    const bool isName = word.kind == SyntaxKind::word || (word.kind == SyntaxKind::named && !word.quoted);
    const auto place = isName ? source.findValue(word.text) : std::nullopt;
    if (!place || (place->type.quantization && place->type.quantization->kind != Quantization::Kind::none)) return std::nullopt;
    Node node;
    node.kind = kind;
    node.place = place->handle;
    node.integer = back;
    node.dtype = place->type.dtype;
    const bool isSmallInteger = isInteger(node.dtype) && bitWidth(node.dtype) >= 8 && node.dtype != DType::u64;
    const bool isReal = node.dtype == DType::f32 || node.dtype == DType::f64;
    const bool isExtreme = kind == Kind::least || kind == Kind::most;
    if (isExtreme ? node.dtype != DType::f32 : !isSmallInteger && !isReal && node.dtype != DType::boolean) return std::nullopt;
    node.type = isReal ? Type::real : node.dtype == DType::boolean ? Type::boolean : Type::integer;
    m_nodes.push_back(node);
    return m_nodes.size() - 1;
}

std::optional<size_t> ScalarCondition::addBinary(const Syntax& syntax, const SyntaxNode& written, ExpressionSource& source)
{
    const std::optional<size_t> left = add(syntax, written.children[0], source);
    const std::optional<size_t> right = left ? add(syntax, written.children[1], source) : std::nullopt;
    if (!right) return std::nullopt;
    Node node;
    node.kind = written.kind == SyntaxKind::logicalAnd  ? Kind::logicalAnd
                : written.kind == SyntaxKind::logicalOr ? Kind::logicalOr
                                                        : Kind::binary;
    node.op = written.op;
    node.left = *left;
    node.right = *right;
    Node& a = m_nodes[*left];
    Node& b = m_nodes[*right];
    if (node.kind != Kind::binary) {
        if (a.type != Type::boolean || b.type != Type::boolean) return std::nullopt;
        node.type = Type::boolean;
    } else if (isComparison(node.op)) {
        if ((a.type == Type::boolean) != (b.type == Type::boolean)) return std::nullopt;
        if (a.type == Type::boolean && node.op > BinaryOperator::notEqual) return std::nullopt;
        node.type = Type::boolean;
    } else {
        const bool isKnown = node.op == BinaryOperator::add || node.op == BinaryOperator::subtract || node.op == BinaryOperator::multiply ||
                             node.op == BinaryOperator::modulo;
        if (!isKnown || a.type == Type::boolean || b.type == Type::boolean) return std::nullopt;
        node.type = a.type == Type::real || b.type == Type::real ? Type::real : Type::integer;
        if (node.op == BinaryOperator::modulo && node.type == Type::real) return std::nullopt;
    }
    // A literal is rounded to what stands beside it.
    if (a.isLiteral && b.dtype != DType::unknown) a.real = roundToDType(a.real, b.dtype);
    if (b.isLiteral && a.dtype != DType::unknown) b.real = roundToDType(b.real, a.dtype);
    m_nodes.push_back(node);
    return m_nodes.size() - 1;
}

std::optional<size_t> ScalarCondition::add(const Syntax& syntax, uint32_t index, ExpressionSource& source)
{
    const SyntaxNode& written = syntax.nodes[index];
    Node node;
    switch (written.kind) {
    case SyntaxKind::integer: node.integer = written.integer; break;
    case SyntaxKind::real:
        node.kind = Kind::real;
        node.type = Type::real;
        node.real = written.real;
        node.isLiteral = true;
        break;
    case SyntaxKind::word:
        if (written.text == "true" || written.text == "false") {
            node.kind = Kind::boolean;
            node.type = Type::boolean;
            node.integer = written.text == "true" ? 1 : 0;
        } else if (written.text == "iter" || written.text == "step") {
            node.kind = written.text == "iter" ? Kind::iteration : Kind::step;
        } else {
            constexpr std::string_view kOther[] = {"trip", "branch", "run", "hits", "inf", "nan", "none", "depth"};
            if (std::ranges::find(kOther, written.text) != std::end(kOther)) return std::nullopt;
            return addLoad(written, Kind::load, 0, source);
        }
        break;
    case SyntaxKind::named: return addLoad(written, Kind::load, 0, source);
    case SyntaxKind::call: {
        if (written.children.empty() || written.children.size() > 2) return std::nullopt;
        const SyntaxNode& argument = syntax.nodes[written.children[0]];
        constexpr std::string_view kReserved[] = {"iter", "step",  "trip", "branch", "run",  "hits",
                                                  "true", "false", "inf",  "nan",    "none", "depth"};
        if (argument.kind == SyntaxKind::word && std::ranges::find(kReserved, argument.text) != std::end(kReserved)) return std::nullopt;
        if (written.text == "prev") {
            int64_t back = 1;
            if (written.children.size() == 2) {
                const SyntaxNode& amount = syntax.nodes[written.children[1]];
                if (amount.kind != SyntaxKind::integer) return std::nullopt;
                back = amount.integer;
            }
            return addLoad(argument, Kind::previous, back, source);
        }
        if (written.children.size() != 1 || (written.text != "max" && written.text != "min")) return std::nullopt;
        return addLoad(argument, written.text == "max" ? Kind::most : Kind::least, 0, source);
    }
    case SyntaxKind::negate:
    case SyntaxKind::logicalNot: {
        const std::optional<size_t> operand = add(syntax, written.children[0], source);
        if (!operand) return std::nullopt;
        const bool isNot = written.kind == SyntaxKind::logicalNot;
        if ((m_nodes[*operand].type == Type::boolean) != isNot) return std::nullopt;
        if (m_nodes[*operand].isLiteral) {
            m_nodes[*operand].real = -m_nodes[*operand].real;
            return operand;
        }
        node.kind = isNot ? Kind::logicalNot : Kind::negate;
        node.type = m_nodes[*operand].type;
        node.left = *operand;
        break;
    }
    case SyntaxKind::binary:
    case SyntaxKind::logicalAnd:
    case SyntaxKind::logicalOr: return addBinary(syntax, written, source);
    default: return std::nullopt;
    }
    m_nodes.push_back(node);
    return m_nodes.size() - 1;
}

bool ScalarCondition::read(const Tensor& tensor, const Node& node, Number& result)
{
    if (tensor.dtype != node.dtype || tensor.quantization) return false;
    if (tensor.bytes != static_cast<size_t>(bitWidth(tensor.dtype) / 8)) return false;
    switch (tensor.dtype) {
    case DType::f32: result.real = static_cast<double>(*tensor.as<float>()); return true;
    case DType::f64: result.real = *tensor.as<double>(); return true;
    case DType::i32: result.integer = *tensor.as<int32_t>(); return true;
    case DType::i64: result.integer = *tensor.as<int64_t>(); return true;
    case DType::boolean: result.integer = *tensor.as<uint8_t>() != 0 ? 1 : 0; return true;
    default: result.integer = elementAsInteger(tensor, 0); return true;
    }
}

/// Of f32 elements; a NaN is the extreme of whatever it is among.
bool ScalarCondition::extreme(const Tensor& tensor, bool isMost, Number& result)
{
    if (tensor.dtype != DType::f32 || tensor.quantization || tensor.bytes < sizeof(float)) return false;
    const float* x = tensor.as<float>();
    const auto count = static_cast<int64_t>(tensor.bytes / sizeof(float));
    result.real = static_cast<double>(isMost ? extremeOf<true>(x, count) : extremeOf<false>(x, count));
    return true;
}

bool ScalarCondition::binary(const Node& node, ExpressionSource& source, Number& result) const
{
    Number a;
    Number b;
    if (!evaluate(m_nodes[node.left], source, a) || !evaluate(m_nodes[node.right], source, b)) return false;
    if (a.type != Type::real && b.type != Type::real) {
        if (isComparison(node.op)) {
            result.integer = compared(node.op, a.integer, b.integer) ? 1 : 0;
            return true;
        }
        if (node.op == BinaryOperator::add) return !__builtin_add_overflow(a.integer, b.integer, &result.integer);
        if (node.op == BinaryOperator::subtract) return !__builtin_sub_overflow(a.integer, b.integer, &result.integer);
        if (node.op == BinaryOperator::multiply) return !__builtin_mul_overflow(a.integer, b.integer, &result.integer);
        if (b.integer <= 0) return false;
        result.integer = a.integer % b.integer;
        if (result.integer < 0) result.integer += b.integer;
        return true;
    }
    for (Number* side : {&a, &b}) {
        if (side->type == Type::real) continue;
        if (side->integer > kExactInteger || side->integer < -kExactInteger) return false;
        side->real = static_cast<double>(side->integer);
    }
    if (isComparison(node.op)) result.integer = compared(node.op, a.real, b.real) ? 1 : 0;
    else if (node.op == BinaryOperator::add) result.real = a.real + b.real;
    else if (node.op == BinaryOperator::subtract) result.real = a.real - b.real;
    else result.real = a.real * b.real;
    return true;
}

bool ScalarCondition::evaluate(const Node& node, ExpressionSource& source, Number& result) const
{
    result.type = node.type;
    switch (node.kind) {
    case Kind::integer:
    case Kind::boolean: result.integer = node.integer; return true;
    case Kind::real: result.real = node.real; return true;
    case Kind::iteration: {
        const std::optional<int64_t> iteration = source.iteration(std::nullopt);
        result.integer = iteration.value_or(0);
        return iteration.has_value();
    }
    case Kind::step: result.integer = source.step(); return true;
    case Kind::load:
    case Kind::least:
    case Kind::most:
    case Kind::previous: {
        const auto tensor = node.kind == Kind::previous ? source.previous(node.place, node.integer) : source.current(node.place);
        if (!tensor.ok() || !*tensor) return false;
        if (node.kind == Kind::load || node.kind == Kind::previous) return read(**tensor, node, result);
        return extreme(**tensor, node.kind == Kind::most, result);
    }
    case Kind::binary: return binary(node, source, result);
    case Kind::logicalAnd:
    case Kind::logicalOr: {
        if (!evaluate(m_nodes[node.left], source, result)) return false;
        if ((result.integer != 0) == (node.kind == Kind::logicalOr)) return true;
        return evaluate(m_nodes[node.right], source, result);
    }
    case Kind::logicalNot:
        if (!evaluate(m_nodes[node.left], source, result)) return false;
        result.integer = result.integer == 0 ? 1 : 0;
        return true;
    case Kind::negate:
        if (!evaluate(m_nodes[node.left], source, result)) return false;
        result.real = -result.real;
        return !__builtin_sub_overflow(int64_t{0}, result.integer, &result.integer);
    }
    return false;
}

std::optional<bool> ScalarCondition::holds(ExpressionSource& source) const
{
    Number result;
    if (!evaluate(m_nodes.back(), source, result)) return std::nullopt;
    return result.integer != 0;
}

} // namespace loopscope
