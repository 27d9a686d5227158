// Copies, bias and activation around the tiles, and constant weights as panels.
#include "engine/kernels/fast/rows.h"

#include "engine/base/cpu_level.h"
#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/output_stage_avx512.h"

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

namespace loopscope::fast {

namespace {

#if LS_HAS_AVX2

const bool kUseAvx2 = cpuHas(CpuLevel::avx2), kUseAvx512 = cpuHas(CpuLevel::avx512);

/// Eight columns of a tile: what belongs to a channel is loaded once for all rows.
template <typename T> [[gnu::target("avx2")]] void finishEight(const int32_t* sums, int rows, const OutputStage& stage, int64_t channel,
                                                               const int32_t* bias, T* to, int64_t stride)
{
    const __m256i low = _mm256_set1_epi32(stage.min - stage.zero), high = _mm256_set1_epi32(stage.max - stage.zero);
    const __m256i zero = _mm256_set1_epi32(stage.zero), bytes = _mm256_set1_epi32(0x0C080400);
    const __m256i added = bias ? loadChannels(bias) : _mm256_setzero_si256(), left = loadChannels(stage.left.data() + channel);
    const __m256i fixed = loadChannels(stage.fixed.data() + channel), right = loadChannels(stage.right.data() + channel);
    for (int r = 0; r < rows; ++r, sums += kTileColumns, to += stride) {
        __m256i x = _mm256_sllv_epi32(_mm256_add_epi32(loadChannels(sums), added), left);
        x = roundingDivide(doublingHighMul(x, fixed), right);
        x = _mm256_add_epi32(_mm256_max_epi32(_mm256_min_epi32(x, high), low), zero);
        const __m256i packed = _mm256_shuffle_epi8(x, bytes);
        const __m128i together = _mm_unpacklo_epi32(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), together);
    }
}

/// The same for `columns` ≤ 16 columns; sums of a row are `apart` from those of the one before.
template <typename T> LS_AVX512 void finishSixteen(const int32_t* sums, int64_t apart, int64_t rows, int64_t columns,
                                                   const OutputStage& stage, int64_t channel, const int32_t* bias, T* to, int64_t stride)
{
    const __mmask16 mask = maskOf(columns);
    const __m512i low = _mm512_set1_epi32(stage.min - stage.zero), high = _mm512_set1_epi32(stage.max - stage.zero);
    const __m512i zero = _mm512_set1_epi32(stage.zero);
    const __m512i added = bias ? loadChannels(bias, mask) : _mm512_setzero_si512();
    const __m512i left = loadChannels(stage.left.data() + channel, mask), fixed = loadChannels(stage.fixed.data() + channel, mask);
    const __m512i right = loadChannels(stage.right.data() + channel, mask);
    for (int64_t r = 0; r < rows; ++r, sums += apart, to += stride) {
        const __m512i x = _mm512_maskz_sllv_epi32(kAllChannels, _mm512_add_epi32(_mm512_loadu_si512(sums), added), left);
        const __m512i scaled = roundingDivide(doublingHighMul(x, fixed), right);
        storeBytes(to, mask, _mm512_add_epi32(clamped(scaled, low, high), zero));
    }
}

#endif

template <typename T>
void finishAllRows(const int32_t* sums, int64_t apart, int64_t rows, const OutputStage& stage, const int32_t* bias, int64_t columns, T* to)
{
#if LS_HAS_AVX2
    if (kUseAvx512 && stage.scaling != Scaling::real && stage.scaling != Scaling::single) {
        for (int64_t c = 0; c < columns; c += kTileColumns)
            finishSixteen(sums + c, apart, rows, std::min(kTileColumns, columns - c), stage, c, bias ? bias + c : nullptr, to + c, columns);
        return;
    }
#endif
    for (int64_t r = 0; r < rows; ++r) stage.applyRow(sums + r * apart, bias, 0, columns, to + r * columns);
}

template <typename T> void finishStored(const int32_t* sums, int64_t row, int rows, int64_t panel, const StoredOutput<T>& out)
{
    int64_t column = panel * kTileColumns;
    T* to = out.to + row * out.stride + column;
    int64_t columns = std::min(kTileColumns, out.columns - column);
#if LS_HAS_AVX2
    const bool isFixed = out.stage.scaling != Scaling::real && out.stage.scaling != Scaling::single;
    if (kUseAvx512 && isFixed)
        return finishSixteen(sums, kTileColumns, rows, columns, out.stage, out.firstChannel + column,
                             out.bias ? out.bias + column : nullptr, to, out.stride);
    if (kUseAvx2 && isFixed)
        for (; columns >= 8; columns -= 8, column += 8, sums += 8, to += 8)
            finishEight(sums, rows, out.stage, out.firstChannel + column, out.bias ? out.bias + column : nullptr, to, out.stride);
#endif
    if (columns > 0)
        for (int r = 0; r < rows; ++r)
            out.stage.applyRow(sums + r * kTileColumns, out.bias ? out.bias + column : nullptr, out.firstChannel + column, columns,
                               to + r * out.stride);
}

} // namespace

