// The inner loops of products for machines with AVX-512: a vector is a whole panel, and two panels are worked on together. Each output has
// the terms, the order and the fused multiply-adds of the loops for AVX2: the same bits.
#include "engine/kernels/fast/product_avx512.h"

#if LS_HAS_AVX512

#include <cstring>
#include <immintrin.h>

namespace loopscope::fast::avx512 {

namespace {

/// Two numbers for all columns.
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512i pairOf(const int16_t* x)
{
    int32_t pair = 0;
    std::memcpy(&pair, x, sizeof(pair));
    return _mm512_set1_epi32(pair);
}

/// sum + x[0] · w[0] + x[1] · w[1] for 16 columns of pairs. As an instruction, not an intrinsic: GCC 12 copies the sum in front of each of
/// those, which takes as long as the multiplication.
[[gnu::target("avx512f,avx512vnni"), gnu::always_inline]] inline void addPairs(__m512i& sum, __m512i x, __m512i w)
{
    asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
}

/// The forms with a mask: behind the others GCC 12 sees a number that nobody has set.
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512 greater(__m512 a, __m512 b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512 lesser(__m512 a, __m512 b) { return _mm512_maskz_min_ps(0xFFFF, a, b); }

/// sum + x · w; `fused`: rounded once.
template <bool fused> [[gnu::target("avx512f"), gnu::always_inline]] inline __m512 added(__m512 sum, __m512 x, __m512 w)
{
    if constexpr (fused) return _mm512_fmadd_ps(x, w, sum);
    else return _mm512_add_ps(sum, _mm512_mul_ps(x, w));
}

template <int rowCount, int panelCount, bool fused> [[gnu::target("avx512f")]] void
tileFma(const float* const* rows, int64_t depth, const float* panel, int64_t apart, const FloatFinish& finish, float* to, int64_t stride)
{
    __m512 sums[rowCount][panelCount];
    const float* row[rowCount];
#pragma GCC unroll 6
    for (int p = 0; p < rowCount; ++p) {
#pragma GCC unroll 2
        for (int k = 0; k < panelCount; ++k)
            sums[p][k] = finish.goesOn ? _mm512_loadu_ps(to + p * stride + k * kTileColumns) : _mm512_setzero_ps();
        row[p] = rows[p];
    }
    for (int64_t d = 0; d < depth; ++d, panel += kTileColumns) {
        __m512 w[panelCount];
#pragma GCC unroll 2
        for (int k = 0; k < panelCount; ++k) w[k] = _mm512_load_ps(panel + k * apart);
#pragma GCC unroll 6
        for (int p = 0; p < rowCount; ++p) {
            const __m512 x = _mm512_set1_ps(row[p][d]);
#pragma GCC unroll 2
            for (int k = 0; k < panelCount; ++k) sums[p][k] = added<fused>(sums[p][k], x, w[k]);
        }
    }
    const __m512 least = _mm512_set1_ps(finish.low), most = _mm512_set1_ps(finish.high);
#pragma GCC unroll 2
    for (int k = 0; k < panelCount; ++k) {
        const __m512 bias = finish.bias ? _mm512_loadu_ps(finish.bias + k * kTileColumns) : _mm512_setzero_ps();
#pragma GCC unroll 6
        for (int p = 0; p < rowCount; ++p) // of a NaN and a number these give their second operand
            _mm512_storeu_ps(to + p * stride + k * kTileColumns, lesser(most, greater(least, _mm512_add_ps(sums[p][k], bias))));
    }
}

template <int panelCount, bool fused>
[[gnu::target("avx512f")]] void rowFma(const float* row, int64_t depth, const float* panel, float* sums)
{
    __m512 sum[panelCount];
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p) sum[p] = _mm512_setzero_ps();
    const int64_t apart = depth * kTileColumns;
    for (int64_t d = 0; d < depth; ++d, panel += kTileColumns) {
        const __m512 x = _mm512_set1_ps(row[d]);
#pragma GCC unroll 4
        for (int p = 0; p < panelCount; ++p) sum[p] = added<fused>(sum[p], x, _mm512_load_ps(panel + p * apart));
    }
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p) _mm512_storeu_ps(sums + p * kTileColumns, sum[p]);
}

/// Eight panels keep two multiplications a cycle under way; what they are finished with never leaves the registers. `last`: the columns of
/// the last panel that there are.
template <int panelCount, bool fused> [[gnu::target("avx512f")]] void finishedRowFma(const float* row, int64_t depth, const float* panel,
                                                                                     __mmask16 last, const FloatFinish& finish, float* to)
{
    __m512 sum[panelCount];
#pragma GCC unroll 8
    for (int p = 0; p < panelCount; ++p) sum[p] = _mm512_setzero_ps();
    const int64_t apart = depth * kTileColumns;
    for (int64_t d = 0; d < depth; ++d, panel += kTileColumns) {
        const __m512 x = _mm512_set1_ps(row[d]);
#pragma GCC unroll 8
        for (int p = 0; p < panelCount; ++p) sum[p] = added<fused>(sum[p], x, _mm512_load_ps(panel + p * apart));
    }
    const __m512 least = _mm512_set1_ps(finish.low), most = _mm512_set1_ps(finish.high);
#pragma GCC unroll 8
    for (int p = 0; p < panelCount; ++p) {
        const __mmask16 mask = p == panelCount - 1 ? last : 0xFFFF;
        const __m512 bias = finish.bias ? _mm512_maskz_loadu_ps(mask, finish.bias + p * kTileColumns) : _mm512_setzero_ps();
        _mm512_mask_storeu_ps(to + p * kTileColumns, mask, lesser(most, greater(least, _mm512_add_ps(sum[p], bias))));
    }
}

template <int rowCount, int panelCount> [[gnu::target("avx512f,avx512vnni")]] void
tilePairs(const int16_t* const* rows, int64_t pairs, const int16_t* panel, int64_t apart, int32_t* sums)
{
    __m512i sum[rowCount][panelCount];
    const int16_t* row[rowCount];
#pragma GCC unroll 6
    for (int p = 0; p < rowCount; ++p) {
#pragma GCC unroll 2
        for (int k = 0; k < panelCount; ++k) sum[p][k] = _mm512_setzero_si512();
        row[p] = rows[p];
    }
    for (int64_t d = 0; d < pairs; ++d, panel += 2 * kTileColumns) {
        __m512i w[panelCount];
#pragma GCC unroll 2
        for (int k = 0; k < panelCount; ++k) w[k] = _mm512_load_si512(panel + k * apart);
#pragma GCC unroll 6
        for (int p = 0; p < rowCount; ++p) {
            const __m512i x = pairOf(row[p] + 2 * d);
#pragma GCC unroll 2
            for (int k = 0; k < panelCount; ++k) addPairs(sum[p][k], x, w[k]);
        }
    }
#pragma GCC unroll 2
    for (int k = 0; k < panelCount; ++k)
#pragma GCC unroll 6
        for (int p = 0; p < rowCount; ++p) _mm512_storeu_si512(sums + (k * kTileRows + p) * kTileColumns, sum[p][k]);
}

/// Few panels have several sums under way each, which hides how long an addition takes: integers may be added in any order.
template <int panelCount>
[[gnu::target("avx512f,avx512vnni")]] void rowPairs(const int16_t* row, int64_t pairs, const int16_t* panel, int32_t* sums)
{
    constexpr int kChains = panelCount == 1 ? 4 : panelCount == 2 ? 2 : 1;
    constexpr int64_t kStep = 2 * kTileColumns;
    __m512i sum[panelCount][kChains];
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p)
#pragma GCC unroll 4
        for (int k = 0; k < kChains; ++k) sum[p][k] = _mm512_setzero_si512();
    const int64_t apart = pairs * kStep;
    int64_t d = 0;
    for (; d + kChains <= pairs; d += kChains, panel += kChains * kStep)
#pragma GCC unroll 4
        for (int k = 0; k < kChains; ++k) {
            const __m512i x = pairOf(row + 2 * (d + k));
#pragma GCC unroll 4
            for (int p = 0; p < panelCount; ++p) addPairs(sum[p][k], x, _mm512_load_si512(panel + p * apart + k * kStep));
        }
    for (; d < pairs; ++d, panel += kStep) {
        const __m512i x = pairOf(row + 2 * d);
#pragma GCC unroll 4
        for (int p = 0; p < panelCount; ++p) addPairs(sum[p][0], x, _mm512_load_si512(panel + p * apart));
    }
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p) {
#pragma GCC unroll 4
        for (int k = 1; k < kChains; ++k) sum[p][0] = _mm512_add_epi32(sum[p][0], sum[p][k]);
        _mm512_storeu_si512(sums + p * kTileColumns, sum[p][0]);
    }
}

