// The plot of a grid over its columns: lines of the cursor's row and another one, the band of all, statistics.
#include "viewer/style/theme.h"
#include "viewer/tensor/grid_views.h"

#include <QJsonArray>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace loopscope::viewer {

namespace {

QString shortText(double value) { return QString::fromStdString(shortNumber(value)); }

QString grouped(int64_t n) { return QLocale(QLocale::English).toString(static_cast<qlonglong>(n)); }

/// 1, 2, 4, 8, 16, 20, 50, …: how far apart the numbers of an axis stand.
int64_t tickEvery(double pitch, double least)
{
    for (const int64_t n : {1, 2, 4, 8, 16})
        if (pitch * static_cast<double>(n) >= least) return n;
    for (int64_t decade = 10;; decade *= 10)
        for (const int64_t n : {2, 5, 10})
            if (pitch * static_cast<double>(n * decade) >= least) return n * decade;
}

/// 1, 2 or 5 times a power of ten: how far apart the levels of an axis stand.
double levelStep(double span, int most)
{
    if (!(span > 0) || !std::isfinite(span)) return 1;
    const double raw = span / most, decade = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double n : {1.0, 2.0, 5.0})
        if (raw <= n * decade * 1.0000001) return n * decade;
    return 10 * decade;
}

constexpr int kOverviewHeight = 28; ///< of the strip with all iterations

/// Above and below the area that is drawn in.
int headHeight() { return std::max(20, QFontMetrics(Theme::instance().font(FontUse::small)).height() + 6); }
int footHeight() { return std::max(18, QFontMetrics(Theme::instance().font(FontUse::tiny)).height() + 4); }

/// What a plot of a grid in `area` draws, and where.
class GridPlotShape {
public:
    GridPlotShape(const GridContent& content, const QRect& area, CellCursor cursor)
        : m_content(content),
          m_grid(content.grid),
          m_area(area),
          m_cursor(cursor),
          m_pitch(static_cast<double>(area.width()) / static_cast<double>(std::max<int64_t>(content.grid.cols, 1)))
    {
        chooseRange();
        const int64_t row = std::clamp<int64_t>(cursor.row, 0, m_grid.rows - 1);
        const int64_t other = row != 0 ? 0 : m_grid.shape.rank() >= 2 ? m_grid.shape.back() + 1 : 1;
        m_rows = {row, std::min(m_grid.rows - 1, other)};
        m_lines = m_grid.rows > 1 && m_rows[0] != m_rows[1] ? 2 : 1;
    }
    std::vector<double> levels() const;
    /// Columns that have a number below them: none touches another.
    std::vector<int64_t> numberedColumns() const;
    /// Points of a line that no other point of it stands beside: they would not be seen as a line.
    QPolygonF alone(size_t line) const;
    size_t lines() const { return m_lines; }

protected:
    static bool isFinite(const Cell& cell) { return cell.known && std::isfinite(cell.real); }
    double step() const { return std::max(1.0, 1 / m_pitch); } ///< columns of a pixel
    double x(int64_t col) const { return m_area.left() + (static_cast<double>(col) + 0.5) * m_pitch; }
    double y(double v) const { return m_area.bottom() - (v - m_low) / (m_high - m_low) * m_area.height(); }
    int64_t presentColumn() const { return m_grid.overIterations ? m_grid.current - m_grid.colBegin : -1; }

    const GridContent& m_content;
    const Grid& m_grid;
    const QRect m_area;
    const CellCursor m_cursor;
    const double m_pitch;                     ///< of columns
    double m_low = 0, m_high = 0, m_step = 1; ///< round levels
    std::array<int64_t, 2> m_rows;            ///< that have a line: the cursor's, and another
    size_t m_lines = 1;

private:
    void chooseRange();
};

