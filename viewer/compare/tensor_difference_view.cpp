#include "viewer/compare/tensor_difference_view.h"

#include "engine/tensor/compare.h"
#include "viewer/bridge/text.h"
#include "viewer/style/theme.h"

#include <QHelpEvent>
#include <QImage>
#include <QJsonArray>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kMargin = 16, kGap = 26, kScale = 26; ///< below a plane: its colours and the range
constexpr double kNumberWidth = 46,                    ///< at least
    kHistogramWidth = 236, kLeastHistogram = 130, kFactsWidth = 200;

QString realText(double value) { return toText(shortNumber(value)); }

QString apartText(const LargeDifference& each)
{
    const double apart = each.there - each.here;
    return (apart > 0 ? QStringLiteral("+") : QString()) + realText(apart);
}

QJsonArray jsonOf(const QRectF& r) { return {r.x(), r.y(), r.width(), r.height()}; }

} // namespace

TensorDifferenceView::TensorDifferenceView(QWidget* parent) : QWidget(parent)
{
    setObjectName("tensorDifference");
    setAccessibleName(tr("Tensor difference"));
    setMouseTracking(true);
    connect(&Theme::instance(), &Theme::changed, this, [this] { update(); });
}

void TensorDifferenceView::show(std::shared_ptr<const TensorDifference> difference, std::vector<std::pair<QString, QString>> facts)
{
    m_difference = std::move(difference);
    m_facts = std::move(facts);
    m_marked = m_difference && !m_difference->largest.empty() ? m_difference->largest.front().flat : -1;
    update();
}

void TensorDifferenceView::mark(int64_t flat)
{
    if (flat == m_marked || !m_difference) return;
    m_marked = flat;
    if (!cellOf(flat)) {
        AxisChoice axes = m_difference->axes;
        for (int d = m_difference->shape.rank() - 1; d >= 0; --d) {
            const int64_t size = std::max<int64_t>(m_difference->shape[d], 1);
            axes.fixed[static_cast<size_t>(d)] = flat % size;
            flat /= size;
        }
        emit planeWanted(axes);
    }
    update();
}

const Grid& TensorDifferenceView::grid(int plane) const
{
    return plane == 0 ? m_difference->here : plane == 1 ? m_difference->there : m_difference->difference;
}

/// A and B share one range, so that their colours compare; the difference is symmetric about 0.
ValueRange TensorDifferenceView::rangeOf(int plane) const
{
    if (plane == 2) return viewer::rangeOf(m_difference->difference, RangeMode::symmetric);
    const ValueRange a = viewer::rangeOf(m_difference->here, RangeMode::automatic),
                     b = viewer::rangeOf(m_difference->there, RangeMode::automatic);
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

QString TensorDifferenceView::listTitle() const
{
    return tr("Largest differences, %1 of %L2").arg(m_difference->largest.size()).arg(m_difference->elements);
}

TensorDifferenceView::Places TensorDifferenceView::places() const
{
    Places at;
    const QFontMetricsF metrics(Theme::instance().font(FontUse::value));
    at.rowHeight = std::max(14.0, metrics.height() + 1);
    at.top = at.rowHeight + 12;
    const double side = std::max(24.0, std::min(120.0, height() - at.top - kScale - 6));
    double x = kMargin;
    for (QRectF& plane : at.planes) {
        plane = QRectF(x, at.top, side, side);
        x += side + kGap;
    }
    const double bottom = height() - 8;
    const auto take = [&](double width) {
        if (x + width > this->width() - kMargin) return QRectF();
        const QRectF place(x, at.top, width, bottom - at.top);
        x += width + kGap;
        return place;
    };
    double index = 0, number = kNumberWidth;
    const QFontMetricsF bold(Theme::instance().font(FontUse::value, true)), heading(Theme::instance().font(FontUse::small, true));
    for (const LargeDifference& each : m_difference->largest) {
        index = std::max(index, metrics.horizontalAdvance(toText(elementIndexText(m_difference->shape, each.flat))));
        for (const QString& text : {realText(each.here), realText(each.there), apartText(each)})
            number = std::max(number, bold.horizontalAdvance(text) + 10);
    }
    at.numberWidth = number;
    at.list = take(std::max(heading.horizontalAdvance(listTitle()) + 4, index + 3 * number));
    // Where all of them do not fit, the figures come before the bars.
    const double room = this->width() - kMargin - x - kGap - kFactsWidth;
    if (room >= kLeastHistogram) at.histogram = take(std::min(kHistogramWidth, room));
    at.facts = take(at.histogram.isEmpty() ? kFactsWidth : std::max(kFactsWidth, this->width() - kMargin - x));
    return at;
}

void TensorDifferenceView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    if (!m_difference || !m_difference->present) return;
    const Places at = places();
    for (int plane = 0; plane < 3; ++plane) paintPlane(painter, at, plane);
    if (!at.list.isEmpty()) paintList(painter, at);
    if (!at.histogram.isEmpty()) paintHistogram(painter, at);
    if (!at.facts.isEmpty()) paintFacts(painter, at);
}

