#include "viewer/panels/norm_chart.h"

#include "viewer/bridge/text.h"
#include "viewer/style/theme.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QToolTip>

#include <algorithm>
#include <cmath>
#include <utility>

namespace loopscope::viewer {

namespace {

constexpr int kHeight = 120, kRight = 10;
constexpr double kDot = 2.5;
constexpr size_t kMostDots = 60; ///< more points are a line

QString normText(double norm) { return std::isnan(norm) ? QObject::tr("not finite") : QString::number(norm, 'g', 4); }

} // namespace

NormChart::NormChart(QWidget* parent) : QWidget(parent)
{
    setObjectName("normChart");
    setAccessibleName(tr("Norm of the gradient in each iteration"));
    setVisible(false);
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

QSize NormChart::sizeHint() const { return {240, kHeight}; }

void NormChart::setCourse(IterationCourse course)
{
    m_course = std::move(course);
    m_least = INFINITY;
    m_most = 0;
    for (const IterationCourse::Point& point : m_course.points) {
        if (!(point.value > 0)) continue;
        m_least = std::min(m_least, point.value);
        m_most = std::max(m_most, point.value);
    }
    if (m_most > 0) {
        m_least = std::pow(10, std::floor(std::log10(m_least)));
        m_most = std::max(std::pow(10, std::ceil(std::log10(m_most))), m_least * 10);
    }
    QString told;
    for (const IterationCourse::Point& point : m_course.points)
        if (&point == &m_course.points.front() || &point == &m_course.points.back())
            told += tr("iteration %1: %2. ").arg(point.iteration).arg(normText(point.value));
    setAccessibleDescription(told);
    setVisible(m_course.points.size() > 1);
    setMinimumHeight(m_course.points.size() > 1 ? kHeight : 0);
    update();
}

QRectF NormChart::area() const
{
    const QFontMetrics metrics(Theme::instance().font(FontUse::small));
    const double left = std::max(metrics.horizontalAdvance(normText(m_least)), metrics.horizontalAdvance(normText(m_most))) + 8;
    return {left, 1.5 * metrics.height(), width() - left - kRight, height() - 3.0 * metrics.height()};
}

/// Zero lies on the axis, what is not finite on top.
QPointF NormChart::placeOf(const IterationCourse::Point& point) const
{
    const QRectF inside = area();
    const auto first = static_cast<double>(m_course.points.front().iteration), last = static_cast<double>(m_course.points.back().iteration);
    const double x = inside.left() + inside.width() * (static_cast<double>(point.iteration) - first) / std::max(last - first, 1.0);
    double share = std::isnan(point.value) ? 1 : 0;
    if (point.value > 0) share = (std::log10(point.value) - std::log10(m_least)) / (std::log10(m_most) - std::log10(m_least));
    return {x, inside.bottom() - std::clamp(share, 0.0, 1.0) * inside.height()};
}

const IterationCourse::Point* NormChart::pointAt(double x) const
{
    if (m_course.points.size() < 2) return nullptr;
    return &*std::ranges::min_element(m_course.points, {}, [&](const IterationCourse::Point& p) { return std::abs(placeOf(p).x() - x); });
}

bool NormChart::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    const auto* const help = static_cast<QHelpEvent*>(event);
    if (const IterationCourse::Point* const point = pointAt(help->pos().x()))
        QToolTip::showText(help->globalPos(), tr("iteration %1: norm %2").arg(point->iteration).arg(normText(point->value)), this);
    return true;
}

void NormChart::mousePressEvent(QMouseEvent* event)
{
    if (const IterationCourse::Point* const point = pointAt(event->position().x()))
        emit iterationChosen(toText(m_course.loop) + '@' + QString::number(point->iteration));
}

void NormChart::paintEvent(QPaintEvent*)
{
    if (m_course.points.size() < 2) return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(Theme::instance().font(FontUse::small));
    const QFontMetrics metrics = painter.fontMetrics();
    const QRectF inside = area();
    painter.setPen(themed(Token::text2));
    const QString title = tr("norm in each iteration of %1").arg(toText(m_course.loop));
    painter.drawText(QPointF(4, metrics.ascent()), metrics.elidedText(title, Qt::ElideMiddle, width() - 8));
    const auto mark = [&](double norm, double y) {
        const QString text = normText(norm);
        painter.drawText(QPointF(inside.left() - 6 - metrics.horizontalAdvance(text), y + metrics.ascent() / 2.0), text);
    };
    mark(m_most, inside.top());
    mark(m_least, inside.bottom());
    const QString first = QString::number(m_course.points.front().iteration), last = QString::number(m_course.points.back().iteration);
    const double below = inside.bottom() + metrics.ascent() + 4;
    painter.drawText(QPointF(inside.left(), below), first);
    painter.drawText(QPointF(inside.right() - metrics.horizontalAdvance(last), below), last);
    painter.setPen(QPen(themed(Token::line2), 1));
    painter.drawLine(inside.bottomLeft(), inside.bottomRight());
    painter.drawLine(inside.bottomLeft(), inside.topLeft());

    QPainterPath line(placeOf(m_course.points.front()));
    for (const IterationCourse::Point& point : m_course.points) line.lineTo(placeOf(point));
    painter.setPen(QPen(themed(Token::sideA), 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(line);
    painter.setPen(Qt::NoPen);
    for (const IterationCourse::Point& point : m_course.points) {
        if (m_course.points.size() > kMostDots && !std::isnan(point.value)) continue;
        painter.setBrush(themed(std::isnan(point.value) ? Token::err : Token::sideA));
        painter.drawEllipse(placeOf(point), kDot, kDot);
    }
}

} // namespace loopscope::viewer