/// Four bytes for all columns; those with a sign become what they are plus 128.
template <typename T> [[gnu::target("avx512f"), gnu::always_inline]] inline __m512i quadOf(const T* x)
{
    int32_t quad = 0;
    std::memcpy(&quad, x, sizeof(quad));
    const __m512i bytes = _mm512_set1_epi32(quad);
    if constexpr (kByteOffset<T> == 0) return bytes;
    else return _mm512_xor_si512(bytes, _mm512_set1_epi32(static_cast<int32_t>(0x80808080)));
}

/// sum + Σ x[k] · w[k], k < 4, for 16 columns of fours; an instruction as in addPairs().
[[gnu::target("avx512f,avx512vnni"), gnu::always_inline]] inline void addQuads(__m512i& sum, __m512i x, __m512i w)
{
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
}

template <int rowCount, int panelCount, typename T> [[gnu::target("avx512f,avx512vnni")]] void
tileQuads(const T* const* rows, int64_t quads, const int8_t* panel, int64_t apart, const int32_t* start, int32_t* sums)
{
    __m512i sum[rowCount][panelCount];
    const T* row[rowCount];
#pragma GCC unroll 6
    for (int p = 0; p < rowCount; ++p) {
#pragma GCC unroll 2
        for (int k = 0; k < panelCount; ++k) sum[p][k] = _mm512_loadu_si512(start + k * kTileColumns);
        row[p] = rows[p];
    }
    for (int64_t d = 0; d < quads; ++d, panel += 4 * kTileColumns) {
        __m512i w[panelCount];
#pragma GCC unroll 2
        for (int k = 0; k < panelCount; ++k) w[k] = _mm512_load_si512(panel + k * apart);
#pragma GCC unroll 6
        for (int p = 0; p < rowCount; ++p) {
            const __m512i x = quadOf(row[p] + 4 * d);
#pragma GCC unroll 2
            for (int k = 0; k < panelCount; ++k) addQuads(sum[p][k], x, w[k]);
        }
    }
#pragma GCC unroll 2
    for (int k = 0; k < panelCount; ++k)
#pragma GCC unroll 6
        for (int p = 0; p < rowCount; ++p) _mm512_storeu_si512(sums + (k * kTileRows + p) * kTileColumns, sum[p][k]);
}

