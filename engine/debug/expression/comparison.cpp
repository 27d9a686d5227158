// Comparison of two values as wholes: bits, units in the last place, differences, tolerance, direction.
#include "engine/debug/expression/functions.h"
#include "engine/debug/expression/walk.h"
#include "engine/tensor/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace loopscope {

namespace {

using Type = ExpressionType;
using Function = ExpressionFunction;

bool isNumber(Type t) { return t == Type::integer || t == Type::real; }

bool sameBits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

/// Tensors of the run are compared as stored, others element by element.
bool areSame(const ExpressionValue& a, const ExpressionValue& b)
{
    if (a.view() && b.view()) {
        return a.dtype() == b.dtype() && a.shape() == b.shape() && std::ranges::equal(a.view()->view(), b.view()->view());
    }
    if (a.type() != b.type() || !(a.shape() == b.shape())) return false;
    if (a.type() == Type::dtype) return a.dtype() == b.dtype();
    if (a.type() == Type::handle) return false;
    for (int64_t i = 0; i < a.elementCount(); ++i) {
        const bool same = a.type() == Type::real   ? sameBits(a.realAt(i), b.realAt(i))
                          : a.type() == Type::text ? a.textAt(i) == b.textAt(i)
                                                   : a.integerAt(i) == b.integerAt(i);
        if (!same) return false;
    }
    return true;
}

/// Calls `f(a, b)` for every pair of elements.
template <typename F> void eachPair(const Shape& shape, const ExpressionValue& a, const ExpressionValue& b, F f)
{
    Odometer walkA = broadcastWalk(a.shape(), shape), walkB = broadcastWalk(b.shape(), shape);
    for (int64_t i = 0, n = shape.elementCount(); i < n; ++i) {
        f(a.realAt(walkA.offset()), b.realAt(walkB.offset()));
        walkA.next();
        walkB.next();
    }
}

/// Order of floats as integers, so that neighbours are 1 apart; −0 and +0 too.
template <typename Bits, typename Real> uint64_t ordered(Real value)
{
    Bits bits;
    std::memcpy(&bits, &value, sizeof bits);
    constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
    return (bits & sign) != 0 ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | sign);
}

Status computeUlp(const ExpressionValue& a, const ExpressionValue& b, const Shape& shape, ExpressionValue& result)
{
    const bool areFloats = a.type() == Type::real && b.type() == Type::real && !isInteger(a.dtype()) && !isInteger(b.dtype());
    if (!areFloats) {
        return Error(ErrorCode::execution, "ulp needs floats; maxdiff compares other numbers").found(describe(a) + " and " + describe(b));
    }
    if (a.view() && b.view() && a.shape() == b.shape() && a.dtype() == b.dtype()) {
        const Comparison comparison = compareTensors(*a.view(), *b.view(), {});
        result.setInteger(comparison.maxUlp.value_or(0));
        return {};
    }
    // The dtype of the side that has one counts; numbers without are doubles.
    const DType dtype = a.dtype() == DType::unknown ? b.dtype() : a.dtype();
    if (b.dtype() != DType::unknown && b.dtype() != dtype) {
        return Error(ErrorCode::execution, "ulp needs floats of one dtype").found(describe(a) + " and " + describe(b));
    }
    if (dtype != DType::f32 && dtype != DType::f64 && dtype != DType::unknown) {
        return Error(ErrorCode::execution, "ulp of computed values needs f32 or f64").found(std::string(dtypeName(dtype)));
    }
    uint64_t most = 0;
    eachPair(shape, a, b, [&](double x, double y) {
        if (std::isnan(x) && std::isnan(y)) return;
        if (std::isnan(x) || std::isnan(y)) {
            most = INT64_MAX;
            return;
        }
        const bool isSingle = dtype == DType::f32;
        const uint64_t p = isSingle ? ordered<uint32_t>(static_cast<float>(x)) : ordered<uint64_t>(x);
        const uint64_t q = isSingle ? ordered<uint32_t>(static_cast<float>(y)) : ordered<uint64_t>(y);
        most = std::max(most, std::min<uint64_t>(p > q ? p - q : q - p, INT64_MAX));
    });
    result.setInteger(static_cast<int64_t>(most));
    return {};
}

/// |a − b|; 0 where both are the same infinity or NaN, infinite where only one is.
double difference(double a, double b)
{
    if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
    return std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : std::numeric_limits<double>::infinity();
}

} // namespace

Status computeComparison(Function function, std::string_view name, const ExpressionValue& a, const ExpressionValue& b, double rtol,
                         double atol, ExpressionValue& result)
{
    if (function == Function::same) {
        result.setBoolean(areSame(a, b));
        return {};
    }
    if (!isNumber(a.type()) || !isNumber(b.type())) {
        return Error(ErrorCode::execution, std::string(name) + " needs numbers").found(describe(a) + " and " + describe(b));
    }
    const auto shape = broadcastShapes(a.shape(), b.shape());
    if (!shape || shape->rank() > kMostDimensions || checkedElementCount(*shape).value_or(INT64_MAX) > kLargestComputed) {
        return Error(ErrorCode::execution, "shapes " + toString(a.shape()) + " and " + toString(b.shape()) + " do not broadcast");
    }
    if (function == Function::ulp) return computeUlp(a, b, *shape, result);
    double most = 0, dot = 0, squareA = 0, squareB = 0;
    bool isClose = true;
    eachPair(*shape, a, b, [&](double x, double y) {
        const double d = difference(x, y);
        most = std::max(most, d);
        // An infinite tolerance, of an infinite y, must not make everything close.
        isClose = isClose && (d == 0 || (std::isfinite(d) && d <= atol + rtol * std::fabs(y)));
        dot += x * y;
        squareA += x * x;
        squareB += y * y;
    });
    if (function == Function::maxdiff) result.setReal(most);
    else if (function == Function::close) result.setBoolean(isClose);
    else result.setReal(squareA == 0 && squareB == 0 ? 1.0 : dot / (std::sqrt(squareA) * std::sqrt(squareB)));
    return {};
}

} // namespace loopscope
