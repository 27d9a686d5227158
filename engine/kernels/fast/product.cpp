// Tiles for AVX2 with fused multiply-adds, and for every other machine; those for AVX-512 are in product_avx512.cpp. The choice is made
// when the program starts.
#include "engine/kernels/fast/product.h"

#include "engine/base/cpu_level.h"
#include "engine/kernels/fast/product_avx512.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define LS_HAS_AVX2 1
#else
#define LS_HAS_AVX2 0
#endif

namespace loopscope::fast {

namespace baseline {

/// What every machine does: GCC makes vectors of the machine's base set of it.
void multiplyTile(const float* const* rows, int count, int64_t depth, const float* panel, const FloatFinish& finish, float* to,
                  int64_t stride)
{
    for (int p = 0; p < count; ++p) {
        float part[kTileColumns] = {};
        if (finish.goesOn) std::copy_n(to + p * stride, kTileColumns, part);
        for (int64_t d = 0; d < depth; ++d)
            for (int64_t c = 0; c < kTileColumns; ++c) part[c] += rows[p][d] * panel[d * kTileColumns + c];
        for (int64_t c = 0; c < kTileColumns; ++c)
            to[p * stride + c] = std::min(std::max(part[c] + (finish.bias ? finish.bias[c] : 0.0F), finish.low), finish.high);
    }
}

void multiplyTile(const int16_t* const* rows, int count, int64_t pairs, const int16_t* panel, int32_t* sums)
{
    for (int p = 0; p < count; ++p) {
        uint32_t part[kTileColumns] = {};
        for (int64_t d = 0; d < pairs; ++d) {
            const int32_t even = rows[p][2 * d], odd = rows[p][2 * d + 1];
            const int16_t* const w = panel + d * 2 * kTileColumns;
            for (int64_t c = 0; c < kTileColumns; ++c) part[c] += static_cast<uint32_t>(even * w[2 * c] + odd * w[2 * c + 1]);
        }
        for (int64_t c = 0; c < kTileColumns; ++c) sums[p * kTileColumns + c] = static_cast<int32_t>(part[c]);
    }
}

} // namespace baseline

namespace {

#if LS_HAS_AVX2

const bool kIsWide = cpuHas(CpuLevel::avx2);

/// sum + x · w; `fused`: rounded once.
template <bool fused> [[gnu::target("avx2,fma"), gnu::always_inline]] inline __m256 added(__m256 sum, __m256 x, __m256 w)
{
    if constexpr (fused) return _mm256_fmadd_ps(x, w, sum);
    else return _mm256_add_ps(sum, _mm256_mul_ps(x, w));
}

template <int rowCount, bool fused> [[gnu::target("avx2,fma")]] void tileFma(const float* const* rows, int64_t depth, const float* panel,
                                                                             const FloatFinish& finish, float* to, int64_t stride)
{
    __m256 low[rowCount], high[rowCount];
    const float* row[rowCount];
#pragma GCC unroll 6
    for (int p = 0; p < rowCount; ++p) {
        low[p] = finish.goesOn ? _mm256_loadu_ps(to + p * stride) : _mm256_setzero_ps();
        high[p] = finish.goesOn ? _mm256_loadu_ps(to + p * stride + 8) : _mm256_setzero_ps();
        row[p] = rows[p];
    }
    for (int64_t d = 0; d < depth; ++d, panel += kTileColumns) {
        const __m256 w0 = _mm256_load_ps(panel), w1 = _mm256_load_ps(panel + 8);
#pragma GCC unroll 6
        for (int p = 0; p < rowCount; ++p) {
            const __m256 x = _mm256_broadcast_ss(row[p] + d);
            low[p] = added<fused>(low[p], x, w0);
            high[p] = added<fused>(high[p], x, w1);
        }
    }
    const __m256 least = _mm256_set1_ps(finish.low), most = _mm256_set1_ps(finish.high);
    const __m256 bias0 = finish.bias ? _mm256_loadu_ps(finish.bias) : _mm256_setzero_ps();
    const __m256 bias1 = finish.bias ? _mm256_loadu_ps(finish.bias + 8) : _mm256_setzero_ps();
#pragma GCC unroll 6
    for (int p = 0; p < rowCount; ++p) { // of a NaN and a number these give their second operand
        _mm256_storeu_ps(to + p * stride, _mm256_min_ps(most, _mm256_max_ps(least, _mm256_add_ps(low[p], bias0))));
        _mm256_storeu_ps(to + p * stride + 8, _mm256_min_ps(most, _mm256_max_ps(least, _mm256_add_ps(high[p], bias1))));
    }
}

/// Four panels side by side: eight sums under way hide how long an addition takes.
template <int panelCount, bool fused>
[[gnu::target("avx2,fma")]] void rowFma(const float* row, int64_t depth, const float* panel, float* sums)
{
    __m256 low[panelCount], high[panelCount];
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p) low[p] = high[p] = _mm256_setzero_ps();
    const int64_t apart = depth * kTileColumns;
    for (int64_t d = 0; d < depth; ++d, panel += kTileColumns) {
        const __m256 x = _mm256_broadcast_ss(row + d);
#pragma GCC unroll 4
        for (int p = 0; p < panelCount; ++p) {
            low[p] = added<fused>(low[p], x, _mm256_load_ps(panel + p * apart));
            high[p] = added<fused>(high[p], x, _mm256_load_ps(panel + p * apart + 8));
        }
    }
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p) {
        _mm256_storeu_ps(sums + p * kTileColumns, low[p]);
        _mm256_storeu_ps(sums + p * kTileColumns + 8, high[p]);
    }
}

