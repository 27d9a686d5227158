// Fixed-point numbers on 16 bits and the logistic function and tanh on them, as the gates of quantized LSTM cells use. Source of every
// constant and rounding: gemmlowp fixedpoint/fixedpoint.h with a 16-bit raw type.
#pragma once

#include "engine/kernels/cpu/quantized_math.h"

#include <algorithm>
#include <cstdint>

namespace loopscope {

/// raw·2^(kIntegerBits − 15).
template <int kIntegerBits> struct Fixed16 {
    int16_t raw = 0;
    static constexpr int kFractionalBits = 15 - kIntegerBits;
    static constexpr int16_t kOne = kIntegerBits == 0 ? INT16_MAX : static_cast<int16_t>(1 << kFractionalBits);
};

/// A constant that gemmlowp states with 31 fractional bits.
template <int n> Fixed16<n> fixed16Constant(int32_t raw32) { return {static_cast<int16_t>(roundingDivideByPowerOfTwo(raw32, 16))}; }

template <int a, int b> Fixed16<a + b> operator*(Fixed16<a> x, Fixed16<b> y) { return {saturatingRoundingDoublingHighMul16(x.raw, y.raw)}; }
template <int n> Fixed16<n> operator+(Fixed16<n> x, Fixed16<n> y) { return {static_cast<int16_t>(x.raw + y.raw)}; }
template <int n> Fixed16<n> operator-(Fixed16<n> x, Fixed16<n> y) { return {static_cast<int16_t>(x.raw - y.raw)}; }

/// x·2ᵉ: to the left with saturation, to the right with rounding.
inline int16_t multiplyByPowerOfTwo16(int16_t x, int exponent)
{
    if (exponent <= 0) return static_cast<int16_t>(roundingDivideByPowerOfTwo(x, -exponent));
    return static_cast<int16_t>(std::clamp<int32_t>(int32_t{x} * (1 << exponent), INT16_MIN, INT16_MAX));
}
template <int to, int from> Fixed16<to> rescale16(Fixed16<from> x) { return {multiplyByPowerOfTwo16(x.raw, from - to)}; }

/// 2 / (1 + a) for a in [0, 1], as Fixed16<2>: Newton steps from 48/17 − 32/17·d with d = (1 + a)/2.
inline Fixed16<2> twoOverOnePlus16(Fixed16<0> a)
{
    const int32_t sum = int32_t{a.raw} + Fixed16<0>::kOne;
    const Fixed16<0> half = {static_cast<int16_t>((sum + (sum >= 0 ? 1 : -1)) / 2)};
    Fixed16<2> x = fixed16Constant<2>(1515870810) + half * fixed16Constant<2>(-1010580540);
    for (int i = 0; i < 3; ++i) x = x + rescale16<2>(x * (Fixed16<2>{Fixed16<2>::kOne} - half * x));
    return x;
}

/// eᵃ for a in [−1/4, 0): Taylor's series to the fourth power around −1/8.
inline Fixed16<0> expOnQuarterInterval16(Fixed16<0> a)
{
    const Fixed16<0> constantTerm = fixed16Constant<0>(1895147668); // exp(−1/8)
    const Fixed16<0> x = a + Fixed16<0>{1 << 12};
    const Fixed16<0> x2 = x * x;
    const Fixed16<0> x3 = x2 * x;
    const Fixed16<0> x4over4 = {multiplyByPowerOfTwo16((x2 * x2).raw, -2)};
    const Fixed16<0> higher = {multiplyByPowerOfTwo16(((x4over4 + x3) * fixed16Constant<0>(715827883) + x2).raw, -1)};
    const int32_t total = int32_t{constantTerm.raw} + (constantTerm * (x + higher)).raw;
    return {static_cast<int16_t>(std::clamp<int32_t>(total, INT16_MIN, INT16_MAX))};
}

/// eᵃ for a ≤ 0: the fraction below 1/4 by series, the rest bit by bit from tabulated powers.
template <int n> Fixed16<0> expOnNegative16(Fixed16<n> a)
{
    constexpr int16_t kQuarter = static_cast<int16_t>(Fixed16<n>::kOne >> 2);
    const auto modulo = static_cast<int16_t>((a.raw & (kQuarter - 1)) - kQuarter);
    Fixed16<0> result = expOnQuarterInterval16(rescale16<0>(Fixed16<n>{modulo}));
    const auto remainder = static_cast<int16_t>(modulo - a.raw);
    struct Step {
        int exponent;
        int32_t multiplier; ///< e^(−2^exponent)
    };
    constexpr Step kSteps[] = {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084}, {1, 290630308}, {2, 39332535}, {3, 720401}, {4, 242}};
    for (const Step& step : kSteps)
        if (n > step.exponent && ((remainder >> (Fixed16<n>::kFractionalBits + step.exponent)) & 1) != 0)
            result = result * fixed16Constant<0>(step.multiplier);
    if (n > 5 && a.raw < -(32 << std::max(0, Fixed16<n>::kFractionalBits))) result = {0};
    return a.raw == 0 ? Fixed16<0>{Fixed16<0>::kOne} : result;
}

/// 1 / (1 + e⁻ˣ) of x = raw·2⁻¹², as raw·2⁻¹⁵.
inline int16_t logistic16(int16_t raw)
{
    if (raw == 0) return 1 << 14;
    const auto negative = static_cast<int16_t>(raw > 0 ? -raw : raw);
    const Fixed16<2> x = twoOverOnePlus16(expOnNegative16(Fixed16<3>{negative}));
    const int16_t positive = rescale16<0>(Fixed16<1>{x.raw}).raw; // half of x, read with one integer bit less
    return raw > 0 ? positive : static_cast<int16_t>(INT16_MAX - positive);
}

/// tanh of x = raw·2^(n − 15), as raw·2⁻¹⁵.
template <int n> int16_t tanh16(int16_t raw)
{
    if (raw == 0) return 0;
    const auto negative = static_cast<int16_t>(raw > 0 ? -raw : raw);
    const Fixed16<2> x = twoOverOnePlus16(expOnNegative16(Fixed16<n + 1>{negative}));
    const int16_t magnitude = rescale16<0>(x - Fixed16<2>{Fixed16<2>::kOne}).raw; // (1 − e²ˣ)/(1 + e²ˣ)
    return raw > 0 ? magnitude : static_cast<int16_t>(-magnitude);
}

} // namespace loopscope
