#include "viewer/canvas/minimap.h"

#include "viewer/canvas/graph_canvas.h"
#include "viewer/style/theme.h"

#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <vector>

namespace loopscope::viewer {

namespace {

constexpr int kMargin = 4;
constexpr int kTall = 100;              ///< a higher map stands at the top right, a lower one lies at the bottom right
constexpr int kAcross = 8, kAlong = 12; ///< to the borders of the canvas

} // namespace

Minimap::Minimap(GraphCanvas& canvas) : QWidget(&canvas), m_canvas(canvas)
{
    setObjectName(QStringLiteral("minimap"));
    setAccessibleName(tr("Minimap"));
    setFocusPolicy(Qt::NoFocus);
    setCursor(Qt::ArrowCursor);
    hide();
}

void Minimap::setScene(const Scene* scene)
{
    m_scene = scene;
    m_node = -1;
    m_picture = QPixmap();
    if (!scene || scene->bounds.width <= 0 || scene->bounds.height <= 0) return;
    const double aspect = scene->bounds.height / scene->bounds.width;
    if (aspect >= 1) resize(96, std::clamp(static_cast<int>(88 * aspect) + 2 * kMargin, 60, 230));
    else resize(92, std::clamp(static_cast<int>(84 * aspect) + 2 * kMargin, 34, 92));
    m_isAtBottom = !isTall();
    update();
}

bool Minimap::isTall() const { return height() > kTall; }

void Minimap::place()
{
    const int x = m_canvas.width() - width() - kAcross, top = kAlong, bottom = m_canvas.height() - height() - kAlong;
    const auto hidden = [&](int y) {
        const QRectF map(x, y, width(), height());
        const QRectF both = m_canvas.legend().rect() & map; // a tall map has the legend beside it
        return hiddenBy(map, m_canvas.picture(), m_canvas.camera(), m_canvas.heads()) +
               (isTall() || !both.isValid() ? 0 : 100 * both.width() * both.height());
    };
    // It goes where it hides clearly less, so that it does not jump to and fro while one moves.
    if (const double here = hidden(m_isAtBottom ? bottom : top); here > 0 && 2 * hidden(m_isAtBottom ? top : bottom) < here)
        m_isAtBottom = !m_isAtBottom;
    move(x, m_isAtBottom ? bottom : top);
}

void Minimap::repaintScene()
{
    m_picture = QPixmap();
    update();
}

void Minimap::markNode(int node)
{
    if (node == m_node) return;
    m_node = node;
    update();
}

double Minimap::scale() const
{
    const Rect& b = m_scene->bounds;
    return std::min((width() - 2 * kMargin) / b.width, (height() - 2 * kMargin) / b.height);
}

QPointF Minimap::offset() const
{
    const Rect& b = m_scene->bounds;
    return {(width() - b.width * scale()) / 2 - b.x * scale(), (height() - b.height * scale()) / 2 - b.y * scale()};
}

void Minimap::paintEvent(QPaintEvent*)
{
    if (!m_scene || m_scene->bounds.width <= 0) return;
    const double s = scale();
    const QPointF at = offset();
    const auto place = [&](const Rect& r) {
        return QRectF(at.x() + r.x * s, at.y() + r.y * s, std::max(1.0, r.width * s), std::max(1.0, r.height * s));
    };
    if (m_picture.isNull()) {
        const double ratio = devicePixelRatioF();
        m_picture = QPixmap(size() * ratio);
        m_picture.setDevicePixelRatio(ratio);
        m_picture.fill(themed(Token::surface));
        QPainter painter(&m_picture);
        for (const SceneRegion& region : m_scene->regions) {
            const QRectF box = place(region.rect);
            if (box.height() < 4) continue;
            painter.setPen(region.kind == RegionKind::group ? themed(Token::line) : themed(Family::controlFlow));
            painter.setBrush(themed(Token::raised));
            painter.drawRect(box.adjusted(0, 0, -1, -1));
        }
        QColor grey = themed(Token::line2);
        grey.setAlphaF(0.7F);
        for (const SceneNode& node : m_scene->nodes) {
            if (node.kind == NodeKind::actual) continue;
            painter.fillRect(place(node.rect), node.kind == NodeKind::op ? themed(node.family) : grey);
        }
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, m_picture);
    if (m_node >= 0 && static_cast<size_t>(m_node) < m_scene->nodes.size())
        painter.fillRect(place(m_scene->nodes[static_cast<size_t>(m_node)].rect).adjusted(-1, -1, 1, 1), themed(Token::accent));
    painter.setPen(themed(Token::line));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
    const QRectF seen = m_canvas.camera().sceneInView();
    const QRectF frame = place({seen.x(), seen.y(), seen.width(), seen.height()}).intersected(QRectF(rect()).adjusted(2, 2, -2, -2));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(themed(Token::accent), 1.5));
    painter.drawRect(frame.adjusted(0.5, 0.5, -0.5, -0.5));
}

void Minimap::goTo(QPointF point)
{
    if (!m_scene || m_scene->bounds.width <= 0) return;
    const QPointF scene = (point - offset()) / scale();
    const QPointF middle(m_canvas.width() / 2.0, m_canvas.height() / 2.0);
    m_canvas.camera().setViewport(m_canvas.camera().zoom(), scene * m_canvas.camera().zoom() - middle);
}

void Minimap::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) goTo(event->position());
}

void Minimap::mouseMoveEvent(QMouseEvent* event)
{
    if (event->buttons() & Qt::LeftButton) goTo(event->position());
}

} // namespace loopscope::viewer
