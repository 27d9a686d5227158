#include "viewer/tensor/grid_views.h"

#include "engine/tensor/compare.h"

#include "viewer/style/theme.h"
#include "viewer/widgets/rows.h"

#include <QHelpEvent>
#include <QJsonArray>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

QString GridContent::rowName(int64_t row) const
{
    const int64_t local = row - grid.rowBegin;
    if (static_cast<size_t>(row) < grid.rowNames.size()) return QString::fromStdString(grid.rowNames[static_cast<size_t>(row)]);
    if (grid.shape.rank() <= 2 && !grid.isSparse && !grid.overIterations) return QString::number(row * grid.blockRows);
    if (local < 0 || static_cast<size_t>(local) >= grid.rowFlat.size()) return {};
    std::string index = elementIndexText(grid.shape, grid.rowFlat[static_cast<size_t>(local)]);
    if (!grid.isSparse && !grid.overIterations && grid.colStride == 1) index = index.substr(0, index.rfind(',')) + ",:]";
    return QString::fromStdString(index);
}

QString GridContent::columnName(int64_t col) const
{
    if (static_cast<size_t>(col) < grid.columnNames.size()) return QString::fromStdString(grid.columnNames[static_cast<size_t>(col)]);
    if (grid.overIterations) return "@" + QString::number(col);
    if (grid.colStride == 0) return "value";
    return QString::number(col * grid.blockCols);
}

namespace {

constexpr int64_t kMostTableRows = int64_t{1} << 19, kMostTableCols = int64_t{1} << 16; ///< headers keep something for each

/// Where a part of `all` places begins that holds `at`: where it began before if that does.
int64_t beginOf(int64_t before, int64_t at, int64_t all, int64_t most)
{
    if (all <= most) return 0;
    if (at >= before && at < before + most && before + most <= all) return before;
    return std::clamp<int64_t>(at - most / 2, 0, all - most);
}

} // namespace

void GridModel::setContent(const GridContent* content, CellCursor cursor)
{
    CellCursor begin;
    int rows = 0, cols = 0;
    if (content != nullptr && content->grid.rows > 0) {
        const Grid& grid = content->grid;
        const bool isWhole = grid.isSparse || !grid.rowNames.empty(); // what is not read of these cannot be read either
        const int64_t allRows = isWhole ? grid.rows : grid.allRows, allCols = isWhole ? grid.cols : grid.allCols;
        begin = {beginOf(m_begin.row, cursor.row, allRows, kMostTableRows), beginOf(m_begin.col, cursor.col, allCols, kMostTableCols)};
        rows = static_cast<int>(std::min(allRows, kMostTableRows));
        cols = static_cast<int>(std::min(allCols, kMostTableCols));
    }
    const bool isSame = rows == m_rows && cols == m_cols && begin == m_begin && rows > 0;
    if (!isSame) beginResetModel();
    m_content = content;
    m_begin = begin;
    m_rows = rows;
    m_cols = cols;
    if (content != nullptr) {
        const auto kept = m_style;
        m_style = content->grid.style;
        m_style.raw = kept.raw;
        m_style.hex = kept.hex;
        m_style.complex = kept.complex;
    }
    if (!isSame) return endResetModel();
    emit dataChanged(index(0, 0), index(rows - 1, cols - 1));
    emit headerDataChanged(Qt::Horizontal, 0, cols - 1);
    emit headerDataChanged(Qt::Vertical, 0, rows - 1);
}

void GridModel::setStyle(const CellStyle& style)
{
    m_style = style;
    if (rowCount() > 0 && columnCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

int GridModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_rows; }

int GridModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : m_cols; }

QString GridModel::text(int64_t row, int64_t col, bool screen) const
{
    const Grid& grid = m_content->grid;
    if (!grid.covers(row, col)) return {};
    const auto at = static_cast<size_t>((row - grid.rowBegin) * grid.cols + col - grid.colBegin);
    if (at < grid.texts.size()) return QString::fromStdString(grid.texts[at]);
    CellStyle style = m_style;
    style.screen = screen;
    const QString text = QString::fromStdString(cellText(grid.cells[at], style));
    // Two words of equal width would look alike from afar.
    return screen && style.dtype == DType::boolean && !text.isEmpty() ? (grid.cells[at].bits != 0 ? "1 \u25cf" : "0 \u25cb") : text;
}

