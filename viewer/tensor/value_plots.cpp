// Plot over columns, histogram, image.
#include "viewer/style/theme.h"
#include "viewer/tensor/grid_views.h"

#include <QHelpEvent>
#include <QJsonArray>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <cmath>

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

double niceBound(double value)
{
    if (value == 0 || !std::isfinite(value)) return 0;
    const double magnitude = std::fabs(value), decade = std::pow(10.0, std::floor(std::log10(magnitude)));
    for (const double n : {1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 10.0})
        if (magnitude <= n * decade * 1.0000001) return std::copysign(n * decade, value);
    return value;
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
    return {HeatMap::kLabelWidth, 20, width() - HeatMap::kLabelWidth - HeatMap::kValueWidth, height() - 20 - 18};
}

void GridPlot::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    if (m_content == nullptr || m_content->grid.rows == 0) return;
    const Grid& grid = m_content->grid;
    const QRect area = plotRect();
    if (area.width() < 20 || area.height() < 16) return;
    painter.setRenderHint(QPainter::Antialiasing);
    // Range of what is drawn, with round ends.
    double low = 0, high = 0;
    bool any = false;
    for (const Cell& cell : grid.cells) {
        if (!cell.known || !std::isfinite(cell.real)) continue;
        low = any ? std::min(low, cell.real) : cell.real;
        high = any ? std::max(high, cell.real) : cell.real;
        any = true;
    }
    if (low < 0 && high > 0) {
        high = std::max(high, -low);
        low = -high;
    }
    low = low < 0 ? niceBound(low) : low == high ? low - 1 : low;
    high = high > 0 ? niceBound(high) : low == high ? high + 1 : high;
    if (high <= low) high = low + 1;
    const double pitch = static_cast<double>(area.width()) / static_cast<double>(std::max<int64_t>(grid.cols, 1));
    const auto x = [&](int64_t col) { return area.left() + (static_cast<double>(col) + 0.5) * pitch; };
    const auto y = [&](double v) { return area.bottom() - (v - low) / (high - low) * area.height(); };

    painter.setFont(Theme::instance().font(FontUse::tiny));
    for (const double level : {low, low < 0 && high > 0 ? 0.0 : (low + high) / 2, high}) {
        painter.setPen(QPen(themed(Token::line), 1));
        painter.drawLine(QPointF(area.left(), y(level)), QPointF(area.right(), y(level)));
        painter.setPen(themed(Token::text2));
        painter.drawText(QRectF(0, y(level) - 7, HeatMap::kLabelWidth - 8, 14), Qt::AlignRight | Qt::AlignVCenter, shortText(level));
    }
    // The band of all elements, then the lines.
    if (grid.rows > 1) {
        QPolygonF upper, lower;
        for (int64_t c = 0; c < grid.cols; ++c) {
            double a = INFINITY, b = -INFINITY;
            for (int64_t r = 0; r < grid.rows; ++r) {
                const Cell& cell = grid.at(r, c);
                if (!cell.known || !std::isfinite(cell.real)) continue;
                a = std::min(a, cell.real);
                b = std::max(b, cell.real);
            }
            if (a > b) continue;
            upper << QPointF(x(c), y(b));
            lower.prepend(QPointF(x(c), y(a)));
        }
        QColor band = themed(Token::accentWeak);
        painter.setPen(Qt::NoPen);
        painter.setBrush(band);
        painter.drawPolygon(upper + lower);
    }
    const int64_t cursor = std::clamp<int64_t>(m_cursor.row, 0, grid.rows - 1);
    const std::array<int64_t, 2> rows = {cursor,
                                         std::min(grid.rows - 1, cursor == 0 ? (grid.shape.rank() >= 2 ? grid.shape.back() + 1 : 1) : 0)};
    const std::array<Token, 2> colors = {Token::sideA, Token::sideB};
    const size_t lines = grid.rows > 1 && rows[0] != rows[1] ? 2 : 1;
    for (size_t i = 0; i < lines; ++i) {
        QPainterPath path;
        bool pen = false;
        const double step = std::max(1.0, 1 / pitch);
        for (double c = 0; c < static_cast<double>(grid.cols); c += step) {
            const Cell& cell = grid.at(rows[i], static_cast<int64_t>(c));
            if (!cell.known || !std::isfinite(cell.real)) {
                if (cell.known) { // a NaN or infinity is a mark at the top
                    painter.setPen(QPen(themed(Token::err), 1.5));
                    painter.drawLine(QPointF(x(static_cast<int64_t>(c)), area.top()), QPointF(x(static_cast<int64_t>(c)), area.top() + 5));
                }
                pen = false;
                continue;
            }
            const QPointF at(x(static_cast<int64_t>(c)), y(cell.real));
            pen ? path.lineTo(at) : path.moveTo(at);
            pen = true;
        }
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(themed(colors[i]), 1.6, i == 0 ? Qt::SolidLine : Qt::DashLine));
        painter.drawPath(path);
    }
    if (grid.overIterations && grid.current >= grid.colBegin && grid.current < grid.colBegin + grid.cols) {
        const int64_t col = grid.current - grid.colBegin;
        painter.setPen(QPen(themed(Token::curLine), 1.5, Qt::DashLine));
        painter.drawLine(QPointF(x(col), area.top() - 2), QPointF(x(col), area.bottom() + 2));
        painter.setPen(Qt::NoPen);
        for (size_t i = 0; i < lines; ++i) {
            const Cell& cell = grid.at(rows[i], col);
            if (!cell.known || !std::isfinite(cell.real)) continue;
            painter.setBrush(themed(colors[i]));
            painter.drawEllipse(QPointF(x(col), y(cell.real)), 3, 3);
        }
    }
    if (m_cursor.col >= 0 && m_cursor.col < grid.cols && m_cursor.col != grid.current - grid.colBegin) { // the cell cursor
        if (const Cell& cell = grid.at(cursor, m_cursor.col); cell.known && std::isfinite(cell.real)) {
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(themed(Token::text), 1));
            painter.drawRect(QRectF(x(m_cursor.col) - 3.5, y(cell.real) - 3.5, 7, 7));
        }
    }
    // Numbers below; the present one stands out.
    const int64_t every = tickEvery(pitch, 44), first = grid.colBegin;
    const auto number = [&](int64_t col, Token color, bool bold) {
        painter.setFont(Theme::instance().font(FontUse::tiny, bold));
        painter.setPen(themed(color));
        painter.drawText(QRectF(x(col) - 40, area.bottom() + 3, 80, 14), Qt::AlignCenter, QString::number(first + col));
    };
    const int64_t current = grid.overIterations ? grid.current - grid.colBegin : -1;
    for (int64_t c = (every - first % every) % every; c < grid.cols; c += every)
        if (current < 0 || std::abs(static_cast<double>(c - current)) * pitch > 22) number(c, Token::text2, false);
    if (current >= 0 && current < grid.cols) number(current, Token::text, true);
    // The head: which lines these are, and how much is known.
    painter.setFont(Theme::instance().font(FontUse::small));
    const QFontMetrics metrics(painter.font());
    double at = HeatMap::kLabelWidth;
    const auto say = [&](const QString& text, QColor color, bool bold) {
        painter.setFont(Theme::instance().font(FontUse::small, bold));
        painter.setPen(color);
        painter.drawText(QPointF(at, 14), text);
        at += QFontMetrics(painter.font()).horizontalAdvance(text) + 5;
    };
    say(grid.overIterations ? "over iterations:" : "along the columns:", themed(Token::text2), false);
    for (size_t i = 0; i < lines; ++i) say(m_content->rowName(grid.rowBegin + rows[i]), themed(colors[i]), true);
    if (grid.rows > 1) say("min \u2026 max of " + grouped(grid.rows), themed(Token::text2), false);
    if (grid.overIterations) {
        painter.setFont(Theme::instance().font(FontUse::small));
        painter.setPen(themed(Token::text3));
        const QString known = grouped(m_content->known) + " of " + grouped(grid.allCols) + " known";
        if (at + metrics.horizontalAdvance(known) < width() - 10)
            painter.drawText(QRectF(0, 2, width() - 10, 16), Qt::AlignRight | Qt::AlignVCenter, known);
    }
    if (m_statistics == nullptr) return;
    painter.setFont(Theme::instance().font(FontUse::tiny));
    const std::array<std::pair<const char*, double>, 4> rowsOfText = {
        {{"min", m_statistics->min}, {"max", m_statistics->max}, {"mean", m_statistics->mean}, {"std", m_statistics->std}}};
    for (size_t i = 0; i < rowsOfText.size(); ++i) {
        const QRectF line(area.right() + 8, 22 + 13.0 * static_cast<double>(i), HeatMap::kValueWidth - 18, 13);
        if (line.bottom() > height()) break;
        painter.setPen(themed(Token::text2));
        painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, rowsOfText[i].first);
        painter.setPen(themed(Token::text));
        painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter,
                         m_statistics->finite > 0 ? shortText(rowsOfText[i].second) : QString("\u2013"));
    }
}

