#include "viewer/tensor/tensor_slice.h"

#include "engine/base/text.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace loopscope::viewer {

namespace {

constexpr int64_t kSamplesInBlock = 16;
constexpr int64_t kExactPlane = int64_t{1} << 22; ///< elements up to which every one is looked at
constexpr size_t kStringBytes = 200;

struct Plane {
    int64_t rows = 1, cols = 1, base = 0, colStride = 0;
    std::vector<std::pair<int64_t, int64_t>> rowAxes; ///< size, stride
    int64_t rowOffset(int64_t row) const
    {
        int64_t flat = base;
        for (size_t i = rowAxes.size(); i-- > 0;) {
            flat += row % rowAxes[i].first * rowAxes[i].second;
            row /= rowAxes[i].first;
        }
        return flat;
    }
};

Plane planeOf(const Shape& shape, const AxisChoice& axes)
{
    Plane plane;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const int64_t stride = shape.countOf(axis + 1, shape.rank());
        const bool isRow = std::ranges::find(axes.rows, axis) != axes.rows.end();
        if (axis == axes.column) {
            plane.cols = shape[axis];
            plane.colStride = stride;
        } else if (isRow) {
            continue;
        } else if (static_cast<size_t>(axis) < axes.fixed.size()) {
            plane.base += std::clamp<int64_t>(axes.fixed[static_cast<size_t>(axis)], 0, std::max<int64_t>(0, shape[axis] - 1)) * stride;
        }
    }
    for (const int axis : axes.rows) {
        plane.rowAxes.emplace_back(shape[axis], shape.countOf(axis + 1, shape.rank()));
        plane.rows *= shape[axis];
    }
    return plane;
}

CellStyle styleOf(const Tensor& tensor)
{
    CellStyle style;
    style.dtype = tensor.dtype;
    style.quantized = isInteger(tensor.dtype) && tensor.quantization != nullptr && tensor.quantization->kind == Quantization::Kind::affine;
    return style;
}

bool hasTexts(DType dtype) { return dtypeClass(dtype) == DTypeClass::string || dtypeClass(dtype) == DTypeClass::handle; }

bool hasData(const Tensor& tensor)
{
    if (tensor.data == nullptr || dtypeClass(tensor.dtype) == DTypeClass::block || tensor.dtype == DType::unknown) return false;
    return bitWidth(tensor.dtype) == 0 || tensor.bytes >= byteSize(tensor.dtype, tensor.elementCount());
}

} // namespace

bool hasPictureAxes(const Shape& shape)
{
    const int rank = shape.rank();
    if ((rank != 3 && rank != 4) || !shape.isStatic()) return false;
    const int64_t height = shape[rank - 3], width = shape[rank - 2], channels = shape[rank - 1];
    if (height < 4 || width < 4 || channels < 1) return false;
    const bool isColor = channels == 1 || channels == 3 || channels == 4;
    return isColor || (rank == 4 && std::max(height, width) <= 4 * std::min(height, width));
}

AxisChoice defaultAxes(const Shape& shape)
{
    AxisChoice axes;
    const int rank = shape.rank();
    axes.fixed.assign(static_cast<size_t>(rank), 0);
    if (rank == 1) axes.rows = {0};
    if (rank >= 2) {
        // Pictures by height and width, with a channel to step through; the others by their last two axes.
        const int back = rank == 4 && hasPictureAxes(shape) ? 1 : 0;
        axes.rows = {rank - 2 - back};
        axes.column = rank - 1 - back;
    }
    return axes;
}

AxisChoice fittedAxes(AxisChoice axes, const Shape& shape)
{
    if (static_cast<int>(axes.fixed.size()) != shape.rank()) return defaultAxes(shape);
    for (int i = 0; i < shape.rank(); ++i)
        axes.fixed[static_cast<size_t>(i)] = std::clamp<int64_t>(axes.fixed[static_cast<size_t>(i)], 0, std::max<int64_t>(0, shape[i] - 1));
    return axes;
}

std::pair<int64_t, int64_t> planeSize(const Shape& shape, const AxisChoice& axes)
{
    const Plane plane = planeOf(shape, axes);
    return {plane.rows, plane.cols};
}

int64_t flatOf(const Shape& shape, const AxisChoice& axes, int64_t row, int64_t col)
{
    const Plane plane = planeOf(shape, axes);
    return plane.rowOffset(row) + col * plane.colStride;
}

