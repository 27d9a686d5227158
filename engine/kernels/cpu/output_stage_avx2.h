// The fixed point of output stages, eight channels at a time, for who has their sums in vectors.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#define LS_HAS_AVX2 1
#else
#define LS_HAS_AVX2 0
#endif

#if LS_HAS_AVX2

namespace loopscope {

[[gnu::target("avx2")]] inline __m256i loadChannels(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

/// a·b·2⁻³¹ rounded, for b ≥ 0: with both signs of the product the rule of saturatingRoundingDoublingHighMul is (a·b + 2³⁰) >> 31, and
/// only −2³¹·−2³¹ saturates.
[[gnu::target("avx2")]] inline __m256i doublingHighMul(__m256i a, __m256i b)
{
    const __m256i nudge = _mm256_set1_epi64x(int64_t{1} << 30);
    const __m256i even = _mm256_srli_epi64(_mm256_add_epi64(_mm256_mul_epi32(a, b), nudge), 31);
    const __m256i odd = _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)), nudge);
    return _mm256_blend_epi32(even, _mm256_slli_epi64(_mm256_srli_epi64(odd, 31), 32), 0xAA);
}

/// roundingDivideByPowerOfTwo for exponents 0 … 31.
[[gnu::target("avx2")]] inline __m256i roundingDivide(__m256i x, __m256i exponent)
{
    const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(_mm256_set1_epi32(1), exponent), _mm256_set1_epi32(1));
    const __m256i negative = _mm256_srai_epi32(x, 31); // −1 where x < 0
    const __m256i threshold = _mm256_sub_epi32(_mm256_srli_epi32(mask, 1), negative);
    const __m256i up = _mm256_cmpgt_epi32(_mm256_and_si256(x, mask), threshold); // −1 where it is rounded up
    return _mm256_sub_epi32(_mm256_srav_epi32(x, exponent), up);
}

} // namespace loopscope

#endif
