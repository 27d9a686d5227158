// Elementwise functions, clamp and casts.
#include "engine/debug/expression/functions.h"
#include "engine/debug/expression/walk.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace loopscope {

namespace {

using Type = ExpressionType;
using Function = ExpressionFunction;

bool isNumber(Type t) { return t == Type::integer || t == Type::real; }

Error needsNumbers(std::string_view name, const ExpressionValue& x)
{
    return Error(ErrorCode::execution, std::string(name) + " needs numbers").found(describe(x));
}

double realFunction(Function function, double v)
{
    switch (function) {
    case Function::abs: return std::fabs(v);
    case Function::sqrt: return std::sqrt(v);
    case Function::exp: return std::exp(v);
    case Function::log: return std::log(v);
    case Function::floor: return std::floor(v);
    case Function::ceil: return std::ceil(v);
    case Function::round: return std::nearbyint(v); // halves to even
    default: return v > 0 ? 1.0 : v < 0 ? -1.0 : v; // sign; NaN and the zeros stay
    }
}

/// Functions of an int that give an int.
bool staysInteger(Function function)
{
    return function == Function::abs || function == Function::sign || function == Function::floor || function == Function::ceil ||
           function == Function::round;
}

/// The bits of a number as `dtype` stores it, from 0.
int64_t storedBits(const ExpressionValue& x, int64_t i)
{
    if (x.view()) {
        const int width = bitWidth(x.dtype());
        if (width % 8 == 0) {
            uint64_t bits = 0;
            std::memcpy(&bits, x.view()->data + i * (width / 8), static_cast<size_t>(width / 8));
            return static_cast<int64_t>(bits);
        }
        return x.integerAt(i) & ((int64_t{1} << width) - 1);
    }
    if (x.type() == Type::real && x.dtype() == DType::f32) {
        const auto single = static_cast<float>(x.realAt(i));
        uint32_t bits = 0;
        std::memcpy(&bits, &single, sizeof bits);
        return bits;
    }
    if (x.type() != Type::real) return x.integerAt(i);
    const double value = x.realAt(i);
    int64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

Result<int64_t> castToInteger(DType to, const ExpressionValue& x, int64_t i)
{
    const std::string name(dtypeName(to));
    int64_t value = 0;
    if (x.type() == Type::real) {
        const double real = std::trunc(x.realAt(i));
        // 2^63 is the first double beyond int64; a NaN fails both tests.
        if (!(real >= -0x1p63 && real < 0x1p63)) return Error(ErrorCode::execution, std::to_string(x.realAt(i)) + " does not fit " + name);
        value = static_cast<int64_t>(real);
    } else {
        value = x.integerAt(i);
    }
    const bool fits = value < 0 ? value >= integerMin(to) : static_cast<uint64_t>(value) <= integerMax(to);
    if (!fits) return Error(ErrorCode::execution, std::to_string(value) + " does not fit " + name);
    return value;
}

} // namespace

Status computeElementwise(Function function, std::string_view name, const ExpressionValue& x, ExpressionValue& result)
{
    if (!isNumber(x.type())) return needsNumbers(name, x);
    const bool isInteger = x.type() == Type::integer;
    const int64_t n = x.elementCount();
    if (function == Function::isnan || function == Function::isinf) {
        result.setTensor(Type::boolean, DType::boolean, x.shape());
        for (int64_t i = 0; i < n; ++i) {
            const double v = x.realAt(i);
            result.setIntegerAt(i, function == Function::isnan ? std::isnan(v) : std::isinf(v));
        }
    } else if (function == Function::bits) {
        result.setTensor(Type::integer, DType::unknown, x.shape());
        for (int64_t i = 0; i < n; ++i) result.setIntegerAt(i, storedBits(x, i));
    } else if (isInteger && staysInteger(function)) {
        result.setTensor(Type::integer, DType::unknown, x.shape());
        for (int64_t i = 0; i < n; ++i) {
            const int64_t v = x.integerAt(i);
            if (function == Function::abs && v == INT64_MIN) {
                return Error(ErrorCode::execution, "abs(" + std::to_string(v) + ") does not fit 64 bits");
            }
            result.setIntegerAt(i, function == Function::abs ? std::abs(v) : function == Function::sign ? (v > 0) - (v < 0) : v);
        }
    } else {
        const bool isExact = staysInteger(function); // roots, exponentials and logarithms leave the dtype
        result.setTensor(Type::real, isExact ? x.dtype() : DType::unknown, x.shape());
        for (int64_t i = 0; i < n; ++i) result.setRealAt(i, realFunction(function, x.realAt(i)));
    }
    result.collapse();
    return {};
}

Status computeClamp(const ExpressionValue& x, const ExpressionValue& low, const ExpressionValue& high, ExpressionValue& result)
{
    for (const ExpressionValue* v : {&x, &low, &high}) {
        if (!isNumber(v->type())) return needsNumbers("clamp", *v);
    }
    if (low.elementCount() != 1 || high.elementCount() != 1) return Error(ErrorCode::execution, "clamp needs one number as each limit");
    const bool isInteger = x.type() == Type::integer && low.type() == Type::integer && high.type() == Type::integer;
    result.setTensor(isInteger ? Type::integer : Type::real, x.dtype(), x.shape());
    for (int64_t i = 0; i < x.elementCount(); ++i) {
        if (isInteger) {
            result.setIntegerAt(i, std::min(std::max(x.integerAt(i), low.integerAt(0)), high.integerAt(0)));
        } else {
            const double v = x.realAt(i);
            result.setRealAt(i, std::isnan(v) ? v : std::fmin(std::fmax(v, low.realAt(0)), high.realAt(0)));
        }
    }
    result.collapse();
    return {};
}

Status computeCast(DType to, const ExpressionValue& x, ExpressionValue& result)
{
    if (!isNumber(x.type()) && x.type() != Type::boolean) return needsNumbers(dtypeName(to), x);
    const int64_t n = x.elementCount();
    if (to == DType::boolean) {
        result.setTensor(Type::boolean, to, x.shape());
        for (int64_t i = 0; i < n; ++i) result.setIntegerAt(i, x.realAt(i) != 0);
    } else if (isFloat(to)) {
        result.setTensor(Type::real, to, x.shape());
        for (int64_t i = 0; i < n; ++i) result.setRealAt(i, roundToDType(x.realAt(i), to));
    } else {
        result.setTensor(Type::integer, to, x.shape());
        for (int64_t i = 0; i < n; ++i) {
            LS_TRY(const int64_t value, castToInteger(to, x, i));
            result.setIntegerAt(i, value);
        }
    }
    result.collapse();
    return {};
}

} // namespace loopscope
