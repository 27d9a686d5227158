// Edges: straight below level 3, with rounded corners from there; arrows, dashes, labels and the two stubs of a cut edge.
#include "viewer/canvas/scene_painter.h"

#include "viewer/style/theme.h"

#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <set>

namespace loopscope::viewer {

namespace {

constexpr double kRadius = 6;
constexpr double kStub = 12;
constexpr double kChipRoom = 110; ///< of its words
constexpr double kChipStep = 16;

QPen edgePen(EdgeStyle style, const QColor& color, double width)
{
    QPen pen(color, width);
    pen.setCapStyle(Qt::FlatCap);
    pen.setJoinStyle(Qt::RoundJoin);
    switch (style) {
    case EdgeStyle::control:
    case EdgeStyle::passThrough: pen.setDashPattern({4 / width, 3 / width}); break;
    case EdgeStyle::captured:
    case EdgeStyle::binding: pen.setDashPattern({2 / width, 2 / width}); break;
    case EdgeStyle::data:
    case EdgeStyle::feedback: break;
    }
    return pen;
}

} // namespace

QPainterPath roundedPath(const std::vector<Point>& points, const Lens& lens, double radius)
{
    QPainterPath path;
    if (points.empty()) return path;
    path.moveTo(lens.map(points.front()));
    for (size_t i = 1; i < points.size(); ++i) {
        const QPointF corner = lens.map(points[i]);
        if (i + 1 == points.size()) {
            path.lineTo(corner);
            break;
        }
        const QPointF before = lens.map(points[i - 1]);
        const QPointF after = lens.map(points[i + 1]);
        const QPointF in = corner - before;
        const QPointF out = after - corner;
        const double a = std::hypot(in.x(), in.y());
        const double b = std::hypot(out.x(), out.y());
        const double r = std::min({radius, a / 2, b / 2});
        if (r < 0.5) {
            path.lineTo(corner);
            continue;
        }
        path.lineTo(corner - in / a * r);
        path.quadTo(corner, corner + out / b * r);
    }
    return path;
}

void paintArrow(QPainter& painter, QPointF from, QPointF tip, const QColor& color, double scale)
{
    const QPointF way = tip - from;
    const double length = std::hypot(way.x(), way.y());
    if (length < 0.01) return;
    const QPointF along = way / length * 5.4 * scale;
    const QPointF across(-along.y() * 2.6 / 5.4, along.x() * 2.6 / 5.4);
    const QPointF head[] = {tip, tip - along + across, tip - along - across};
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(head, 3);
}

/// The feedback of a loop variable is drawn as its rail, with its region.
bool ScenePainter::isRail(const SceneEdge& edge) const
{
    return edge.style == EdgeStyle::feedback && edge.to >= 0 && node(edge.to).kind == NodeKind::input;
}

bool ScenePainter::isDeadEdge(const SceneEdge& edge) const
{
    const auto dead = [&](int n) { return n >= 0 && state(n).run == RunState::dead; };
    return dead(edge.from) || dead(edge.to);
}

/// Levels 1 and 2, where there are many: lines batched for each pen.
void ScenePainter::paintEdgeLines(QPainter& painter, const Lens& lens, const std::vector<int>& edges)
{
    painter.setRenderHint(QPainter::Antialiasing, false);
    QList<QLineF> solid;
    QList<QLineF> dashed;
    QList<QLineF> dead;
    const double half = 0.5 / lens.ratio;
    const auto snap = [&](double v) { return std::floor(v * lens.zoom * lens.ratio) / lens.ratio + half; };
    for (const int i : edges) {
        const SceneEdge& edge = m_scene.edges[static_cast<size_t>(i)];
        if (isRail(edge)) continue;
        const bool plain = edge.style == EdgeStyle::data || edge.style == EdgeStyle::feedback;
        QList<QLineF>& lines = isDeadEdge(edge) ? dead : plain ? solid : dashed;
        for (size_t k = 1; k < edge.points.size(); ++k) {
            const Point a = edge.points[k - 1];
            const Point b = edge.points[k];
            lines.append(QLineF(snap(a.x), snap(a.y), snap(b.x), snap(b.y)));
        }
    }
    painter.setPen(QPen(themed(Token::line2), 0));
    painter.drawLines(solid);
    if (!dashed.isEmpty()) {
        QPen pen(themed(Token::line2), 1);
        pen.setDashPattern({3, 2});
        painter.setPen(pen);
        painter.drawLines(dashed);
    }
    if (!dead.isEmpty()) {
        QPen pen(themed(Token::dead), 1);
        pen.setDashPattern({3, 3});
        painter.setPen(pen);
        painter.drawLines(dead);
    }
    if (lens.level < 2) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(themed(Token::line2));
    for (const int i : edges) {
        const SceneEdge& edge = m_scene.edges[static_cast<size_t>(i)];
        if (edge.points.size() < 2 || isRail(edge)) continue;
        const QPointF tip = lens.map(edge.points.back());
        const QPointF from = lens.map(edge.points[edge.points.size() - 2]);
        // Small and nearly always downwards: three lines' worth of triangle.
        const double s = std::max(0.6, lens.zoom);
        const QPointF way = tip - from;
        const QPointF along =
            std::abs(way.y()) >= std::abs(way.x()) ? QPointF(0, way.y() > 0 ? 5 * s : -5 * s) : QPointF(way.x() > 0 ? 5 * s : -5 * s, 0);
        const QPointF across(along.y() * 0.45, along.x() * 0.45);
        const QPointF head[] = {tip, tip - along + across, tip - along - across};
        painter.drawConvexPolygon(head, 3);
    }
}

void ScenePainter::paintEdge(QPainter& painter, int index, const Lens& lens, EdgeLook look)
{
    const SceneEdge& edge = m_scene.edges[static_cast<size_t>(index)];
    if (isRail(edge)) return;
    QColor color = themed(Token::line2);
    if (edge.style == EdgeStyle::feedback) color = themed(Family::controlFlow);
    double width = edge.style == EdgeStyle::binding ? 1 : edge.style == EdgeStyle::feedback ? 1.5 : 1.2;
    const bool dead = isDeadEdge(edge);
    if (dead) {
        color = themed(Token::dead);
        width = 1;
    }
    if (look != EdgeLook::plain) color = themed(Token::accent);
    if (look == EdgeLook::hovered) width = 1.5;
    if (look == EdgeLook::selected) width = 2;
    if (edge.portal) {
        if (lens.level >= 3 || look != EdgeLook::plain) paintPortal(painter, index, lens, look);
        return;
    }
    if (edge.points.size() < 2) return;
    const double thick = width * lens.stroke();
    QPen pen = edgePen(edge.style, color, thick);
    if (dead && look == EdgeLook::plain) pen.setDashPattern({3, 3});
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    const double radius = lens.level >= 3 ? kRadius * lens.zoom : 0;
    painter.drawPath(roundedPath(edge.points, lens, radius));
    if (lens.level >= 2)
        paintArrow(painter, lens.map(edge.points[edge.points.size() - 2]), lens.map(edge.points.back()), color, std::max(0.7, lens.zoom));
    if (!edge.label.empty() && lens.level == 3 && look != EdgeLook::plain) paintEdgeText(painter, edge, lens, themed(Token::accent));
}

/// Shape, and from near the tensor's name.
QString ScenePainter::edgeWords(const SceneEdge& edge, const Lens& lens) const
{
    const QString shape = QString::fromStdString(edge.label);
    if (lens.level < 4 || !m_model || !edge.value.valid() || m_scene.view.showNames || edge.portal) return shape;
    return QString::fromStdString(m_model->graph(edge.graph).value(edge.value).id) + QLatin1Char(' ') + shape;
}

/// Beside the first stretch that has room for the words; none: nowhere.
std::optional<Rect> ScenePainter::edgeTextPlace(const SceneEdge& edge, const Label& label, double scale, bool isAlone) const
{
    const double width = label.width * scale, height = 12 * scale;
    for (size_t k = 1; k < edge.points.size(); ++k) {
        const Point a = edge.points[k - 1];
        const Point b = edge.points[k];
        const bool vertical = std::abs(a.x - b.x) < 0.5;
        if (vertical ? std::abs(a.y - b.y) < height : std::abs(a.x - b.x) < width + 8) continue;
        const Rect place = vertical ? Rect{a.x + 3, (a.y + b.y) / 2 - height / 2, width, height}
                                    : Rect{(a.x + b.x) / 2 - width / 2, a.y - height - 1.5, width, height};
        if (isAlone ? isFree(place, -1) : !isCovered(place, -1)) return place;
    }
    return std::nullopt;
}

void ScenePainter::paintEdgeText(QPainter& painter, const SceneEdge& edge, const Lens& lens, const QColor& color)
{
    const Label label = m_labels.label(edgeWords(edge, lens), Face::monoSmall);
    const std::optional<Rect> place = edgeTextPlace(edge, label, 1, false);
    if (!place) return;
    const QRectF box = lens.map(*place);
    painter.fillRect(box, edge.from >= 0 && node(edge.from).region >= 0 ? themed(Token::raised) : themed(Token::surface));
    drawLabelIn(painter, label, box, Qt::AlignLeft, color, lens.zoom);
}

/// Beside its node, at the right of a source and at the left of a consumer; several at one node lie above each other.
Rect ScenePainter::portalPlace(int index, bool atSource)
{
    const SceneEdge& edge = m_scene.edges[static_cast<size_t>(index)];
    const int end = atSource ? edge.from : edge.to;
    int before = 0, all = 0;
    std::set<int32_t> seen;
    for (const int other : atSource ? m_index.outOf(end) : m_index.into(end)) {
        const SceneEdge& one = m_scene.edges[static_cast<size_t>(other)];
        if (!one.portal || !seen.insert(one.value.index).second) continue;
        if (one.value == edge.value) before = all;
        ++all;
    }
    const Rect& box = node(end).rect;
    const double width = m_labels.label(QString::fromStdString(atSource ? edge.label : edge.endLabel), Face::index, kChipRoom).width + 10;
    const double middle = box.y + box.height / 2 + kChipStep * (before - (all - 1) / 2.0);
    return {atSource ? box.right() + kStub : box.x - kStub - width, middle - 7, width, 14};
}

bool ScenePainter::isCovered(const Rect& place, int except) const
{
    std::vector<int> near;
    m_index.nodesIn(place, near);
    return std::ranges::any_of(near, [&](int i) { return i != except && node(i).rect.intersects(place); });
}

std::optional<Rect> ScenePainter::portalChip(int index, bool atSource)
{
    const SceneEdge& edge = m_scene.edges[static_cast<size_t>(index)];
    const int end = atSource ? edge.from : edge.to;
    if (!edge.portal || end < 0) return std::nullopt;
    const Rect place = portalPlace(index, atSource);
    return isCovered(place, end) ? std::nullopt : std::optional(place);
}

/// A stub with a chip at each end. Where another node is in the way of a chip, it shows while it is lit.
void ScenePainter::paintPortal(QPainter& painter, int index, const Lens& lens, EdgeLook look)
{
    const SceneEdge& edge = m_scene.edges[static_cast<size_t>(index)];
    const QColor color = look == EdgeLook::plain ? themed(Token::line2) : themed(Token::accent);
    const QColor text = look == EdgeLook::plain ? themed(Token::text2) : themed(Token::accent);
    const auto chip = [&](int end, const std::string& words, bool atSource) {
        if (end < 0) return;
        const Rect place = portalPlace(index, atSource);
        if (look == EdgeLook::plain && isCovered(place, end)) return;
        const Rect& box = node(end).rect;
        const double y = std::clamp(place.center().y, box.y + 3, box.bottom() - 3);
        const Point at{atSource ? box.right() : box.x, y}, far{atSource ? place.x : place.right(), y};
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(color, 1.2 * lens.stroke()));
        painter.drawLine(lens.map(at), lens.map(far));
        if (!atSource) paintArrow(painter, lens.map(far), lens.map(at), color, lens.zoom);
        const QRectF area = lens.map(place);
        painter.setPen(QPen(color, look == EdgeLook::plain ? 1 : 1.5));
        painter.setBrush(look == EdgeLook::plain ? themed(Token::surface) : themed(Token::accentWeak));
        painter.drawRoundedRect(area, area.height() / 2, area.height() / 2);
        drawLabelIn(painter, m_labels.label(QString::fromStdString(words), Face::index, kChipRoom), area, Qt::AlignHCenter, text,
                    lens.zoom);
    };
    chip(edge.from, edge.label, true);
    chip(edge.to, edge.endLabel, false);
}

} // namespace loopscope::viewer