/// Several sums under way for each panel, as in rowPairs().
template <int panelCount, typename T>
[[gnu::target("avx512f,avx512vnni")]] void rowQuads(const T* row, int64_t quads, const int8_t* panel, const int32_t* start, int32_t* sums)
{
    constexpr int kChains = panelCount == 1 ? 4 : 2;
    constexpr int64_t kStep = 4 * kTileColumns;
    __m512i sum[panelCount][kChains];
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p)
#pragma GCC unroll 4
        for (int k = 0; k < kChains; ++k) sum[p][k] = k == 0 ? _mm512_loadu_si512(start + p * kTileColumns) : _mm512_setzero_si512();
    const int64_t apart = quads * kStep;
    int64_t d = 0;
    for (; d + kChains <= quads; d += kChains, panel += kChains * kStep)
#pragma GCC unroll 4
        for (int k = 0; k < kChains; ++k) {
            const __m512i x = quadOf(row + 4 * (d + k));
#pragma GCC unroll 4
            for (int p = 0; p < panelCount; ++p) addQuads(sum[p][k], x, _mm512_load_si512(panel + p * apart + k * kStep));
        }
    for (; d < quads; ++d, panel += kStep) {
        const __m512i x = quadOf(row + 4 * d);
#pragma GCC unroll 4
        for (int p = 0; p < panelCount; ++p) addQuads(sum[p][0], x, _mm512_load_si512(panel + p * apart));
    }
#pragma GCC unroll 4
    for (int p = 0; p < panelCount; ++p) {
#pragma GCC unroll 4
        for (int k = 1; k < kChains; ++k) sum[p][0] = _mm512_add_epi32(sum[p][0], sum[p][k]);
        _mm512_storeu_si512(sums + p * kTileColumns, sum[p][0]);
    }
}

template <bool fused> constexpr decltype(&tileFma<1, 1, fused>) kTilesFma[][2] = {
    {tileFma<1, 1, fused>, tileFma<1, 2, fused>}, {tileFma<2, 1, fused>, tileFma<2, 2, fused>},
    {tileFma<3, 1, fused>, tileFma<3, 2, fused>}, {tileFma<4, 1, fused>, tileFma<4, 2, fused>},
    {tileFma<5, 1, fused>, tileFma<5, 2, fused>}, {tileFma<6, 1, fused>, tileFma<6, 2, fused>}};
constexpr decltype(&tilePairs<1, 1>) kTilesPairs[][2] = {{tilePairs<1, 1>, tilePairs<1, 2>}, {tilePairs<2, 1>, tilePairs<2, 2>},
                                                         {tilePairs<3, 1>, tilePairs<3, 2>}, {tilePairs<4, 1>, tilePairs<4, 2>},
                                                         {tilePairs<5, 1>, tilePairs<5, 2>}, {tilePairs<6, 1>, tilePairs<6, 2>}};
