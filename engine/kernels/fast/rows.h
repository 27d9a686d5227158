// Rows times packed columns: what convolutions and matrix products of the profile `fast` are made of.
#pragma once

#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/fast/packed.h"
#include "engine/kernels/fast/product.h"
#include "engine/kernels/kernel.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace loopscope::fast {

/// Sums with fused multiply-adds are nearer to the real ones than the reference's, which round every product.
inline constexpr ErrorBounds kProductBound = ErrorBounds(withinOfLargest(4e-6)).because("products are not rounded before they are added");

/// Terms of a sum that are added before the next panel has its turn.
inline constexpr int64_t kDepthTogether = 512;

/// The most rows that are worked on together: theirs and the panel's numbers stay in the caches.
inline constexpr int64_t kMostRows = 96;

/// 16-bit numbers are what 8-bit operands are widened to, less their zero point.
template <typename In> using Widened = std::conditional_t<std::is_same_v<In, float>, float, int16_t>;
template <typename T> using SumOf = std::conditional_t<std::is_same_v<T, float>, float, int32_t>;

/// Where the products of rows and columns go, and what becomes of them: column c of row r is to[r · stride + c].
struct FloatOutput {
    FloatFinish finish; ///< its bias is that of column 0
    float* to;
    int64_t stride, columns;
};
template <typename T> struct StoredOutput {
    const OutputStage& stage;
    const int32_t* bias;  ///< of column 0; null: none
    int64_t firstChannel; ///< whose factor column 0 has
    T* to;
    int64_t stride, columns;
};

/// Floats whose inputs were quantized on the fly: (sum · scale + bias), in the range. Each row has its scale, each column one, too.
struct HybridOutput {
    const float* rowScales;    ///< of row 0
    const float* columnScales; ///< of column 0
    bool isColumnFirst;        ///< sum · column · row, else sum · (row · column): that decides the last bit
    bool isNanLow;             ///< what becomes of a NaN: the range's end, or itself
    const float* bias;         ///< of column 0; null: none
    ActivationRange<float> range;
    float* to;
    int64_t stride, columns;
    const int32_t* rowZeros = nullptr;   ///< of row 0: zero points that the sums do not know of; null: none
    const int32_t* columnSums = nullptr; ///< of column 0, of whole panels: what a zero point counts for
};
/// Results of bytes that are multiplied as they are: what the zero point of the inputs and kByteOffset take off is where sums start.
template <typename Stored> struct ByteOutput {
    Stored stored;
    const int32_t* start; ///< of column 0, for all columns of whole panels
};
/// i16: sums in 64 bits. With a bias of 32 bits the sum is cut to those and has the 32-bit rule.
struct WideOutput {
    const OutputStage& stage;
    const int32_t* narrowBias; ///< of column 0; null: none
    const int64_t* bias;
    int64_t firstChannel;
    int16_t* to;
    int64_t stride, columns;
};

/// Rows of sums, `apart` from each other, become rows of `columns` results.
void finishRows(const int32_t* sums, int64_t apart, int64_t rows, const OutputStage& stage, const int32_t* bias, int64_t columns,
                int8_t* to);
void finishRows(const int32_t* sums, int64_t apart, int64_t rows, const OutputStage& stage, const int32_t* bias, int64_t columns,
                uint8_t* to);
/// Finishes sums of `rows` rows and the columns of a panel.
void finishTile(const int32_t* sums, int64_t row, int rows, int64_t panel, const StoredOutput<int8_t>& out);
void finishTile(const int32_t* sums, int64_t row, int rows, int64_t panel, const StoredOutput<uint8_t>& out);
void finishTile(const int32_t* sums, int64_t row, int rows, int64_t panel, const HybridOutput& out);

