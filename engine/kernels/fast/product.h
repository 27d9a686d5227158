// The inner loops of matrix products: tiles of up to six rows by sixteen columns whose sums stay in registers. Every output is one sum in
// the order of its terms, so that results depend neither on how rows are shared between threads nor on the size of a tile.
#pragma once

#include <cstdint>
#include <limits>

namespace loopscope::fast {

inline constexpr int kTileRows = 6;
inline constexpr int64_t kTileColumns = 16;

inline int64_t panelsOf(int64_t columns) { return (columns + kTileColumns - 1) / kTileColumns; }

/// What becomes of a sum of floats: min(max(sum + bias[column], low), high); a NaN stays one.
struct FloatFinish {
    const float* bias = nullptr; ///< of the first column; null: none
    float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
    bool goesOn = false; ///< tiles: the sums begin with what is there already
    /// Products are rounded before they are added, as the reference does it: its bits. Else by fused multiply-adds where there are some.
    bool roundsProducts = false;
};

/// The most panels that are worked on together, and how many are worth it on this machine.
inline constexpr int kMostPanels = 2;
int panelsTogether();

/// to[p · stride + c] = finish(Σ rows[p][d] · panel[d · 16 + c]), d < depth, for `count` ≤ 6 rows; with fused multiply-adds where the
/// machine has them. The next of `panels` ≤ 2 lies `apart` floats further, its results 16 columns.
void multiplyTiles(const float* const* rows, int count, int64_t depth, const float* panel, int panels, int64_t apart,
                   const FloatFinish& finish, float* to, int64_t stride);
inline void multiplyTile(const float* const* rows, int count, int64_t depth, const float* panel, const FloatFinish& finish, float* to,
                         int64_t stride)
{
    multiplyTiles(rows, count, depth, panel, 1, 0, finish, to, stride);
}

/// Bare sums of one row and `panels` panels, which lie `depth` · 16 floats apart. `roundsProducts` as in FloatFinish.
void multiplyRow(const float* row, int64_t depth, const float* panel, int64_t panels, bool roundsProducts, float* sums);

/// Finished results of one row: to[c] = finish(Σ row[d] · …), c < columns, from panels that lie `depth` · 16 floats apart.
void multiplyRow(const float* row, int64_t depth, const float* panel, int64_t columns, const FloatFinish& finish, float* to);

/// Pairs of 16-bit numbers: sums[p · 16 + c] = Σ rows[p][2d] · panel[32d + 2c] + rows[p][2d + 1] · panel[32d + 2c + 1], d < pairs, modulo
/// 2³². No product of two numbers may reach 2³⁰. The sums of the second panel, `apart` numbers further, begin behind six rows.
void multiplyTiles(const int16_t* const* rows, int count, int64_t pairs, const int16_t* panel, int panels, int64_t apart, int32_t* sums);
inline void multiplyTile(const int16_t* const* rows, int count, int64_t pairs, const int16_t* panel, int32_t* sums)
{
    multiplyTiles(rows, count, pairs, panel, 1, 0, sums);
}
void multiplyRow(const int16_t* row, int64_t pairs, const int16_t* panel, int64_t panels, int32_t* sums);

/// Whether this machine multiplies bytes in fours: as exact as pairs of 16 bits, twice as fast, and nothing has to be widened.
bool multipliesBytes();
/// sums[p · 16 + c] = start[c] + Σ u(rows[p][d]) · panel[64 · (d / 4) + 4c + d % 4], d < 4 · quads, modulo 2³². u: bytes with a sign count
/// kByteOffset more than they are. The next of `panels` ≤ 2 lies `apart` bytes further, its starts 16 columns, its sums six rows.
template <typename T> void multiplyTiles(const T* const* rows, int count, int64_t quads, const int8_t* panel, int panels, int64_t apart,
                                         const int32_t* start, int32_t* sums);
/// One row and one to four panels, their sums 16 columns from each other.
template <typename T> void multiplyRow(const T* row, int64_t quads, const int8_t* panel, int panels, const int32_t* start, int32_t* sums);
template <typename T> inline constexpr int32_t kByteOffset = sizeof(T) == 1 && T(-1) < T(0) ? 128 : 0;

/// Element d of row r of a weight matrix is weights[r · rowStride + d · elementStride]: rows become columns of panels, filled up with
/// zeros.
void packPanels(const float* weights, int64_t rows, int64_t depth, int64_t rowStride, int64_t elementStride, float* panels);
/// The same for rows of 16-bit numbers one after another, in pairs.
void packPairs(const int16_t* weights, int64_t rows, int64_t depth, int16_t* panels);
/// In fours, of numbers that bytes hold.
void packQuads(const int16_t* weights, int64_t rows, int64_t depth, int8_t* panels);

/// A row of pixels, channel by channel: to[p · channels + c] = finish(Σ taps[p · tapCount + t][c] · weights[t · channels + c]), t <
/// tapCount. `packed`: the weights of whole blocks of kTapBlock channels, [block][tap][channel].
void multiplyTaps(const float* const* taps, int64_t tapCount, int64_t pixels, const float* weights, const float* packed, int64_t channels,
                  const FloatFinish& finish, float* to);
inline constexpr int64_t kTapBlock = 32;
/// The same for bytes (T: int8_t, uint8_t) in whole blocks of 16 channels: sums[p · blocks · 16 + c] = start[c] + Σ …, modulo 2³². Weights
/// from packTaps(); `tapPairs`: taps in pairs, the last of them may meet a weight of 0.
template <typename T> void multiplyTaps(const T* const* taps, int64_t tapPairs, int64_t pixels, const int16_t* weights,
                                        const int32_t* start, int64_t channelBlocks, int32_t* sums);
/// Weights [tap][channel] in the order of multiplyTaps(): paddedTaps · blocks · 16 numbers.
void packTaps(const int16_t* weights, int64_t tapCount, int64_t channels, int16_t* packed);

/// What machines without these instructions do.
namespace baseline {
void multiplyTile(const float* const* rows, int count, int64_t depth, const float* panel, const FloatFinish& finish, float* to,
                  int64_t stride);
void multiplyTile(const int16_t* const* rows, int count, int64_t pairs, const int16_t* panel, int32_t* sums);
void multiplyTaps(const float* const* taps, int64_t tapCount, int64_t pixels, const float* weights, int64_t channels,
                  const FloatFinish& finish, float* to);
template <typename T> void multiplyTaps(const T* const* taps, int64_t tapPairs, int64_t pixels, const int16_t* weights,
                                        const int32_t* start, int64_t channelBlocks, int32_t* sums);
} // namespace baseline

/// Depth in which rows of T are kept: 16-bit numbers in whole pairs, bytes in whole fours.
template <typename T> int64_t rowDepth(int64_t depth)
{
    return sizeof(T) == 2 ? (depth + 1) / 2 * 2 : sizeof(T) == 1 ? (depth + 3) / 4 * 4 : depth;
}
/// Elements of all panels.
template <typename T> int64_t panelElements(int64_t columns, int64_t depth)
{
    return panelsOf(columns) * kTileColumns * rowDepth<T>(depth);
}

} // namespace loopscope::fast