class GridPlotPainter : public GridPlotShape {
public:
    GridPlotPainter(QPainter& painter, const GridContent& content, const QRect& area, CellCursor cursor)
        : GridPlotShape(content, area, cursor),
          m_painter(painter)
    {
    }
    void paintLevels();
    void paintBand();
    void paintLines();
    void paintPresentColumn();
    void paintCursor();
    void paintColumnNumbers();
    void paintHead(int width);
    void paintStatistics(const TensorStatistics& statistics, int height);

private:
    static constexpr std::array<Token, 2> kColors = {Token::sideA, Token::sideB};
    void paintLine(size_t line);

    QPainter& m_painter;
};

/// Of what is drawn, with round ends.
void GridPlotShape::chooseRange()
{
    double low = 0, high = 0;
    bool any = false;
    for (const Cell& cell : m_grid.cells) {
        if (!isFinite(cell)) continue;
        low = any ? std::min(low, cell.real) : cell.real;
        high = any ? std::max(high, cell.real) : cell.real;
        any = true;
    }
    if (low < 0 && high > 0) {
        high = std::max(high, -low);
        low = -high;
    }
    if (low == high) {
        const double reach = low == 0 ? 1 : std::fabs(low) / 2;
        low -= reach;
        high += reach;
    }
    m_step = levelStep(high - low, std::clamp(m_area.height() / 24, 2, 6));
    m_low = std::floor(low / m_step + 1e-9) * m_step;
    m_high = std::ceil(high / m_step - 1e-9) * m_step;
    if (m_high <= m_low) m_high = m_low + m_step;
}

std::vector<double> GridPlotShape::levels() const
{
    std::vector<double> all;
    const auto count = static_cast<int>(std::lround((m_high - m_low) / m_step));
    for (int i = 0; i <= count; ++i) {
        const double level = m_low + i * m_step;
        all.push_back(std::fabs(level) < m_step / 1e6 ? 0 : level);
    }
    return all;
}

std::vector<int64_t> GridPlotShape::numberedColumns() const
{
    const int64_t first = m_grid.colBegin, present = presentColumn();
    const QFontMetrics metrics(Theme::instance().font(FontUse::tiny, true));
    const int widest = metrics.horizontalAdvance(QString::number(first + std::max<int64_t>(0, m_grid.cols - 1)));
    const int64_t every = tickEvery(m_pitch, std::max(44, widest + 12));
    std::vector<int64_t> all;
    for (int64_t c = (every - first % every) % every; c < m_grid.cols; c += every)
        if (present < 0 || std::abs(static_cast<double>(c - present)) * m_pitch > std::max(22, widest + 4)) all.push_back(c);
    if (present >= 0 && present < m_grid.cols) all.push_back(present);
    return all;
}

QPolygonF GridPlotShape::alone(size_t line) const
{
    QPolygonF points;
    bool before = false;
    for (double c = 0; c < static_cast<double>(m_grid.cols); c += step()) {
        const auto col = static_cast<int64_t>(c), next = static_cast<int64_t>(c + step());
        const Cell& cell = m_grid.at(m_rows[line], col);
        const bool after = next < m_grid.cols && isFinite(m_grid.at(m_rows[line], next));
        if (isFinite(cell) && !before && !after) points.append(QPointF(x(col), y(cell.real)));
        before = isFinite(cell);
    }
    return points;
}

void GridPlotPainter::paintLevels()
{
    m_painter.setFont(Theme::instance().font(FontUse::tiny));
    for (const double level : levels()) {
        m_painter.setPen(QPen(themed(Token::line), 1));
        m_painter.drawLine(QPointF(m_area.left(), y(level)), QPointF(m_area.right(), y(level)));
        m_painter.setPen(themed(Token::text2));
        m_painter.drawText(QRectF(0, y(level) - footHeight() / 2.0, HeatMap::labelWidth() - 8, footHeight()),
                           Qt::AlignRight | Qt::AlignVCenter, shortText(level));
    }
}

