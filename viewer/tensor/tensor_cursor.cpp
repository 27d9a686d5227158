// The cell cursor of the tensor panel, one for all of its views: keys, selected cells, parts of large planes that are read where it goes.
#include "engine/base/text.h"
#include "engine/tensor/compare.h"
#include "viewer/bridge/text.h"
#include "viewer/tensor/tensor_panel_impl.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QScrollBar>

#include <cmath>

namespace loopscope::viewer {

namespace {

/// Whether a cell of the plane is there to be seen.
bool isRead(const Grid& grid, CellCursor cell) { return grid.covers(cell.row, cell.col); }

/// First and last cell of what is selected.
std::pair<CellCursor, CellCursor> cellsBetween(CellCursor a, CellCursor b)
{
    return {{std::min(a.row, b.row), std::min(a.col, b.col)}, {std::max(a.row, b.row), std::max(a.col, b.col)}};
}

} // namespace

/// Index of the element under the cursor; −1: there is none.
int64_t TensorPanel::flatAtCursor() const
{
    const Grid& grid = m_content.plane.grid;
    if (grid.rows == 0 || !m_answer.shape.isStatic()) return -1;
    if (grid.overIterations) return m_cursor.row;
    if (isRead(grid, m_cursor)) return grid.flat(m_cursor.row - grid.rowBegin, m_cursor.col - grid.colBegin);
    return flatOf(m_answer.shape, m_answer.axes, m_cursor.row, m_cursor.col);
}

void TensorPanel::placeCursor(CellCursor cell, bool extend)
{
    const CellCursor end = planeEnd(m_content.plane.grid);
    if (end.row <= 0 || end.col <= 0) return;
    if (extend && !m_anchor) m_anchor = m_cursor;
    if (!extend) m_anchor.reset();
    m_cursor = {std::clamp<int64_t>(cell.row, 0, end.row - 1), std::clamp<int64_t>(cell.col, 0, end.col - 1)};
    m_isPlaced = true;
    const Grid& grid = m_content.plane.grid;
    const bool wantsText = m_answer.dtype == DType::string && m_answer.present && m_answer.held.empty(); // the whole of another string
    if (!isRead(grid, m_cursor) && !m_modes.overIterations()) {
        m_window.rowBegin = std::max<int64_t>(0, m_cursor.row - grid.rows / 2);
        m_window.colBegin = std::max<int64_t>(0, m_cursor.col - grid.cols / 2);
        request();
    } else if (wantsText) {
        request();
    }
    showCursor();
    m_table->scrollTo(m_model->indexOf(m_cursor));
}

/// In all views.
void TensorPanel::showCursor()
{
    const Grid& grid = m_content.plane.grid;
    if (grid.rows > 0 && !m_placing) {
        m_placing = true;
        if (!m_model->indexOf(m_cursor).isValid()) m_model->setContent(&m_content.plane, m_cursor);
        const QModelIndex cell = m_model->indexOf(m_cursor);
        QItemSelection chosen(cell, cell);
        if (m_anchor) {
            const auto [first, last] = cellsBetween(m_cursor, m_anchor.value_or(m_cursor));
            const auto clamped = [&](CellCursor at) {
                const CellCursor begin = m_model->begin();
                return m_model->index(static_cast<int>(std::clamp<int64_t>(at.row - begin.row, 0, m_model->rowCount() - 1)),
                                      static_cast<int>(std::clamp<int64_t>(at.col - begin.col, 0, m_model->columnCount() - 1)));
            };
            chosen = QItemSelection(clamped(first), clamped(last));
        }
        m_table->selectionModel()->setCurrentIndex(cell, QItemSelectionModel::NoUpdate);
        m_table->selectionModel()->select(chosen, QItemSelectionModel::ClearAndSelect);
        m_placing = false;
    }
    const Grid& heat = m_content.heat.grid;
    const auto inHeat = [&](CellCursor cell) {
        return CellCursor{cell.row / heat.blockRows - heat.rowBegin, cell.col / heat.blockCols - heat.colBegin};
    };
    m_heat->setCursorCell(inHeat(m_cursor), m_anchor ? std::optional(inHeat(*m_anchor)) : std::nullopt);
    const Grid& plot = m_content.plot.grid;
    const bool isTurned = plot.overIterations ? false : plot.rows == 1 && grid.cols <= 1 && grid.rows > 1;
    const CellCursor line =
        isTurned ? CellCursor{0, m_cursor.row - plot.colBegin} : CellCursor{m_cursor.row - plot.rowBegin, m_cursor.col - plot.colBegin};
    m_plot->setContent(&m_content.plot,
                       plot.overIterations && !m_modes.overIterations()
                           ? CellCursor{std::max<int64_t>(0, flatAtCursor()), plot.current - plot.colBegin}
                           : line,
                       m_answer.hasStatistics && m_compare == CompareWith::nothing ? &m_answer.statistics : nullptr);
    double counted = NAN;
    if (isRead(grid, m_cursor)) {
        const Cell& cell = grid.at(m_cursor.row - grid.rowBegin, m_cursor.col - grid.colBegin);
        if (cell.known) counted = grid.style.quantized ? static_cast<double>(static_cast<int64_t>(cell.bits)) : cell.real;
    }
    m_histogram->setCursorValue(counted, m_answer.dtype);
    std::optional<CellCursor> pixel;
    if (const int64_t flat = flatAtCursor(); flat >= 0 && m_answer.image)
        if (const auto shown = m_answer.image->pixelOf(m_answer.shape, flat)) pixel = CellCursor{shown->first, shown->second};
    m_image->setCursorPixel(pixel);
    refreshBar();
}

/// The user has chosen cells in the table.
void TensorPanel::followTable()
{
    if (m_placing || !m_table->currentIndex().isValid()) return;
    m_placing = true;
    m_cursor = m_model->cellOf(m_table->currentIndex());
    m_isPlaced = true;
    m_anchor.reset();
    const QItemSelection chosen = m_table->selectionModel()->selection();
    if (chosen.size() == 1 && (chosen.front().height() > 1 || chosen.front().width() > 1)) {
        const QItemSelectionRange& range = chosen.front();
        const CellCursor first = m_model->cellOf(range.topLeft()), last = m_model->cellOf(range.bottomRight());
        const bool isCorner =
            (m_cursor.row == first.row || m_cursor.row == last.row) && (m_cursor.col == first.col || m_cursor.col == last.col);
        if (!isCorner) m_cursor = last; // all was chosen at once
        m_anchor = CellCursor{m_cursor.row == first.row ? last.row : first.row, m_cursor.col == first.col ? last.col : first.col};
    }
    showCursor();
    m_placing = false;
    if (m_answer.dtype == DType::string && m_answer.present && m_answer.held.empty()) request();
}

/// Cells that have come into sight and are not read yet.
void TensorPanel::readWhereScrolled()
{
    const Grid& grid = m_content.plane.grid;
    if (!m_table->isVisibleTo(this) || m_modes.overIterations() || grid.rows == 0 || grid.isSparse || !grid.rowNames.empty()) return;
    if (grid.rows == grid.allRows && grid.cols == grid.allCols) return;
    const QSize size = m_table->viewport()->size();
    const auto at = [](int place, int otherwise) { return place < 0 ? otherwise : place; };
    const CellCursor first = {m_model->begin().row + at(m_table->rowAt(0), 0), m_model->begin().col + at(m_table->columnAt(0), 0)};
    const CellCursor last = {m_model->begin().row + at(m_table->rowAt(size.height() - 1), m_model->rowCount() - 1),
                             m_model->begin().col + at(m_table->columnAt(size.width() - 1), m_model->columnCount() - 1)};
    if (isRead(grid, first) && isRead(grid, last)) return;
    m_window.rowBegin = std::max<int64_t>(0, first.row - std::max<int64_t>(0, grid.rows - (last.row - first.row)) / 2);
    m_window.colBegin = std::max<int64_t>(0, first.col - std::max<int64_t>(0, grid.cols - (last.col - first.col)) / 2);
    request();
}

/// The next slice of the outermost axis that is neither rows nor columns; where there is none, the next page of rows.
void TensorPanel::slice(int by)
{
    if (!m_hasAnswer || m_modes.overIterations()) return;
    // Of pictures without colours channel by channel, from all of them side by side on.
    if (m_modes[TensorMode::image] && m_answer.image && m_answer.image->allChannels > m_answer.image->channels) {
        m_channel = static_cast<int>(std::clamp<int64_t>(m_channel + by, -1, m_answer.image->allChannels - 1));
        return request();
    }
    if (m_modes[TensorMode::image] && m_answer.image && m_answer.image->pictures > 1) {
        m_picture = std::clamp<int64_t>(m_answer.image->picture + by, 0, m_answer.image->pictures - 1);
        return request();
    }
    AxisChoice axes = m_answer.axes;
    for (int axis = m_answer.shape.rank() - 1; axis >= 0; --axis) {
        const bool used = axis == axes.column || std::ranges::find(axes.rows, axis) != axes.rows.end();
        if (used || m_answer.shape[axis] < 2) continue;
        int64_t& at = axes.fixed[static_cast<size_t>(axis)];
        at = std::clamp<int64_t>(at + by, 0, m_answer.shape[axis] - 1);
        m_axes = axes;
        return request();
    }
    const int page =
        m_table->isVisibleTo(this) ? m_table->viewport()->height() / std::max(1, m_table->verticalHeader()->defaultSectionSize()) : 16;
    placeCursor({m_cursor.row + static_cast<int64_t>(by) * std::max(1, page - 1), m_cursor.col});
}

bool TensorPanel::goToElement(const QString& text)
{
    if (!m_hasAnswer || !m_answer.shape.isStatic()) return false;
    const int64_t flat = parseIndex(text.toStdString(), m_answer.shape);
    if (flat < 0) return false;
    if (m_modes.overIterations()) {
        placeCursor({flat, m_cursor.col});
        return true;
    }
    AxisChoice axes = m_answer.axes;
    int64_t row = 0, col = 0;
    const auto indexAt = [&](int axis) { return flat / m_answer.shape.countOf(axis + 1, m_answer.shape.rank()) % m_answer.shape[axis]; };
    for (const int axis : axes.rows) row = row * m_answer.shape[axis] + indexAt(axis);
    if (axes.column >= 0) col = indexAt(axes.column);
    for (int axis = 0; axis < m_answer.shape.rank(); ++axis) axes.fixed[static_cast<size_t>(axis)] = indexAt(axis);
    if (isImageShape(m_answer.shape) && m_answer.shape.rank() == 4) m_picture = indexAt(0);
    const bool isOtherSlice =
        flatOf(m_answer.shape, m_answer.axes, row, col) != flat || (m_answer.image && m_answer.image->picture != m_picture);
    m_axes = axes;
    placeCursor({row, col});
    if (isOtherSlice) request();
    return true;
}

/// What is shown is the value itself, at this stop.
bool TensorPanel::canEdit() const
{
    auto& doc = const_cast<TensorPanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    const Value* const value = declared();
    return !m_feed && value != nullptr && value->role != ValueRole::constant && doc.canSetValues() && m_answer.present && m_answer.isLive &&
           m_answer.held.empty() && !m_modes.overIterations() && m_compare == CompareWith::nothing && !m_answer.isSparse;
}

/// A cell of the plane was typed over.
void TensorPanel::setElement(qint64 row, qint64 col, const QString& text)
{
    if (!canEdit()) return;
    const int64_t flat = flatOf(m_answer.shape, m_answer.axes, row, col);
    if (flat < 0) return;
    std::string element = m_raw && m_content.plane.grid.style.quantized ? ".q" : "";
    if (m_answer.shape.rank() > 0) element += elementIndexText(m_answer.shape, flat);
    const bool isQuoted = m_answer.dtype == DType::string && !text.startsWith('"');
    document().setValue(m_selection, element, isQuoted ? '"' + text + '"' : text);
}

/// Exact digits, cells of a row apart by tabs: what is selected, else the cell of the cursor.
void TensorPanel::copyCells()
{
    const Grid& grid = m_content.plane.grid;
    if (grid.rows == 0 || grid.cols == 0) return;
    const auto put = [this](const QString& text) {
        QGuiApplication::clipboard()->setText(text);
        const int64_t count = text.count('\t') + text.count('\n') + 1;
        say(toText(groupThousands(count)) + (count == 1 ? " cell copied" : " cells copied"), Token::text3);
    };
    const auto textOf = [](const GridModel& model, CellCursor first, CellCursor last) {
        QString text;
        for (int64_t row = first.row; row <= last.row; ++row) {
            if (row > first.row) text += '\n';
            for (int64_t col = first.col; col <= last.col; ++col) text += (col > first.col ? "\t" : "") + model.text(row, col, false);
        }
        return text;
    };
    const QItemSelection chosen = m_modes[TensorMode::table] ? m_table->selectionModel()->selection() : QItemSelection();
    if (chosen.size() > 1) { // picked one by one
        QStringList parts;
        for (const QItemSelectionRange& range : chosen)
            parts.append(textOf(*m_model, m_model->cellOf(range.topLeft()), m_model->cellOf(range.bottomRight())));
        return put(parts.join('\n'));
    }
    const auto [first, last] = cellsBetween(m_cursor, m_anchor.value_or(m_cursor));
    const int64_t rows = last.row - first.row + 1, cols = last.col - first.col + 1;
    if (rows * cols > kMostCells)
        return say(toText(groupThousands(rows * cols)) + " cells are selected, at most 65,536 are copied", Token::warn);
    if (isRead(grid, first) && isRead(grid, last)) return put(textOf(*m_model, first, last));
    ValueRequest question = currentRequest();
    question.axes = m_answer.axes;
    question.window = {first.row, first.col, rows, cols};
    question.wantsBlocks = question.wantsHistogram = question.wantsChannels = question.wantsImage = false;
    const auto taken = [put, textOf, style = m_content.plane.grid.style, first = first, last = last](const ValueAnswer& answer) {
        GridContent content;
        content.grid = answer.grid;
        GridModel model;
        model.setContent(&content, first);
        model.setStyle(style);
        put(textOf(model, first, last));
    };
    if (declared()->role == ValueRole::constant)
        m_scanner.run([&model = document().model(), question](std::stop_token) { return readConstant(model, question); }, taken);
    else
        document().bridge().ask(
            this, "copy", [question](Inspector& inspector) { return readValue(inspector, question); }, taken);
}

/// Moves the cursor; with Shift what it passes is selected.
bool TensorPanel::cursorKey(const QKeyEvent& event)
{
    const bool extend = (event.modifiers() & Qt::ShiftModifier) != 0, far = (event.modifiers() & Qt::ControlModifier) != 0;
    const CellCursor end = planeEnd(m_content.plane.grid);
    switch (event.key()) {
    case Qt::Key_Home: placeCursor({far ? 0 : m_cursor.row, 0}, extend); return true;
    case Qt::Key_End: placeCursor({far ? end.row - 1 : m_cursor.row, end.col - 1}, extend); return true;
    default: break;
    }
    if (far) return false;
    switch (event.key()) {
    case Qt::Key_Up: placeCursor({m_cursor.row - 1, m_cursor.col}, extend); return true;
    case Qt::Key_Down: placeCursor({m_cursor.row + 1, m_cursor.col}, extend); return true;
    case Qt::Key_Left: placeCursor({m_cursor.row, m_cursor.col - 1}, extend); return true;
    case Qt::Key_Right: placeCursor({m_cursor.row, m_cursor.col + 1}, extend); return true;
    case Qt::Key_PageUp: slice(-1); return true;
    case Qt::Key_PageDown: slice(1); return true;
    default: return false;
    }
}

/// The table would search for what is typed, and copy one cell as it looks: its keys are those of the panel.
bool TensorPanel::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress && watched == m_table) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Tab || key == Qt::Key_Backtab) return false;
        event->ignore();
        return true;
    }
    return Panel::eventFilter(watched, event);
}