[[gnu::target("avx2"), gnu::always_inline]] inline __m256i pairOf(const int16_t* x)
{
    int32_t pair = 0;
    std::memcpy(&pair, x, sizeof(pair));
    return _mm256_set1_epi32(pair);
}

template <int rowCount>
[[gnu::target("avx2")]] void tilePairs(const int16_t* const* rows, int64_t pairs, const int16_t* panel, int32_t* sums)
{
    __m256i low[rowCount], high[rowCount];
    const int16_t* row[rowCount];
#pragma GCC unroll 6
    for (int p = 0; p < rowCount; ++p) {
        low[p] = high[p] = _mm256_setzero_si256();
        row[p] = rows[p];
    }
    for (int64_t d = 0; d < pairs; ++d, panel += 2 * kTileColumns) {
        const __m256i w0 = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel));
        const __m256i w1 = _mm256_load_si256(reinterpret_cast<const __m256i*>(panel + kTileColumns));
#pragma GCC unroll 6
        for (int p = 0; p < rowCount; ++p) {
            const __m256i x = pairOf(row[p] + 2 * d);
            low[p] = _mm256_add_epi32(low[p], _mm256_madd_epi16(x, w0));
            high[p] = _mm256_add_epi32(high[p], _mm256_madd_epi16(x, w1));
        }
    }
#pragma GCC unroll 6
    for (int p = 0; p < rowCount; ++p) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + p * kTileColumns), low[p]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + p * kTileColumns + 8), high[p]);
    }
}

template <int panelCount> [[gnu::target("avx2")]] void rowPairs(const int16_t* row, int64_t pairs, const int16_t* panel, int32_t* sums)
{
    __m256i low[panelCount], high[panelCount];
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p) low[p] = high[p] = _mm256_setzero_si256();
    const int64_t apart = pairs * 2 * kTileColumns;
    for (int64_t d = 0; d < pairs; ++d, panel += 2 * kTileColumns) {
        const __m256i x = pairOf(row + 2 * d);
#pragma GCC unroll 4
        for (int p = 0; p < panelCount; ++p) {
            const auto* const w = reinterpret_cast<const __m256i*>(panel + p * apart);
            low[p] = _mm256_add_epi32(low[p], _mm256_madd_epi16(x, _mm256_load_si256(w)));
            high[p] = _mm256_add_epi32(high[p], _mm256_madd_epi16(x, _mm256_load_si256(w + 1)));
        }
    }
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + p * kTileColumns), low[p]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + p * kTileColumns + 8), high[p]);
    }
}

template <bool fused> constexpr decltype(&tileFma<1, fused>) kTilesFma[] = {tileFma<1, fused>, tileFma<2, fused>, tileFma<3, fused>,
                                                                            tileFma<4, fused>, tileFma<5, fused>, tileFma<6, fused>};
template <bool fused>
constexpr decltype(&rowFma<1, fused>) kRowsFma[] = {rowFma<1, fused>, rowFma<2, fused>, rowFma<3, fused>, rowFma<4, fused>};
constexpr decltype(&tilePairs<1>) kTilesPairs[] = {tilePairs<1>, tilePairs<2>, tilePairs<3>, tilePairs<4>, tilePairs<5>, tilePairs<6>};
constexpr decltype(&rowPairs<1>) kRowsPairs[] = {rowPairs<1>, rowPairs<2>, rowPairs<3>, rowPairs<4>};

#endif