void GridPlot::mousePressEvent(QMouseEvent* event)
{
    const QRect area = plotRect();
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
    out["known"] = static_cast<qint64>(m_content->known);
    out["row"] = static_cast<qint64>(m_cursor.row);
    out["column"] = static_cast<qint64>(m_cursor.col);
    return out;
}

HistogramView::HistogramView(QWidget* parent) : QWidget(parent)
{
    setObjectName("tensorHistogram");
    setAccessibleName("Histogram");
    setMinimumSize(160, 80);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void HistogramView::setHistogram(std::optional<Histogram> histogram)
{
    m_histogram = std::move(histogram);
    update();
}

void HistogramView::setLogarithmic(bool on)
{
    m_log = on;
    update();
}

void HistogramView::mouseDoubleClickEvent(QMouseEvent*)
{
    if (m_histogram && m_histogram->looked < m_histogram->total) emit allWanted();
}

void HistogramView::setCursorValue(double value, DType dtype)
{
    m_cursor = value;
    m_dtype = dtype;
    update();
}

QRect HistogramView::barsRect() const { return {HeatMap::kLabelWidth, 24, width() - HeatMap::kLabelWidth - 16, height() - 24 - 22}; }

QString HistogramView::barName(size_t bar) const
{
    const Histogram& h = *m_histogram;
    if (!h.values.empty()) return shortText(h.values[bar]);
    if (h.exact && m_dtype == DType::boolean) return bar == 0 ? "false" : "true";
    const double width = (h.high - h.low) / static_cast<double>(h.bins.size());
    if (h.exact) return shortText(h.low + static_cast<double>(bar));
    return shortText(h.low + width * static_cast<double>(bar)) + " \u2026 " + shortText(h.low + width * static_cast<double>(bar + 1));
}

QString HistogramView::barText(size_t bar) const
{
    const Histogram& h = *m_histogram;
    const double share = 100.0 * static_cast<double>(h.bins[bar]) / static_cast<double>(std::max<int64_t>(1, h.looked));
    return barName(bar) + ": " + grouped(h.bins[bar]) + " of " + grouped(h.looked) + ", " + QString::number(share, 'g', 3) + " %";
}

bool HistogramView::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* const help = static_cast<QHelpEvent*>(event);
    const QRect area = barsRect();
    const bool isOnBar = m_histogram && !m_histogram->bins.empty() && help->pos().x() >= area.left() && help->pos().x() <= area.right();
    QString tip;
    if (isOnBar)
        tip = barText(static_cast<size_t>(help->pos().x() - area.left()) * m_histogram->bins.size() / static_cast<size_t>(area.width()));
    QToolTip::showText(help->globalPos(), tip, this);
    return true;
}

