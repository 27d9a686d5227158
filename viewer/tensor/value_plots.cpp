// Histogram and image.
#include "viewer/style/theme.h"
#include "viewer/tensor/grid_views.h"

#include <QHelpEvent>
#include <QJsonArray>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <array>
#include <cmath>

namespace loopscope::viewer {

namespace {

QString shortText(double value) { return QString::fromStdString(shortNumber(value)); }

QString grouped(int64_t n) { return QLocale(QLocale::English).toString(static_cast<qlonglong>(n)); }

} // namespace

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

QRect HistogramView::barsRect() const { return {HeatMap::labelWidth(), 24, width() - HeatMap::labelWidth() - 16, height() - 24 - 22}; }

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
    painter.drawText(QRect(0, area.top() - 6, HeatMap::labelWidth() - 6, 14), Qt::AlignRight, grouped(most));
    painter.drawText(QRect(0, area.bottom() - 8, HeatMap::labelWidth() - 6, 14), Qt::AlignRight, "0");
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
    const int room = width() - HeatMap::labelWidth() - 16 - (counts.isEmpty() ? 0 : metrics.horizontalAdvance(counts) + 10);
    painter.setPen(themed(Token::text2));
    painter.drawText(QPointF(HeatMap::labelWidth(), 15), metrics.elidedText(head, Qt::ElideRight, room));
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
        painter.drawText(rect(), Qt::AlignCenter, "Not an image: [N,] height, width, channels.");
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
        QRectF box(area.left() + static_cast<double>(m_cursor->col) * side, area.top() + static_cast<double>(m_cursor->row) * side, side,
                   side);
        if (side < 5) box = QRectF(box.center() - QPointF(2.5, 2.5), QSizeF(5, 5));
        painter.setPen(QPen(themed(Token::surface), 3));
        painter.drawRect(box);
        painter.setPen(QPen(themed(Token::accent), 1));
        painter.drawRect(box);
    }
    painter.setPen(themed(Token::text2));
    QString text = QString("%1 × %2, %3, %4 \u2026 %5, gamma %6")
                       .arg(p.tileWidth * p.every)
                       .arg(p.tileHeight * p.every)
                       .arg(channelText())
                       .arg(shortText(shown.low), shortText(shown.high))
                       .arg(m_gamma);
    if (p.pictures > 1) text.prepend(QString("picture %1 of %2, ").arg(p.picture).arg(p.pictures));
    if (p.every > 1) text += ", every " + QString::number(p.every) + "th pixel";
    painter.drawText(QRect(8, height() - 20, width() - 16, 16), Qt::AlignLeft | Qt::AlignVCenter, text);
}

/// "3 channels", "channel 2 of 32", "32 channels side by side".
QString ImageView::channelText() const
{
    const auto all = static_cast<qlonglong>(m_image->allChannels);
    if (m_image->channel >= 0) return QString("channel %1 of %2").arg(m_image->channel).arg(all);
    if (m_image->isMosaic()) return QString("%1 channels side by side").arg(all);
    return m_channel < 0 ? QString("%1 channels").arg(all) : QString("channel %1 of %2").arg(m_channel).arg(all);
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
    emit pixelChosen(at(event->position().y() - area.top(), area.height(), m_image->height),
                     at(event->position().x() - area.left(), area.width(), m_image->width));
}

QJsonObject ImageView::describe() const
{
    QJsonObject out;
    if (m_image)
        out = {{"width", m_image->width},
               {"height", m_image->height},
               {"channels", m_image->channels},
               {"picture", static_cast<qint64>(m_image->picture)},
               {"allChannels", static_cast<qint64>(m_image->allChannels)},
               {"channel", static_cast<qint64>(m_image->channel)},
               {"tilesAcross", m_image->tilesAcross}};
    if (m_cursor) out["cursor"] = QJsonArray{static_cast<qint64>(m_cursor->row), static_cast<qint64>(m_cursor->col)};
    return out;
}

} // namespace loopscope::viewer
