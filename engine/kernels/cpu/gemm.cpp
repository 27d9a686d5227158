// Inner loops, in two builds: one that any x86-64 (or other) processor runs, one for AVX2 that is chosen when the program starts. Both
// perform the same additions and multiplications on every output, so results are equal bit for bit.
#include "engine/kernels/cpu/gemm.h"

#include "engine/base/cpu_level.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define LS_HAS_AVX2 1
#else
#define LS_HAS_AVX2 0
#endif

namespace loopscope {

namespace {

#if LS_HAS_AVX2
const bool kUseAvx2 = cpuHas(CpuLevel::avx2);
#endif

using Vec4 = float __attribute__((vector_size(16)));
using Vec8 = float __attribute__((vector_size(32)));

/// Sums of `Positions` windows and 2 vectors of rows. `panel` points to the first of the rows in its panel.
template <typename Vec, int Positions> [[gnu::always_inline]] inline void
sumRuns(const FloatTile& tile, int first, std::span<const ProductRun> runs, const float* panel, float* out)
{
    constexpr int64_t kLanes = sizeof(Vec) / sizeof(float);
    Vec sums[Positions][2] = {};
    for (const ProductRun& run : runs) {
        const float* inputs[Positions];
        for (int p = 0; p < Positions; ++p) inputs[p] = tile.input + (tile.positions[first + p] + run.input);
        const float* w = panel + run.weight * kPanelRows;
        for (int64_t i = 0; i < run.length; ++i, w += kPanelRows) {
            Vec w0;
            Vec w1;
            std::memcpy(&w0, w, sizeof(Vec));
            std::memcpy(&w1, w + kLanes, sizeof(Vec));
            for (int p = 0; p < Positions; ++p) {
                const float x = inputs[p][i];
                sums[p][0] += w0 * x;
                sums[p][1] += w1 * x;
            }
        }
    }
    for (int p = 0; p < Positions; ++p)
        for (int v = 0; v < 2; ++v) std::memcpy(out + p * kPanelRows + v * kLanes, &sums[p][v], sizeof(Vec));
}

/// All panels of one tile. `Halves` is how many times 2 vectors must be taken to cover the 16 rows of a panel.
template <typename Vec> [[gnu::always_inline]] inline void multiplyPanels(const FloatTile& tile, std::span<const ProductRun> runs,
                                                                          const float* panels, int64_t rows, int64_t depth)
{
    constexpr int64_t kLanes = sizeof(Vec) / sizeof(float);
    float block[kTilePositions * kPanelRows];
    for (int64_t row = 0; row < rows; row += kPanelRows) {
        const float* panel = panels + row * depth;
        for (int64_t part = 0; part < kPanelRows; part += 2 * kLanes) {
            switch (tile.count) {
            case 1: sumRuns<Vec, 1>(tile, 0, runs, panel + part, block + part); break;
            case 2: sumRuns<Vec, 2>(tile, 0, runs, panel + part, block + part); break;
            case 3: sumRuns<Vec, 3>(tile, 0, runs, panel + part, block + part); break;
            default: sumRuns<Vec, 4>(tile, 0, runs, panel + part, block + part); break;
            }
        }
        const int64_t count = std::min(kPanelRows, rows - row);
        for (int p = 0; p < tile.count; ++p)
            std::memcpy(tile.sums[p] + row, block + p * kPanelRows, static_cast<size_t>(count) * sizeof(float));
    }
}

int32_t addModulo(int32_t a, int32_t b) { return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b)); }

} // namespace

namespace baseline {

void multiplyTile(const FloatTile& tile, std::span<const ProductRun> runs, const float* panels, int64_t rows, int64_t depth)
{
    multiplyPanels<Vec4>(tile, runs, panels, rows, depth);
}

void dotRows(const int16_t* input, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth, int32_t* sums)
{
    for (int64_t r = 0; r < paddedRows(rows); ++r) {
        const int16_t* w = weights + r * rowStride;
        uint32_t sum = 0;
        for (int64_t i = 0; i < depth; ++i) sum += static_cast<uint32_t>(int32_t{input[i]} * int32_t{w[i]});
        sums[r] = static_cast<int32_t>(sum);
    }
}

} // namespace baseline