Grid readGrid(const Tensor& tensor, const AxisChoice& axes, Window window, int64_t most)
{
    Grid grid;
    grid.shape = tensor.shape;
    grid.style = styleOf(tensor);
    const Plane plane = planeOf(tensor.shape, axes);
    grid.allRows = plane.rows;
    grid.allCols = plane.cols;
    grid.colStride = plane.colStride;
    if (tensor.elementCount() == 0 || !hasData(tensor)) return grid;
    if (window.cols > 0) {
        grid.cols = std::min({window.cols, plane.cols, most});
        grid.rows = std::min({window.rows, plane.rows, std::max<int64_t>(1, most / grid.cols)});
    } else if (plane.rows * plane.cols <= most) {
        grid.cols = plane.cols;
        grid.rows = plane.rows;
    } else {
        grid.cols = std::min(plane.cols, std::max<int64_t>(1, most / std::min(plane.rows, window.rows)));
        grid.rows = std::min(plane.rows, std::max<int64_t>(1, most / grid.cols));
    }
    grid.rowBegin = std::clamp<int64_t>(window.rowBegin, 0, plane.rows - grid.rows);
    grid.colBegin = std::clamp<int64_t>(window.colBegin, 0, plane.cols - grid.cols);
    std::vector<std::string_view> strings;
    if (dtypeClass(tensor.dtype) == DTypeClass::string)
        if (auto unpacked = unpackStrings(tensor.view()); unpacked.ok()) strings = std::move(unpacked).value();
    grid.cells.reserve(static_cast<size_t>(grid.rows * grid.cols));
    for (int64_t r = 0; r < grid.rows; ++r) {
        const int64_t row = plane.rowOffset(grid.rowBegin + r);
        grid.rowFlat.push_back(row);
        for (int64_t c = 0; c < grid.cols; ++c) {
            const int64_t flat = row + (grid.colBegin + c) * plane.colStride;
            if (!hasTexts(tensor.dtype)) {
                grid.cells.push_back(cellOf(tensor, flat));
                continue;
            }
            Cell cell;
            cell.known = true;
            std::string text;
            if (static_cast<size_t>(flat) < strings.size()) {
                cell.real = static_cast<double>(strings[static_cast<size_t>(flat)].size());
                text = quotedText(strings[static_cast<size_t>(flat)], kStringBytes);
            } else if (tensor.dtype == DType::resource && tensor.bytes >= static_cast<size_t>(flat + 1) * 4) {
                int32_t handle = 0;
                std::memcpy(&handle, tensor.data + flat * 4, 4);
                text = "resource " + std::to_string(handle);
            } else {
                text = std::string(dtypeName(tensor.dtype));
            }
            grid.cells.push_back(cell);
            grid.texts.push_back(std::move(text));
        }
    }
    return grid;
}

Grid readPlaces(const Tensor& tensor, std::vector<int64_t> places, int64_t most)
{
    Grid grid;
    grid.shape = tensor.shape;
    grid.style = styleOf(tensor);
    grid.isSparse = true;
    grid.columnNames = {"stored"};
    grid.allRows = static_cast<int64_t>(places.size());
    grid.allCols = grid.cols = 1;
    grid.rows = std::min(grid.allRows, most);
    places.resize(static_cast<size_t>(grid.rows));
    if (!hasData(tensor)) return grid;
    for (const int64_t flat : places) grid.cells.push_back(cellOf(tensor, flat));
    grid.rowFlat = std::move(places);
    return grid;
}

void showBytes(Grid& grid, const Tensor& tensor)
{
    constexpr std::string_view digits = "0123456789abcdef";
    const auto strings = unpackStrings(tensor.view());
    if (!strings.ok()) return;
    for (size_t i = 0; i < grid.texts.size(); ++i) {
        const auto flat = static_cast<size_t>(grid.flat(static_cast<int64_t>(i) / grid.cols, static_cast<int64_t>(i) % grid.cols));
        if (flat >= strings->size()) continue;
        const std::string_view bytes = (*strings)[flat];
        std::string text;
        for (const char c : bytes.substr(0, kStringBytes)) {
            const auto byte = static_cast<unsigned char>(c);
            text += text.empty() ? "" : " ";
            text += digits[byte >> 4];
            text += digits[byte & 15];
        }
        if (bytes.size() > kStringBytes) text += " …" + std::to_string(bytes.size());
        grid.texts[i] = std::move(text);
    }
}