/// Multiplies `count` rows by the panels `firstPanel` to `lastPanel`. `depth` is rowDepth() of the rows.
template <typename T, typename Output> void multiplyRows(const T* const* rows, int64_t count, int64_t depth, const T* panels,
                                                         int64_t firstPanel, int64_t lastPanel, const Output& out)
{
    alignas(64) SumOf<T> sums[kMostPanels * kTileRows * kTileColumns];
    const int64_t steps = sizeof(T) == 2 ? depth / 2 : depth;
    if constexpr (std::is_same_v<T, float>) {
        if (count == 1) {
            const int64_t column = firstPanel * kTileColumns, end = std::min(out.columns, lastPanel * kTileColumns);
            FloatFinish finish = out.finish;
            if (finish.bias) finish.bias += column;
            return multiplyRow(rows[0], depth, panels + column * depth, end - column, finish, out.to + column);
        }
    } else if (count == 1) {
        for (int64_t panel = firstPanel; panel < lastPanel; panel += 4) {
            const int64_t together = std::min<int64_t>(4, lastPanel - panel);
            const T* const first = panels + panel * depth * kTileColumns;
            multiplyRow(rows[0], steps, first, together, sums);
            for (int64_t k = 0; k < together; ++k) finishTile(sums + k * kTileColumns, 0, 1, panel + k, out);
        }
        return;
    }
    int64_t together = panelsTogether();
    if constexpr (std::is_same_v<T, float>) {
        // Deep products a part at a time, all panels by each: what a tile reads stays in the caches. The order of the terms is the same.
        const int64_t whole = depth > 0 ? std::min(lastPanel, out.columns / kTileColumns) : firstPanel;
        for (int64_t from = 0; from < depth; from += kDepthTogether) {
            const int64_t some = std::min(kDepthTogether, depth - from);
            for (int64_t panel = firstPanel; panel < whole; panel += together) {
                const int64_t column = panel * kTileColumns;
                const auto panelCount = static_cast<int>(std::min(together, whole - panel));
                FloatFinish finish;
                if (from + some == depth) finish = out.finish;
                if (finish.bias) finish.bias += column;
                finish.goesOn = from > 0;
                finish.roundsProducts = out.finish.roundsProducts;
                for (int64_t row = 0; row < count; row += kTileRows) {
                    const auto tile = static_cast<int>(std::min<int64_t>(kTileRows, count - row));
                    const float* part[kTileRows];
                    for (int r = 0; r < tile; ++r) part[r] = rows[row + r] + from;
                    multiplyTiles(part, tile, some, panels + (panel * depth + from) * kTileColumns, panelCount, depth * kTileColumns,
                                  finish, out.to + row * out.stride + column, out.stride);
                }
            }
        }
        firstPanel = std::max(firstPanel, whole);
        together = 1;
    }
    for (int64_t panel = firstPanel; panel < lastPanel; panel += together) {
        const T* const weights = panels + panel * depth * kTileColumns;
        const auto panelCount = static_cast<int>(std::min(together, lastPanel - panel));
        for (int64_t row = 0; row < count; row += kTileRows) {
            const auto tile = static_cast<int>(std::min<int64_t>(kTileRows, count - row));
            if constexpr (std::is_same_v<T, float>) { // less than a panel goes there by a detour
                const int64_t column = panel * kTileColumns, columns = std::min(kTileColumns, out.columns - column);
                float bias[kTileColumns] = {};
                FloatFinish finish = out.finish;
                if (finish.bias) std::copy_n(finish.bias + column, columns, bias);
                finish.bias = bias;
                multiplyTile(rows + row, tile, steps, weights, finish, sums, kTileColumns);
                for (int r = 0; r < tile; ++r) std::copy_n(sums + r * kTileColumns, columns, out.to + (row + r) * out.stride + column);
            } else {
                multiplyTiles(rows + row, tile, steps, weights, panelCount, depth * kTileColumns, sums);
                for (int k = 0; k < panelCount; ++k) finishTile(sums + k * kTileRows * kTileColumns, row, tile, panel + k, out);
            }
        }
    }
}

/// Numbers of 16 bits by weights of 8 (less a zero point: |w| ≤ 255), exactly.
void multiplyRows(const int16_t* const* rows, int64_t count, int64_t depth, const int16_t* panels, int64_t firstPanel, int64_t lastPanel,
                  const WideOutput& out);

/// Bytes as they are.
void multiplyRows(const int8_t* const* rows, int64_t count, int64_t depth, const int8_t* panels, int64_t firstPanel, int64_t lastPanel,
                  const ByteOutput<StoredOutput<int8_t>>& out);
void multiplyRows(const uint8_t* const* rows, int64_t count, int64_t depth, const int8_t* panels, int64_t firstPanel, int64_t lastPanel,
                  const ByteOutput<StoredOutput<uint8_t>>& out);
void multiplyRows(const int8_t* const* rows, int64_t count, int64_t depth, const int8_t* panels, int64_t firstPanel, int64_t lastPanel,
                  const ByteOutput<HybridOutput>& out);

/// Panels that one piece of work takes.
inline constexpr int64_t kPanelsTogether = 4;

/// `count` rows of `depth` numbers times all columns, from all threads; output(first row) tells where the results go from there.
template <typename T, typename Panel, typename Output> void
multiplyByPanels(const KernelArgs& args, const T* input, int64_t count, int64_t depth, int64_t columns, const Panel* panels, Output output)
{
    const int64_t all = panelsOf(columns);
    shareWork(args, (all + kPanelsTogether - 1) / kPanelsTogether, kPanelsTogether * kTileColumns * depth * count,
              [&](int64_t begin, int64_t end, int) {
                  const T* rows[kMostRows];
                  for (int64_t first = 0; first < count; first += kMostRows) {
                      const int64_t together = std::min(kMostRows, count - first);
                      for (int64_t r = 0; r < together; ++r) rows[r] = input + (first + r) * depth;
                      multiplyRows(rows, together, depth, panels, begin * kPanelsTogether, std::min(end * kPanelsTogether, all),
                                   output(first));
                  }
              });
}

/// to[i] = from[i] − zero.
void copyWidened(const float* from, int64_t count, int32_t zero, float* to);
void copyWidened(const int8_t* from, int64_t count, int32_t zero, int16_t* to);
void copyWidened(const uint8_t* from, int64_t count, int32_t zero, int16_t* to);
/// Of numbers that fit.
void copyNarrowed(const int16_t* from, int64_t count, int8_t* to);

/// Rows of constant weights as panels, `groups` matrices one after the other; element (r, d) of group g is number
/// (g · rows + r) · depth + d. `zero` is subtracted from integers. Shared by all who hold the same dtype and bytes.
Result<std::shared_ptr<const PackedWeights>> packedRows(const Tensor& weights, int64_t groups, int64_t rows, int64_t depth, int32_t zero);

/// Weights for multiplyRows() of bytes, and behind them the sum of each column, by group.
struct ByteWeights {
    std::shared_ptr<const PackedWeights> panels;
    std::vector<int32_t> start;    ///< [group][column of its panels]
    const int32_t* sums = nullptr; ///< of the columns, likewise; they lie behind the panels
};
/// Nothing where this machine does not multiply bytes, or some weight less its zero point is none. `input` tells the zero point of the rows
/// and whether they have a sign.
Result<std::optional<ByteWeights>> packedBytes(const Tensor& weights, int64_t groups, int64_t rows, int64_t depth, int32_t zero,
                                               DType input, int32_t inputZero);

/// Errors: unsupported, if a weight is infinite or no number: what is multiplied with padding would not be the reference's.
Status checkFinite(const Tensor& weights);

} // namespace loopscope::fast