namespace {

#if LS_HAS_AVX2

[[gnu::target("avx2")]] void multiplyTileAvx2(const FloatTile& tile, std::span<const ProductRun> runs, const float* panels, int64_t rows,
                                              int64_t depth)
{
    multiplyPanels<Vec8>(tile, runs, panels, rows, depth);
}

[[gnu::target("avx2")]] inline __m256i load16(const int16_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

/// The sums of the eight lanes of each of four vectors.
[[gnu::target("avx2")]] inline __m128i sumLanes(__m256i a, __m256i b, __m256i c, __m256i d)
{
    const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

[[gnu::target("avx2")]] void dotRowsAvx2(const int16_t* input, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth,
                                         int32_t* sums)
{
    for (int64_t r = 0; r < rows; r += 4) {
        const int16_t* w = weights + r * rowStride;
        __m256i s0 = _mm256_setzero_si256();
        __m256i s1 = s0;
        __m256i s2 = s0;
        __m256i s3 = s0;
        for (int64_t i = 0; i < depth; i += kDotStep) {
            const __m256i x = load16(input + i);
            s0 = _mm256_add_epi32(s0, _mm256_madd_epi16(x, load16(w + i)));
            s1 = _mm256_add_epi32(s1, _mm256_madd_epi16(x, load16(w + rowStride + i)));
            s2 = _mm256_add_epi32(s2, _mm256_madd_epi16(x, load16(w + 2 * rowStride + i)));
            s3 = _mm256_add_epi32(s3, _mm256_madd_epi16(x, load16(w + 3 * rowStride + i)));
        }
        _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + r), sumLanes(s0, s1, s2, s3));
    }
}

[[gnu::target("avx2")]] void dotRows2Avx2(const int16_t* input0, const int16_t* input1, const int16_t* weights, int64_t rows,
                                          int64_t rowStride, int64_t depth, int32_t* sums0, int32_t* sums1)
{
    for (int64_t r = 0; r < rows; r += 4) {
        const int16_t* w = weights + r * rowStride;
        __m256i s[2][4];
        for (auto& row : s)
            for (auto& v : row) v = _mm256_setzero_si256();
        for (int64_t i = 0; i < depth; i += kDotStep) {
            const __m256i x0 = load16(input0 + i);
            const __m256i x1 = load16(input1 + i);
            for (int k = 0; k < 4; ++k) {
                const __m256i v = load16(w + k * rowStride + i);
                s[0][k] = _mm256_add_epi32(s[0][k], _mm256_madd_epi16(x0, v));
                s[1][k] = _mm256_add_epi32(s[1][k], _mm256_madd_epi16(x1, v));
            }
        }
        _mm_storeu_si128(reinterpret_cast<__m128i*>(sums0 + r), sumLanes(s[0][0], s[0][1], s[0][2], s[0][3]));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(sums1 + r), sumLanes(s[1][0], s[1][1], s[1][2], s[1][3]));
    }
}

[[gnu::target("avx2,fma")]] void fusedMultiplyAddFma(float x, const float* w, int64_t count, float* sums)
{
    const __m256 left = _mm256_set1_ps(x);
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) _mm256_storeu_ps(sums + i, _mm256_fmadd_ps(left, _mm256_loadu_ps(w + i), _mm256_loadu_ps(sums + i)));
    for (; i < count; ++i) sums[i] = __builtin_fmaf(x, w[i], sums[i]);
}

[[gnu::target("avx2")]] int64_t multiplyAddAvx2(const int16_t* x, const int16_t* w, int64_t count, uint32_t* sums)
{
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m256i a = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i)));
        const __m256i b = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + i)));
        auto* const to = reinterpret_cast<__m256i*>(sums + i);
        _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), _mm256_mullo_epi32(a, b)));
    }
    return i;
}