QVariant GridModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || m_content == nullptr || index.row() >= rowCount() || index.column() >= columnCount()) return {};
    const Grid& grid = m_content->grid;
    const CellCursor place = cellOf(index);
    if (!grid.covers(place.row, place.col)) return {};
    const int64_t row = place.row - grid.rowBegin, col = place.col - grid.colBegin;
    const Cell& cell = grid.at(row, col);
    switch (role) {
    case Qt::DisplayRole: return text(place.row, place.col, true);
    case Qt::EditRole: return text(place.row, place.col, false);
    case Qt::TextAlignmentRole: return QVariant(grid.texts.empty() ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::FontRole: {
        QFont font = Theme::instance().font(FontUse::value);
        font.setItalic(m_content->approximate);
        return font;
    }
    case Qt::ForegroundRole:
        if (cell.known && !std::isfinite(cell.real) && grid.texts.empty()) return themed(Token::err);
        if (cell.saturated) return themed(Token::warn);
        if (m_content->approximate) return themed(Token::text3);
        return themed(Token::text);
    case Qt::ToolTipRole: {
        QString tip = QString::fromStdString(elementIndexText(grid.shape, grid.flat(row, col)));
        if (grid.overIterations) tip += " " + m_content->columnName(place.col);
        if (grid.style.quantized)
            tip +=
                "  q " + QString::number(static_cast<qlonglong>(cell.bits)) + " \u2192 " + QString::fromStdString(shortNumber(cell.real));
        else tip += "  " + text(place.row, place.col, true);
        return tip + (cell.saturated ? ", saturated" : "");
    }
    default: return {};
    }
}

Qt::ItemFlags GridModel::flags(const QModelIndex& index) const
{
    const Qt::ItemFlags plain = QAbstractTableModel::flags(index);
    if (!m_isEditable || !index.isValid() || m_content == nullptr) return plain;
    const CellCursor place = cellOf(index);
    return m_content->grid.covers(place.row, place.col) ? plain | Qt::ItemIsEditable : plain;
}

bool GridModel::setData(const QModelIndex& index, const QVariant& value, int role)
{
    const QString text = value.toString().trimmed().replace(QChar(0x2212), '-');
    if (role != Qt::EditRole || !flags(index).testFlag(Qt::ItemIsEditable) || text.isEmpty()) return false;
    if (text == data(index, Qt::EditRole).toString()) return false;
    const CellCursor place = cellOf(index);
    emit typed(place.row, place.col, text);
    return true;
}

QVariant GridModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (m_content == nullptr) return {};
    if (role == Qt::DisplayRole)
        return orientation == Qt::Horizontal ? m_content->columnName(m_begin.col + section) : m_content->rowName(m_begin.row + section);
    if (role == Qt::FontRole) return Theme::instance().font(FontUse::tiny);
    if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    return {};
}

void CellDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const
{
    if (!holdsTypedText(editor)) QStyledItemDelegate::setEditorData(editor, index);
}

void CellDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const bool isSelected = (option.state & QStyle::State_Selected) != 0, isCursor = index == m_table->currentIndex();
    const QItemSelection chosen = m_table->selectionModel()->selection();
    const bool isRange = chosen.size() > 1 || (chosen.size() == 1 && (chosen.front().width() > 1 || chosen.front().height() > 1));
    if (isSelected && isRange) painter->fillRect(option.rect, themed(Token::accentWeak));
    QStyleOptionViewItem cell = option;
    cell.state &= ~(QStyle::State_Selected | QStyle::State_HasFocus | QStyle::State_MouseOver);
    QStyledItemDelegate::paint(painter, cell, index);
    if (!isCursor) return;
    painter->save();
    painter->setPen(QPen(themed(m_table->hasFocus() ? Token::accent : Token::text), m_table->hasFocus() ? 2 : 1));
    painter->drawRect(QRectF(option.rect).adjusted(1, 1, -1, -1));
    painter->restore();
}