template <bool fused>
constexpr decltype(&rowFma<1, fused>) kRowsFma[] = {rowFma<1, fused>, rowFma<2, fused>, rowFma<3, fused>, rowFma<4, fused>};
template <bool fused> constexpr decltype(&finishedRowFma<1, fused>) kFinishedRowsFma[] = {
    finishedRowFma<1, fused>, finishedRowFma<2, fused>, finishedRowFma<3, fused>, finishedRowFma<4, fused>,
    finishedRowFma<5, fused>, finishedRowFma<6, fused>, finishedRowFma<7, fused>, finishedRowFma<8, fused>};
constexpr decltype(&rowPairs<1>) kRowsPairs[] = {rowPairs<1>, rowPairs<2>, rowPairs<3>, rowPairs<4>};

template <typename T> constexpr decltype(&tileQuads<1, 1, T>) kTilesQuads[][2] = {
    {tileQuads<1, 1, T>, tileQuads<1, 2, T>}, {tileQuads<2, 1, T>, tileQuads<2, 2, T>}, {tileQuads<3, 1, T>, tileQuads<3, 2, T>},
    {tileQuads<4, 1, T>, tileQuads<4, 2, T>}, {tileQuads<5, 1, T>, tileQuads<5, 2, T>}, {tileQuads<6, 1, T>, tileQuads<6, 2, T>}};
template <typename T> constexpr decltype(&rowQuads<1, T>) kRowsQuads[] = {rowQuads<1, T>, rowQuads<2, T>, rowQuads<3, T>, rowQuads<4, T>};

} // namespace

template <typename T> void multiplyTiles(const T* const* rows, int count, int64_t quads, const int8_t* panel, int panels, int64_t apart,
                                         const int32_t* start, int32_t* sums)
{
    kTilesQuads<T>[count - 1][panels - 1](rows, quads, panel, apart, start, sums);
}
template <typename T> void multiplyRow(const T* row, int64_t quads, const int8_t* panel, int panels, const int32_t* start, int32_t* sums)
{
    kRowsQuads<T>[panels - 1](row, quads, panel, start, sums);
}
template void multiplyTiles(const int8_t* const*, int, int64_t, const int8_t*, int, int64_t, const int32_t*, int32_t*);
template void multiplyTiles(const uint8_t* const*, int, int64_t, const int8_t*, int, int64_t, const int32_t*, int32_t*);
template void multiplyRow(const int8_t*, int64_t, const int8_t*, int, const int32_t*, int32_t*);
template void multiplyRow(const uint8_t*, int64_t, const int8_t*, int, const int32_t*, int32_t*);

void multiplyTiles(const float* const* rows, int count, int64_t depth, const float* panel, int panels, int64_t apart,
                   const FloatFinish& finish, float* to, int64_t stride)
{
    (finish.roundsProducts ? kTilesFma<false> : kTilesFma<true>)[count - 1][panels - 1](rows, depth, panel, apart, finish, to, stride);
}
void multiplyTiles(const int16_t* const* rows, int count, int64_t pairs, const int16_t* panel, int panels, int64_t apart, int32_t* sums)
{
    kTilesPairs[count - 1][panels - 1](rows, pairs, panel, apart, sums);
}
void multiplyRow(const float* row, int64_t depth, const float* panel, int panels, bool roundsProducts, float* sums)
{
    (roundsProducts ? kRowsFma<false> : kRowsFma<true>)[panels - 1](row, depth, panel, sums);
}
void multiplyRow(const float* row, int64_t depth, const float* panel, int64_t columns, const FloatFinish& finish, float* to)
{
    constexpr int64_t kTogether = 8 * kTileColumns;
    // The weights of a loop are often somewhat larger than the first cache: begun where the last row ended, half of them are still there.
    static thread_local const float* lastRead = nullptr;
    const int64_t parts = (columns + kTogether - 1) / kTogether;
    const bool isBackwards = parts > 1 && lastRead == panel + (parts - 1) * kTogether * depth;
    FloatFinish part = finish;
    for (int64_t k = 0; k < parts; ++k) {
        const int64_t column = (isBackwards ? parts - 1 - k : k) * kTogether;
        const int64_t some = columns - column < kTogether ? columns - column : kTogether, rest = some % kTileColumns;
        if (finish.bias) part.bias = finish.bias + column;
        (finish.roundsProducts ? kFinishedRowsFma<false> : kFinishedRowsFma<true>)[panelsOf(some) - 1](
            row, depth, panel + column * depth, static_cast<__mmask16>(rest == 0 ? 0xFFFF : (1 << rest) - 1), part, to + column);
        lastRead = panel + column * depth;
    }
}
void multiplyRow(const int16_t* row, int64_t pairs, const int16_t* panel, int panels, int32_t* sums)
{
    kRowsPairs[panels - 1](row, pairs, panel, sums);
}

} // namespace loopscope::fast::avx512

#endif