namespace {

constexpr float kNoBias[kTileColumns] = {};

} // namespace

void finishRows(const int32_t* sums, int64_t apart, int64_t rows, const OutputStage& stage, const int32_t* bias, int64_t columns,
                int8_t* to)
{
    finishAllRows(sums, apart, rows, stage, bias, columns, to);
}
void finishRows(const int32_t* sums, int64_t apart, int64_t rows, const OutputStage& stage, const int32_t* bias, int64_t columns,
                uint8_t* to)
{
    finishAllRows(sums, apart, rows, stage, bias, columns, to);
}

void finishTile(const int32_t* sums, int64_t row, int rows, int64_t panel, const StoredOutput<int8_t>& out)
{
    finishStored(sums, row, rows, panel, out);
}
void finishTile(const int32_t* sums, int64_t row, int rows, int64_t panel, const StoredOutput<uint8_t>& out)
{
    finishStored(sums, row, rows, panel, out);
}

namespace {

/// to[c] = the sum at its scale plus the bias, in the range. `isNanLow`: a NaN becomes the range's end, else it stays.
template <bool isColumnFirst, bool isNanLow> LS_VECTORISED void
finishHybrid(const int32_t* sums, float rowScale, const float* scales, const float* bias, int64_t columns, float low, float high, float* to)
{
    for (int64_t c = 0; c < columns; ++c) {
        const auto sum = static_cast<float>(sums[c]);
        float value = (isColumnFirst ? sum * scales[c] * rowScale : sum * (rowScale * scales[c])) + bias[c];
        if constexpr (isNanLow) value = low < value ? value : low;
        else value = value < low ? low : value;
        to[c] = high < value ? high : value;
    }
}

} // namespace

void finishTile(const int32_t* sums, int64_t row, int rows, int64_t panel, const HybridOutput& out)
{
    const int64_t column = panel * kTileColumns, columns = std::min(kTileColumns, out.columns - column);
    const auto finish = out.isColumnFirst ? (out.isNanLow ? finishHybrid<true, true> : finishHybrid<true, false>)
                                          : (out.isNanLow ? finishHybrid<false, true> : finishHybrid<false, false>);
    int32_t shifted[kTileColumns];
    for (int r = 0; r < rows; ++r, sums += kTileColumns) {
        if (out.rowZeros)
            for (int64_t c = 0; c < kTileColumns; ++c)
                shifted[c] = static_cast<int32_t>(static_cast<uint32_t>(sums[c]) - static_cast<uint32_t>(out.rowZeros[row + r]) *
                                                                                       static_cast<uint32_t>(out.columnSums[column + c]));
        finish(out.rowZeros ? shifted : sums, out.rowScales[row + r], out.columnScales + column, out.bias ? out.bias + column : kNoBias,
               columns, out.range.min, out.range.max, out.to + (row + r) * out.stride + column);
    }
}

