// What the kernels of the profile `xnnpack` share: when the delegate takes an operator, and how it rounds.
#pragma once

#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace loopscope {

// Why results differ from the reference kernels', by a step here and there: told where two profiles are compared.
inline constexpr ErrorBounds kFloatScale =
    ErrorBounds(kExact).because("requantized by a float scale, rounded once and to even: the reference rounds twice in fixed point");

/// 8-bit elements with one scale: what its quantized operators compute with.
inline bool isQuantized8(const Tensor& tensor)
{
    return (tensor.dtype == DType::i8 || tensor.dtype == DType::u8) && isQuantized(tensor) && scaleAndZero(tensor).scale > 0;
}

/// ok, if all are 8-bit tensors of one dtype with one scale each. Errors: unsupported, with the dtype found.
inline Status checkQuantized8(std::initializer_list<const Tensor*> tensors)
{
    for (const Tensor* const tensor : tensors)
        if (!isQuantized8(*tensor) || tensor->dtype != (*tensors.begin())->dtype)
            return Error(ErrorCode::unsupported, "quantized i8 or u8 only").found(std::string(dtypeName(tensor->dtype)));
    return {};
}

/// The delegate leaves an operator alone whose factor lies outside of what its fixed point can hold. Errors: unsupported, the factor.
inline Status checkFactor(float factor, int lowestExponent, int highestExponent)
{
    if (factor >= std::ldexp(1.0F, lowestExponent) && factor < std::ldexp(1.0F, highestExponent)) return {};
    return Error(ErrorCode::unsupported, "factor of scales")
        .found(std::to_string(factor))
        .expected("2^" + std::to_string(lowestExponent) + " to 2^" + std::to_string(highestExponent));
}

/// value rounded to even, plus the zero point, within the stored range.
inline int32_t storedOf(float value, int32_t zero, const ActivationRange<int32_t>& range)
{
    const float low = static_cast<float>(range.min - zero), high = static_cast<float>(range.max - zero);
    return static_cast<int32_t>(std::lrint(std::max(std::min(value, high), low))) + zero;
}

} // namespace loopscope