namespace {

/// Paints over the cells of a heat map in `area` what their colours do not say.
class HeatMapPainter {
public:
    HeatMapPainter(QPainter& painter, const GridContent& content, const QRect& area)
        : m_painter(painter),
          m_content(content),
          m_grid(content.grid),
          m_area(area),
          m_cellWidth(static_cast<double>(area.width()) / static_cast<double>(content.grid.cols)),
          m_cellHeight(static_cast<double>(area.height()) / static_cast<double>(content.grid.rows))
    {
    }
    void paintGridLines();
    void paintUnknown();
    void paintCellMarks();
    void paintOutline();
    void paintRowNames(bool raw);
    void paintPresentColumn();
    void paintSelection(CellCursor cursor, CellCursor from);
    void paintCursor(CellCursor cursor, bool hasFocus);

private:
    double left(int64_t col) const { return m_area.left() + static_cast<double>(col) * m_cellWidth; }
    double top(int64_t row) const { return m_area.top() + static_cast<double>(row) * m_cellHeight; }
    QRectF cellRect(int64_t row, int64_t col) const { return {left(col), top(row), m_cellWidth, m_cellHeight}; }
    bool isInside(CellCursor cell) const { return cell.row >= 0 && cell.col >= 0 && cell.row < m_grid.rows && cell.col < m_grid.cols; }
    bool hasPresentColumn() const
    {
        return m_grid.overIterations && m_grid.current >= m_grid.colBegin && m_grid.current < m_grid.colBegin + m_grid.cols;
    }
    void paintCellMark(const Cell& cell, const QRectF& box);
    void paintPresentValue(const Cell& cell, const QRectF& name, bool raw);