/// Between the smallest and the largest element of each column.
void GridPlotPainter::paintBand()
{
    QPolygonF upper, lower;
    for (int64_t c = 0; c < m_grid.cols; ++c) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t r = 0; r < m_grid.rows; ++r) {
            const Cell& cell = m_grid.at(r, c);
            if (!isFinite(cell)) continue;
            low = std::min(low, cell.real);
            high = std::max(high, cell.real);
        }
        if (low > high) continue;
        upper << QPointF(x(c), y(high));
        lower.prepend(QPointF(x(c), y(low)));
    }
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(themed(Token::accentWeak));
    m_painter.drawPolygon(upper + lower);
}

void GridPlotPainter::paintLines()
{
    for (size_t i = 0; i < m_lines; ++i) paintLine(i);
}

void GridPlotPainter::paintLine(size_t line)
{
    QPainterPath path;
    bool pen = false;
    for (double c = 0; c < static_cast<double>(m_grid.cols); c += step()) {
        const auto col = static_cast<int64_t>(c);
        const Cell& cell = m_grid.at(m_rows[line], col);
        if (!isFinite(cell)) {
            if (cell.known) { // a NaN or infinity is a mark at the top
                m_painter.setPen(QPen(themed(Token::err), 1.5));
                m_painter.drawLine(QPointF(x(col), m_area.top()), QPointF(x(col), m_area.top() + 5));
            }
            pen = false;
            continue;
        }
        const QPointF at(x(col), y(cell.real));
        if (pen) path.lineTo(at);
        else path.moveTo(at);
        pen = true;
    }
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(themed(kColors[line]));
    for (const QPointF& at : alone(line)) m_painter.drawEllipse(at, 2.2, 2.2);
    m_painter.setBrush(Qt::NoBrush);
    m_painter.setPen(QPen(themed(kColors[line]), 1.6, line == 0 ? Qt::SolidLine : Qt::DashLine));
    m_painter.drawPath(path);
}

/// Over iterations: where the run stands.
void GridPlotPainter::paintPresentColumn()
{
    if (!m_grid.overIterations || m_grid.current < m_grid.colBegin || m_grid.current >= m_grid.colBegin + m_grid.cols) return;
    const int64_t col = m_grid.current - m_grid.colBegin;
    m_painter.setPen(QPen(themed(Token::curLine), 1.5, Qt::DashLine));
    m_painter.drawLine(QPointF(x(col), m_area.top() - 2), QPointF(x(col), m_area.bottom() + 2));
    m_painter.setPen(Qt::NoPen);
    for (size_t i = 0; i < m_lines; ++i) {
        const Cell& cell = m_grid.at(m_rows[i], col);
        if (!isFinite(cell)) continue;
        m_painter.setBrush(themed(kColors[i]));
        m_painter.drawEllipse(QPointF(x(col), y(cell.real)), 3, 3);
    }
}

void GridPlotPainter::paintCursor()
{
    if (m_cursor.col < 0 || m_cursor.col >= m_grid.cols || m_cursor.col == m_grid.current - m_grid.colBegin) return;
    const Cell& cell = m_grid.at(m_rows[0], m_cursor.col);
    if (!isFinite(cell)) return;
    m_painter.setBrush(Qt::NoBrush);
    m_painter.setPen(QPen(themed(Token::text), 1));
    m_painter.drawRect(QRectF(x(m_cursor.col) - 3.5, y(cell.real) - 3.5, 7, 7));
}

/// Below the columns; the present one stands out.
void GridPlotPainter::paintColumnNumbers()
{
    for (const int64_t col : numberedColumns()) {
        const bool isPresent = col == presentColumn();
        m_painter.setFont(Theme::instance().font(FontUse::tiny, isPresent));
        m_painter.setPen(themed(isPresent ? Token::text : Token::text2));
        m_painter.drawText(QRectF(x(col) - 40, m_area.bottom() + 2, 80, footHeight() - 3), Qt::AlignCenter,
                           QString::number(m_grid.colBegin + col));
    }
}

