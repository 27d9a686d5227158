// Fixed-point numbers on 32 bits with a given count of integer bits, and the functions on them that quantized softmax, logistic and
// division are made of. Source of every constant and rounding: gemmlowp fixedpoint/fixedpoint.h.
#pragma once

#include "engine/kernels/cpu/quantized_math.h"

#include <bit>

namespace loopscope {

/// raw·2^(kIntegerBits − 31).
template <int kIntegerBits> struct Fixed {
    int32_t raw = 0;
    static constexpr int32_t kOne = kIntegerBits == 0 ? std::numeric_limits<int32_t>::max() : static_cast<int32_t>(int64_t{1} << (31 - kIntegerBits));
};

/// Products add integer bits.
template <int a, int b> Fixed<a + b> operator*(Fixed<a> x, Fixed<b> y)
{
    return {saturatingRoundingDoublingHighMul(x.raw, y.raw)};
}
template <int n> Fixed<n> operator+(Fixed<n> x, Fixed<n> y)
{
    return {static_cast<int32_t>(static_cast<uint32_t>(x.raw) + static_cast<uint32_t>(y.raw))};
}
template <int n> Fixed<n> operator-(Fixed<n> x, Fixed<n> y)
{
    return {static_cast<int32_t>(static_cast<uint32_t>(x.raw) - static_cast<uint32_t>(y.raw))};
}

/// x·2ᵉ: to the left with saturation, to the right with rounding.
inline int32_t saturatingMultiplyByPowerOfTwo(int32_t x, int exponent)
{
    if (exponent <= 0) return roundingDivideByPowerOfTwo(x, -exponent);
    const int64_t wide = int64_t{x} << std::min(exponent, 31);
    return static_cast<int32_t>(std::clamp<int64_t>(wide, INT32_MIN, INT32_MAX));
}

/// The same number with another count of integer bits.
template <int to, int from> Fixed<to> rescale(Fixed<from> x)
{
    return {saturatingMultiplyByPowerOfTwo(x.raw, from - to)};
}

/// 1 / (1 + a) for a in [0, 1]: three Newton steps from 48/17 − 32/17·d.
inline Fixed<0> oneOverOnePlus(Fixed<0> a)
{
    const int64_t sum = int64_t{a.raw} + Fixed<0>::kOne;
    const Fixed<0> halfDenominator = {static_cast<int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2)};
    const Fixed<2> c48over17 = {1515870810};
    const Fixed<2> cMinus32over17 = {-1010580540};
    Fixed<2> x = c48over17 + halfDenominator * cMinus32over17;
    for (int i = 0; i < 3; ++i) {
        const Fixed<2> error = Fixed<2>{Fixed<2>::kOne} - halfDenominator * x;
        x = x + rescale<2>(x * error);
    }
    return rescale<0>(Fixed<1>{x.raw}); // half of x, read with one integer bit less
}

/// (1 − a) / (1 + a) for a in [0, 1].
inline Fixed<0> oneMinusOverOnePlus(Fixed<0> a)
{
    const int64_t sum = int64_t{a.raw} + Fixed<0>::kOne;
    const Fixed<0> halfDenominator = {static_cast<int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2)};
    const Fixed<2> c48over17 = {1515870810};
    const Fixed<2> cMinus32over17 = {-1010580540};
    Fixed<2> x = c48over17 + halfDenominator * cMinus32over17;
    for (int i = 0; i < 3; ++i) {
        const Fixed<2> error = Fixed<2>{Fixed<2>::kOne} - halfDenominator * x;
        x = x + rescale<2>(x * error);
    }
    return rescale<0>(x - Fixed<2>{Fixed<2>::kOne});
}

/// eᵃ for a in [−1/4, 0): Taylor's series to the fourth power around −1/8.
inline Fixed<0> expOnQuarterInterval(Fixed<0> a)
{
    const Fixed<0> constantTerm = {1895147668};     // exp(−1/8)
    const Fixed<0> constantThird = {715827883};     // 1/3
    const Fixed<0> x = a + Fixed<0>{1 << 28};       // + 1/8
    const Fixed<0> x2 = x * x;
    const Fixed<0> x3 = x2 * x;
    const Fixed<0> x4 = x2 * x2;
    const Fixed<0> x4over4 = {saturatingMultiplyByPowerOfTwo(x4.raw, -2)};
    const Fixed<0> sum = (x4over4 + x3) * constantThird + x2;
    const Fixed<0> higher = {saturatingMultiplyByPowerOfTwo(sum.raw, -1)};
    const Fixed<0> product = constantTerm * (x + higher);
    const int64_t total = int64_t{constantTerm.raw} + product.raw;
    return {static_cast<int32_t>(std::clamp<int64_t>(total, INT32_MIN, INT32_MAX))};
}

/// eᵃ for a ≤ 0: the fraction below 1/4 by series, the rest bit by bit from tabulated powers.
template <int n> Fixed<0> expOnNegative(Fixed<n> a)
{
    constexpr int kFractionalBits = 31 - n;
    constexpr int32_t kQuarter = Fixed<n>::kOne >> 2;
    constexpr int32_t kMask = kQuarter - 1;
    const int32_t modulo = (a.raw & kMask) - kQuarter;
    Fixed<0> result = expOnQuarterInterval(rescale<0>(Fixed<n>{modulo}));
    const auto remainder = static_cast<int32_t>(static_cast<uint32_t>(modulo) - static_cast<uint32_t>(a.raw));
    struct Step {
        int exponent;
        int32_t multiplier; ///< e^(−2^exponent), 0 integer bits
    };
    constexpr Step kSteps[] = {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084}, {1, 290630308}, {2, 39332535}, {3, 720401}, {4, 242}};
    for (const Step& step : kSteps) {
        if (n > step.exponent && ((remainder >> (kFractionalBits + step.exponent)) & 1) != 0) result = result * Fixed<0>{step.multiplier};
    }
    if (n > 5 && a.raw < -(int64_t{1} << std::min(kFractionalBits + 5, 62))) result = {0};
    if (a.raw == 0) return {Fixed<0>::kOne};
    return result;
}

/// 1/x for x > 0 as Fixed<0> times 2^−`bitsOverUnit`, x having `integerDigits` integer bits.
/// Source: LiteRT kernels/internal/common.h, GetReciprocal.
inline int32_t fixedReciprocal(int32_t x, int integerDigits, int& bitsOverUnit)
{
    const int headroomPlusOne = std::countl_zero(static_cast<uint32_t>(x));
    bitsOverUnit = integerDigits - headroomPlusOne;
    const auto shifted = static_cast<int32_t>((static_cast<uint32_t>(x) << (headroomPlusOne & 31)) - (uint32_t{1} << 31));
    return oneOverOnePlus({shifted}).raw;
}

/// Redundant sign bits of x. Source: LiteRT kernels/internal/common.h, CountLeadingSignBits.
inline int leadingSignBits(int32_t x)
{
    if (x >= 0) return std::countl_zero(static_cast<uint32_t>(x)) - 1;
    if (x == std::numeric_limits<int32_t>::min()) return 0;
    return std::countl_zero(2U * static_cast<uint32_t>(-int64_t{x}) - 1U);
}

} // namespace loopscope
