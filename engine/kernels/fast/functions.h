// Transcendental functions of floats as polynomials, without branches, so that loops over them become vectors.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// As LS_VECTORISED (vectorised.h), and once more for AVX-512, with the same results: for loops whose arithmetic is worth another copy.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LS_VECTORISED_WIDEST __attribute__((target_clones("avx512f", "avx2", "default"), optimize("vect-cost-model=dynamic")))
#else
#define LS_VECTORISED_WIDEST
#endif

namespace loopscope::fast {

/// eˣ within 2 ulp: 2ⁿ·eʳ with |r| ≤ ½·ln 2, eʳ by a polynomial (coefficients of Cephes, expf). 2ⁿ in two steps, for results that are
/// denormal. NaN stays.
inline float exponential(float x)
{
    x = x < -104.0F ? -104.0F : x;
    x = x > 89.0F ? 89.0F : x;
    constexpr float kMagic = 12582912.0F; // 1.5·2²³: adding it rounds to an integer
    const float n = (x * 1.44269504088896341F + kMagic) - kMagic;
    const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    const float y = (p * (r * r) + r) + 1.0F;
    const auto exponent = static_cast<int32_t>(n);
    const int32_t half = exponent >> 1, rest = exponent - half;
    return y * std::bit_cast<float>(static_cast<uint32_t>(half + 127) << 23) *
           std::bit_cast<float>(static_cast<uint32_t>(rest + 127) << 23);
}

/// 1 / (1 + e⁻ˣ), from the side on which the power is small; below −9 the power alone, as the reference has it.
inline float sigmoid(float x)
{
    const float power = exponential(x < 0.0F ? x : -x), share = 1.0F / (1.0F + power);
    return x < -9.0F ? power : x < 0.0F ? power * share : share;
}

/// tanh x: an odd polynomial (coefficients of Cephes, tanhf) near 0, 1 − 2 / (e²ˣ + 1) elsewhere.
inline float hyperbolicTangent(float x)
{
    const float size = std::fabs(x), square = x * x;
    float p = -5.70498872745e-3F;
    p = p * square + 2.06390887954e-2F;
    p = p * square + -5.37397155531e-2F;
    p = p * square + 1.33314422036e-1F;
    p = p * square + -3.33332819422e-1F;
    const float near = x + x * (square * p);
    const float far = 1.0F - 2.0F / (exponential(2.0F * size) + 1.0F);
    const float signedFar = x < 0.0F ? -far : far;
    return size < 0.625F ? near : signedFar;
}

/// erf x within 2·10⁻⁷: an odd rational function (coefficients of Eigen's perf_erf) up to ±4, where it is ±1 in floats.
inline float errorFunction(float x)
{
    const float z = x < -4.0F ? -4.0F : x > 4.0F ? 4.0F : x, square = z * z;
    float p = -2.72614225801306e-10F;
    p = p * square + 2.77068142495902e-08F;
    p = p * square + -2.10102402082508e-06F;
    p = p * square + -5.69250639462346e-05F;
    p = p * square + -7.34990630326855e-04F;
    p = p * square + -2.95459980854025e-03F;
    p = p * square + -1.60960333262415e-02F;
    float q = -1.45660718464996e-05F;
    q = q * square + -2.13374055278905e-04F;
    q = q * square + -1.68282697438203e-03F;
    q = q * square + -7.37332916720468e-03F;
    q = q * square + -1.42647390514189e-02F;
    return z * p / q;
}

} // namespace loopscope::fast