void TensorDifferenceView::paintPlane(QPainter& painter, const Places& places, int plane) const
{
    const Grid& cells = grid(plane);
    const QRectF& box = places.planes[plane];
    const ValueRange range = rangeOf(plane);
    const MapKind kind = plane == 2 ? MapKind::diverging : mapFor(cells, range);
    const QRgb surface = themed(Token::surface).rgb();
    const Theme& theme = Theme::instance();
    painter.setFont(theme.font(FontUse::small, true));
    painter.setPen(themed(plane == 0 ? Token::sideA : plane == 1 ? Token::sideB : Token::text));
    const bool quantized = plane == 0 ? m_difference->quantizedHere : m_difference->quantizedThere;
    const std::string& type = plane == 0 ? m_difference->typeHere : m_difference->typeThere;
    QString title =
        plane == 2 ? QStringLiteral("B − A") : QStringLiteral("%1 %2").arg(plane == 0 ? "A" : "B", toText(type.substr(0, type.find('['))));
    if (plane < 2 && quantized) title += tr(", real");
    painter.drawText(QRectF(box.x(), 4, box.width() + kGap - 6, places.rowHeight + 4), Qt::AlignVCenter | Qt::AlignLeft,
                     painter.fontMetrics().elidedText(title, Qt::ElideRight, static_cast<int>(box.width() + kGap - 6)));

    if (cells.rows > 0 && cells.cols > 0) {
        QImage image(static_cast<int>(cells.cols), static_cast<int>(cells.rows), QImage::Format_RGB32);
        for (int64_t row = 0; row < cells.rows; ++row)
            for (int64_t col = 0; col < cells.cols; ++col) {
                const Cell& cell = cells.at(row, col);
                image.setPixel(static_cast<int>(col), static_cast<int>(row),
                               !cell.known                ? themed(Token::sunken).rgb()
                               : std::isfinite(cell.real) ? mapColor(kind, placeIn(range, cell.real), surface)
                                                          : themed(Token::err).rgb());
            }
        painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
        painter.drawImage(box, image);
        if (const auto cell = cellOf(m_marked)) {
            const double width = box.width() / static_cast<double>(cells.cols), height = box.height() / static_cast<double>(cells.rows);
            const QRectF one(box.x() + static_cast<double>(cell->second) * width, box.y() + static_cast<double>(cell->first) * height,
                             width, height);
            painter.setBrush(Qt::NoBrush);
            painter.setPen(QPen(themed(Token::surface), 3));
            painter.drawRect(one.adjusted(-1, -1, 1, 1));
            painter.setPen(QPen(themed(Token::text), 1));
            painter.drawRect(one.adjusted(-1, -1, 1, 1));
        }
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(themed(Token::line2));
    painter.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5));
    // The colours and what their ends mean.
    QImage scale(static_cast<int>(box.width()), 1, QImage::Format_RGB32);
    for (int x = 0; x < scale.width(); ++x)
        scale.setPixel(x, 0, mapColor(kind, static_cast<double>(x) / std::max(1, scale.width() - 1), surface));
    painter.drawImage(QRectF(box.x(), box.bottom() + 7, box.width(), 6), scale);
    painter.setFont(theme.font(FontUse::tiny));
    painter.setPen(themed(Token::text2));
    const QRectF ends(box.x(), box.bottom() + 13, box.width(), 13);
    painter.drawText(ends, Qt::AlignLeft | Qt::AlignVCenter, realText(range.low));
    painter.drawText(ends, Qt::AlignRight | Qt::AlignVCenter, realText(range.high));
}

void TensorDifferenceView::paintList(QPainter& painter, const Places& places) const
{
    const Theme& theme = Theme::instance();
    const QRectF& box = places.list;
    painter.setFont(theme.font(FontUse::small, true));
    painter.setPen(themed(Token::text));
    painter.drawText(QRectF(box.x(), 4, box.width(), places.rowHeight + 4), Qt::AlignVCenter | Qt::AlignLeft, listTitle());
    double y = box.y();
    for (const LargeDifference& each : m_difference->largest) {
        if (y + places.rowHeight > box.bottom()) break;
        const QRectF row(box.x(), y, box.width(), places.rowHeight);
        if (each.flat == m_marked) painter.fillRect(row.adjusted(-4, 0, 4, 0), themed(Token::accentWeak));
        painter.setFont(theme.font(FontUse::value));
        painter.setPen(themed(Token::accent));
        painter.drawText(row, Qt::AlignVCenter | Qt::AlignLeft, toText(elementIndexText(m_difference->shape, each.flat)));
        painter.setPen(themed(Token::text2));
        painter.drawText(row.adjusted(0, 0, -2 * places.numberWidth, 0), Qt::AlignVCenter | Qt::AlignRight, realText(each.here));
        painter.drawText(row.adjusted(0, 0, -places.numberWidth, 0), Qt::AlignVCenter | Qt::AlignRight, realText(each.there));
        painter.setFont(theme.font(FontUse::value, true));
        painter.setPen(themed(Token::text));
        painter.drawText(row, Qt::AlignVCenter | Qt::AlignRight, apartText(each));
        y += places.rowHeight + 3;
    }
}