void HistogramView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    painter.setFont(Theme::instance().font(FontUse::small));
    if (!m_histogram || m_histogram->bins.empty()) {
        painter.setPen(themed(Token::text3));
        painter.drawText(rect(), Qt::AlignCenter, "No finite numbers.");
        return;
    }
    const Histogram& h = *m_histogram;
    const QRect area = barsRect();
    if (area.width() < 20 || area.height() < 10) return;
    const int64_t most = std::max<int64_t>(1, *std::ranges::max_element(h.bins));
    const auto heightOf = [&](int64_t n) {
        const double share = m_log ? std::log1p(static_cast<double>(n)) / std::log1p(static_cast<double>(most))
                                   : static_cast<double>(n) / static_cast<double>(most);
        return n > 0 ? std::max(1.0, share * area.height()) : 0.0;
    };
    const double pitch = static_cast<double>(area.width()) / static_cast<double>(h.bins.size());
    const double gap = pitch >= 4 ? 1 : 0;
    const double scale = h.exact ? 1 : h.high > h.low ? static_cast<double>(h.bins.size()) / (h.high - h.low) : 0;
    for (size_t i = 0; i < h.bins.size(); ++i) {
        const double middle = !h.values.empty()
                                  ? h.values[i]
                                  : h.low + (static_cast<double>(i) + 0.5) * (h.high - h.low) / static_cast<double>(h.bins.size());
        const bool clip = (h.clips && h.exact && (i == 0 || i + 1 == h.bins.size())) || std::isnan(middle);
        const double tall = heightOf(h.bins[i]);
        const QRectF bar(area.left() + static_cast<double>(i) * pitch, area.bottom() + 1 - tall, std::max(1.0, pitch - gap), tall);
        painter.fillRect(bar, clip ? themed(Token::err) : themed(middle < 0 ? Token::sideA : h.low < 0 ? Token::sideB : Token::sideA));
        const bool isCursor =
            !h.values.empty()
                ? h.values[i] == m_cursor && (i + 1 == h.values.size() || h.values[i + 1] != m_cursor)
                : std::isfinite(m_cursor) && m_cursor >= h.low && m_cursor <= h.high &&
                      static_cast<size_t>(std::clamp((m_cursor - h.low) * scale, 0.0, static_cast<double>(h.bins.size()) - 1)) == i;
        if (!isCursor) continue;
        painter.setPen(QPen(themed(Token::text), 1)); // the cell under the cursor is one of these
        painter.drawRect(
            QRectF(bar.left() - 0.5, area.bottom() + 1 - std::max(tall, 4.0), std::max(bar.width(), 3.0), std::max(tall, 4.0)));
    }
    painter.setPen(QPen(themed(Token::line2), 1));
    painter.drawLine(area.bottomLeft() + QPoint(0, 1), area.bottomRight() + QPoint(0, 1));
    painter.setFont(Theme::instance().font(FontUse::tiny));
    painter.setPen(themed(Token::text2));
    const QRect below(area.left(), area.bottom() + 4, area.width(), 14);
    if (h.exact && m_dtype == DType::boolean) {
        for (size_t i = 0; i < h.bins.size(); ++i)
            painter.drawText(QRectF(area.left() + static_cast<double>(i) * pitch, below.top(), pitch, below.height()), Qt::AlignCenter,
                             barText(i));
    } else {
        painter.drawText(below, Qt::AlignLeft, shortText(h.low));
        painter.drawText(below, Qt::AlignRight, shortText(h.high));
    }
    painter.drawText(QRect(0, area.top() - 6, HeatMap::kLabelWidth - 6, 14), Qt::AlignRight, grouped(most));
    painter.drawText(QRect(0, area.bottom() - 8, HeatMap::kLabelWidth - 6, 14), Qt::AlignRight, "0");
    painter.setFont(Theme::instance().font(FontUse::small));
    QString head = grouped(h.looked) + " of " + grouped(h.total) + (h.looked < h.total ? " sampled" : " elements");
    head += h.exact ? ", " + grouped(static_cast<int64_t>(h.bins.size())) + " values"
                    : ", " + grouped(static_cast<int64_t>(h.bins.size())) + " bins";
    if (h.clips) head += " as stored";
    if (m_dtype == DType::string) head += " of length";
    if (m_log) head += ", log count";
    QStringList odd;
    for (const auto& [name, n] : std::initializer_list<std::pair<const char*, int64_t>>{
             {"NaN", h.nan}, {"Inf", h.positiveInf}, {"\u2212Inf", h.negativeInf}, {"denormal", h.denormal}})
        if (n > 0) odd << QString(name) + " " + grouped(n);
    if (h.clips && h.exact && h.bins.front() + h.bins.back() > 0) odd << grouped(h.bins.front() + h.bins.back()) + " at the ends";
    const QString counts = odd.join("  ");
    const QFontMetrics metrics(painter.font());
    const int room = width() - HeatMap::kLabelWidth - 16 - (counts.isEmpty() ? 0 : metrics.horizontalAdvance(counts) + 10);
    painter.setPen(themed(Token::text2));
    painter.drawText(QPointF(HeatMap::kLabelWidth, 15), metrics.elidedText(head, Qt::ElideRight, room));
    painter.setPen(themed(h.nan + h.positiveInf + h.negativeInf > 0 || h.clips ? Token::err : Token::text2));
    painter.drawText(QRect(0, 2, width() - 16, 16), Qt::AlignRight | Qt::AlignVCenter, counts);
}