    QPainter& m_painter;
    const GridContent& m_content;
    const Grid& m_grid;
    const QRect m_area;
    const double m_cellWidth, m_cellHeight;
};

void HeatMapPainter::paintGridLines()
{
    if (m_cellWidth < 8 || m_cellHeight < 8 || m_grid.overIterations) return;
    m_painter.setPen(QPen(themed(Token::surface), 1));
    for (int64_t c = 1; c < m_grid.cols; ++c) m_painter.drawLine(QPointF(left(c), m_area.top()), QPointF(left(c), m_area.bottom()));
    for (int64_t r = 1; r < m_grid.rows; ++r) m_painter.drawLine(QPointF(m_area.left(), top(r)), QPointF(m_area.right(), top(r)));
}

/// Iterations that have not run are hatched.
void HeatMapPainter::paintUnknown()
{
    if (!m_grid.overIterations || m_content.known >= m_grid.colBegin + m_grid.cols) return;
    const double from = left(std::max<int64_t>(0, m_content.known - m_grid.colBegin));
    const QRectF unknown(from, m_area.top(), m_area.right() + 1 - from, m_area.height());
    m_painter.save();
    m_painter.setClipRect(unknown);
    m_painter.setPen(QPen(themed(Token::line), 1));
    for (double x = unknown.left() - unknown.height(); x < unknown.right(); x += 6)
        m_painter.drawLine(QPointF(x, unknown.bottom()), QPointF(x + unknown.height(), unknown.top()));
    m_painter.restore();
}

/// NaN, infinities, saturated: a pattern, a sign, an outline, never the colour alone.
void HeatMapPainter::paintCellMarks()
{
    for (int64_t r = 0; r < m_grid.rows; ++r)
        for (int64_t c = 0; c < m_grid.cols; ++c) {
            const Cell& cell = m_grid.at(r, c);
            if (cell.known && (!std::isfinite(cell.real) || cell.saturated)) paintCellMark(cell, cellRect(r, c));
        }
}

void HeatMapPainter::paintCellMark(const Cell& cell, const QRectF& box)
{
    if (std::isfinite(cell.real)) { // saturated
        if (box.width() < 4 || box.height() < 4) return;
        m_painter.setPen(QPen(themed(Token::err), 1));
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
        return;
    }
    const QRectF shown = box.width() < 3 || box.height() < 3 ? QRectF(box.center() - QPointF(1.5, 1.5), QSizeF(3, 3)) : box;
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(themed(Token::err));
    if (std::isnan(cell.real)) {
        m_painter.fillRect(shown, QBrush(themed(Token::err), Qt::BDiagPattern));
        if (box.width() < 6) m_painter.fillRect(shown, themed(Token::err));
        return;
    }
    const double s = std::min({shown.width(), shown.height(), 10.0}) / 2, dir = cell.real > 0 ? -1 : 1;
    const QPointF m = shown.center();
    m_painter.drawPolygon(QPolygonF() << m + QPointF(-s, -dir * s) << m + QPointF(s, -dir * s) << m + QPointF(0, dir * s));
}

void HeatMapPainter::paintOutline()
{
    m_painter.setPen(QPen(themed(Token::line2), 1));
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawRect(QRectF(m_area).adjusted(-0.5, -0.5, 0.5, 0.5));
}

/// And, over iterations, the values of the present one.
void HeatMapPainter::paintRowNames(bool raw)
{
    m_painter.setFont(Theme::instance().font(FontUse::tiny));
    const QFontMetrics metrics(m_painter.font());
    const int least = metrics.height(), every = std::max(1, static_cast<int>(std::ceil(least / m_cellHeight)));
    for (int64_t r = 0; r < m_grid.rows; r += every) {
        const QRectF box(0, top(r), HeatMap::labelWidth() - 6, std::max<double>(m_cellHeight, least));
        if (r > 0 && box.bottom() > m_area.bottom() + 2) break; // half a name says nothing
        m_painter.setPen(themed(Token::text2));
        m_painter.drawText(box, Qt::AlignRight | (m_cellHeight >= least ? Qt::AlignVCenter : Qt::AlignTop),
                           metrics.elidedText(m_content.rowName(m_grid.rowBegin + r), Qt::ElideLeft, HeatMap::labelWidth() - 8));
        if (hasPresentColumn()) paintPresentValue(m_grid.at(r, m_grid.current - m_grid.colBegin), box, raw);
    }
}

void HeatMapPainter::paintPresentValue(const Cell& cell, const QRectF& name, bool raw)
{
    CellStyle style = m_grid.style;
    style.digits = 4;
    style.raw = raw;
    QFont font = m_painter.font();
    font.setItalic(m_content.approximate);
    m_painter.setFont(font);
    m_painter.setPen(themed(m_content.approximate ? Token::text3 : Token::text));
    m_painter.drawText(QRectF(m_area.right() + 4, name.top(), HeatMap::valueWidth() - 12, name.height()), Qt::AlignRight | Qt::AlignVCenter,
                       QString::fromStdString(cellText(cell, style)));
}

void HeatMapPainter::paintPresentColumn()
{
    if (!hasPresentColumn()) return;
    m_painter.setPen(QPen(themed(Token::curLine), 2));
    m_painter.drawRect(
        QRectF(left(m_grid.current - m_grid.colBegin) - 1, m_area.top() - 2, std::max(m_cellWidth, 2.0) + 2, m_area.height() + 4));
}

void HeatMapPainter::paintSelection(CellCursor cursor, CellCursor from)
{
    if (!isInside(cursor) || !isInside(from)) return;
    m_painter.setPen(QPen(themed(Token::accent), 1, Qt::DashLine));
    m_painter.drawRect(cellRect(cursor.row, cursor.col).united(cellRect(from.row, from.col)).adjusted(0, 0, -0.5, -0.5));
}

/// Over any colour: the theme's text around, the surface within.
void HeatMapPainter::paintCursor(CellCursor cursor, bool hasFocus)
{
    if (!isInside(cursor)) return;
    QRectF box = cellRect(cursor.row, cursor.col).adjusted(0, 0, -0.5, -0.5);
    if (box.width() < 5) box.adjust(-(5 - box.width()) / 2, 0, (5 - box.width()) / 2, 0);
    if (box.height() < 5) box.adjust(0, -(5 - box.height()) / 2, 0, (5 - box.height()) / 2);
    m_painter.setPen(QPen(themed(hasFocus ? Token::accent : Token::text), hasFocus ? 2 : 1));
    m_painter.drawRect(box);
    if (box.width() < 8 || box.height() < 8) return;
    m_painter.setPen(QPen(themed(Token::surface), 1));
    m_painter.drawRect(box.adjusted(1.5, 1.5, -1.5, -1.5));
}

} // namespace