Grid readBlocks(const Tensor& tensor, const AxisChoice& axes, int64_t most)
{
    const Plane plane = planeOf(tensor.shape, axes);
    const int64_t elements = plane.rows * plane.cols;
    if (elements <= most || hasTexts(tensor.dtype) || !hasData(tensor)) return readGrid(tensor, axes, {}, most);
    Grid grid;
    grid.shape = tensor.shape;
    grid.style = styleOf(tensor);
    grid.allRows = plane.rows;
    grid.allCols = plane.cols;
    grid.colStride = plane.colStride;
    while (((plane.rows + grid.blockRows - 1) / grid.blockRows) * ((plane.cols + grid.blockCols - 1) / grid.blockCols) > most)
        (plane.cols / grid.blockCols >= plane.rows / grid.blockRows ? grid.blockCols : grid.blockRows) *= 2;
    grid.rows = (plane.rows + grid.blockRows - 1) / grid.blockRows;
    grid.cols = (plane.cols + grid.blockCols - 1) / grid.blockCols;
    const int64_t inBlock = grid.blockRows * grid.blockCols;
    const int64_t stride = elements > kExactPlane ? std::max<int64_t>(1, inBlock / kSamplesInBlock) : 1;
    grid.isSampled = stride > 1;
    for (int64_t r = 0; r < grid.rows; ++r) {
        grid.rowFlat.push_back(plane.rowOffset(r * grid.blockRows));
        for (int64_t c = 0; c < grid.cols; ++c) {
            double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
            int64_t finite = 0;
            Cell cell;
            cell.known = true;
            double abnormal = 0;
            for (int64_t k = 0; k < inBlock; k += stride) {
                const int64_t row = r * grid.blockRows + k / grid.blockCols, col = c * grid.blockCols + k % grid.blockCols;
                if (row >= plane.rows || col >= plane.cols) continue;
                const Cell one = cellOf(tensor, plane.rowOffset(row) + col * plane.colStride);
                cell.saturated = cell.saturated || one.saturated;
                if (!std::isfinite(one.real)) {
                    abnormal = one.real;
                    continue;
                }
                low = std::min(low, one.real);
                high = std::max(high, one.real);
                sum += one.real;
                ++finite;
            }
            cell.real = abnormal != 0 || finite == 0 ? (finite == 0 && abnormal == 0 ? std::numeric_limits<double>::quiet_NaN() : abnormal)
                                                     : sum / static_cast<double>(finite);
            grid.cells.push_back(cell);
            grid.low.push_back(static_cast<float>(finite > 0 ? low : cell.real));
            grid.high.push_back(static_cast<float>(finite > 0 ? high : cell.real));
        }
    }
    grid.style = CellStyle{DType::f32, false, false, false, CellStyle::Complex::both, 4, true};
    return grid;
}

namespace {

/// a − b of whole numbers; none where the dtypes are others or a difference does not fit 64 bits.
bool subtractExactly(const Grid& a, const Grid& b, Grid& grid)
{
    const auto isWhole = [](const Grid& one) { return isInteger(one.style.dtype) && !one.style.quantized; };
    if (!isWhole(a) || !isWhole(b) || a.style.dtype != b.style.dtype || a.shape != b.shape) return false;
    const bool isUnsigned = a.style.dtype == DType::u64;
    for (size_t i = 0; i < grid.cells.size(); ++i) {
        Cell& cell = grid.cells[i];
        const bool known = cell.known && i < b.cells.size() && b.cells[i].known;
        const uint64_t left = cell.bits, right = known ? b.cells[i].bits : 0, wrapped = left - right;
        const auto less = isUnsigned ? left < right : static_cast<int64_t>(left) < static_cast<int64_t>(right);
        if (known && less != (static_cast<int64_t>(wrapped) < 0)) return false;
        cell = Cell();
        cell.known = known;
        cell.bits = wrapped;
        cell.real = static_cast<double>(static_cast<int64_t>(wrapped));
    }
    grid.style = CellStyle();
    grid.style.dtype = DType::i64;
    return true;
}

} // namespace

Grid difference(const Grid& a, const Grid& b)
{
    Grid grid = a;
    grid.low.clear();
    grid.high.clear();
    if (subtractExactly(a, b, grid)) return grid;
    grid.cells = a.cells;
    for (size_t i = 0; i < grid.cells.size(); ++i) {
        Cell& cell = grid.cells[i];
        const bool known = cell.known && i < b.cells.size() && b.cells[i].known && a.shape == b.shape;
        const double d = known ? a.cells[i].real - b.cells[i].real : std::numeric_limits<double>::quiet_NaN();
        cell = Cell();
        cell.known = known;
        cell.real = d;
    }
    const bool wide = a.style.dtype == DType::f64 || a.style.dtype == DType::i64 || a.style.dtype == DType::u64;
    grid.style = CellStyle{wide ? DType::f64 : DType::f32, false, false, false, CellStyle::Complex::both, 0, true};
    return grid;
}

