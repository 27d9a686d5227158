// Operators on values, elementwise with broadcasting. Integers are 64 bits and their overflow is an error; `//` and `%` floor.
#include "engine/debug/expression/functions.h"
#include "engine/debug/expression/walk.h"

#include <cmath>
#include <string>

namespace loopscope {

namespace {

using Type = ExpressionType;

bool isNumber(Type t) { return t == Type::integer || t == Type::real; }
bool isComparison(BinaryOperator op) { return op <= BinaryOperator::greaterEqual; }
bool isEquality(BinaryOperator op) { return op == BinaryOperator::equal || op == BinaryOperator::notEqual; }

template <typename T> bool compareValues(BinaryOperator op, const T& a, const T& b)
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

/// a ** b by squaring; b ≥ 0. False: overflow.
bool integerPower(int64_t a, int64_t b, int64_t& result)
{
    result = 1;
    while (b > 0) {
        if ((b & 1) != 0 && __builtin_mul_overflow(result, a, &result)) return false;
        b >>= 1;
        if (b > 0 && __builtin_mul_overflow(a, a, &a)) return false;
    }
    return true;
}

Error overflow(BinaryOperator op, int64_t a, int64_t b)
{
    return Error(ErrorCode::execution,
                 std::to_string(a) + " " + std::string(operatorText(op)) + " " + std::to_string(b) + " does not fit 64 bits");
}

Result<int64_t> integerResult(BinaryOperator op, int64_t a, int64_t b)
{
    int64_t result = 0;
    bool fits = true;
    switch (op) {
    case BinaryOperator::add: fits = !__builtin_add_overflow(a, b, &result); break;
    case BinaryOperator::subtract: fits = !__builtin_sub_overflow(a, b, &result); break;
    case BinaryOperator::multiply: fits = !__builtin_mul_overflow(a, b, &result); break;
    case BinaryOperator::power: fits = integerPower(a, b, result); break;
    default:
        if (b == 0) return Error(ErrorCode::execution, "integer division by zero");
        if (b == -1) { // INT64_MIN / -1 does not fit
            if (op == BinaryOperator::modulo) return int64_t{0};
            fits = !__builtin_sub_overflow(int64_t{0}, a, &result);
            break;
        }
        const int64_t remainder = a % b;
        const bool isBelow = remainder != 0 && (remainder < 0) != (b < 0);
        result = op == BinaryOperator::modulo ? remainder + (isBelow ? b : 0) : a / b - (isBelow ? 1 : 0);
        break;
    }
    if (!fits) return overflow(op, a, b);
    return result;
}

double realResult(BinaryOperator op, double a, double b)
{
    switch (op) {
    case BinaryOperator::add: return a + b;
    case BinaryOperator::subtract: return a - b;
    case BinaryOperator::multiply: return a * b;
    case BinaryOperator::divide: return a / b;
    case BinaryOperator::floorDivide: return std::floor(a / b);
    case BinaryOperator::modulo: {
        const double remainder = std::fmod(a, b);
        return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
    }
    default: return std::pow(a, b);
    }
}

/// Calls `f(i, offset in a, offset in b)` for every element of `shape` until it returns an error.
template <typename F> Status overBroadcast(const Shape& shape, const ExpressionValue& a, const ExpressionValue& b, F f)
{
    Odometer walkA = broadcastWalk(a.shape(), shape), walkB = broadcastWalk(b.shape(), shape);
    const int64_t n = shape.elementCount();
    for (int64_t i = 0; i < n; ++i) {
        LS_CHECK_OK(f(i, walkA.offset(), walkB.offset()));
        walkA.next();
        walkB.next();
    }
    return {};
}

/// Shapes, and lists of ints compared with shapes.
bool sameDimensions(const ExpressionValue& a, const ExpressionValue& b)
{
    const auto rankOf = [](const ExpressionValue& v) { return v.type() == Type::shape ? v.shape().rank() : v.elementCount(); };
    const auto dimension = [](const ExpressionValue& v, int i) { return v.type() == Type::shape ? v.shape()[i] : v.integerAt(i); };
    if (rankOf(a) != rankOf(b)) return false;
    for (int i = 0; i < rankOf(a); ++i) {
        if (dimension(a, i) != dimension(b, i)) return false;
    }
    return true;
}

/// Values that are compared as wholes. None if `a` and `b` have elements to compare.
std::optional<bool> equalAsWholes(const ExpressionValue& a, const ExpressionValue& b)
{
    if (a.type() == Type::shape || b.type() == Type::shape) return sameDimensions(a, b);
    if (a.type() == Type::dtype && b.type() == Type::dtype) return a.dtype() == b.dtype();
    if (a.type() == Type::dtype) return dtypeName(a.dtype()) == b.textAt(0);
    if (b.type() == Type::dtype) return dtypeName(b.dtype()) == a.textAt(0);
    return std::nullopt;
}

/// A power with a negative exponent is a float.
bool givesReal(BinaryOperator op, const ExpressionValue& a, const ExpressionValue& b)
{
    if (a.type() == Type::real || b.type() == Type::real || op == BinaryOperator::divide) return true;
    if (op != BinaryOperator::power) return false;
    for (int64_t i = 0; i < b.elementCount(); ++i) {
        if (b.integerAt(i) < 0) return true;
    }
    return false;
}

/// Quantized values are real numbers made with f32 scales: literals beside them are rounded to f32.
DType literalDType(const ExpressionValue& beside)
{
    return isInteger(beside.dtype()) && beside.type() == Type::real ? DType::f32 : beside.dtype();
}

} // namespace

std::optional<std::string> refuseBinary(BinaryOperator op, Type a, Type b)
{
    if (a == Type::any || b == Type::any || a == Type::none || b == Type::none) return std::nullopt;
    const std::string names = std::string(expressionTypeName(a)) + " and " + std::string(expressionTypeName(b));
    if (isNumber(a) && isNumber(b)) return std::nullopt;
    if (isComparison(op)) {
        if (a == b && (a == Type::text || a == Type::boolean)) return std::nullopt;
        const bool isShape = a == Type::shape || b == Type::shape;
        const bool isDType = a == Type::dtype || b == Type::dtype;
        const Type other = a == Type::shape || a == Type::dtype ? b : a;
        const bool fits =
            (isShape && (other == Type::shape || other == Type::integer)) || (isDType && (other == Type::dtype || other == Type::text));
        if (!fits || (isShape && isDType)) return "cannot compare " + names;
        if (!isEquality(op)) return "cannot order " + names + "; only == and != apply";
        return std::nullopt;
    }
    return "cannot compute " + std::string(expressionTypeName(a)) + " " + std::string(operatorText(op)) + " " +
           std::string(expressionTypeName(b));
}

ExpressionType binaryType(BinaryOperator op, Type a, Type b)
{
    if (isComparison(op)) return Type::boolean;
    if (a == Type::real || b == Type::real || op == BinaryOperator::divide) return Type::real;
    if (a == Type::integer && b == Type::integer && op != BinaryOperator::power) return Type::integer;
    return Type::any;
}

Status computeBinary(BinaryOperator op, const ExpressionValue& a, const ExpressionValue& b, bool roundA, bool roundB,
                     ExpressionValue& result)
{
    if (a.isNone() || b.isNone()) {
        if (isComparison(op)) result.setBoolean(false);
        else result.setNone();
        return {};
    }
    if (auto refused = refuseBinary(op, a.type(), b.type())) return Error(ErrorCode::execution, std::move(*refused));
    const bool namesDType = a.type() == Type::dtype || b.type() == Type::dtype;
    const ExpressionValue& other = a.type() == Type::dtype ? b : a;
    if (namesDType && other.type() == Type::text && other.elementCount() != 1) {
        return Error(ErrorCode::execution, "cannot compare a dtype and several strings");
    }
    if (const auto equal = equalAsWholes(a, b)) {
        result.setBoolean(*equal == (op == BinaryOperator::equal));
        return {};
    }
    const auto shape = broadcastShapes(a.shape(), b.shape());
    if (!shape || shape->rank() > kMostDimensions) {
        return Error(ErrorCode::execution, "shapes " + toString(a.shape()) + " and " + toString(b.shape()) + " do not broadcast");
    }
    const auto count = checkedElementCount(*shape);
    if (!count || *count > kLargestComputed) return Error(ErrorCode::execution, "the result " + toString(*shape) + " is too large");

    const DType dtypeA = literalDType(a), dtypeB = literalDType(b);
    const auto realA = [&](int64_t i) { return roundA ? roundToDType(a.realAt(i), dtypeB) : a.realAt(i); };
    const auto realB = [&](int64_t i) { return roundB ? roundToDType(b.realAt(i), dtypeA) : b.realAt(i); };
    if (isComparison(op)) {
        result.setTensor(Type::boolean, DType::boolean, *shape);
        const Type type = a.type() == b.type() ? a.type() : Type::real;
        const bool isMixed = a.type() != b.type();
        LS_CHECK_OK(overBroadcast(*shape, a, b, [&](int64_t i, int64_t x, int64_t y) -> Status {
            bool holds = false;
            if (type == Type::text) {
                holds = compareValues(op, a.textAt(x), b.textAt(y));
            } else if (type != Type::real) {
                holds = compareValues(op, a.integerAt(x), b.integerAt(y));
            } else if (isMixed) {
                // 64 bits of mantissa hold every int: 2^53 + 1 is not equal to 2.0 ** 53.
                const auto exact = [](const ExpressionValue& v, int64_t at, double real) {
                    return v.type() == Type::integer ? static_cast<long double>(v.integerAt(at)) : static_cast<long double>(real);
                };
                holds = compareValues(op, exact(a, x, realA(x)), exact(b, y, realB(y)));
            } else {
                holds = compareValues(op, realA(x), realB(y));
            }
            result.setIntegerAt(i, holds ? 1 : 0);
            return {};
        }));
    } else if (givesReal(op, a, b)) {
        result.setTensor(Type::real, DType::unknown, *shape);
        LS_CHECK_OK(overBroadcast(*shape, a, b, [&](int64_t i, int64_t x, int64_t y) -> Status {
            result.setRealAt(i, realResult(op, realA(x), realB(y)));
            return {};
        }));
    } else {
        result.setTensor(Type::integer, DType::unknown, *shape);
        LS_CHECK_OK(overBroadcast(*shape, a, b, [&](int64_t i, int64_t x, int64_t y) -> Status {
            LS_TRY(const int64_t value, integerResult(op, a.integerAt(x), b.integerAt(y)));
            result.setIntegerAt(i, value);
            return {};
        }));
    }
    result.collapse();
    return {};
}

Status computeNegation(const ExpressionValue& x, ExpressionValue& result)
{
    if (x.isNone()) {
        result.setNone();
        return {};
    }
    if (x.type() == Type::real) {
        result.setTensor(Type::real, x.dtype(), x.shape());
        for (int64_t i = 0; i < x.elementCount(); ++i) result.setRealAt(i, -x.realAt(i));
    } else if (x.type() == Type::integer) {
        result.setTensor(Type::integer, DType::unknown, x.shape());
        for (int64_t i = 0; i < x.elementCount(); ++i) {
            LS_TRY(const int64_t value, integerResult(BinaryOperator::subtract, 0, x.integerAt(i)));
            result.setIntegerAt(i, value);
        }
    } else {
        return Error(ErrorCode::execution, "cannot compute -" + std::string(expressionTypeName(x.type())));
    }
    result.collapse();
    return {};
}

} // namespace loopscope
