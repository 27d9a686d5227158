// Fixed-point numbers on 32 bits with a given count of integer bits, and the functions on them that quantized softmax, logistic and
// division are made of. Source of every constant and rounding: gemmlowp fixedpoint/fixedpoint.h.
#pragma once

#include "engine/kernels/cpu/quantized_math.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace loopscope {

/// raw·2^(kIntegerBits − 31).
template <int kIntegerBits> struct Fixed {
    int32_t raw = 0;
    static constexpr int32_t kOne =
        kIntegerBits == 0 ? std::numeric_limits<int32_t>::max() : static_cast<int32_t>(int64_t{1} << (31 - kIntegerBits));
};

/// Products add integer bits.
template <int a, int b> Fixed<a + b> operator*(Fixed<a> x, Fixed<b> y) { return {saturatingRoundingDoublingHighMul(x.raw, y.raw)}; }
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
template <int to, int from> Fixed<to> rescale(Fixed<from> x) { return {saturatingMultiplyByPowerOfTwo(x.raw, from - to)}; }

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
    const Fixed<0> constantTerm = {1895147668}; // exp(−1/8)
    const Fixed<0> constantThird = {715827883}; // 1/3
    const Fixed<0> x = a + Fixed<0>{1 << 28};   // + 1/8
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

/// 1/√x for x ≥ 0 (0 counts as 1) as multiplier and shift: five Newton steps. Source: the same file, GetInvSqrtQuantizedMultiplierExp.
inline QuantizedMultiplier fixedInverseSqrt(int32_t x)
{
    if (x <= 1) return {std::numeric_limits<int32_t>::max(), 0};
    int rightShift = 11;
    while (x >= 1 << 29) {
        x /= 4;
        ++rightShift;
    }
    const int pairs = (std::countl_zero(static_cast<uint32_t>(x)) - 1) / 2 - 1;
    rightShift -= pairs;
    x <<= 2 * pairs;
    const Fixed<3> input = {x >> 1};
    const Fixed<3> halfInput = {saturatingMultiplyByPowerOfTwo(input.raw, -1)};
    const Fixed<3> threeHalves = {(1 << 28) + (1 << 27)};
    Fixed<3> y = {Fixed<3>::kOne};
    for (int i = 0; i < 5; ++i) {
        const Fixed<3> cube = rescale<3>(y * y * y);
        y = rescale<3>(threeHalves * y - halfInput * cube);
    }
    int32_t multiplier = (y * Fixed<0>{1518500250}).raw; // √½
    if (rightShift < 0) {
        multiplier = shiftLeftWrapping(multiplier, -rightShift);
        rightShift = 0;
    }
    return {multiplier, -rightShift};
}

/// ln x for x ≥ 1. Source: the same file, log_x_for_x_greater_than_or_equal_to_1_impl.
template <int out, int in> Fixed<out> fixedLog(Fixed<in> input)
{
    constexpr int kAccumulator = out + 1;
    const Fixed<0> log2 = {1488522236};
    const Fixed<0> fourthRootOfHalf = {1805811301};
    const Fixed<0> rootOfHalf = {1518500250};
    const Fixed<0> alphaN = {117049297};  // 11/240·2^¼
    const Fixed<0> alphaD = {127690142};  // 1/20·2^¼
    const Fixed<0> alphaI = {1057819769}; // 2/2^¼ − 2^¼
    const Fixed<0> alphaF = {638450708};  // ¼·2^¼
    const int32_t quarter = rescale<kAccumulator>(Fixed<0>{1 << 29}).raw;
    const auto saturate = [](int64_t wide) { return static_cast<int32_t>(std::clamp<int64_t>(wide, INT32_MIN, INT32_MAX)); };

    // The input's bits read as a fraction; two candidates for its normalised form, one of them scaled by √½ beforehand.
    const Fixed<0> a = {input.raw};
    const int headroomA = std::countl_zero(static_cast<uint32_t>(a.raw));
    const Fixed<0> normalisedA = {saturatingMultiplyByPowerOfTwo(a.raw, headroomA - 1)};
    const int32_t rA = saturatingMultiplyByPowerOfTwo((normalisedA * rootOfHalf).raw, 1);
    const int32_t powerA = saturate(int64_t{saturatingMultiplyByPowerOfTwo(in - headroomA, 31 - kAccumulator)} + quarter);
    const Fixed<0> b = a * rootOfHalf;
    const int headroomB = std::countl_zero(static_cast<uint32_t>(b.raw)) - 1;
    const int32_t rB = saturatingMultiplyByPowerOfTwo(a.raw, headroomB);
    const int32_t powerB = saturate(int64_t{saturatingMultiplyByPowerOfTwo(in - headroomB, 31 - kAccumulator)} - quarter);

    const Fixed<0> r = {std::min(rA, rB)};
    const Fixed<kAccumulator> power = {std::max(powerA, powerB)};
    const int64_t sum = int64_t{r.raw} + fourthRootOfHalf.raw;
    const Fixed<0> p = {static_cast<int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2)};
    Fixed<0> q = r - fourthRootOfHalf;
    q = q + q;
    const Fixed<0> square = q * q;
    const Fixed<0> numerator = q * r + q * square * alphaN;
    const Fixed<0> denominatorMinusOne = p * (alphaI + q + alphaD * square) + alphaF * q;
    return rescale<out>(power * log2 + rescale<kAccumulator>(numerator) * oneOverOnePlus(denominatorMinusOne));
}

/// Redundant sign bits of x. Source: LiteRT kernels/internal/common.h, CountLeadingSignBits.
inline int leadingSignBits(int32_t x)
{
    if (x >= 0) return std::countl_zero(static_cast<uint32_t>(x)) - 1;
    if (x == std::numeric_limits<int32_t>::min()) return 0;
    return std::countl_zero(2U * static_cast<uint32_t>(-int64_t{x}) - 1U);
}

} // namespace loopscope
