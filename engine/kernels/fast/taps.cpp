// The inner loops of depthwise convolutions: each channel of a pixel is a sum over the taps of its window, whose pixels are told by
// pointers. A block of channels goes along a whole row of pixels, so that its weights stay at hand.
#include "engine/kernels/fast/product.h"

#include "engine/base/cpu_level.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define LS_HAS_AVX2 1
#else
#define LS_HAS_AVX2 0
#endif

namespace loopscope::fast {

namespace {

/// Where a channel lies in its block of pairs: 0 … 3 and 8 … 11 in the first vector, 4 … 7 and 12 … 15 in the second, as AVX2 interleaves.
constexpr int64_t slotOf(int64_t channel) { return (channel & 3) | (channel & 4) << 1 | (channel & 8) >> 1; }

} // namespace

namespace baseline {

void multiplyTaps(const float* const* taps, int64_t tapCount, int64_t pixels, const float* weights, int64_t channels,
                  const FloatFinish& finish, float* to)
{
    for (int64_t p = 0; p < pixels; ++p, taps += tapCount, to += channels) {
        std::fill_n(to, channels, 0.0F);
        for (int64_t t = 0; t < tapCount; ++t)
            for (int64_t c = 0; c < channels; ++c) to[c] += taps[t][c] * weights[t * channels + c];
        for (int64_t c = 0; c < channels; ++c)
            to[c] = std::min(std::max(to[c] + (finish.bias ? finish.bias[c] : 0.0F), finish.low), finish.high);
    }
}

template <typename T> void multiplyTaps(const T* const* taps, int64_t tapPairs, int64_t pixels, const int16_t* weights,
                                        const int32_t* start, int64_t channelBlocks, int32_t* sums)
{
    for (int64_t p = 0; p < pixels; ++p, taps += 2 * tapPairs)
        for (int64_t c = 0; c < channelBlocks * kTileColumns; ++c) {
            const int64_t block = c / kTileColumns;
            auto sum = static_cast<uint32_t>(start[c]);
            for (int64_t t = 0; t < 2 * tapPairs; ++t) {
                const int16_t w = weights[((block * tapPairs + t / 2) * kTileColumns + slotOf(c % kTileColumns)) * 2 + t % 2];
                sum += static_cast<uint32_t>(int32_t{taps[t][c]} * int32_t{w});
            }
            *sums++ = static_cast<int32_t>(sum);
        }
}

} // namespace baseline

namespace {

#if LS_HAS_AVX2

const bool kIsWide = cpuHas(CpuLevel::avx2);
const bool kIsWidest = cpuHas(CpuLevel::avx512), kHasPairs = cpuHas(CpuLevel::avx512vnni);

/// sum + x · w as below, of sixteen.
template <bool fused> [[gnu::target("avx512f"), gnu::always_inline]] inline __m512 added(__m512 sum, __m512 x, __m512 w)
{
    if constexpr (fused) return _mm512_fmadd_ps(x, w, sum);
    else return _mm512_add_ps(sum, _mm512_mul_ps(x, w));
}

/// One whole block of channels of all pixels: the weights of nine taps, those of most windows, stay in registers.
template <int tapCount, bool fused> [[gnu::target("avx512f")]] void sumTapsWide(const float* const* taps, int64_t pixels,
                                                                                const float* packed, int64_t channels, int64_t first,
                                                                                const FloatFinish& finish, float* to)
{
    const __m512 least = _mm512_set1_ps(finish.low), most = _mm512_set1_ps(finish.high);
    const __m512 bias0 = finish.bias ? _mm512_loadu_ps(finish.bias + first) : _mm512_setzero_ps();
    const __m512 bias1 = finish.bias ? _mm512_loadu_ps(finish.bias + first + 16) : _mm512_setzero_ps();
    __m512 w0[tapCount], w1[tapCount];
#pragma GCC unroll 9
    for (int t = 0; t < tapCount; ++t) {
        w0[t] = _mm512_loadu_ps(packed + t * kTapBlock);
        w1[t] = _mm512_loadu_ps(packed + t * kTapBlock + 16);
    }
    for (int64_t p = 0; p < pixels; ++p, taps += tapCount, to += channels) {
        __m512 sum0 = _mm512_setzero_ps(), sum1 = sum0;
#pragma GCC unroll 9
        for (int t = 0; t < tapCount; ++t) {
            sum0 = added<fused>(sum0, _mm512_loadu_ps(taps[t] + first), w0[t]);
            sum1 = added<fused>(sum1, _mm512_loadu_ps(taps[t] + first + 16), w1[t]);
        }
        // With a mask: behind the other forms GCC 12 sees a number that nobody has set. Of a NaN and a number they give the second.
        const __m512 low0 = _mm512_maskz_max_ps(0xFFFF, least, _mm512_add_ps(sum0, bias0));
        const __m512 low1 = _mm512_maskz_max_ps(0xFFFF, least, _mm512_add_ps(sum1, bias1));
        _mm512_storeu_ps(to + first, _mm512_maskz_min_ps(0xFFFF, most, low0));
        _mm512_storeu_ps(to + first + 16, _mm512_maskz_min_ps(0xFFFF, most, low1));
    }
}
constexpr int64_t kTapsInRegisters = 9;

/// sum + x · w; `fused`: rounded once.
template <bool fused> [[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 added(__m256 sum, __m256 x, __m256 w)
{
    if constexpr (fused) return _mm256_fmadd_ps(x, w, sum);
    else return _mm256_add_ps(sum, _mm256_mul_ps(x, w));
}

/// One block of channels from `first` on of all pixels; its weights are `apart` floats from tap to tap.
template <int vectors, bool fused>
[[gnu::target("avx2,fma"), gnu::always_inline]] inline void sumTaps(const float* const* taps, int64_t tapCount, int64_t pixels,
                                                                    const float* weights, int64_t apart, int64_t channels, int64_t first,
                                                                    const FloatFinish& finish, float* to)
{
    const __m256 least = _mm256_set1_ps(finish.low), most = _mm256_set1_ps(finish.high);
    for (int64_t p = 0; p < pixels; ++p, taps += tapCount, to += channels) {
        __m256 sum[vectors];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) sum[v] = _mm256_setzero_ps();
        const float* w = weights;
        for (int64_t t = 0; t < tapCount; ++t, w += apart) {
            const float* const x = taps[t] + first;
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) sum[v] = added<fused>(sum[v], _mm256_loadu_ps(x + 8 * v), _mm256_loadu_ps(w + 8 * v));
        }
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            const __m256 bias = finish.bias ? _mm256_loadu_ps(finish.bias + first + 8 * v) : _mm256_setzero_ps();
            _mm256_storeu_ps(to + first + 8 * v, _mm256_min_ps(most, _mm256_max_ps(least, _mm256_add_ps(sum[v], bias))));
        }
    }
}

template <bool fused> [[gnu::target("avx2,fma")]] void sumAllTaps(const float* const* taps, int64_t tapCount, int64_t pixels,
                                                                  const float* weights, const float* packed, int64_t channels,
                                                                  const FloatFinish& finish, float* to)
{
    int64_t c = 0;
    if (kIsWidest && tapCount == kTapsInRegisters)
        for (; c + kTapBlock <= channels; c += kTapBlock)
            sumTapsWide<kTapsInRegisters, fused>(taps, pixels, packed + c * tapCount, channels, c, finish, to);
    for (; c + kTapBlock <= channels; c += kTapBlock)
        sumTaps<4, fused>(taps, tapCount, pixels, packed + c * tapCount, kTapBlock, channels, c, finish, to);
    for (; c + 8 <= channels; c += 8) sumTaps<1, fused>(taps, tapCount, pixels, weights + c, channels, channels, c, finish, to);
    if (c < channels && channels >= 8) // the last vector again, together with what is left
        return sumTaps<1, fused>(taps, tapCount, pixels, weights + channels - 8, channels, channels, channels - 8, finish, to);
    for (; c < channels; ++c)
        for (int64_t p = 0; p < pixels; ++p) {
            float sum = 0;
            for (int64_t t = 0; t < tapCount; ++t) {
                const float x = taps[p * tapCount + t][c], w = weights[t * channels + c];
                sum = fused ? __builtin_fmaf(x, w, sum) : sum + x * w;
            }
            to[p * channels + c] = std::min(std::max(sum + (finish.bias ? finish.bias[c] : 0.0F), finish.low), finish.high);
        }
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i widened(const int8_t* x)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i widened(const uint8_t* x)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}

/// sum + the products of pairs. `isOne`: in one instruction, which the machine has; no intrinsic, in front of which GCC 12 copies the sum.
template <bool isOne> [[gnu::target("avx2"), gnu::always_inline]] inline void addPairs(__m256i& sum, __m256i x, __m256i w)
{
    if constexpr (isOne) asm("vpdpwssd %2, %1, %0" : "+x"(sum) : "x"(w), "x"(x));
    else sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
}

template <typename T, bool isOne> [[gnu::target("avx2")]] void sumTapPairs(const T* const* taps, int64_t tapPairs, int64_t pixels,
                                                                           const int16_t* weights, const int32_t* start, int64_t firstBlock,
                                                                           int64_t channelBlocks, int32_t* sums)
{
    weights += firstBlock * 2 * kTileColumns * tapPairs;
    for (int64_t block = firstBlock; block < channelBlocks; ++block, weights += 2 * kTileColumns * tapPairs) {
        const auto* const from = reinterpret_cast<const __m256i*>(start + block * kTileColumns);
        const __m256i start0 = _mm256_loadu_si256(from), start1 = _mm256_loadu_si256(from + 1);
        const T* const* tap = taps;
        for (int64_t p = 0; p < pixels; ++p, tap += 2 * tapPairs) {
            __m256i low = _mm256_setzero_si256(), high = low;
            const auto* w = reinterpret_cast<const __m256i*>(weights);
            for (int64_t t = 0; t < tapPairs; ++t, w += 2) {
                const __m256i even = widened(tap[2 * t] + block * kTileColumns), odd = widened(tap[2 * t + 1] + block * kTileColumns);
                addPairs<isOne>(low, _mm256_unpacklo_epi16(even, odd), _mm256_load_si256(w));
                addPairs<isOne>(high, _mm256_unpackhi_epi16(even, odd), _mm256_load_si256(w + 1));
            }
            auto* const to = reinterpret_cast<__m256i*>(sums + (p * channelBlocks + block) * kTileColumns);
            _mm256_storeu_si256(to, _mm256_add_epi32(start0, _mm256_permute2x128_si256(low, high, 0x20)));
            _mm256_storeu_si256(to + 1, _mm256_add_epi32(start1, _mm256_permute2x128_si256(low, high, 0x31)));
        }
    }
}

[[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline __m512i widenedWide(const int8_t* x)
{
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
[[gnu::target("avx512f,avx512bw"), gnu::always_inline]] inline __m512i widenedWide(const uint8_t* x)
{
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
}
[[gnu::target("avx512f,avx512vnni"), gnu::always_inline]] inline void addPairs(__m512i& sum, __m512i x, __m512i w)
{
    asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
}

/// The vectors of two blocks. By way of memory: in what puts one into another GCC 12 sees a number that nobody has set.
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512i sideBySide(const __m256i* a, const __m256i* b)
{
    alignas(64) std::byte both[64];
    std::memcpy(both, a, 32);
    std::memcpy(both + 32, b, 32);
    return _mm512_load_si512(both);
}

/// Two blocks of channels side by side; the weights of five pairs of taps stay in registers. How many blocks were done.
template <typename T, int tapPairs> [[gnu::target("avx512f,avx512bw,avx512vnni")]] int64_t
sumTapPairsWide(const T* const* taps, int64_t pixels, const int16_t* weights, const int32_t* start, int64_t channelBlocks, int32_t* sums)
{
    constexpr int64_t kApart = tapPairs * 2 * kTileColumns; // of two blocks' weights
    const __m512i firstSixteen = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), lastSixteen = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    int64_t block = 0;
    for (; block + 2 <= channelBlocks; block += 2, weights += 2 * kApart) {
        const __m512i start0 = _mm512_loadu_si512(start + block * kTileColumns),
                      start1 = _mm512_loadu_si512(start + (block + 1) * kTileColumns);
        __m512i low[tapPairs], high[tapPairs];
#pragma GCC unroll 5
        for (int t = 0; t < tapPairs; ++t) {
            const auto* const w = reinterpret_cast<const __m256i*>(weights + t * 2 * kTileColumns);
            const auto* const next = reinterpret_cast<const __m256i*>(weights + kApart + t * 2 * kTileColumns);
            low[t] = sideBySide(w, next);
            high[t] = sideBySide(w + 1, next + 1);
        }
        const T* const* tap = taps;
        for (int64_t p = 0; p < pixels; ++p, tap += 2 * tapPairs) {
            __m512i lowSum = _mm512_setzero_si512(), highSum = lowSum;
#pragma GCC unroll 5
            for (int t = 0; t < tapPairs; ++t) {
                const __m512i even = widenedWide(tap[2 * t] + block * kTileColumns),
                              odd = widenedWide(tap[2 * t + 1] + block * kTileColumns);
                addPairs(lowSum, _mm512_unpacklo_epi16(even, odd), low[t]);
                addPairs(highSum, _mm512_unpackhi_epi16(even, odd), high[t]);
            }
            int32_t* const to = sums + (p * channelBlocks + block) * kTileColumns;
            _mm512_storeu_si512(to, _mm512_add_epi32(start0, _mm512_permutex2var_epi64(lowSum, firstSixteen, highSum)));
            _mm512_storeu_si512(to + kTileColumns, _mm512_add_epi32(start1, _mm512_permutex2var_epi64(lowSum, lastSixteen, highSum)));
        }
    }
    return block;
}
constexpr int64_t kPairsInRegisters = 5;

#endif

} // namespace

void multiplyTaps(const float* const* taps, int64_t tapCount, int64_t pixels, const float* weights, const float* packed, int64_t channels,
                  const FloatFinish& finish, float* to)
{
#if LS_HAS_AVX2
    if (kIsWide)
        return (finish.roundsProducts ? sumAllTaps<false> : sumAllTaps<true>)(taps, tapCount, pixels, weights, packed, channels, finish,
                                                                              to);
#endif
    static_cast<void>(packed);
    baseline::multiplyTaps(taps, tapCount, pixels, weights, channels, finish, to);
}

template <typename T> void multiplyTaps(const T* const* taps, int64_t tapPairs, int64_t pixels, const int16_t* weights,
                                        const int32_t* start, int64_t channelBlocks, int32_t* sums)
{
#if LS_HAS_AVX2
    if (kHasPairs) {
        const int64_t done =
            tapPairs == kPairsInRegisters ? sumTapPairsWide<T, kPairsInRegisters>(taps, pixels, weights, start, channelBlocks, sums) : 0;
        return sumTapPairs<T, true>(taps, tapPairs, pixels, weights, start, done, channelBlocks, sums);
    }
    if (kIsWide) return sumTapPairs<T, false>(taps, tapPairs, pixels, weights, start, 0, channelBlocks, sums);
#endif
    baseline::multiplyTaps(taps, tapPairs, pixels, weights, start, channelBlocks, sums);
}
template void multiplyTaps(const int8_t* const*, int64_t, int64_t, const int16_t*, const int32_t*, int64_t, int32_t*);
template void multiplyTaps(const uint8_t* const*, int64_t, int64_t, const int16_t*, const int32_t*, int64_t, int32_t*);
template void baseline::multiplyTaps(const int8_t* const*, int64_t, int64_t, const int16_t*, const int32_t*, int64_t, int32_t*);
template void baseline::multiplyTaps(const uint8_t* const*, int64_t, int64_t, const int16_t*, const int32_t*, int64_t, int32_t*);

void packTaps(const int16_t* weights, int64_t tapCount, int64_t channels, int16_t* packed)
{
    const int64_t pairs = (tapCount + 1) / 2;
    for (int64_t block = 0; block < panelsOf(channels); ++block)
        for (int64_t t = 0; t < 2 * pairs; ++t)
            for (int64_t i = 0; i < kTileColumns; ++i) {
                const int64_t c = block * kTileColumns + i;
                packed[((block * pairs + t / 2) * kTileColumns + slotOf(i)) * 2 + t % 2] =
                    t < tapCount && c < channels ? weights[t * channels + c] : int16_t{0};
            }
}

} // namespace loopscope::fast
