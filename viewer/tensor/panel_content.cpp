#include "viewer/tensor/panel_content.h"

#include "engine/base/text.h"
#include "engine/tensor/compare.h"
#include "viewer/bridge/text.h"

#include <QStringList>

#include <algorithm>
#include <utility>

namespace loopscope::viewer {

namespace {

Grid courseDifference(const Grid& course, int64_t column)
{
    Grid base = course;
    if (column >= 0 && column < course.cols)
        for (int64_t r = 0; r < course.rows; ++r)
            for (int64_t c = 0; c < course.cols; ++c) base.cells[static_cast<size_t>(r * course.cols + c)] = course.at(r, column);
    return difference(course, base);
}

/// The plane of the value at this stop; while a loop is scrubbed, what is known of that iteration.
GridContent planeOf(const ValueAnswer& answer, const Grid& course, const ContentChoice& choice)
{
    GridContent plane;
    plane.grid = answer.compared ? difference(answer.grid, *answer.compared) : answer.grid;
    plane.approximate = !answer.isLive;
    if (!choice.previewing || course.rows == 0 || course.current < 0 || course.rows != plane.grid.rows * plane.grid.cols) return plane;
    const int64_t column = std::max<int64_t>(0, course.current - course.colBegin);
    if (column >= course.cols) return plane;
    for (size_t i = 0; i < plane.grid.cells.size(); ++i) plane.grid.cells[i] = course.at(static_cast<int64_t>(i), column);
    plane.approximate = true;
    return plane;
}

} // namespace

PanelContent composeContent(const ValueAnswer& answer, Grid course, int64_t known, const ContentChoice& choice, const Value* declared)
{
    if (course.rows > 0 && choice.compare == CompareWith::iteration)
        course = courseDifference(course, choice.compareIteration - course.colBegin);
    PanelContent all;
    const bool overIterations = choice.overIterations && course.rows > 0;
    if (overIterations) all.plane = {course, {}, choice.previewing, known};
    else all.plane = planeOf(answer, course, choice);
    all.plane.grid.style.complex = choice.complex;
    if (dtypeClass(all.plane.grid.style.dtype) == DTypeClass::complex)
        for (Cell& cell : all.plane.grid.cells) cell.real = complexPart(cell, choice.complex);
    all.heat = all.plane;
    if (!overIterations && answer.blocks && !answer.compared) all.heat.grid = *answer.blocks;
    if (course.rows > 0) {
        all.plot.grid = std::move(course);
        all.plot.known = known;
        return all;
    }
    all.plot = all.plane;
    Grid& plot = all.plot.grid;
    if (plot.cols <= 1 && plot.rows > 1) { // a vector goes to the right
        std::swap(plot.rows, plot.cols);
        std::swap(plot.allRows, plot.allCols);
        std::swap(plot.rowBegin, plot.colBegin);
        plot.rowNames = {declared != nullptr ? declared->id : std::string()};
    }
    return all;
}

ValueRange colorRange(const Grid& grid, RangeMode mode, const ValueRange& typed, const std::optional<ValueRange>& pinned)
{
    if (mode == RangeMode::typed) return typed;
    const ValueRange own = rangeOf(grid, mode);
    if (mode != RangeMode::shared || !pinned) return own;
    ValueRange all = {std::min(own.low, pinned->low), std::max(own.high, pinned->high)};
    if (all.low < 0 && all.high > 0) all.low = -(all.high = std::max(all.high, -all.low));
    return all;
}

QString axesText(const ValueAnswer& answer, bool overIterations)
{
    if (overIterations) return "columns: iteration";
    if (!answer.shape.hasRank() || answer.shape.rank() == 0) return {};
    QStringList rows;
    for (const int axis : answer.axes.rows) rows << QString::number(axis);
    QString text = answer.axes.column >= 0 ? "dim " + rows.join("\u00d7") + " by dim " + QString::number(answer.axes.column)
                                           : "rows: dim " + rows.join("\u00d7");
    for (int axis = 0; axis < answer.shape.rank(); ++axis)
        if (axis != answer.axes.column && std::ranges::find(answer.axes.rows, axis) == answer.axes.rows.end() && answer.shape[axis] > 1)
            text += ", dim " + QString::number(axis) + " = " + QString::number(answer.axes.fixed[static_cast<size_t>(axis)]);
    return text;
}

QString abnormalText(const ValueAnswer& answer)
{
    if (!answer.hasStatistics || answer.statistics.firstAbnormal < 0) return {};
    const TensorStatistics& s = answer.statistics;
    QStringList counts;
    for (const auto& [name, n] :
         std::initializer_list<std::pair<const char*, int64_t>>{{"NaN", s.nan}, {"Inf", s.positiveInf}, {"\u2212Inf", s.negativeInf}})
        if (n > 0) counts << QString(name) + " " + toText(groupThousands(n));
    return counts.join(", ") + " of " + toText(groupThousands(s.elements)) + ", first at " +
           toText(elementIndexText(answer.shape, s.firstAbnormal));
}

CellCursor planeEnd(const Grid& grid)
{
    const bool isWhole = grid.isSparse || !grid.rowNames.empty(); // of lists no more can be read
    return isWhole ? CellCursor{grid.rows, grid.cols} : CellCursor{grid.rows > 0 ? grid.allRows : 0, grid.cols > 0 ? grid.allCols : 0};
}

} // namespace loopscope::viewer