void TensorPanel::keyPressEvent(QKeyEvent* event)
{
    if (cursorKey(*event)) return;
    if (event->modifiers() != Qt::NoModifier && event->modifiers() != Qt::ShiftModifier) return Panel::keyPressEvent(event);
    switch (event->key()) {
    case Qt::Key_Q: m_raw = !m_raw; return request();
    case Qt::Key_X:
        m_hex = !m_hex;
        if (m_answer.dtype == DType::string) request();
        return refresh();
    case Qt::Key_Return:
    case Qt::Key_Enter: return openItem();
    case Qt::Key_Escape:
        if (m_scan.isRunning()) return m_scan.stop();
        if (m_anchor) return placeCursor(m_cursor);
        break;
    case Qt::Key_L: m_log = !m_log; return refresh();
    case Qt::Key_H:
        if (m_feed) break;
        return toggleHistory();
    default: break;
    }
    // With Shift layouts give other symbols than digits: the physical key counts.
    const bool isBeside = (event->modifiers() & Qt::ShiftModifier) != 0;
    const auto code = static_cast<int>(event->nativeScanCode());
    const int digit = event->key() >= Qt::Key_1 && event->key() <= Qt::Key_7 ? event->key() - Qt::Key_0
                      : isBeside && code >= 10 && code <= 16                 ? code - 9
                                                                             : 0;
    if (digit > 0) return showMode(digit - 1, isBeside);
    Panel::keyPressEvent(event);
}

} // namespace loopscope::viewer
