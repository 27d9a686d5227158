// The output stage of quantized convolutions, a row of channels at a time: it takes most of the time of a small convolution.
#include "engine/kernels/cpu/nn_common.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define LS_HAS_AVX2 1
#else
#define LS_HAS_AVX2 0
#endif

namespace loopscope {

namespace {

#if LS_HAS_AVX2

const bool kUseAvx2 = __builtin_cpu_supports("avx2") != 0;

[[gnu::target("avx2")]] inline __m256i load(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

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

/// Rows of 8 channels; how many channels were done.
template <typename T> [[gnu::target("avx2")]] int64_t applyRowAvx2(const OutputStage& stage, const int32_t* sums, const int32_t* bias,
                                                                   int64_t first, int64_t count, T* out)
{
    const __m256i low = _mm256_set1_epi32(stage.min - stage.zero);
    const __m256i high = _mm256_set1_epi32(stage.max - stage.zero);
    const __m256i zero = _mm256_set1_epi32(stage.zero);
    // The lowest byte of each number: stored results have 8 bits.
    const __m256i bytes = _mm256_set1_epi32(0x0C080400);
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256i x = load(sums + i);
        if (bias) x = _mm256_add_epi32(x, load(bias + i));
        x = _mm256_sllv_epi32(x, load(stage.left.data() + first + i));
        x = doublingHighMul(x, load(stage.fixed.data() + first + i));
        x = roundingDivide(x, load(stage.right.data() + first + i));
        x = _mm256_add_epi32(_mm256_max_epi32(_mm256_min_epi32(x, high), low), zero);
        const __m256i packed = _mm256_shuffle_epi8(x, bytes);
        const auto lower = static_cast<uint32_t>(_mm256_extract_epi32(packed, 0));
        const auto upper = static_cast<uint32_t>(_mm256_extract_epi32(packed, 4));
        const uint64_t all = lower | uint64_t{upper} << 32;
        __builtin_memcpy(out + i, &all, sizeof(all));
    }
    return i;
}

#endif

template <typename T>
void applyAll(const OutputStage& stage, const int32_t* sums, const int32_t* bias, int64_t first, int64_t count, T* out)
{
    int64_t i = 0;
#if LS_HAS_AVX2
    if (kUseAvx2 && stage.scaling != Scaling::real && stage.scaling != Scaling::single)
        i = applyRowAvx2(stage, sums, bias, first, count, out);
#endif
    for (; i < count; ++i) {
        const uint32_t total = static_cast<uint32_t>(sums[i]) + static_cast<uint32_t>(bias ? bias[i] : 0);
        out[i] = static_cast<T>(stage.apply(static_cast<int32_t>(total), first + i));
    }
}

} // namespace

void OutputStage::applyRow(const int32_t* sums, const int32_t* bias, int64_t first, int64_t count, int8_t* out) const
{
    applyAll(*this, sums, bias, first, count, out);
}

void OutputStage::applyRow(const int32_t* sums, const int32_t* bias, int64_t first, int64_t count, uint8_t* out) const
{
    applyAll(*this, sums, bias, first, count, out);
}

} // namespace loopscope