QJsonObject HistogramView::describe() const
{
    QJsonObject out;
    if (!m_histogram) return out;
    QJsonArray bins;
    for (const int64_t n : m_histogram->bins) bins.append(static_cast<qint64>(n));
    out["bins"] = bins;
    out["low"] = m_histogram->low;
    out["high"] = m_histogram->high;
    out["exact"] = m_histogram->exact;
    out["clips"] = m_histogram->clips;
    out["log"] = m_log;
    out["looked"] = static_cast<qint64>(m_histogram->looked);
    out["total"] = static_cast<qint64>(m_histogram->total);
    return out;
}

ImageView::ImageView(QWidget* parent) : QWidget(parent)
{
    setObjectName("tensorImage");
    setAccessibleName("Image");
    setMinimumSize(120, 80);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void ImageView::setImage(std::optional<ImagePixels> image)
{
    m_image = std::move(image);
    update();
}

void ImageView::setLook(int channel, double gamma, RangeMode mode, ValueRange typed)
{
    m_channel = channel;
    m_gamma = gamma;
    m_mode = mode;
    m_typed = typed;
    update();
}

/// What is black and what is white.
ValueRange ImageView::range() const
{
    const ValueRange all = m_image->range;
    if (m_mode == RangeMode::typed) return m_typed;
    if (m_mode == RangeMode::symmetric) {
        const double most = std::max(std::fabs(all.low), std::fabs(all.high));
        return {-most, most};
    }
    if (m_mode != RangeMode::robust) return all;
    std::vector<double> sorted;
    std::ranges::copy_if(m_image->values, std::back_inserter(sorted), [](double v) { return std::isfinite(v); });
    if (sorted.size() < 3) return all;
    std::ranges::sort(sorted);
    return {sorted[sorted.size() / 100], sorted[sorted.size() - 1 - sorted.size() / 100]};
}

void ImageView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    painter.setFont(Theme::instance().font(FontUse::small));
    painter.setPen(themed(Token::text3));
    if (!m_image) {
        painter.drawText(rect(), Qt::AlignCenter, "Not an image: [N,] height, width, 1, 3 or 4 channels.");
        return;
    }
    const ImagePixels& p = *m_image;
    QImage image(p.width, p.height, QImage::Format_RGB32);
    const ValueRange shown = range();
    for (int y = 0; y < p.height; ++y)
        for (int x = 0; x < p.width; ++x) {
            std::array<int, 3> rgb = {};
            for (int c = 0; c < 3; ++c) {
                const double v = p.values[(static_cast<size_t>(y) * static_cast<size_t>(p.width) + static_cast<size_t>(x)) *
                                              static_cast<size_t>(p.channels) +
                                          static_cast<size_t>(p.channels == 1  ? 0
                                                              : m_channel >= 0 ? std::min(m_channel, p.channels - 1)
                                                                               : c)];
                const double light = shown.isEmpty() ? 0 : std::clamp(placeIn(shown, v), 0.0, 1.0);
                rgb[static_cast<size_t>(c)] =
                    std::isfinite(v) ? static_cast<int>(255 * (m_gamma == 1 ? light : std::pow(light, 1 / m_gamma))) : 255;
            }
            image.setPixel(x, y, qRgb(rgb[0], rgb[1], rgb[2]));
        }
    const QRectF area = pixelsRect();
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(area, image);
    painter.setPen(QPen(themed(Token::line), 1));
    painter.drawRect(area.adjusted(-0.5, -0.5, 0.5, 0.5));
    if (m_cursor) {
        const double side = area.width() / p.width;
        QRectF box(area.left() + static_cast<double>(m_cursor->col / p.every) * side,
                   area.top() + static_cast<double>(m_cursor->row / p.every) * side, side, side);
        if (side < 5) box = QRectF(box.center() - QPointF(2.5, 2.5), QSizeF(5, 5));
        painter.setPen(QPen(themed(Token::surface), 3));
        painter.drawRect(box);
        painter.setPen(QPen(themed(Token::accent), 1));
        painter.drawRect(box);
    }
    painter.setPen(themed(Token::text2));
    QString text =
        QString("%1 × %2, %3, %4 \u2026 %5, gamma %6")
            .arg(p.width * p.every)
            .arg(p.height * p.every)
            .arg(m_channel < 0 ? QString("%1 channels").arg(p.channels) : QString("channel %1 of %2").arg(m_channel).arg(p.channels))
            .arg(shortText(shown.low), shortText(shown.high))
            .arg(m_gamma);
    if (p.pictures > 1) text.prepend(QString("picture %1 of %2, ").arg(p.picture).arg(p.pictures));
    if (p.every > 1) text += ", every " + QString::number(p.every) + "th pixel";
    painter.drawText(QRect(8, height() - 20, width() - 16, 16), Qt::AlignLeft | Qt::AlignVCenter, text);
}

