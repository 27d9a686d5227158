// The output stage of quantized convolutions, a row of channels at a time: it takes most of the time of a small convolution.
#include "engine/kernels/cpu/nn_common.h"

#include "engine/base/cpu_level.h"
#include "engine/kernels/cpu/output_stage_avx512.h"

#include <algorithm>

namespace loopscope {

namespace {

#if LS_HAS_AVX2

const bool kUseAvx2 = cpuHas(CpuLevel::avx2), kUseAvx512 = cpuHas(CpuLevel::avx512);

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
        __m256i x = loadChannels(sums + i);
        if (bias) x = _mm256_add_epi32(x, loadChannels(bias + i));
        x = _mm256_sllv_epi32(x, loadChannels(stage.left.data() + first + i));
        x = doublingHighMul(x, loadChannels(stage.fixed.data() + first + i));
        x = roundingDivide(x, loadChannels(stage.right.data() + first + i));
        x = _mm256_add_epi32(_mm256_max_epi32(_mm256_min_epi32(x, high), low), zero);
        const __m256i packed = _mm256_shuffle_epi8(x, bytes);
        const auto lower = static_cast<uint32_t>(_mm256_extract_epi32(packed, 0));
        const auto upper = static_cast<uint32_t>(_mm256_extract_epi32(packed, 4));
        const uint64_t all = lower | uint64_t{upper} << 32;
        __builtin_memcpy(out + i, &all, sizeof(all));
    }
    return i;
}

/// All channels, by sixteens.
template <typename T>
LS_AVX512 void applyRowAvx512(const OutputStage& stage, const int32_t* sums, const int32_t* bias, int64_t first, int64_t count, T* out)
{
    const __m512i low = _mm512_set1_epi32(stage.min - stage.zero), high = _mm512_set1_epi32(stage.max - stage.zero);
    const __m512i zero = _mm512_set1_epi32(stage.zero);
    for (int64_t i = 0; i < count; i += 16) {
        const __mmask16 mask = maskOf(count - i);
        __m512i x = loadChannels(sums + i, mask);
        if (bias) x = _mm512_add_epi32(x, loadChannels(bias + i, mask));
        x = _mm512_maskz_sllv_epi32(kAllChannels, x, loadChannels(stage.left.data() + first + i, mask));
        x = doublingHighMul(x, loadChannels(stage.fixed.data() + first + i, mask));
        x = roundingDivide(x, loadChannels(stage.right.data() + first + i, mask));
        storeBytes(out + i, mask, _mm512_add_epi32(clamped(x, low, high), zero));
    }
}

#endif

template <typename T>
void applyAll(const OutputStage& stage, const int32_t* sums, const int32_t* bias, int64_t first, int64_t count, T* out)
{
    int64_t i = 0;
#if LS_HAS_AVX2
    const bool isFixed = stage.scaling != Scaling::real && stage.scaling != Scaling::single;
    if (kUseAvx512 && isFixed) return applyRowAvx512(stage, sums, bias, first, count, out);
    if (kUseAvx2 && isFixed) i = applyRowAvx2(stage, sums, bias, first, count, out);
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