void multiplyRows(const int16_t* const* rows, int64_t count, int64_t depth, const int16_t* panels, int64_t firstPanel, int64_t lastPanel,
                  const WideOutput& out)
{
    constexpr int64_t kTogether = 240; // products below 2²³ in pairs below 2²⁴: their sum fits 32 bits
    alignas(64) int32_t part[kTileRows * kTileColumns];
    int64_t sums[kTileRows * kTileColumns];
    for (int64_t panel = firstPanel; panel < lastPanel; ++panel)
        for (int64_t row = 0; row < count; row += kTileRows) {
            const auto tile = static_cast<int>(std::min<int64_t>(kTileRows, count - row));
            std::fill_n(sums, tile * kTileColumns, 0);
            for (int64_t from = 0; from < depth; from += kTogether) {
                const int16_t* partRows[kTileRows];
                for (int r = 0; r < tile; ++r) partRows[r] = rows[row + r] + from;
                multiplyTile(partRows, tile, std::min(kTogether, depth - from) / 2, panels + (panel * depth + from) * kTileColumns, part);
                for (int64_t i = 0; i < tile * kTileColumns; ++i) sums[i] += part[i];
            }
            const int64_t column = panel * kTileColumns, columns = std::min(kTileColumns, out.columns - column);
            for (int r = 0; r < tile; ++r)
                for (int64_t c = 0; c < columns; ++c) {
                    const int64_t sum = sums[r * kTileColumns + c], channel = out.firstChannel + column + c;
                    int16_t& to = out.to[(row + r) * out.stride + column + c];
                    if (out.narrowBias)
                        to = static_cast<int16_t>(out.stage.apply(
                            static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(out.narrowBias[column + c])), channel));
                    else
                        to = static_cast<int16_t>(out.stage.apply64(
                            static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(out.bias ? out.bias[column + c] : 0)),
                            channel));
                }
        }
}

namespace {

template <typename T, typename Stored> void multiplyBytes(const T* const* rows, int64_t count, int64_t depth, const int8_t* panels,
                                                          int64_t firstPanel, int64_t lastPanel, const ByteOutput<Stored>& out)
{
    alignas(64) int32_t sums[kMostPanels * kTileRows * kTileColumns];
    const int64_t quads = depth / 4, apart = depth * kTileColumns, together = count == 1 ? 4 : kMostPanels;
    for (int64_t panel = firstPanel; panel < lastPanel; panel += together) {
        const auto some = static_cast<int>(std::min(together, lastPanel - panel));
        const int32_t* const start = out.start + panel * kTileColumns;
        if (count == 1) {
            multiplyRow(rows[0], quads, panels + panel * apart, some, start, sums);
            for (int k = 0; k < some; ++k) finishTile(sums + k * kTileColumns, 0, 1, panel + k, out.stored);
            continue;
        }
        for (int64_t row = 0; row < count; row += kTileRows) {
            const auto tile = static_cast<int>(std::min<int64_t>(kTileRows, count - row));
            multiplyTiles(rows + row, tile, quads, panels + panel * apart, some, apart, start, sums);
            for (int k = 0; k < some; ++k) finishTile(sums + k * kTileRows * kTileColumns, row, tile, panel + k, out.stored);
        }
    }
}

} // namespace

void multiplyRows(const int8_t* const* rows, int64_t count, int64_t depth, const int8_t* panels, int64_t firstPanel, int64_t lastPanel,
                  const ByteOutput<StoredOutput<int8_t>>& out)
{
    multiplyBytes(rows, count, depth, panels, firstPanel, lastPanel, out);
}
void multiplyRows(const int8_t* const* rows, int64_t count, int64_t depth, const int8_t* panels, int64_t firstPanel, int64_t lastPanel,
                  const ByteOutput<HybridOutput>& out)
{
    multiplyBytes(rows, count, depth, panels, firstPanel, lastPanel, out);
}
void multiplyRows(const uint8_t* const* rows, int64_t count, int64_t depth, const int8_t* panels, int64_t firstPanel, int64_t lastPanel,
                  const ByteOutput<StoredOutput<uint8_t>>& out)
{
    multiplyBytes(rows, count, depth, panels, firstPanel, lastPanel, out);
}