void TensorDifferenceView::paintHistogram(QPainter& painter, const Places& places) const
{
    const Theme& theme = Theme::instance();
    const QRectF& box = places.histogram;
    painter.setFont(theme.font(FontUse::small, true));
    painter.setPen(themed(Token::text));
    painter.drawText(QRectF(box.x(), 4, box.width(), places.rowHeight + 4), Qt::AlignVCenter | Qt::AlignLeft,
                     tr("B − A of all elements, log count"));
    const QRectF bars = box.adjusted(0, 0, 0, -18);
    const std::vector<int64_t>& bins = m_difference->bins;
    if (bins.empty()) {
        painter.setFont(theme.font(FontUse::small));
        painter.setPen(themed(Token::text3));
        painter.drawText(bars, Qt::AlignLeft | Qt::AlignTop, tr("all are 0"));
        return;
    }
    const double most = std::log1p(static_cast<double>(*std::ranges::max_element(bins)));
    const double width = bars.width() / static_cast<double>(bins.size());
    const double span = m_difference->high - m_difference->low;
    for (size_t i = 0; i < bins.size(); ++i) {
        if (bins[i] == 0) continue;
        const double middle = m_difference->low + span * (static_cast<double>(i) + 0.5) / static_cast<double>(bins.size());
        const double height = std::max(1.0, bars.height() * std::log1p(static_cast<double>(bins[i])) / most);
        painter.fillRect(QRectF(bars.x() + static_cast<double>(i) * width, bars.bottom() - height, std::max(1.0, width - 1), height),
                         themed(middle < 0 ? Token::sideA : Token::sideB));
    }
    painter.setPen(themed(Token::line2));
    painter.drawLine(bars.bottomLeft(), bars.bottomRight());
    painter.setFont(theme.font(FontUse::tiny));
    painter.setPen(themed(Token::text2));
    const QRectF axis(box.x(), bars.bottom() + 2, box.width(), 14);
    painter.drawText(axis, Qt::AlignLeft | Qt::AlignVCenter, realText(m_difference->low));
    painter.drawText(axis, Qt::AlignRight | Qt::AlignVCenter, realText(m_difference->high));
    const double zero = bars.x() - m_difference->low / span * bars.width();
    if (zero > axis.x() + 46 && zero < axis.right() - 46)
        painter.drawText(QRectF(zero - 20, axis.y(), 40, axis.height()), Qt::AlignCenter, QStringLiteral("0"));
}

void TensorDifferenceView::paintFacts(QPainter& painter, const Places& places) const
{
    const Theme& theme = Theme::instance();
    const QRectF& box = places.facts;
    painter.setFont(theme.font(FontUse::small, true));
    painter.setPen(themed(Token::text));
    painter.drawText(QRectF(box.x(), 4, box.width(), places.rowHeight + 4), Qt::AlignVCenter | Qt::AlignLeft, tr("Figures"));
    std::vector<std::pair<QString, QString>> facts = m_facts;
    facts.emplace_back(tr("median |Δ|"), realText(m_difference->median));
    if (m_difference->notFinite > 0) facts.emplace_back(tr("NaN or Inf on one side"), QString::number(m_difference->notFinite));
    for (const auto& [name, value] : m_difference->facts) facts.emplace_back(toText(name), toText(value));
    double y = box.y();
    for (const auto& [name, value] : facts) {
        if (y + places.rowHeight > box.bottom() + 2) break;
        const QRectF row(box.x(), y, box.width(), places.rowHeight);
        painter.setFont(theme.font(FontUse::small));
        painter.setPen(themed(Token::text2));
        painter.drawText(row, Qt::AlignVCenter | Qt::AlignLeft, name);
        painter.setFont(theme.font(FontUse::value));
        painter.setPen(themed(Token::text));
        painter.drawText(row, Qt::AlignVCenter | Qt::AlignRight, value);
        y += places.rowHeight + 1;
    }
}