QuantizationRows quantizationOf(const Tensor& tensor, int64_t most)
{
    QuantizationRows rows;
    const Quantization* const q = tensor.quantization;
    if (q == nullptr || q->kind != Quantization::Kind::affine) return rows;
    const int axis = std::clamp(q->axis, 0, std::max(0, tensor.shape.rank() - 1));
    const int64_t expected = tensor.shape.rank() > 0 ? tensor.shape[axis] : 1, found = static_cast<int64_t>(q->scales.size());
    const bool perChannel = found > 1 && found == expected;
    if (found > 1 && !perChannel)
        rows.warning = "channel scales: " + groupThousands(found) + " of " + groupThousands(expected) +
                       " expected; the first one counts for all in \"real\", shown in \"raw\"";
    for (size_t i = 0; i < q->scales.size(); ++i) {
        ChannelRow row;
        row.channel = static_cast<int64_t>(i);
        row.scale = static_cast<double>(q->scales[i]);
        row.zero = i < q->zeroPoints.size() ? q->zeroPoints[i] : q->zeroPoint();
        row.min = std::numeric_limits<double>::infinity();
        row.max = -row.min;
        rows.channels.push_back(row);
    }
    const int64_t count = tensor.elementCount();
    if (!hasData(tensor) || count == 0) return rows;
    const int64_t inner = perChannel ? tensor.shape.countOf(axis + 1, tensor.shape.rank()) : count;
    int64_t stride = std::max<int64_t>(1, count / most);
    if (stride > 1) stride |= 1; // odd, so that all channels are met
    rows.isSampled = stride > 1;
    for (int64_t i = 0; i < count; i += stride) {
        const int64_t channel = perChannel ? i / inner % expected : 0;
        if (static_cast<size_t>(channel) >= rows.channels.size()) continue;
        const Cell cell = cellOf(tensor, i);
        ChannelRow& row = rows.channels[static_cast<size_t>(channel)];
        row.min = std::min(row.min, cell.real);
        row.max = std::max(row.max, cell.real);
        row.saturated += cell.saturated;
        ++row.elements;
    }
    return rows;
}

ValueRange rangeOf(const Grid& grid, RangeMode mode)
{
    std::vector<double> values;
    for (const Cell& cell : grid.cells)
        if (cell.known && std::isfinite(cell.real)) values.push_back(cell.real);
    for (const auto* bound : {&grid.low, &grid.high})
        for (const float v : *bound)
            if (std::isfinite(v)) values.push_back(static_cast<double>(v));
    if (values.empty()) return {0, 0};
    ValueRange range;
    if (mode == RangeMode::robust && values.size() > 2) {
        std::ranges::sort(values);
        range = {values[values.size() / 100], values[values.size() - 1 - values.size() / 100]};
    } else {
        const auto [low, high] = std::ranges::minmax(values);
        range = {low, high};
    }
    const bool signs = range.low < 0 && range.high > 0;
    if (mode == RangeMode::symmetric || ((mode == RangeMode::automatic || mode == RangeMode::shared) && signs)) {
        const double most = std::max(std::fabs(range.low), std::fabs(range.high));
        return {-most, most};
    }
    return range;
}

MapKind mapFor(const Grid&, const ValueRange& range) { return range.low < 0 && range.high > 0 ? MapKind::diverging : MapKind::sequential; }

std::string rangeText(const ValueRange& range)
{
    if (range.low == -range.high && range.high > 0) return "range \u00b1" + shortNumber(range.high);
    return "range " + shortNumber(range.low) + " \u2026 " + shortNumber(range.high);
}

std::string shownText(const Grid& grid, const AxisChoice& axes)
{
    if (grid.overIterations || !grid.rowNames.empty()) return {};
    if (grid.isSparse)
        return (grid.rows < grid.allRows ? "showing " + groupThousands(grid.rows) + " of the stored elements, " : std::string()) +
               groupThousands(grid.allRows) + " stored of " + groupThousands(grid.shape.elementCount());
    const int64_t shown = grid.blockRows > 1 || grid.blockCols > 1 ? grid.allRows * grid.allCols : grid.rows * grid.cols;
    const int64_t total = grid.shape.elementCount();
    std::string text;
    if (grid.isSampled) text = "blocks of " + std::to_string(grid.blockRows) + "×" + std::to_string(grid.blockCols) + ", sampled · ";
    else if (grid.blockRows > 1 || grid.blockCols > 1)
        text = "means of blocks of " + std::to_string(grid.blockRows) + "×" + std::to_string(grid.blockCols) + " · ";
    if (shown < total) {
        text += "showing " + groupThousands(shown) + " of " + groupThousands(total) + " elements";
        for (int axis = 0; axis < grid.shape.rank(); ++axis) {
            const bool used = axis == axes.column || std::ranges::find(axes.rows, axis) != axes.rows.end();
            if (!used && grid.shape[axis] > 1)
                text += " · axis " + std::to_string(axis) + " fixed at " + std::to_string(axes.fixed[static_cast<size_t>(axis)]);
        }
    } else if (!text.empty()) {
        text += groupThousands(total) + " elements";
    }
    return text;
}

} // namespace loopscope::viewer
