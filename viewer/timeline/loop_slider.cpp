#include "viewer/timeline/loop_slider.h"

#include "viewer/style/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>

#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kMargin = 7;
constexpr double kOpenEnd = 10; ///< pixels of hatch at the right where the loop has not ended

} // namespace

LoopSlider::LoopSlider(QWidget* parent) : QWidget(parent)
{
    setObjectName("loopSlider");
    setAccessibleName("Loop iteration");
    setFocusPolicy(Qt::StrongFocus);
    setToolTip("Drag to look at iterations, release to go there");
    connect(&Theme::instance(), &Theme::changed, this, qOverload<>(&QWidget::update));
}

void LoopSlider::setLoop(int64_t position, int64_t count, bool open)
{
    m_position = position;
    m_count = count;
    m_isOpen = open;
    setEnabled(count > 0);
    update();
}

QString LoopSlider::valueText() const
{
    if (m_count == 0) return "no loop";
    return "iteration " + QString::number(position()) + " of " + (m_isOpen ? "?" : QString::number(m_count));
}

double LoopSlider::knobX() const
{
    const double width = groove() - (m_isOpen ? kOpenEnd : 0);
    if (m_count <= 1) return kMargin;
    return kMargin + width * static_cast<double>(std::max<int64_t>(position(), 0)) / static_cast<double>(m_count - 1);
}

int64_t LoopSlider::positionAt(double x) const
{
    const double width = groove() - (m_isOpen ? kOpenEnd : 0);
    const double at = (x - kMargin) / width * static_cast<double>(m_count - 1);
    return std::clamp<int64_t>(std::llround(at), 0, std::max<int64_t>(0, m_count - 1));
}

void LoopSlider::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const double y = height() / 2.0, right = kMargin + groove();
    painter.setPen(QPen(themed(Token::line2), 3, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(QPointF(kMargin, y), QPointF(right - (m_isOpen ? kOpenEnd : 0), y));
    if (m_isOpen) {
        painter.setPen(QPen(themed(Token::line2), 1));
        for (double x = right - kOpenEnd + 3; x < right; x += 3) painter.drawLine(QPointF(x - 2, y + 3), QPointF(x + 2, y - 3));
    }
    if (m_count == 0 || position() < 0) return;
    const double x = knobX();
    painter.setPen(QPen(themed(Token::accent), 3, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(QPointF(kMargin, y), QPointF(x, y));
    painter.setPen(QPen(themed(Token::accent), 2));
    painter.setBrush(themed(Token::surface));
    painter.drawEllipse(QPointF(x, y), 5.5, 5.5);
    if (hasFocus()) {
        painter.setPen(QPen(themed(Token::text), 1, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(QPointF(x, y), 8, 8);
    }
}

void LoopSlider::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || m_count == 0) return;
    m_dragged = positionAt(event->position().x());
    m_drag.begin(event->position().x(), *m_dragged);
    emit pressed(*m_dragged);
    update();
}

void LoopSlider::mouseMoveEvent(QMouseEvent* event)
{
    if (!m_dragged) return;
    const double perPixel = static_cast<double>(m_count) / groove();
    const double distance = std::abs(event->position().y() - height() / 2.0);
    if (SlowDrag::slowness(distance, perPixel) == 1) {
        m_dragged = positionAt(event->position().x());
        m_drag.begin(event->position().x(), *m_dragged);
    } else {
        m_dragged = m_drag.moveTo(event->position().x(), distance, perPixel, m_count);
    }
    emit dragged(*m_dragged, SlowDrag::slowness(distance, perPixel));
    update();
}

void LoopSlider::mouseReleaseEvent(QMouseEvent* event)
{
    if (!m_dragged) return;
    const int64_t at = *m_dragged;
    m_dragged.reset();
    if (m_isOpen && event->position().x() > kMargin + groove() - kOpenEnd + 2) emit beyondEndChosen();
    else emit released(at);
    update();
}

void LoopSlider::wheelEvent(QWheelEvent* event)
{
    const int turn = event->angleDelta().y() != 0 ? event->angleDelta().y() : event->angleDelta().x();
    if (turn == 0 || m_count == 0) return;
    const int by = turn > 0 ? 1 : -1;
    emit wheeled((event->modifiers() & Qt::ShiftModifier) != 0 ? by * 10 : by);
    event->accept();
}

void LoopSlider::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Left: emit wheeled(-1); return;
    case Qt::Key_Right: emit wheeled(1); return;
    case Qt::Key_Home: emit released(0); return;
    case Qt::Key_End: emit released(std::max<int64_t>(0, m_count - 1)); return;
    default: QWidget::keyPressEvent(event);
    }
}

} // namespace loopscope::viewer
