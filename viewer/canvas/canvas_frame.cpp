#include "viewer/canvas/canvas_frame.h"

#include "viewer/bridge/text.h"
#include "viewer/canvas/value_marks.h"
#include "viewer/style/theme.h"

#include <QPainter>
#include <QPixmap>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace loopscope::viewer {

namespace {

constexpr double kBleed = 150;     ///< how far a node's side text and chips reach, scene units
constexpr qint64 kZoomPause = 120; ///< ms; while zooming, tiles would be thrown away unused

} // namespace

void CanvasFrame::restart(bool byHand)
{
    m_tiles.clear();
    if (byHand) m_sinceZoom.restart();
}

void CanvasFrame::paint(QPainter& painter, const QRect& dirty, const CanvasCards& cards)
{
    paintTiles(painter, dirty);
    painter.save();
    painter.translate(-m_camera.origin());
    paintEmphasis(painter, !cards.valueCard().lines.isEmpty());
    painter.restore();
    paintValueMarks(painter, m_picture, m_camera, cards.overlay());
    m_hits.paint(painter);
    m_heads.paint(painter, m_selection.region());
}

/// `area` in pixels of the whole picture.
void CanvasFrame::paintStill(QPainter& painter, const QRectF& area) const
{
    const double zoom = m_camera.zoom();
    m_picture.painter().paintStill(painter, {area.x() / zoom, area.y() / zoom, area.width() / zoom, area.height() / zoom}, m_camera.lens());
}

void CanvasFrame::paintTiles(QPainter& painter, const QRect& dirty)
{
    const QRectF wanted = QRectF(dirty).translated(m_camera.origin());
    if (m_sinceZoom.isValid() && m_sinceZoom.elapsed() < kZoomPause) {
        painter.save();
        painter.setClipRect(dirty);
        painter.translate(-m_camera.origin());
        paintStill(painter, wanted);
        painter.restore();
        return;
    }
    const auto cell = [](double v) { return static_cast<int>(std::floor(v / TileCache::kSize)); };
    for (int y = cell(wanted.top()); y <= cell(wanted.bottom() - 0.01); ++y)
        for (int x = cell(wanted.left()); x <= cell(wanted.right() - 0.01); ++x) {
            const QPixmap& tile = m_tiles.tile({x, y}, m_camera.ratio(), [this](QPainter& into, const QRectF& area) {
                into.fillRect(area, themed(Token::surface));
                paintStill(into, area);
            });
            painter.drawPixmap(QPointF(x * TileCache::kSize, y * TileCache::kSize) - m_camera.origin(), tile);
        }
}

/// The feedback lines of the loop variables that are hovered or selected.
void CanvasFrame::paintRails(QPainter& painter, ScenePainter& scene) const
{
    const auto railOf = [&](int edge) {
        const bool isRail = edge >= 0 && m_picture.edge(edge).style == EdgeStyle::feedback;
        return m_picture.bindingOf(isRail ? m_picture.edge(edge).to : -1);
    };
    const std::pair<int, size_t> rails[] = {m_picture.bindingOf(m_selection.hoverNode()), m_picture.bindingOf(m_selection.node()),
                                            railOf(m_selection.hoverEdge()), railOf(m_selection.edge())};
    for (const auto& [region, which] : rails)
        if (region >= 0) scene.paintRail(painter, region, which, m_camera.lens());
}

