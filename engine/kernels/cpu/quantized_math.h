// Fixed-point arithmetic of TFLite's quantized kernels: gemmlowp's rounding primitives, the (multiplier, shift) form of a real factor,
// and the stored range that a fused activation leaves. Everything here is bit for bit what LiteRT's reference kernels compute.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace loopscope {

/// a·b·2⁻³¹ rounded to nearest, halves away from zero for positive and towards zero for negative products; −2³¹·−2³¹ saturates.
/// Source: gemmlowp fixedpoint.h, SaturatingRoundingDoublingHighMul.
inline int32_t saturatingRoundingDoublingHighMul(int32_t a, int32_t b)
{
    if (a == b && a == std::numeric_limits<int32_t>::min()) return std::numeric_limits<int32_t>::max();
    const int64_t product = int64_t{a} * b;
    const int64_t nudge = product >= 0 ? int64_t{1} << 30 : 1 - (int64_t{1} << 30);
    return static_cast<int32_t>((product + nudge) / (int64_t{1} << 31));
}

/// The same on 16 bits: a·b·2⁻¹⁵.
inline int16_t saturatingRoundingDoublingHighMul16(int16_t a, int16_t b)
{
    if (a == b && a == std::numeric_limits<int16_t>::min()) return std::numeric_limits<int16_t>::max();
    const int32_t product = int32_t{a} * b;
    const int32_t nudge = product >= 0 ? 1 << 14 : 1 - (1 << 14);
    return static_cast<int16_t>((product + nudge) / (1 << 15));
}

/// x·2⁻ᵉ rounded to nearest, halves away from zero. Source: gemmlowp fixedpoint.h, RoundingDivideByPOT.
/// Its own range is 0 ≤ e ≤ 31. DIV reaches e ≥ 32 for small dividends; we then do what the reference does on x86, where a 32-bit
/// shift takes its distance modulo 32 and the mask becomes all ones: 0 gives 1.
inline int32_t roundingDivideByPowerOfTwo(int32_t x, int exponent)
{
    const auto mask = static_cast<int32_t>(static_cast<uint32_t>((uint64_t{1} << (exponent & 63)) - 1));
    const int32_t remainder = x & mask;
    const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
    return (x >> (exponent & 31)) + (remainder > threshold ? 1 : 0);
}

/// x·2ⁿ modulo 2³²: the reference multiplies without a check.
inline int32_t shiftLeftWrapping(int32_t x, int n) { return static_cast<int32_t>(static_cast<uint32_t>(x) << (n & 31)); }

/// A positive real factor as multiplier·2^(shift − 31), multiplier in [2³⁰, 2³¹) or 0.
struct QuantizedMultiplier {
    int32_t multiplier = 0;
    int shift = 0; ///< positive: to the left
};

/// Source: LiteRT kernels/internal/quantization_util.cc, QuantizeMultiplier. NaN (a factor made of absent scales) gives 0, as there.
inline QuantizedMultiplier quantizeMultiplier(double factor)
{
    QuantizedMultiplier out;
    if (factor == 0.0 || std::isnan(factor)) return out;
    if (std::isinf(factor)) return {std::numeric_limits<int32_t>::max(), 30};
    const double fraction = std::frexp(factor, &out.shift);
    auto fixed = static_cast<int64_t>(std::round(fraction * static_cast<double>(int64_t{1} << 31)));
    if (fixed == int64_t{1} << 31) {
        fixed /= 2;
        ++out.shift;
    }
    if (out.shift < -31) {
        out.shift = 0;
        fixed = 0;
    }
    out.multiplier = static_cast<int32_t>(fixed);
    return out;
}

/// x·factor with gemmlowp's two roundings. Source: LiteRT kernels/internal/common.cc, MultiplyByQuantizedMultiplier.
inline int32_t multiplyByQuantizedMultiplier(int32_t x, QuantizedMultiplier m)
{
    const int left = m.shift > 0 ? m.shift : 0;
    const int right = m.shift > 0 ? 0 : -m.shift;
    return roundingDivideByPowerOfTwo(saturatingRoundingDoublingHighMul(shiftLeftWrapping(x, left), m.multiplier), right);
}
inline int32_t multiplyByQuantizedMultiplier(int32_t x, int32_t multiplier, int shift)
{
    return multiplyByQuantizedMultiplier(x, QuantizedMultiplier{multiplier, shift});
}

