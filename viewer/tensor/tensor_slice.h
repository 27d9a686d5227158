// The part of a tensor that is on the screen, copied on the engine's thread: a window of at most 65,536 cells of a plane of its axes, blocks
// of larger planes, histograms, scales. No widgets.
#pragma once

#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor_type.h"
#include "viewer/tensor/cell.h"
#include "viewer/tensor/color_map.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope::viewer {

inline constexpr int64_t kMostCells = 65'536;
inline constexpr int64_t kMostSampled = 1'048'576;

/// Which axes go down, which goes to the right, and where the others stand.
struct AxisChoice {
    std::vector<int> rows;       ///< outer first; flattened
    int column = -1;             ///< −1: one column
    std::vector<int64_t> fixed;  ///< by axis; counts where the axis is neither
    bool operator==(const AxisChoice&) const = default;
};
/// The last two axes; a vector goes down.
AxisChoice defaultAxes(const Shape& shape);
/// Made to fit another shape: as it is where it fits, else the default.
AxisChoice fittedAxes(AxisChoice axes, const Shape& shape);

/// A rectangle of cells with what is needed to name them.
struct Grid {
    Shape shape;                 ///< of the tensor
    CellStyle style;
    int64_t allRows = 0, allCols = 0; ///< of the plane
    int64_t rowBegin = 0, colBegin = 0, rows = 0, cols = 0; ///< the window
    int64_t blockRows = 1, blockCols = 1; ///< > 1: cells are means of blocks
    std::vector<Cell> cells;     ///< rows × cols
    std::vector<float> low, high; ///< of blocks, else empty
    std::vector<std::string> texts; ///< strings and handles, by cell
    std::vector<std::string> rowNames, columnNames; ///< where places have names of their own: items of a list; else empty
    bool isSparse = false;       ///< rows are stored elements, wherever they lie
    std::vector<int64_t> rowFlat; ///< flat index of each row's first element of the whole row
    int64_t colStride = 0;
    bool isSampled = false;      ///< blocks: not every element was looked at
    // Columns are iterations:
    bool overIterations = false;
    int64_t current = -1;        ///< column of the present iteration

    const Cell& at(int64_t row, int64_t col) const { return cells[static_cast<size_t>(row * cols + col)]; }
    int64_t flat(int64_t row, int64_t col) const
    {
        return rowFlat[static_cast<size_t>(row)] + (overIterations ? 0 : (colBegin + col) * colStride);
    }
    int64_t total() const { return overIterations ? shape.elementCount() : shape.elementCount(); }
};

/// The window of the plane that begins at (rowBegin, colBegin). `tensor`: static, its data present.
Grid readGrid(const Tensor& tensor, const AxisChoice& axes, int64_t rowBegin, int64_t colBegin, int64_t most = kMostCells);
/// Elements at `places` (flat indices), one a row.
Grid readPlaces(const Tensor& tensor, std::vector<int64_t> places, int64_t most = kMostCells);
/// The bytes of strings instead of their characters: `61 62 0a`.
void showBytes(Grid& grid, const Tensor& tensor);
/// The whole plane in at most `most` blocks with mean, smallest and largest value; blocks of one element where it fits.
Grid readBlocks(const Tensor& tensor, const AxisChoice& axes, int64_t most = kMostCells);
/// b subtracted from a, cell by cell, in real units; cells that b lacks are unknown.
Grid difference(const Grid& a, const Grid& b);

struct Histogram {
    double low = 0, high = 0;
    bool exact = false;            ///< one bar for each stored value from `low` on
    std::vector<int64_t> bins;
    int64_t nan = 0, positiveInf = 0, negativeInf = 0, denormal = 0;
    int64_t looked = 0, total = 0; ///< elements
};
/// Exact bars for integers of at most 256 values and bool, else 64 bins. `raw`: stored integers of quantized values. Looks at most at `most`
/// elements, spread evenly.
Histogram histogramOf(const Tensor& tensor, bool raw, int64_t most = kMostSampled);
/// A histogram of all elements, however many, made in parts.
struct HistogramScan {
    Histogram histogram;
    int64_t next = 0;     ///< element
    bool counts = false;  ///< the range is known, bins are being filled
    bool done = false;
    double share() const; ///< of the work, 0 … 1
};
/// The next part: at most `elements` of them.
HistogramScan continueScan(HistogramScan scan, const Tensor& tensor, bool raw, int64_t elements);

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
