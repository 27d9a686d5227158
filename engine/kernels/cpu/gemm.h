// The inner loops of convolutions and matrix products. Floats: every output is one sum in the order of its terms, as the reference adds
// them; the vector lanes hold different outputs, so the bits do not depend on the lane count. Integers: dot products of 16-bit numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace loopscope {

/// A run of products in one output's sum: input[input + i] · row[weight + i] for i < length. Runs are added in order.
struct ProductRun {
    int64_t input;  ///< relative to the place of the output's window in the input
    int64_t weight; ///< relative to the weight row
    int64_t length;
};

/// Weight rows (one for each output channel) are kept in panels: 16 rows interleaved by element, the last panel filled up with zeros.
inline constexpr int64_t kPanelRows = 16;

/// Floats that `rows` rows of `depth` elements take as panels.
inline int64_t panelFloats(int64_t rows, int64_t depth) { return (rows + kPanelRows - 1) / kPanelRows * kPanelRows * depth; }

/// Writes panels. Element d of row r is weights[r · rowStride + d · elementStride].
void packPanels(const float* weights, int64_t rows, int64_t depth, int64_t rowStride, int64_t elementStride, float* panels);

/// sums[p][r] = Σ over runs of input[positions[p] + run.input + i] · row r[run.weight + i], from 0, for up to kTilePositions windows at
/// once.
inline constexpr int kTilePositions = 4;
struct FloatTile {
    const float* input;
    int64_t positions[kTilePositions];
    float* sums[kTilePositions]; ///< `rows` floats each
    int count;                   ///< 1 … kTilePositions
};
void multiplyTile(const FloatTile& tile, std::span<const ProductRun> runs, const float* panels, int64_t rows, int64_t depth);

/// 16-bit rows are padded with zeros to a multiple of this many elements, and weight matrices to a multiple of 4 rows.
inline constexpr int64_t kDotStep = 16;
inline int64_t paddedDepth(int64_t depth) { return (depth + kDotStep - 1) / kDotStep * kDotStep; }
inline int64_t paddedRows(int64_t rows) { return (rows + 3) / 4 * 4; }

/// sums[r] (+)= Σ input[i] · weights[r · rowStride + i], i < depth, modulo 2³², for r < paddedRows(rows). `depth` is a multiple of
/// kDotStep.
void dotRows(const int16_t* input, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth, int32_t* sums, bool add);
/// The same for two inputs at once.
void dotRows2(const int16_t* input0, const int16_t* input1, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth,
              int32_t* sums0, int32_t* sums1);
/// With 64-bit sums, for 16-bit inputs and weights of 8 bits (|w| ≤ 255).
void dotRows64(const int16_t* input, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth, int64_t* sums, bool add);

/// sums[i] += x[i] · w[i] modulo 2³².
void multiplyAdd(const int16_t* x, const int16_t* w, int64_t count, uint32_t* sums);

/// sums[i] = x · w[i] + sums[i], rounded once.
void fusedMultiplyAdd(float x, const float* w, int64_t count, float* sums);

/// The loops that every processor runs. Those above may be others that the processor at hand does faster; results are the same bits.
namespace baseline {
void multiplyTile(const FloatTile& tile, std::span<const ProductRun> runs, const float* panels, int64_t rows, int64_t depth);
void dotRows(const int16_t* input, const int16_t* weights, int64_t rows, int64_t rowStride, int64_t depth, int32_t* sums);
} // namespace baseline

} // namespace loopscope
