// The part of a tensor that is on the screen, copied on the engine's thread: a window of at most 65,536 cells of a plane of its axes,
// blocks of larger planes, scales. No widgets.
#pragma once

#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor_type.h"
#include "viewer/tensor/cell.h"
#include "viewer/tensor/color_map.h"
#include "viewer/tensor/histogram.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

inline constexpr int64_t kMostCells = 65'536;

/// Which axes go down, which goes to the right, and where the others stand.
struct AxisChoice {
    std::vector<int> rows;      ///< outer first; flattened
    int column = -1;            ///< −1: one column
    std::vector<int64_t> fixed; ///< by axis; counts where the axis is neither
    bool operator==(const AxisChoice&) const = default;
};
/// The last two axes; a vector goes down.
/// Whether the last three axes are height, width and channels, as far as a shape can tell: two long ones of like length before the last.
bool hasPictureAxes(const Shape& shape);
AxisChoice defaultAxes(const Shape& shape);
/// Made to fit another shape: as it is where it fits, else the default.
AxisChoice fittedAxes(AxisChoice axes, const Shape& shape);

/// A rectangle of cells with what is needed to name them.
struct Grid {
    Shape shape; ///< of the tensor
    CellStyle style;
    int64_t allRows = 0, allCols = 0;                       ///< of the plane
    int64_t rowBegin = 0, colBegin = 0, rows = 0, cols = 0; ///< the window
    int64_t blockRows = 1, blockCols = 1;                   ///< > 1: cells are means of blocks
    std::vector<Cell> cells;                                ///< rows × cols
    std::vector<float> low, high;                           ///< of blocks, else empty
    std::vector<std::string> texts;                         ///< strings and handles, by cell
    std::vector<std::string> rowNames, columnNames;         ///< where places have names of their own: items of a list; else empty
    bool isSparse = false;                                  ///< rows are stored elements, wherever they lie
    std::vector<int64_t> rowFlat;                           ///< flat index of each row's first element of the whole row
    int64_t colStride = 0;
    bool isSampled = false; ///< blocks: not every element was looked at
    // Columns are iterations:
    bool overIterations = false;
    int64_t current = -1; ///< column of the present iteration

    const Cell& at(int64_t row, int64_t col) const { return cells[static_cast<size_t>(row * cols + col)]; }
    /// Whether a cell of the plane is in the window.
    bool covers(int64_t row, int64_t col) const
    {
        return row >= rowBegin && row < rowBegin + rows && col >= colBegin && col < colBegin + cols;
    }
    int64_t flat(int64_t row, int64_t col) const
    {
        return rowFlat[static_cast<size_t>(row)] + (overIterations ? 0 : (colBegin + col) * colStride);
    }
};

/// Where a window of a plane begins, and what it is for.
struct Window {
    int64_t rowBegin = 0, colBegin = 0;
    int64_t rows = 256; ///< that it has at least where the plane is larger than the window, as far as there are so many
    int64_t cols = 0;   ///< > 0: exactly so many rows and columns, as far as there are
};
/// The window of the plane: all of it if that is at most `most` cells. `tensor`: static, its data present.
Grid readGrid(const Tensor& tensor, const AxisChoice& axes, Window window = {}, int64_t most = kMostCells);
/// Rows and columns of the plane of a static shape, and the flat index of one of its cells.
std::pair<int64_t, int64_t> planeSize(const Shape& shape, const AxisChoice& axes);
int64_t flatOf(const Shape& shape, const AxisChoice& axes, int64_t row, int64_t col);
/// Elements at `places` (flat indices), one a row.
Grid readPlaces(const Tensor& tensor, std::vector<int64_t> places, int64_t most = kMostCells);
/// The bytes of strings instead of their characters: `61 62 0a`.
void showBytes(Grid& grid, const Tensor& tensor);
/// The whole plane in at most `most` blocks with mean, smallest and largest value; blocks of one element where it fits.
Grid readBlocks(const Tensor& tensor, const AxisChoice& axes, int64_t most = kMostCells);
/// b subtracted from a, cell by cell, in real units; cells that b lacks are unknown.
Grid difference(const Grid& a, const Grid& b);

/// One scale of a quantized value.
struct ChannelRow {
    int64_t channel = 0;
    double scale = 0;
    int64_t zero = 0;
    double min = 0, max = 0;
    int64_t saturated = 0, elements = 0;
};
struct QuantizationRows {
    std::vector<ChannelRow> channels;
    std::string warning; ///< "channel scales: 576 of 575 expected; …": then the first one counts for all; empty: they fit
    bool isSampled = false;
};
QuantizationRows quantizationOf(const Tensor& tensor, int64_t most = 1 << 22);

/// Range of the finite cells of a grid. Robust: from the 1st to the 99th percentile.
ValueRange rangeOf(const Grid& grid, RangeMode mode);
MapKind mapFor(const Grid& grid, const ValueRange& range);
/// "range ±1.11", "range 0 … 4.2".
std::string rangeText(const ValueRange& range);
/// "showing 65,536 of 9,437,184 elements · axis 2 fixed at 0"; empty if all is shown.
std::string shownText(const Grid& grid, const AxisChoice& axes);

} // namespace loopscope::viewer