/// The 64-bit form, used where accumulators are 48 bits wide (int16 activations): one rounding, multiplier cut to 16 bits.
/// Source: the same file, overload on int64_t.
inline int32_t multiplyByQuantizedMultiplier64(int64_t x, QuantizedMultiplier m)
{
    const int32_t reduced = m.multiplier < 0x7FFF0000 ? (m.multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const int total = std::clamp(15 - m.shift, 1, 62);
    const uint64_t rounded = static_cast<uint64_t>(x) * static_cast<uint64_t>(int64_t{reduced}) + (uint64_t{1} << (total - 1));
    return static_cast<int32_t>(static_cast<int64_t>(rounded) >> total);
}

/// Conversion of a real number to int32 as x86 does it: towards zero, and out of range (or NaN) the smallest integer.
inline int32_t truncateToInt32(double value)
{
    return value > -2147483649.0 && value < 2147483648.0 ? static_cast<int32_t>(value) : std::numeric_limits<int32_t>::min();
}

/// Fused activation of an operator. TANH and SIGN_BIT are in the schema, but LiteRT's kernels ignore them: they count as none.
enum class FusedActivation : uint8_t { none, relu, reluN1To1, relu6 };

/// Reads the attribute `act`.
inline FusedActivation fusedActivation(const AttributeList& attributes)
{
    std::string_view word = attributeWord(attributes, "act", "");
    if (word.empty()) word = attributeWord(attributes, "fused_activation_function", "NONE");
    if (word == "RELU") return FusedActivation::relu;
    if (word == "RELU6") return FusedActivation::relu6;
    if (word == "RELU_N1_TO_1") return FusedActivation::reluN1To1;
    return FusedActivation::none;
}

/// Real bounds of an activation. Without one they are the finite limits of T: LiteRT's reference arithmetic clamps infinities to them.
/// Source: LiteRT kernels/kernel_util.h, CalculateActivationRange.
template <typename T> struct ActivationRange {
    T min = std::numeric_limits<T>::lowest();
    T max = std::numeric_limits<T>::max();
};
template <typename T> ActivationRange<T> activationRange(FusedActivation activation)
{
    ActivationRange<T> range;
    if (activation == FusedActivation::relu || activation == FusedActivation::relu6) range.min = T{0};
    if (activation == FusedActivation::relu6) range.max = T{6};
    if (activation == FusedActivation::reluN1To1) {
        range.min = static_cast<T>(-1);
        range.max = T{1};
    }
    return range;
}
/// NaN stays NaN.
template <typename T> T clampTo(T value, const ActivationRange<T>& range) { return std::min(std::max(value, range.min), range.max); }

/// Scale and zero point of a tensor; both 0 where it has none, as in LiteRT's TfLiteQuantizationParams. Zero points are kept within 2³⁰,
/// so that a stored element minus one stays an int32.
struct ScaleAndZero {
    float scale = 0.0F;
    int32_t zero = 0;
};
inline ScaleAndZero scaleAndZero(const Tensor& tensor)
{
    if (!tensor.quantization || tensor.quantization->kind != Quantization::Kind::affine) return {};
    const int64_t zero = std::clamp<int64_t>(tensor.quantization->zeroPoint(), -(1 << 30), 1 << 30);
    return {tensor.quantization->scale(), static_cast<int32_t>(zero)};
}
/// True if the tensor carries one scale for all elements.
inline bool isQuantized(const Tensor& tensor) { return tensor.quantization && tensor.quantization->isPerTensor(); }

/// Stored bounds of a quantized result: the limits of its dtype, narrowed to where the activation's bounds fall.
/// Source: LiteRT kernels/kernel_util.cc, CalculateActivationRangeQuantized. Errors: unsupported, if a bound leaves int32.
inline Result<ActivationRange<int32_t>> quantizedActivationRange(FusedActivation activation, const Tensor& output)
{
    ActivationRange<int32_t> range;
    range.min = static_cast<int32_t>(integerMin(output.dtype));
    range.max = static_cast<int32_t>(std::min<uint64_t>(integerMax(output.dtype), INT32_MAX));
    const auto [scale, zero] = scaleAndZero(output);
    const auto stored = [scale = scale, zero = zero](float real) { return static_cast<double>(std::round(real / scale)) + zero; };
    double low = range.min;
    double high = range.max;
    if (activation == FusedActivation::relu || activation == FusedActivation::relu6) low = std::max(low, stored(0.0F));
    if (activation == FusedActivation::relu6) high = std::min(high, stored(6.0F));
    if (activation == FusedActivation::reluN1To1) {
        low = std::max(low, stored(-1.0F));
        high = std::min(high, stored(1.0F));
    }
    if (!(std::fabs(low) <= INT32_MAX) || !(std::fabs(high) <= INT32_MAX)) {
        return Error(ErrorCode::unsupported, "fused activation needs a usable output scale").found(std::to_string(scale));
    }
    range.min = static_cast<int32_t>(low);
    range.max = static_cast<int32_t>(high);
    return range;
}

/// The same as XNNPACK has it: quotient and zero point are added in float and rounded to even (src/xnnpack/math.h, xnn_qs8_quantize).
inline Result<ActivationRange<int32_t>> roundedActivationRange(FusedActivation activation, const Tensor& output)
{
    const auto lowest = static_cast<float>(integerMin(output.dtype)), highest = static_cast<float>(integerMax(output.dtype));
    const auto [scale, zero] = scaleAndZero(output);
    const auto stored = [&, scale = scale, zero = zero](float real) {
        return static_cast<int32_t>(std::lrint(std::clamp(real / scale + static_cast<float>(zero), lowest, highest)));
    };
    const ActivationRange<float> real = activationRange<float>(activation);
    return ActivationRange<int32_t>{activation == FusedActivation::none ? static_cast<int32_t>(lowest) : stored(real.min),
                                    stored(real.max)};
}

} // namespace loopscope