/// Which lines these are, and how much is known.
void GridPlotPainter::paintHead(int width)
{
    m_painter.setFont(Theme::instance().font(FontUse::small));
    const QFontMetrics metrics(m_painter.font());
    double at = HeatMap::labelWidth();
    const auto say = [&](const QString& text, QColor color, bool bold) {
        m_painter.setFont(Theme::instance().font(FontUse::small, bold));
        m_painter.setPen(color);
        m_painter.drawText(QPointF(at, (headHeight() + metrics.ascent() - metrics.descent()) / 2.0), text);
        at += QFontMetrics(m_painter.font()).horizontalAdvance(text) + 5;
    };
    say(m_grid.overIterations ? "over iterations:" : "along the columns:", themed(Token::text2), false);
    for (size_t i = 0; i < m_lines; ++i) say(m_content.rowName(m_grid.rowBegin + m_rows[i]), themed(kColors[i]), true);
    if (m_grid.rows > 1) say("min \u2026 max of " + grouped(m_grid.rows), themed(Token::text2), false);
    if (!m_grid.overIterations) return;
    m_painter.setFont(Theme::instance().font(FontUse::small));
    m_painter.setPen(themed(Token::text3));
    const QString known = grouped(m_content.known) + " of " + grouped(m_grid.allCols) + " known";
    if (at + metrics.horizontalAdvance(known) < width - 10)
        m_painter.drawText(QRectF(0, 0, width - 10, headHeight()), Qt::AlignRight | Qt::AlignVCenter, known);
}

/// Of all elements, at the right.
void GridPlotPainter::paintStatistics(const TensorStatistics& statistics, int height)
{
    m_painter.setFont(Theme::instance().font(FontUse::tiny));
    const std::array<std::pair<const char*, double>, 4> rows = {
        {{"min", statistics.min}, {"max", statistics.max}, {"mean", statistics.mean}, {"std", statistics.std}}};
    for (size_t i = 0; i < rows.size(); ++i) {
        const QRectF line(m_area.right() + 8, 22 + 13.0 * static_cast<double>(i), HeatMap::valueWidth() - 18, 13);
        if (line.bottom() > height) break;
        m_painter.setPen(themed(Token::text2));
        m_painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, rows[i].first);
        m_painter.setPen(themed(Token::text));
        m_painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, statistics.finite > 0 ? shortText(rows[i].second) : QString("\u2013"));
    }
}

} // namespace