void ImageView::setCursorPixel(std::optional<CellCursor> pixel)
{
    if (pixel == m_cursor) return;
    m_cursor = pixel;
    update();
}

/// As large as fits in whole pixels.
QRectF ImageView::pixelsRect() const
{
    const QRect room = rect().adjusted(8, 8, -8, -24);
    double zoom = std::min(static_cast<double>(room.width()) / m_image->width, static_cast<double>(room.height()) / m_image->height);
    if (zoom > 1) zoom = std::floor(zoom);
    return {static_cast<double>(room.left()), static_cast<double>(room.top()), m_image->width * zoom, m_image->height * zoom};
}

void ImageView::mousePressEvent(QMouseEvent* event)
{
    if (!m_image) return;
    const QRectF area = pixelsRect();
    if (!area.contains(event->position())) return;
    const auto at = [](double from, double size, int pixels) { return static_cast<qint64>(from / size * pixels); };
    emit pixelChosen(at(event->position().y() - area.top(), area.height(), m_image->height) * m_image->every,
                     at(event->position().x() - area.left(), area.width(), m_image->width) * m_image->every);
}

QJsonObject ImageView::describe() const
{
    QJsonObject out;
    if (m_image)
        out = {{"width", m_image->width},
               {"height", m_image->height},
               {"channels", m_image->channels},
               {"picture", static_cast<qint64>(m_image->picture)}};
    if (m_cursor) out["cursor"] = QJsonArray{static_cast<qint64>(m_cursor->row), static_cast<qint64>(m_cursor->col)};
    return out;
}

} // namespace loopscope::viewer