Result<std::optional<ByteWeights>> packedBytes(const Tensor& weights, int64_t groups, int64_t rows, int64_t depth, int32_t zero,
                                               DType input, int32_t inputZero)
{
    if (!multipliesBytes()) return std::optional<ByteWeights>();
    if (weights.dtype == DType::u8) {
        const auto [least, most] = std::minmax_element(weights.as<uint8_t>(), weights.as<uint8_t>() + weights.elementCount());
        if (*least - zero < -128 || *most - zero > 127) return std::optional<ByteWeights>();
    } else if (zero != 0) {
        return std::optional<ByteWeights>();
    }
    const int64_t elements = panelElements<int8_t>(rows, depth), columns = panelsOf(rows) * kTileColumns;
    const auto sumsAt = static_cast<size_t>(groups * elements); // a multiple of 64
    const PackedLayout layout = {rows, depth, groups, zero, 5U | static_cast<uint32_t>(weights.dtype) << 8U};
    ByteWeights bytes;
    LS_TRY(bytes.panels,
           packedOnce(weights, layout, sumsAt + static_cast<size_t>(groups * columns) * sizeof(int32_t), [&](PackedWeights& packed) {
               std::vector<int16_t> wide(static_cast<size_t>(rows * depth));
               int32_t* sums = reinterpret_cast<int32_t*>(packed.as<std::byte>() + sumsAt);
               std::fill_n(sums, groups * columns, 0);
               for (int64_t g = 0; g < groups; ++g, sums += columns) {
                   packIntegerRows(weights, g * rows, rows, depth, zero, depth, rows, wide.data());
                   packQuads(wide.data(), rows, depth, packed.as<int8_t>() + g * elements);
                   for (int64_t r = 0; r < rows; ++r)
                       for (int64_t d = 0; d < depth; ++d)
                           sums[r] = static_cast<int32_t>(static_cast<uint32_t>(sums[r]) +
                                                          static_cast<uint32_t>(wide[static_cast<size_t>(r * depth + d)]));
               }
           }));
    const auto* const sums = reinterpret_cast<const int32_t*>(bytes.panels->as<std::byte>() + sumsAt);
    bytes.sums = sums;
    const int32_t offset = inputZero + (input == DType::i8 ? kByteOffset<int8_t> : 0);
    for (int64_t c = 0; c < groups * columns; ++c)
        bytes.start.push_back(static_cast<int32_t>(0U - static_cast<uint32_t>(offset) * static_cast<uint32_t>(sums[c])));
    return std::optional(std::move(bytes));
}

void copyWidened(const float* from, int64_t count, int32_t, float* to)
{
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

LS_VECTORISED void copyNarrowed(const int16_t* from, int64_t count, int8_t* to)
{
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int8_t>(from[i]);
}

LS_VECTORISED void copyWidened(const int8_t* from, int64_t count, int32_t zero, int16_t* to)
{
    const auto less = static_cast<int16_t>(zero);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i] - less);
}

LS_VECTORISED void copyWidened(const uint8_t* from, int64_t count, int32_t zero, int16_t* to)
{
    const auto less = static_cast<int16_t>(zero);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(from[i] - less);
}

Result<std::shared_ptr<const PackedWeights>> packedRows(const Tensor& weights, int64_t groups, int64_t rows, int64_t depth, int32_t zero)
{
    const PackedLayout layout = {rows, depth, groups, zero, 1U | static_cast<uint32_t>(weights.dtype) << 8U};
    if (weights.dtype == DType::f32) {
        const int64_t elements = panelElements<float>(rows, depth);
        return packedOnce(weights, layout, static_cast<size_t>(groups * elements) * sizeof(float), [&](PackedWeights& packed) {
            for (int64_t g = 0; g < groups; ++g)
                packPanels(weights.as<float>() + g * rows * depth, rows, depth, depth, 1, packed.as<float>() + g * elements);
        });
    }
    const int64_t elements = panelElements<int16_t>(rows, depth);
    return packedOnce(weights, layout, static_cast<size_t>(groups * elements) * sizeof(int16_t), [&](PackedWeights& packed) {
        std::vector<int16_t> wide(static_cast<size_t>(rows * depth));
        for (int64_t g = 0; g < groups; ++g) {
            packIntegerRows(weights, g * rows, rows, depth, zero, depth, rows, wide.data());
            packPairs(wide.data(), rows, depth, packed.as<int16_t>() + g * elements);
        }
    });
}

Status checkFinite(const Tensor& weights)
{
    if (weights.dtype != DType::f32) return {};
    const float* const values = weights.as<float>();
    for (int64_t i = 0, count = weights.elementCount(); i < count; ++i)
        if (!std::isfinite(values[i])) return Error(ErrorCode::unsupported, "weights that are no finite numbers");
    return {};
}

} // namespace loopscope::fast