#endif

void dotRowsPlain(const int16_t* input, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth, int32_t* sums)
{
#if LS_HAS_AVX2
    if (kUseAvx2) return dotRowsAvx2(input, weights, rows, rowStride, depth, sums);
#endif
    baseline::dotRows(input, weights, rows, rowStride, depth, sums);
}

} // namespace

void packPanels(const float* weights, int64_t rows, int64_t depth, int64_t rowStride, int64_t elementStride, float* panels)
{
    for (int64_t row = 0; row < rows; row += kPanelRows) {
        const int64_t count = std::min(kPanelRows, rows - row);
        float* panel = panels + row * depth;
        for (int64_t d = 0; d < depth; ++d) {
            for (int64_t r = 0; r < count; ++r) panel[d * kPanelRows + r] = weights[(row + r) * rowStride + d * elementStride];
            for (int64_t r = count; r < kPanelRows; ++r) panel[d * kPanelRows + r] = 0.0F;
        }
    }
}

void multiplyTile(const FloatTile& tile, std::span<const ProductRun> runs, const float* panels, int64_t rows, int64_t depth)
{
#if LS_HAS_AVX2
    if (kUseAvx2) return multiplyTileAvx2(tile, runs, panels, rows, depth);
#endif
    baseline::multiplyTile(tile, runs, panels, rows, depth);
}

void dotRows(const int16_t* input, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth, int32_t* sums, bool add)
{
    if (!add) return dotRowsPlain(input, weights, rows, rowStride, depth, sums);
    int32_t part[4];
    for (int64_t r = 0; r < rows; r += 4) {
        dotRowsPlain(input, weights + r * rowStride, 4, rowStride, depth, part);
        for (int64_t k = 0; k < 4; ++k) sums[r + k] = addModulo(sums[r + k], part[k]);
    }
}

void dotRows2(const int16_t* input0, const int16_t* input1, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth,
              int32_t* sums0, int32_t* sums1)
{
#if LS_HAS_AVX2
    if (kUseAvx2) return dotRows2Avx2(input0, input1, weights, rows, rowStride, depth, sums0, sums1);
#endif
    baseline::dotRows(input0, weights, rows, rowStride, depth, sums0);
    baseline::dotRows(input1, weights, rows, rowStride, depth, sums1);
}

void multiplyAdd(const int16_t* x, const int16_t* w, int64_t count, uint32_t* sums)
{
    int64_t i = 0;
#if LS_HAS_AVX2
    if (kUseAvx2) i = multiplyAddAvx2(x, w, count, sums);
#endif
    for (; i < count; ++i) sums[i] += static_cast<uint32_t>(int32_t{x[i]} * int32_t{w[i]});
}

void fusedMultiplyAdd(float x, const float* w, int64_t count, float* sums)
{
#if LS_HAS_AVX2
    if (kUseAvx2) return fusedMultiplyAddFma(x, w, count, sums);
#endif
    for (int64_t i = 0; i < count; ++i) sums[i] = std::fma(x, w[i], sums[i]);
}

void dotRows64(const int16_t* input, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth, int64_t* sums, bool add)
{
    constexpr int64_t kChunk = 128; // 128 · 2¹⁵ · 255 < 2³¹: a chunk's sum fits 32 bits
    for (int64_t r = 0; r < rows; r += 4) {
        int64_t total[4] = {};
        for (int64_t i = 0; i < depth; i += kChunk) {
            int32_t part[4];
            dotRowsPlain(input + i, weights + r * rowStride + i, 4, rowStride, std::min(kChunk, depth - i), part);
            for (int k = 0; k < 4; ++k) total[k] += part[k];
        }
        for (int k = 0; k < 4; ++k) sums[r + k] = add ? sums[r + k] + total[k] : total[k];
    }
}

} // namespace loopscope