#if LS_HAS_AVX512

const bool kHasWideFloats = avx512::hasFloats(), kHasWidePairs = avx512::hasPairs();

#endif

} // namespace

namespace {

void finishRow(const float* sums, const float* bias, int64_t columns, float low, float high, float* to)
{
    if (bias)
        for (int64_t c = 0; c < columns; ++c) to[c] = std::min(std::max(sums[c] + bias[c], low), high);
    else
        for (int64_t c = 0; c < columns; ++c) to[c] = std::min(std::max(sums[c] + 0.0F, low), high);
}

} // namespace

int panelsTogether()
{
#if LS_HAS_AVX512
    if (kHasWideFloats) return kMostPanels;
#endif
    return 1;
}

void multiplyTiles(const float* const* rows, int count, int64_t depth, const float* panel, int panels, int64_t apart,
                   const FloatFinish& finish, float* to, int64_t stride)
{
#if LS_HAS_AVX512
    if (kHasWideFloats) return avx512::multiplyTiles(rows, count, depth, panel, panels, apart, finish, to, stride);
#endif
    FloatFinish own = finish;
    for (int k = 0; k < panels; ++k, panel += apart, to += kTileColumns) {
#if LS_HAS_AVX2
        if (kIsWide) (finish.roundsProducts ? kTilesFma<false> : kTilesFma<true>)[count - 1](rows, depth, panel, own, to, stride);
        else
#endif
            baseline::multiplyTile(rows, count, depth, panel, own, to, stride);
        if (own.bias) own.bias += kTileColumns;
    }
}

void multiplyTiles(const int16_t* const* rows, int count, int64_t pairs, const int16_t* panel, int panels, int64_t apart, int32_t* sums)
{
#if LS_HAS_AVX512
    if (kHasWidePairs) return avx512::multiplyTiles(rows, count, pairs, panel, panels, apart, sums);
#endif
    for (int k = 0; k < panels; ++k, panel += apart, sums += kTileRows * kTileColumns) {
#if LS_HAS_AVX2
        if (kIsWide) kTilesPairs[count - 1](rows, pairs, panel, sums);
        else
#endif
            baseline::multiplyTile(rows, count, pairs, panel, sums);
    }
}

void multiplyRow(const float* row, int64_t depth, const float* panel, int64_t panels, bool roundsProducts, float* sums)
{
    for (int64_t p = 0; p < panels; p += 4, sums += 4 * kTileColumns) {
        const auto count = static_cast<int>(std::min<int64_t>(4, panels - p));
        const float* const first = panel + p * depth * kTileColumns;
#if LS_HAS_AVX512
        if (kHasWideFloats) {
            avx512::multiplyRow(row, depth, first, count, roundsProducts, sums);
            continue;
        }
#endif
#if LS_HAS_AVX2
        if (kIsWide) {
            (roundsProducts ? kRowsFma<false> : kRowsFma<true>)[count - 1](row, depth, first, sums);
            continue;
        }
#endif
        for (int64_t k = 0; k < count; ++k)
            baseline::multiplyTile(&row, 1, depth, first + k * depth * kTileColumns, {}, sums + k * kTileColumns, kTileColumns);
    }
}

void multiplyRow(const float* row, int64_t depth, const float* panel, int64_t columns, const FloatFinish& finish, float* to)
{
#if LS_HAS_AVX512
    if (kHasWideFloats) return avx512::multiplyRow(row, depth, panel, columns, finish, to);
#endif
    constexpr int64_t kTogether = 4 * kTileColumns;
    alignas(64) float sums[kTogether];
    for (int64_t column = 0; column < columns; column += kTogether) {
        const int64_t some = std::min(kTogether, columns - column);
        multiplyRow(row, depth, panel + column * depth, panelsOf(some), finish.roundsProducts, sums);
        finishRow(sums, finish.bias ? finish.bias + column : nullptr, some, finish.low, finish.high, to + column);
    }
}

void multiplyRow(const int16_t* row, int64_t pairs, const int16_t* panel, int64_t panels, int32_t* sums)
{
    const int64_t apart = pairs * 2 * kTileColumns;
    for (int64_t p = 0; p < panels; p += 4, sums += 4 * kTileColumns) {
        const auto count = static_cast<int>(std::min<int64_t>(4, panels - p));
#if LS_HAS_AVX512
        if (kHasWidePairs) {
            avx512::multiplyRow(row, pairs, panel + p * apart, count, sums);
            continue;
        }
#endif
#if LS_HAS_AVX2
        if (kIsWide) {
            kRowsPairs[count - 1](row, pairs, panel + p * apart, sums);
            continue;
        }
#endif
        for (int64_t k = 0; k < count; ++k) baseline::multiplyTile(&row, 1, pairs, panel + (p + k) * apart, sums + k * kTileColumns);
    }
}

