#include "viewer/canvas/legend.h"

#include "viewer/bridge/text.h"
#include "viewer/style/theme.h"

#include <QObject>
#include <QPainter>

#include <array>
#include <set>
#include <string>
#include <vector>

namespace loopscope::viewer {

namespace {

constexpr int kLeast = 640; ///< width of a graph that has one
constexpr double kMargin = 8, kTop = 12;

/// What lies over the graph grows with the text of the window, whatever the zoom.
double textScale() { return Theme::instance().barHeight(100) / 100.0; }

} // namespace

double hiddenBy(const QRectF& card, const CanvasPicture& picture, const Camera& camera, const CanvasHeads& heads)
{
    constexpr double kHead = 4;
    const auto areaOf = [&](const QRectF& box) {
        const QRectF both = box & card;
        return both.isValid() ? both.width() * both.height() : 0;
    };
    double area = 0;
    for (const PlacedHead& head : heads.stuck()) area += kHead * areaOf(head.onScreen(head.box));
    for (const SceneRegion& region : picture.scene()->regions)
        if (region.kind != RegionKind::group) area += kHead * areaOf(camera.inWidget(region.head));
    const Point corner = camera.toScene(card.topLeft());
    std::vector<int> nodes;
    picture.index().nodesIn({corner.x, corner.y, card.width() / camera.zoom(), card.height() / camera.zoom()}, nodes);
    for (const int node : nodes) area += areaOf(camera.inWidget(picture.node(node).rect));
    return area;
}

void Legend::setShown(bool shown)
{
    if (std::exchange(m_shown, shown) != shown) m_shownOrHidden();
}

QRectF Legend::rect() const
{
    if (!m_shown || m_camera.width() < Theme::instance().barHeight(kLeast)) return {};
    const QSizeF size = QSizeF(148, 30 + 16.0 * kFamilyCount + (m_hits.empty() ? 0 : 54)) * textScale();
    return {QPointF(m_isAtLeft ? kMargin : m_right - size.width(), kTop), size};
}

void Legend::setRight(double x) { m_right = x - kMargin; }

bool Legend::place()
{
    const QRectF here = rect();
    if (here.isEmpty() || !m_picture.indexed) return false;
    const double hidden = hiddenBy(here, m_picture, m_camera, m_heads);
    m_isAtLeft = !m_isAtLeft;
    if (hidden > 0 && 2 * hiddenBy(rect(), m_picture, m_camera, m_heads) < hidden) return true;
    m_isAtLeft = !m_isAtLeft;
    return false;
}

void Legend::paint(QPainter& painter) const
{
    const QPointF corner = rect().topLeft();
    if (!m_picture.model || rect().isEmpty()) return;
    std::array<int64_t, kFamilyCount> counts{};
    for (const SceneNode& node : m_picture.scene()->nodes) {
        if (node.kind == NodeKind::op) ++counts[static_cast<size_t>(node.family)];
        if (node.kind != NodeKind::group) continue;
        if (node.members.size() == node.strip.size())
            for (const Family family : node.strip) ++counts[static_cast<size_t>(family)];
        else
            for (const OperatorId op : node.members)
                ++counts[static_cast<size_t>(familyOf(m_picture.model->graph(node.graph).op(op).kind))];
    }
    // An open call is no node: its head stands for it, however many regions it has.
    std::set<std::string> open;
    for (const SceneRegion& region : m_picture.scene()->regions)
        if (!region.site.empty() && region.op.valid() && open.insert(region.site).second)
            ++counts[static_cast<size_t>(familyOf(m_picture.model->graph(region.caller).op(region.op).kind))];
    const double scale = textScale();
    const QRectF card(corner, QSizeF(148, 30 + 16.0 * kFamilyCount) * scale);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(themed(Token::line), 1));
    painter.setBrush(themed(Token::surface));
    painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    drawLabel(painter, m_picture.labels.label(QObject::tr("Operator families"), Face::group), corner + QPointF(10, 17) * scale,
              themed(Token::text), scale);
    for (size_t i = 0; i < kFamilyCount; ++i) {
        const QPointF line = corner + QPointF(10, 27 + 16.0 * static_cast<double>(i)) * scale;
        const QColor ink = themed(counts[i] > 0 ? Token::text : Token::text3);
        painter.fillRect(QRectF(line, QSizeF(10, 10) * scale), themed(static_cast<Family>(i)));
        drawLabel(painter, m_picture.labels.label(toText(familyName(static_cast<Family>(i))), Face::name), line + QPointF(16, 9) * scale,
                  ink, scale);
        drawLabelIn(painter, m_picture.labels.label(QStringLiteral("%L1").arg(counts[i]), Face::mono),
                    QRectF(QPointF(card.x(), line.y()), QSizeF(138, 10) * scale), Qt::AlignRight, ink, scale);
    }
    if (!m_hits.empty()) paintHits(painter, QRectF(card.bottomLeft() + QPointF(0, 12 * scale), QSizeF(148, 42) * scale));
}

/// What the pills mean, and how many hits there are.
void Legend::paintHits(QPainter& painter, const QRectF& note) const
{
    const double scale = textScale();
    painter.setPen(QPen(themed(Token::line), 1));
    painter.setBrush(themed(Token::surface));
    painter.drawRoundedRect(note.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    const QRectF pill(note.topLeft() + QPointF(10, 8) * scale, QSizeF(26, 14) * scale);
    painter.setPen(QPen(themed(Token::curLine), 1));
    painter.setBrush(themed(Token::cur));
    painter.drawRoundedRect(pill, 7 * scale, 7 * scale);
    drawLabelIn(painter, m_picture.labels.label(QStringLiteral("1"), Face::index), pill, Qt::AlignHCenter, themed(Token::curText), scale);
    drawLabel(painter, m_picture.labels.label(QObject::tr("search hits inside"), Face::name), note.topLeft() + QPointF(42, 19) * scale,
              themed(Token::text), scale);
    const QString text = QObject::tr("%L1 hits, %L2 groups · F3 next").arg(m_hits.total()).arg(m_hits.groups());
    drawLabel(painter, m_picture.labels.label(text, Face::index, 130), note.topLeft() + QPointF(10, 36) * scale, themed(Token::text3),
              scale);
}

} // namespace loopscope::viewer
