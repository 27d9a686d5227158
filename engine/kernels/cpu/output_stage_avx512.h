// The fixed point of output stages, sixteen channels at a time: output_stage_avx2.h for machines with AVX-512.
#pragma once

#include "engine/kernels/cpu/output_stage_avx2.h"

#if LS_HAS_AVX2

namespace loopscope {

#define LS_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl")]]

/// The first `count` ≤ 16 numbers; the others are 0.
LS_AVX512 inline __m512i loadChannels(const int32_t* p, __mmask16 mask) { return _mm512_maskz_loadu_epi32(mask, p); }
inline __mmask16 maskOf(int64_t count) { return count >= 16 ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << count) - 1U); }

// GCC 12 sees numbers that nobody has set behind the forms without a mask.
inline constexpr __mmask16 kAllChannels = 0xFFFF;
inline constexpr __mmask8 kAllPairs = 0xFF;

/// a·b·2⁻³¹ rounded, for b ≥ 0; doublingHighMul.
LS_AVX512 inline __m512i doublingHighMul(__m512i a, __m512i b)
{
    const __m512i nudge = _mm512_set1_epi64(int64_t{1} << 30);
    const __m512i oddA = _mm512_maskz_srli_epi64(kAllPairs, a, 32), oddB = _mm512_maskz_srli_epi64(kAllPairs, b, 32);
    const __m512i even = _mm512_maskz_srli_epi64(kAllPairs, _mm512_add_epi64(_mm512_maskz_mul_epi32(kAllPairs, a, b), nudge), 31);
    const __m512i odd = _mm512_add_epi64(_mm512_maskz_mul_epi32(kAllPairs, oddA, oddB), nudge);
    return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_maskz_slli_epi64(kAllPairs, odd, 1));
}

/// roundingDivideByPowerOfTwo for exponents 0 … 31.
LS_AVX512 inline __m512i roundingDivide(__m512i x, __m512i exponent)
{
    const __m512i one = _mm512_set1_epi32(1);
    const __m512i mask = _mm512_sub_epi32(_mm512_maskz_sllv_epi32(kAllChannels, one, exponent), one);
    const __m512i negative = _mm512_maskz_srai_epi32(kAllChannels, x, 31); // −1 where x < 0
    const __m512i threshold = _mm512_sub_epi32(_mm512_maskz_srli_epi32(kAllChannels, mask, 1), negative);
    const __mmask16 up = _mm512_cmpgt_epi32_mask(_mm512_and_si512(x, mask), threshold);
    const __m512i shifted = _mm512_maskz_srav_epi32(kAllChannels, x, exponent);
    return _mm512_mask_add_epi32(shifted, up, shifted, one);
}

LS_AVX512 inline __m512i clamped(__m512i x, __m512i low, __m512i high)
{
    return _mm512_maskz_max_epi32(kAllChannels, _mm512_maskz_min_epi32(kAllChannels, x, high), low);
}

/// The lowest byte of each number, of those that the mask names.
LS_AVX512 inline void storeBytes(void* to, __mmask16 mask, __m512i x) { _mm512_mask_cvtepi32_storeu_epi8(to, mask, x); }

} // namespace loopscope

#endif