void packPanels(const float* weights, int64_t rows, int64_t depth, int64_t rowStride, int64_t elementStride, float* panels)
{
    for (int64_t row = 0; row < rows; row += kTileColumns, panels += depth * kTileColumns) {
        const int64_t count = std::min(kTileColumns, rows - row);
        const float* const from = weights + row * rowStride;
        int64_t d = 0;
        // Whole lines of a cache at a time: rows a large power of two apart share the few places that their addresses allow.
        if (elementStride == 1 && count == kTileColumns)
            for (; d + kTileColumns <= depth; d += kTileColumns) {
                float block[kTileColumns][kTileColumns];
                for (int64_t r = 0; r < kTileColumns; ++r) std::memcpy(block[r], from + r * rowStride + d, sizeof(block[r]));
                float* const to = panels + d * kTileColumns;
                for (int64_t i = 0; i < kTileColumns; ++i)
                    for (int64_t r = 0; r < kTileColumns; ++r) to[i * kTileColumns + r] = block[r][i];
            }
        for (; d < depth; ++d) {
            float* const to = panels + d * kTileColumns;
            for (int64_t r = 0; r < count; ++r) to[r] = from[r * rowStride + d * elementStride];
            for (int64_t r = count; r < kTileColumns; ++r) to[r] = 0.0F;
        }
    }
}

bool multipliesBytes()
{
#if LS_HAS_AVX512
    return kHasWidePairs;
#else
    return false;
#endif
}

// Where bytes are not multiplied nobody asks for it.
template <typename T> void multiplyTiles(const T* const* rows, int count, int64_t quads, const int8_t* panel, int panels, int64_t apart,
                                         const int32_t* start, int32_t* sums)
{
#if LS_HAS_AVX512
    avx512::multiplyTiles(rows, count, quads, panel, panels, apart, start, sums);
#else
    static_cast<void>(rows), static_cast<void>(count), static_cast<void>(quads), static_cast<void>(panel), static_cast<void>(panels),
        static_cast<void>(apart), static_cast<void>(start), static_cast<void>(sums);
#endif
}
template <typename T> void multiplyRow(const T* row, int64_t quads, const int8_t* panel, int panels, const int32_t* start, int32_t* sums)
{
#if LS_HAS_AVX512
    avx512::multiplyRow(row, quads, panel, panels, start, sums);
#else
    static_cast<void>(row), static_cast<void>(quads), static_cast<void>(panel), static_cast<void>(panels), static_cast<void>(start),
        static_cast<void>(sums);
#endif
}
template void multiplyTiles(const int8_t* const*, int, int64_t, const int8_t*, int, int64_t, const int32_t*, int32_t*);
template void multiplyTiles(const uint8_t* const*, int, int64_t, const int8_t*, int, int64_t, const int32_t*, int32_t*);
template void multiplyRow(const int8_t*, int64_t, const int8_t*, int, const int32_t*, int32_t*);
template void multiplyRow(const uint8_t*, int64_t, const int8_t*, int, const int32_t*, int32_t*);

void packPairs(const int16_t* weights, int64_t rows, int64_t depth, int16_t* panels)
{
    const int64_t padded = rowDepth<int16_t>(depth);
    for (int64_t row = 0; row < rows; row += kTileColumns, panels += padded * kTileColumns)
        for (int64_t d = 0; d < padded; ++d)
            for (int64_t c = 0; c < kTileColumns; ++c)
                panels[d / 2 * 2 * kTileColumns + 2 * c + d % 2] =
                    row + c < rows && d < depth ? weights[(row + c) * depth + d] : int16_t{0};
}

void packQuads(const int16_t* weights, int64_t rows, int64_t depth, int8_t* panels)
{
    const int64_t padded = rowDepth<int8_t>(depth);
    for (int64_t row = 0; row < rows; row += kTileColumns, panels += padded * kTileColumns)
        for (int64_t d = 0; d < padded; ++d)
            for (int64_t c = 0; c < kTileColumns; ++c)
                panels[d / 4 * 4 * kTileColumns + 4 * c + d % 4] =
                    row + c < rows && d < depth ? static_cast<int8_t>(weights[(row + c) * depth + d]) : int8_t{0};
}

} // namespace loopscope::fast