int HeatMap::labelWidth() { return 58 * std::max(100, Theme::instance().textPercent()) / 100; }

int HeatMap::valueWidth() { return 92 * std::max(100, Theme::instance().textPercent()) / 100; }

HeatMap::HeatMap(QWidget* parent) : QWidget(parent)
{
    setObjectName("tensorHeat");
    setAccessibleName("Heat map");
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(160, 60);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void HeatMap::setContent(const GridContent* content, CellStyle style)
{
    m_content = content;
    m_style = style;
    update();
}

void HeatMap::setCursorCell(CellCursor cell, std::optional<CellCursor> from)
{
    m_cursor = cell;
    m_from = from;
    update();
}

QRect HeatMap::cellsRect() const
{
    if (m_content == nullptr || m_content->grid.rows == 0) return {};
    const Grid& grid = m_content->grid;
    const int right = grid.overIterations ? valueWidth() : 12, bottom = grid.overIterations ? 2 : 26;
    QRect area(labelWidth(), 6, width() - labelWidth() - right, height() - 8 - bottom);
    if (area.width() < 10 || area.height() < 10) return {};
    if (grid.overIterations) return area;
    // Square cells of whole pixels where they fit, at most 24 pixels.
    const double cell = std::min({static_cast<double>(area.width()) / static_cast<double>(grid.cols),
                                  static_cast<double>(area.height()) / static_cast<double>(grid.rows), 24.0});
    const double square = cell >= 1 ? std::floor(cell) : cell;
    double w = square * static_cast<double>(grid.cols), h = square * static_cast<double>(grid.rows);
    if (w < area.width() * 0.3 && grid.rows > grid.cols)
        w = std::min<double>(area.width(), std::max(w, 24.0 * static_cast<double>(grid.cols)));
    if (h < area.height() * 0.3 && grid.cols > grid.rows)
        h = std::min<double>(area.height(), std::max(h, 24.0 * static_cast<double>(grid.rows)));
    return {area.left(), area.top(), std::max(1, static_cast<int>(w)), std::max(1, static_cast<int>(h))};
}

QColor HeatMap::colorOf(const Cell& cell) const
{
    if (!cell.known) return themed(Token::surface);
    if (std::isnan(cell.real) || std::isinf(cell.real)) return themed(Token::errWeak);
    return QColor::fromRgb(
        mapColor(mapFor(m_content->grid, m_content->range), placeIn(m_content->range, cell.real), themed(Token::surface).rgb()));
}

void HeatMap::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    const QRect area = cellsRect();
    if (!area.isValid()) return;
    const Grid& grid = m_content->grid;
    QImage image(static_cast<int>(grid.cols), static_cast<int>(grid.rows), QImage::Format_RGB32);
    for (int64_t r = 0; r < grid.rows; ++r)
        for (int64_t c = 0; c < grid.cols; ++c) image.setPixel(static_cast<int>(c), static_cast<int>(r), colorOf(grid.at(r, c)).rgb());
    painter.drawImage(area, image);
    HeatMapPainter map(painter, *m_content, area);
    map.paintGridLines();
    painter.setRenderHint(QPainter::Antialiasing);
    map.paintUnknown();
    map.paintCellMarks();
    map.paintOutline();
    map.paintRowNames(m_style.raw);
    map.paintPresentColumn();
    if (m_from) map.paintSelection(m_cursor, *m_from);
    map.paintCursor(m_cursor, hasFocus());
    if (!grid.overIterations) paintLegend(painter, area);
}

void HeatMap::paintLegend(QPainter& painter, const QRect& cells) const
{
    if (m_content->range.isEmpty()) return;
    const MapKind kind = mapFor(m_content->grid, m_content->range);
    const QRect bar(cells.left(), cells.bottom() + 8, std::clamp(cells.width(), 100, 240), 6);
    for (int x = 0; x < bar.width(); ++x)
        painter.fillRect(QRect(bar.left() + x, bar.top(), 1, bar.height()),
                         QColor::fromRgb(mapColor(kind, (x + 0.5) / bar.width(), themed(Token::surface).rgb())));
    painter.setPen(QPen(themed(Token::line2), 1));
    painter.drawRect(QRectF(bar).adjusted(-0.5, -0.5, 0.5, 0.5));
    painter.setPen(themed(Token::text2));
    const QRect text(bar.left(), bar.bottom() + 2, bar.width(), 14);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter, QString::fromStdString(shortNumber(m_content->range.low)));
    painter.drawText(text, Qt::AlignRight | Qt::AlignVCenter, QString::fromStdString(shortNumber(m_content->range.high)));
    if (kind == MapKind::diverging && m_content->range.low == -m_content->range.high) painter.drawText(text, Qt::AlignCenter, "0");
}