GridPlot::GridPlot(QWidget* parent) : QWidget(parent)
{
    setObjectName("tensorPlot");
    setAccessibleName("Plot");
    setMinimumSize(160, 70);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void GridPlot::setContent(const GridContent* content, CellCursor cursor, const TensorStatistics* statistics)
{
    m_content = content;
    m_cursor = cursor;
    m_statistics = statistics;
    update();
}

QRect GridPlot::plotRect() const
{
    const int below = overviewRect().isEmpty() ? 0 : kOverviewHeight;
    return {HeatMap::labelWidth(), headHeight(), width() - HeatMap::labelWidth() - HeatMap::valueWidth(),
            height() - headHeight() - footHeight() - below};
}

QRect GridPlot::overviewRect() const
{
    const bool isHigh = height() > headHeight() + footHeight() + 2 * kOverviewHeight;
    if (m_content == nullptr || m_content->overview.empty() || !isHigh) return {};
    return {HeatMap::labelWidth(), height() - kOverviewHeight, width() - HeatMap::labelWidth() - HeatMap::valueWidth(),
            kOverviewHeight - 4};
}

/// All iterations in a strip, with a frame around those that are drawn above.
void GridPlot::paintOverview(QPainter& painter) const
{
    const QRect area = overviewRect();
    if (area.width() < 20) return;
    const std::vector<CoursePart>& parts = m_content->overview;
    const Grid& grid = m_content->grid;
    double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
    for (const CoursePart& part : parts)
        if (!std::isnan(part.low)) {
            low = std::min(low, part.low);
            high = std::max(high, part.high);
        }
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.fillRect(area, themed(Token::sunken));
    const auto x = [&](double share) { return area.left() + share * area.width(); };
    const auto y = [&](double v) { return area.bottom() - (high > low ? (v - low) / (high - low) : 0.5) * (area.height() - 2); };
    painter.setPen(QPen(themed(Token::sideA), 1));
    for (size_t i = 0; i < parts.size(); ++i) {
        if (std::isnan(parts[i].low)) continue;
        const double at = x((static_cast<double>(i) + 0.5) / static_cast<double>(parts.size()));
        painter.drawLine(QPointF(at, y(parts[i].low)), QPointF(at, y(parts[i].high) - 1));
    }
    const double all = static_cast<double>(std::max<int64_t>(1, grid.allCols));
    const double first = x(static_cast<double>(grid.colBegin) / all), last = x(static_cast<double>(grid.colBegin + grid.cols) / all);
    painter.setPen(QPen(themed(Token::accent), 1.5));
    painter.drawRect(QRectF(first, area.top(), std::max(3.0, last - first), area.height() - 1));
    if (grid.current < 0) return;
    painter.setPen(QPen(themed(Token::curLine), 1.5));
    const double now = x((static_cast<double>(grid.current) + 0.5) / all);
    painter.drawLine(QPointF(now, area.top()), QPointF(now, area.bottom()));
}

void GridPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    if (m_content == nullptr || m_content->grid.rows == 0) return;
    const QRect area = plotRect();
    if (area.width() < 20 || area.height() < 16) return;
    painter.setRenderHint(QPainter::Antialiasing);
    GridPlotPainter plot(painter, *m_content, area, m_cursor);
    plot.paintLevels();
    if (m_content->grid.rows > 1) plot.paintBand();
    plot.paintLines();
    plot.paintPresentColumn();
    plot.paintCursor();
    plot.paintColumnNumbers();
    plot.paintHead(width());
    if (m_statistics != nullptr) plot.paintStatistics(*m_statistics, height());
    paintOverview(painter);
}

void GridPlot::mousePressEvent(QMouseEvent* event)
{
    const QRect area = plotRect(), all = overviewRect();
    if (m_content != nullptr && all.contains(event->pos())) { // there, wherever the window is
        const int64_t iteration = (event->pos().x() - all.left()) * m_content->grid.allCols / all.width();
        emit columnChosen(iteration - m_content->grid.colBegin);
        return;
    }
    if (m_content == nullptr || !area.contains(event->pos()) || m_content->grid.cols == 0) return;
    emit columnChosen((event->pos().x() - area.left()) * m_content->grid.cols / area.width());
}

QJsonObject GridPlot::describe() const
{
    QJsonObject out;
    if (m_content == nullptr) return out;
    const QRect area = plotRect();
    out["rect"] = QJsonArray{area.x(), area.y(), area.width(), area.height()};
    out["columns"] = static_cast<qint64>(m_content->grid.cols);
    if (const QRect all = overviewRect(); !all.isEmpty()) {
        out["overview"] = static_cast<qint64>(m_content->overview.size());
        out["overviewRect"] = QJsonArray{all.x(), all.y(), all.width(), all.height()};
    }
    out["known"] = static_cast<qint64>(m_content->known);
    out["row"] = static_cast<qint64>(m_cursor.row);
    out["column"] = static_cast<qint64>(m_cursor.col);
    if (m_content->grid.rows == 0 || area.width() <= 0) return out;
    const GridPlotShape shape(*m_content, area, m_cursor);
    QJsonArray levels, numbers;
    for (const double level : shape.levels()) levels.append(level);
    for (const int64_t col : shape.numberedColumns()) numbers.append(static_cast<qint64>(m_content->grid.colBegin + col));
    out["levels"] = levels;
    out["numbers"] = numbers;
    out["dots"] = static_cast<qint64>(shape.alone(0).size());
    return out;
}

} // namespace loopscope::viewer