void CanvasFrame::paintSelectedHead(QPainter& painter) const
{
    const SceneRegion& region = m_picture.region(m_selection.region());
    const QRectF head = m_camera.lens().snapped(region.head);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(themed(Token::accent), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(head.adjusted(1, 1, -1, -1), 3, 3);
    if (m_selection.isByKeys()) {
        QPen ring(themed(Token::text), 2);
        ring.setDashPattern({1, 1.5});
        painter.setPen(ring);
        painter.drawRoundedRect(head.adjusted(-3, -3, 3, 3), 4, 4);
    }
}

void CanvasFrame::paintEmphasis(QPainter& painter, bool hasCard) const
{
    ScenePainter scene = m_picture.painter();
    const Lens l = m_camera.lens();
    const QRectF seen = m_camera.sceneInView();
    const Rect area{seen.x() - kBleed, seen.y() - 24, seen.width() + 2 * kBleed, seen.height() + 48};
    const auto inView = [&](int node) { return m_picture.node(node).rect.intersects(area); };
    std::set<int> again; // nodes to be drawn over the lines

    paintRails(painter, scene);
    for (const bool selected : {false, true})
        for (const int edge : m_selection.litEdges(selected)) {
            const SceneEdge& one = m_picture.edge(edge);
            scene.paintEdge(painter, edge, l, selected ? EdgeLook::selected : EdgeLook::hovered);
            for (const int end : {one.from, one.to})
                if (end >= 0 && inView(end)) again.insert(end);
        }
    for (const int node : m_selection.traced())
        if (inView(node)) again.insert(node);
    for (const int node : m_selection.nodes())
        if (inView(node)) again.insert(node);
    if (m_selection.hoverNode() >= 0) again.insert(m_selection.hoverNode());
    // An emphasised line passes behind heads.
    for (size_t i = 0; i < m_picture.scene()->regions.size(); ++i) {
        const SceneRegion& region = m_picture.scene()->regions[i];
        const bool dragged = m_heads.iterationIn(static_cast<int>(i)) >= 0;
        if (!dragged && (again.empty() || region.kind == RegionKind::group)) continue;
        if (region.head.intersects(area))
            scene.paintHead(painter, static_cast<int>(i), region.head, l, m_heads.iterationIn(static_cast<int>(i)));
    }
    if (m_selection.region() >= 0) paintSelectedHead(painter);
    for (const int node : again) {
        NodeLook look;
        look.hovered = node == m_selection.hoverNode();
        look.highlighted = m_selection.traced().contains(node);
        look.selected = m_selection.contains(node);
        look.focused = m_selection.isByKeys() && node == m_selection.node();
        scene.paintNode(painter, node, l, look);
    }
    if (l.level >= 4)
        scene.paintDetails(painter, {seen.x(), seen.y(), seen.width(), seen.height()}, l, m_picture.values,
                           hasCard ? m_selection.node() : -1);
    if (l.level >= 2) paintTokens(painter);
}

void CanvasFrame::paintTokens(QPainter& painter) const
{
    for (const TokenChip& chip : m_picture.state.tokens) {
        const SceneEdge& edge = m_picture.edge(chip.edge);
        if (edge.points.size() < 2) continue;
        size_t longest = 1;
        double length = 0;
        for (size_t k = 1; k < edge.points.size(); ++k) {
            const double here = std::abs(edge.points[k].x - edge.points[k - 1].x) + std::abs(edge.points[k].y - edge.points[k - 1].y);
            if (here > length) {
                length = here;
                longest = k;
            }
        }
        const Label label = m_picture.labels.label(toText(chip.text), Face::mono);
        const Point middle{(edge.points[longest].x + edge.points[longest - 1].x) / 2,
                           (edge.points[longest].y + edge.points[longest - 1].y) / 2};
        const double w = label.width + 14;
        const QRectF box((middle.x - w / 2) * m_camera.zoom(), (middle.y - 8) * m_camera.zoom(), w * m_camera.zoom(), 16 * m_camera.zoom());
        painter.setRenderHint(QPainter::Antialiasing);
        QPen pen(themed(chip.isDead ? Token::dead : Token::curLine), 1);
        if (chip.isDead) pen.setDashPattern({3, 3});
        painter.setPen(pen);
        painter.setBrush(themed(chip.isDead ? Token::deadWeak : Token::cur));
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2);
        drawLabelIn(painter, label, box, Qt::AlignHCenter, themed(chip.isDead ? Token::dead : Token::curText), m_camera.zoom());
    }
}

QRect CanvasFrame::drop(const Rect& area)
{
    const double reach = 12, zoom = m_camera.zoom();
    const QRectF pixels((area.x - reach) * zoom - 8, (area.y - reach) * zoom - 8, (area.width + 2 * reach) * zoom + 16,
                        (area.height + 2 * reach) * zoom + 16);
    m_tiles.drop(pixels);
    return pixels.translated(-m_camera.origin()).toAlignedRect();
}

} // namespace loopscope::viewer