std::optional<CellCursor> HeatMap::cellAt(const QPoint& at) const
{
    const QRect area = cellsRect();
    if (!area.isValid() || !area.contains(at)) return std::nullopt;
    const Grid& grid = m_content->grid;
    return CellCursor{std::min<int64_t>((at.y() - area.top()) * grid.rows / area.height(), grid.rows - 1),
                      std::min<int64_t>((at.x() - area.left()) * grid.cols / area.width(), grid.cols - 1)};
}

void HeatMap::mousePressEvent(QMouseEvent* event)
{
    setFocus(Qt::MouseFocusReason);
    if (const auto cell = cellAt(event->pos())) emit cellChosen(cell->row, cell->col);
}

void HeatMap::mouseMoveEvent(QMouseEvent* event)
{
    if ((event->buttons() & Qt::LeftButton) == 0) return;
    if (const auto cell = cellAt(event->pos())) emit cellChosen(cell->row, cell->col);
}

bool HeatMap::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && m_content != nullptr) {
        const auto* help = static_cast<QHelpEvent*>(event);
        QString tip;
        if (const auto cell = cellAt(help->pos())) {
            const Grid& grid = m_content->grid;
            const auto at = static_cast<size_t>(cell->row * grid.cols + cell->col);
            const Cell& shown = grid.at(cell->row, cell->col);
            tip = QString::fromStdString(elementIndexText(grid.shape, grid.flat(cell->row, cell->col)));
            if (grid.overIterations) tip += " " + m_content->columnName(grid.colBegin + cell->col);
            if (at < grid.low.size())
                tip += "  min " + QString::fromStdString(shortNumber(static_cast<double>(grid.low[at]))) + "  max " +
                       QString::fromStdString(shortNumber(static_cast<double>(grid.high[at]))) + "  mean " +
                       QString::fromStdString(shortNumber(shown.real));
            else if (!shown.known) tip += "  not known yet";
            else if (grid.style.quantized)
                tip += "  q " + QString::number(static_cast<qlonglong>(shown.bits)) + " \u2192 " +
                       QString::fromStdString(shortNumber(shown.real));
            else tip += "  " + QString::fromStdString(cellText(shown, m_style));
        }
        QToolTip::showText(help->globalPos(), tip, this);
        return true;
    }
    return QWidget::event(event);
}

QJsonObject HeatMap::describe() const
{
    QJsonObject out;
    if (m_content == nullptr) return out;
    const Grid& grid = m_content->grid;
    const QRect area = cellsRect();
    out["rect"] = QJsonArray{area.x(), area.y(), area.width(), area.height()};
    out["rows"] = static_cast<qint64>(grid.rows);
    out["columns"] = static_cast<qint64>(grid.cols);
    out["overIterations"] = grid.overIterations;
    out["known"] = static_cast<qint64>(m_content->known);
    out["range"] = QJsonArray{m_content->range.low, m_content->range.high};
    out["map"] = mapFor(grid, m_content->range) == MapKind::diverging ? "diverging" : "sequential";
    out["cursor"] = QJsonArray{static_cast<qint64>(m_cursor.row), static_cast<qint64>(m_cursor.col)};
    out["current"] = static_cast<qint64>(grid.current);
    QJsonArray colors;
    for (int64_t r = 0; r < std::min<int64_t>(grid.rows, 8); ++r)
        for (int64_t c = 0; c < std::min<int64_t>(grid.cols, 8); ++c) colors.append(colorOf(grid.at(r, c)).name());
    out["colors"] = colors;
    return out;
}

} // namespace loopscope::viewer