std::optional<std::pair<int64_t, int64_t>> TensorDifferenceView::cellOf(int64_t flat) const
{
    if (flat < 0 || !m_difference) return std::nullopt;
    const Grid& cells = m_difference->difference;
    for (int64_t row = 0; row < cells.rows; ++row) {
        const int64_t from = cells.rowFlat.size() > static_cast<size_t>(row) ? flat - cells.rowFlat[static_cast<size_t>(row)] : -1;
        if (from < 0) continue;
        const int64_t stride = std::max<int64_t>(1, cells.colStride);
        if (from % stride == 0 && from / stride < std::max<int64_t>(1, cells.allCols) && cells.blockRows == 1 && cells.blockCols == 1)
            return std::pair(row, from / stride);
    }
    return std::nullopt;
}

int64_t TensorDifferenceView::elementAt(QPointF point) const
{
    if (!m_difference || !m_difference->present) return -1;
    const Places at = places();
    for (int plane = 0; plane < 3; ++plane) {
        const QRectF& box = at.planes[plane];
        const Grid& cells = grid(plane);
        if (!box.contains(point) || cells.rows == 0 || cells.cols == 0 || cells.blockRows > 1 || cells.blockCols > 1) continue;
        const auto row =
            std::min(cells.rows - 1, static_cast<int64_t>((point.y() - box.y()) / box.height() * static_cast<double>(cells.rows)));
        const auto col =
            std::min(cells.cols - 1, static_cast<int64_t>((point.x() - box.x()) / box.width() * static_cast<double>(cells.cols)));
        return cells.flat(row, col);
    }
    if (at.list.contains(point)) {
        const auto row = static_cast<size_t>((point.y() - at.list.y()) / (at.rowHeight + 3));
        if (row < m_difference->largest.size()) return m_difference->largest[row].flat;
    }
    return -1;
}

void TensorDifferenceView::mousePressEvent(QMouseEvent* event)
{
    if (const int64_t flat = elementAt(event->position()); flat >= 0) mark(flat);
}

/// Over the planes: the next or previous one along the last axis that is fixed.
void TensorDifferenceView::wheelEvent(QWheelEvent* event)
{
    if (!m_difference || !m_difference->present || event->angleDelta().y() == 0) return;
    AxisChoice axes = m_difference->axes;
    for (int d = m_difference->shape.rank() - 1; d >= 0; --d) {
        if (d == axes.column || std::ranges::find(axes.rows, d) != axes.rows.end() || m_difference->shape[d] < 2) continue;
        int64_t& at = axes.fixed[static_cast<size_t>(d)];
        const int64_t wanted = std::clamp<int64_t>(at + (event->angleDelta().y() < 0 ? 1 : -1), 0, m_difference->shape[d] - 1);
        if (wanted != at) {
            at = wanted;
            emit planeWanted(axes);
        }
        break;
    }
    event->accept();
}

bool TensorDifferenceView::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* const help = static_cast<QHelpEvent*>(event);
    const int64_t flat = elementAt(help->pos());
    const auto cell = cellOf(flat);
    if (!cell) {
        QToolTip::hideText();
        return true;
    }
    const double a = m_difference->here.at(cell->first, cell->second).real, b = m_difference->there.at(cell->first, cell->second).real;
    QToolTip::showText(
        help->globalPos(),
        tr("%1\nA %2\nB %3\nB − A %4").arg(toText(elementIndexText(m_difference->shape, flat)), realText(a), realText(b), realText(b - a)),
        this);
    return true;
}

QJsonObject TensorDifferenceView::describe() const
{
    QJsonObject all{{"present", m_difference && m_difference->present}};
    if (!m_difference || !m_difference->present) return all;
    const Places at = places();
    QJsonArray planes, bins, largest;
    for (int plane = 0; plane < 3; ++plane) {
        const ValueRange range = rangeOf(plane);
        planes.append(QJsonObject{{"rect", jsonOf(at.planes[plane])},
                                  {"low", range.low},
                                  {"high", range.high},
                                  {"rows", static_cast<qint64>(grid(plane).rows)},
                                  {"cols", static_cast<qint64>(grid(plane).cols)}});
    }
    for (const int64_t bin : m_difference->bins) bins.append(static_cast<qint64>(bin));
    for (const LargeDifference& each : m_difference->largest)
        largest.append(
            QJsonObject{{"index", toText(elementIndexText(m_difference->shape, each.flat))}, {"a", each.here}, {"b", each.there}});
    all["planes"] = planes;
    all["bins"] = bins;
    all["largest"] = largest;
    all["marked"] = toText(m_marked < 0 ? std::string() : elementIndexText(m_difference->shape, m_marked));
    all["list"] = jsonOf(at.list);
    all["rowHeight"] = at.rowHeight;
    all["histogram"] = jsonOf(at.histogram);
    all["figures"] = jsonOf(at.facts);
    return all;
}

} // namespace loopscope::viewer
