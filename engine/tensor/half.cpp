#include "engine/tensor/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace loopscope {

namespace {

/// A small binary float: 1 sign bit, `exponentBits`, `mantissaBits`. `finiteOnly`: no infinity, all-ones is the only NaN (E4M3FN).
struct Format {
    int exponentBits;
    int mantissaBits;
    bool finiteOnly;
    int bias() const { return (1 << (exponentBits - 1)) - 1; }
};

constexpr Format kF16{5, 10, false};
constexpr Format kE4M3{4, 3, true};
constexpr Format kE5M2{5, 2, false};

float widen(uint32_t bits, Format f)
{
    const uint32_t sign = bits >> (f.exponentBits + f.mantissaBits) & 1;
    const uint32_t exponent = bits >> f.mantissaBits & ((1U << f.exponentBits) - 1);
    const uint32_t mantissa = bits & ((1U << f.mantissaBits) - 1);
    const uint32_t top = (1U << f.exponentBits) - 1;
    const uint32_t full = (1U << f.mantissaBits) - 1;
    const bool isNaN = f.finiteOnly ? exponent == top && mantissa == full : exponent == top && mantissa != 0;
    if (isNaN) return std::bit_cast<float>(sign << 31 | 0x7f800000U | mantissa << (23 - f.mantissaBits));
    if (!f.finiteOnly && exponent == top) return std::bit_cast<float>(sign << 31 | 0x7f800000U);
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), 1 - f.bias() - f.mantissaBits)
                                          : std::ldexp(static_cast<float>(mantissa | 1U << f.mantissaBits),
                                                       static_cast<int>(exponent) - f.bias() - f.mantissaBits);
    return sign ? -magnitude : magnitude;
}

uint32_t narrow(float value, Format f)
{
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 31 << (f.exponentBits + f.mantissaBits);
    const uint32_t top = (1U << f.exponentBits) - 1;
    const uint32_t full = (1U << f.mantissaBits) - 1;
    if (std::isnan(value)) {
        if (f.finiteOnly) return sign | top << f.mantissaBits | full;
        return sign | top << f.mantissaBits | (bits >> (23 - f.mantissaBits) & full) | 1U << (f.mantissaBits - 1);
    }
    const uint32_t overflow = sign | top << f.mantissaBits | (f.finiteOnly ? full : 0);
    if (std::isinf(value)) return overflow;
    if (value == 0) return sign;
    int exponent = 0;
    std::frexp(value, &exponent); // |value| = m · 2^exponent, 0.5 ≤ m < 1
    const int lowest = 1 - f.bias();
    const int quantum = std::max(exponent - 1, lowest) - f.mantissaBits;
    // Exact: a float scaled by a power of two, then rounded once in the current mode (to nearest even).
    const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(static_cast<double>(std::fabs(value)), -quantum)));
    if (units == 0) return sign;
    // Adding units to the exponent field carries over into the next binade by itself.
    const uint32_t encoded = units < 1U << f.mantissaBits ? units
                                                          : (static_cast<uint32_t>(quantum + f.mantissaBits + f.bias()) << f.mantissaBits) +
                                                                (units - (1U << f.mantissaBits));
    const uint32_t limit = f.finiteOnly ? (top << f.mantissaBits | full) : top << f.mantissaBits;
    return encoded >= limit ? overflow : sign | encoded;
}

} // namespace

float f16ToFloat(uint16_t bits) { return widen(bits, kF16); }
uint16_t floatToF16(float value) { return static_cast<uint16_t>(narrow(value, kF16)); }
float f8e4m3fnToFloat(uint8_t bits) { return widen(bits, kE4M3); }
uint8_t floatToF8e4m3fn(float value) { return static_cast<uint8_t>(narrow(value, kE4M3)); }
float f8e5m2ToFloat(uint8_t bits) { return widen(bits, kE5M2); }
uint8_t floatToF8e5m2(float value) { return static_cast<uint8_t>(narrow(value, kE5M2)); }

float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t floatToBf16(float value)
{
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace loopscope
