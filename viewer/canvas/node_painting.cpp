// Operators, pills and folded groups at five levels of detail, with their states.
#include "viewer/canvas/scene_painter.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QImage>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kSmallestText = 8; ///< pixels on screen
constexpr double kNameSize = 11;

QColor faded(QColor color, double alpha)
{
    color.setAlphaF(static_cast<float>(alpha * color.alphaF()));
    return color;
}

struct NodeColors {
    QColor fill, outline, text, meta;
    double stripe = 1; ///< opacity
    double width = 1;
    Qt::PenStyle style = Qt::SolidLine;
    QList<qreal> dashes;
    bool struck = false;
};

/// docs/desktop.md, "States": later ones win.
NodeColors colorsOf(const NodeState& state, const NodeLook& look, bool highContrast)
{
    NodeColors c{themed(Token::surface), themed(Token::line2), themed(Token::text), themed(Token::text3), 1, 1, Qt::SolidLine, {}, false};
    switch (state.run) {
    case RunState::none:
    case RunState::run: break;
    case RunState::notRun:
    case RunState::untaken:
    case RunState::waiting:
        c.outline = themed(Token::line);
        c.text = themed(Token::text3);
        c.stripe = 0.45;
        if (highContrast) c.dashes = {1, 2};
        break;
    case RunState::dead:
        c.fill = themed(Token::deadWeak);
        c.outline = themed(Token::dead);
        c.text = c.meta = themed(Token::dead);
        c.stripe = 0.4;
        c.dashes = {3, 3};
        c.struck = true;
        break;
    case RunState::ready:
        c.fill = themed(Token::okWeak);
        c.outline = themed(Token::ok);
        c.width = 2;
        c.struck = state.willBeDead;
        break;
    }
    if (look.hovered) {
        c.outline = themed(Token::line2);
        c.width = 2;
    }
    if (look.highlighted) c.outline = themed(Token::accent);
    if (look.selected) {
        c.fill = themed(Token::accentWeak);
        c.outline = themed(Token::accent);
        c.width = 2;
        c.dashes.clear();
    }
    if (state.next) {
        c.fill = themed(Token::cur);
        c.outline = look.selected ? themed(Token::accent) : themed(Token::curLine);
        c.text = c.meta = themed(Token::curText);
        c.width = 2;
        c.stripe = 1;
        c.dashes.clear();
        c.struck = state.willBeDead;
    }
    return c;
}

QColor averageOf(const std::vector<Family>& strip)
{
    if (strip.empty()) return themed(Token::line2);
    int red = 0;
    int green = 0;
    int blue = 0;
    for (const Family family : strip) {
        const QColor color = themed(family);
        red += color.red();
        green += color.green();
        blue += color.blue();
    }
    const int n = static_cast<int>(strip.size());
    return {red / n, green / n, blue / n};
}

} // namespace

QString shownName(const SceneNode& node)
{
    const QString name = QString::fromStdString(node.name);
    return node.unknown ? QLatin1Char('"') + name + QLatin1Char('"') : name;
}

QRectF Lens::snapped(const Rect& r) const
{
    const auto on = [&](double v) { return std::round(v * zoom * ratio) / ratio; };
    const double left = on(r.x);
    const double top = on(r.y);
    return {left, top, std::max(1 / ratio, on(r.right()) - left), std::max(1 / ratio, on(r.bottom()) - top)};
}

/// Level 0, where there may be a hundred thousand: pixels are written without a painter.
void ScenePainter::paintBlocks(QPainter& painter, const Rect& area, const Lens& lens, const std::vector<int>& nodes)
{
    const double left = std::floor(area.x * lens.zoom);
    const double top = std::floor(area.y * lens.zoom);
    const QSize size(static_cast<int>(std::ceil((area.width * lens.zoom + 2) * lens.ratio)),
                     static_cast<int>(std::ceil((area.height * lens.zoom + 2) * lens.ratio)));
    if (size.isEmpty() || nodes.empty()) return;
    QImage image(size, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(lens.ratio);
    image.fill(Qt::transparent);
    const auto fill = [&](int x0, int y0, int x1, int y1, QRgb color) {
        x0 = std::max(x0, 0);
        x1 = std::min(x1, size.width());
        y1 = std::min(y1, size.height());
        for (int y = std::max(y0, 0); y < y1; ++y) {
            auto* row = reinterpret_cast<QRgb*>(image.scanLine(y));
            if (x0 < x1) std::fill(row + x0, row + x1, color);
        }
    };
    const double scale = lens.zoom * lens.ratio;
    const auto pixel = [](double v) { return static_cast<int>(std::lround(v)); };
    const QRgb pill = themed(Token::line2).rgb();
    std::array<QRgb, kFamilyCount> families;
    for (size_t i = 0; i < kFamilyCount; ++i) families[i] = themed(static_cast<Family>(i)).rgb();
    for (const int i : nodes) {
        const SceneNode& one = node(i);
        if (one.kind == NodeKind::actual) continue;
        const int x = pixel(one.rect.x * scale - left * lens.ratio);
        const int y = pixel(one.rect.y * scale - top * lens.ratio);
        const int right = std::max(x + 1, pixel(one.rect.right() * scale - left * lens.ratio));
        const int bottom = std::max(y + 1, pixel(one.rect.bottom() * scale - top * lens.ratio));
        if (one.kind == NodeKind::group) {
            fill(x, y, right, bottom, pill);
            fill(x + 1, y + 1, right - 1, bottom - 1, averageOf(one.strip).rgb());
        } else {
            fill(x, y, right, bottom, one.kind == NodeKind::op ? families[static_cast<size_t>(one.family)] : pill);
        }
    }
    painter.drawImage(QPointF(left, top), image);
}

bool ScenePainter::hasSideText(int index) const
{
    const SceneNode& one = node(index);
    if (!state(index).badge.empty()) return true;
    return !one.shape.empty() && one.kind == NodeKind::op &&
           (one.region < 0 || m_scene.regions[static_cast<size_t>(one.region)].kind == RegionKind::group);
}

void ScenePainter::paintNode(QPainter& painter, int index, const Lens& lens, const NodeLook& look)
{
    switch (node(index).kind) {
    case NodeKind::op: lens.level >= 3 ? paintOp(painter, index, lens, look) : paintBox(painter, index, lens, look); return;
    case NodeKind::group: lens.level >= 2 ? paintGroup(painter, index, lens, look) : paintBox(painter, index, lens, look); return;
    case NodeKind::actual: {
        if (lens.zoom * 10 < kSmallestText) return;
        const SceneNode& one = node(index);
        const Label label = m_labels.label(QString::fromStdString(one.name), Face::index, one.rect.width);
        // The line to the formal passes behind the words.
        const bool untaken = one.region >= 0 && m_state.regions[static_cast<size_t>(one.region)].run == RunState::untaken;
        const QRectF box = lens.map(one.rect);
        painter.fillRect(QRectF(box.center().x() - label.width * lens.zoom / 2 - 2, box.y(), label.width * lens.zoom + 4, box.height()),
                         themed(one.region < 0 ? Token::surface
                                : untaken      ? Token::deadWeak
                                               : Token::raised));
        drawLabelIn(painter, label, box, Qt::AlignHCenter, themed(look.hovered || look.highlighted ? Token::accent : Token::text3),
                    lens.zoom);
        return;
    }
    default: paintPill(painter, index, lens, look);
    }
}

/// Levels 0 to 2: no curves.
void ScenePainter::paintBox(QPainter& painter, int index, const Lens& lens, const NodeLook& look)
{
    const SceneNode& one = node(index);
    const NodeColors c = colorsOf(state(index), look, m_highContrast);
    const QRectF box = lens.snapped(one.rect);
    if (lens.level == 0) {
        const QColor color = state(index).next ? themed(Token::curLine) : look.selected ? themed(Token::accent) : themed(one.family);
        const QRectF block = look.selected || state(index).next ? box.adjusted(-1, -1, 1, 1) : box;
        painter.fillRect(block, color);
        return;
    }
    painter.fillRect(box, c.outline);
    painter.fillRect(box.adjusted(c.width, c.width, -c.width, -c.width), c.fill);
    const double stripe = std::max(1.0, std::round(4 * lens.zoom * lens.ratio) / lens.ratio);
    if (one.kind == NodeKind::group) paintStrip(painter, one, box.adjusted(1, 1, -1, -1), lens, 3 * lens.zoom, box.width() - 2);
    else painter.fillRect(QRectF(box.x() + 1, box.y() + 1, stripe, std::max(1.0, box.height() - 2)), faded(themed(one.family), c.stripe));
    if (lens.level >= 2) paintName(painter, one, box.adjusted(stripe + 3, 0, -2, 0), lens, c.text, c.meta, c.struck);
    paintMarks(painter, index, lens, look, box, 0);
}

void ScenePainter::paintName(QPainter& painter, const SceneNode& one, const QRectF& room, const Lens& lens, const QColor& color,
                             const QColor& meta, bool struck)
{
    // Below 8 px a name would be noise; a box that is high enough gets one of 8 px, all of one height alike, however they are snapped.
    const double scale = std::max(lens.zoom, kSmallestText / kNameSize);
    if (one.rect.height * lens.zoom < kSmallestText + 2) return;
    const Face face = one.kind == NodeKind::group ? Face::group : one.custom ? Face::italic : Face::name;
    const bool hasIndex = lens.level >= 3 && !one.index.empty();
    const Label index = hasIndex ? m_labels.label(QString::fromStdString(one.index), Face::index) : Label{};
    const double rest = hasIndex ? index.width + 4 : 0;
    const double space = room.width() / scale - rest;
    if (space < 12) return;
    const Label label = m_labels.label(shownName(one), face, std::floor(space + 0.75));
    drawLabelIn(painter, label, room, Qt::AlignLeft, color, scale);
    if (struck) {
        painter.setPen(QPen(color, lens.stroke()));
        const double y = room.center().y() + scale;
        painter.drawLine(QPointF(room.left(), y), QPointF(room.left() + label.width * scale, y));
    }
    if (!hasIndex) return;
    const double baseline = room.center().y() + (label.ascent - label.height / 2) * scale;
    drawLabel(painter, index, {room.left() + (label.width + 4) * scale, baseline}, meta, scale);
}

void ScenePainter::paintOp(QPainter& painter, int index, const Lens& lens, const NodeLook& look)
{
    const SceneNode& one = node(index);
    const NodeColors c = colorsOf(state(index), look, m_highContrast);
    const double s = lens.stroke();
    const QRectF box = lens.snapped(one.rect);
    const double inset = c.width == 2 ? 0 : 0.5;
    QPen pen(c.outline, c.width * (s > 1 ? std::min(s, 2.0) : 1));
    if (!c.dashes.isEmpty()) pen.setDashPattern(c.dashes);
    painter.setPen(pen);
    painter.setBrush(c.fill);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.drawRoundedRect(box.adjusted(inset, inset, -inset, -inset), 3 * lens.zoom, 3 * lens.zoom);
    QRectF stripe(box.x() + 1, box.y() + 1, std::round(4 * lens.zoom * lens.ratio) / lens.ratio, box.height() - 2);
    painter.setRenderHint(QPainter::Antialiasing, false);
    if (one.unknown) {
        const double part = std::max(2.0, stripe.height() / 5);
        for (double y = stripe.top(); y < stripe.bottom(); y += 2 * part)
            painter.fillRect(QRectF(stripe.left(), y, stripe.width(), std::min(part, stripe.bottom() - y)),
                             faded(themed(one.family), c.stripe));
    } else {
        painter.fillRect(stripe, faded(themed(one.family), c.stripe));
    }
    painter.setRenderHint(QPainter::Antialiasing);

    const bool hasDetail = !one.detail.empty() && one.rect.height > 28;
    QRectF text(box.x() + 10 * lens.zoom, box.y(), box.width() - 14 * lens.zoom, (hasDetail ? 20 : one.rect.height) * lens.zoom);
    const std::string& badge = state(index).badge;
    if (!badge.empty()) {
        const Label label = m_labels.label(QString::fromStdString(badge), Face::mono);
        const double room = text.width() - (label.width + 6) * lens.zoom;
        const Face face = one.custom ? Face::italic : Face::name;
        const double name = m_labels.width(shownName(one), face) +
                            (one.index.empty() ? 0 : m_labels.width(QString::fromStdString(one.index), Face::index) + 4);
        if (room < (name - 1) * lens.zoom) { // beside the box, rather than instead of its name
            drawLabelIn(painter, label, QRectF(box.right() + 4 * lens.zoom, box.y(), 0, box.height()), Qt::AlignLeft, themed(Token::text2),
                        lens.zoom);
        } else {
            drawLabelIn(painter, label, text.adjusted(0, 0, 2 * lens.zoom, 0), Qt::AlignRight,
                        state(index).next ? c.text : themed(Token::text2), lens.zoom);
            text.setWidth(room);
        }
    }
    paintName(painter, one, text, lens, c.text, c.meta, c.struck);
    if (lens.level == 3 && look == NodeLook() && badge.empty()) paintSideShape(painter, one, lens);
    if (hasDetail) {
        const QRectF room(box.x() + 10 * lens.zoom, box.y() + 18 * lens.zoom, box.width() - 14 * lens.zoom, 14 * lens.zoom);
        const Label label = m_labels.label(QString::fromStdString(one.detail), Face::monoSmall, room.width() / lens.zoom);
        drawLabelIn(painter, label, room, Qt::AlignLeft, c.meta, lens.zoom);
    }
    paintMarks(painter, index, lens, look, box, 3 * lens.zoom);
}

/// The shape of the main result at the right of an operator that has room there, as a chain has.
void ScenePainter::paintSideShape(QPainter& painter, const SceneNode& one, const Lens& lens)
{
    const bool inGroup = one.region >= 0 && m_scene.regions[static_cast<size_t>(one.region)].kind == RegionKind::group;
    if (one.shape.empty() || (one.region >= 0 && !inGroup)) return;
    const Label label = m_labels.label(QString::fromStdString(one.shape), Face::mono);
    const Rect place{one.rect.right() + 10, one.rect.y, label.width, one.rect.height};
    if (inGroup && place.right() > m_scene.regions[static_cast<size_t>(one.region)].rect.right() - 4) return;
    std::vector<int> near;
    m_index.nodesIn(place, near);
    for (const int i : near)
        if (node(i).rect.intersects(place)) return;
    m_index.edgesIn(place, near);
    for (const int i : near) {
        const std::vector<Point>& points = m_scene.edges[static_cast<size_t>(i)].points;
        for (size_t k = 1; k < points.size(); ++k) {
            const Rect segment{std::min(points[k - 1].x, points[k].x) - 2, std::min(points[k - 1].y, points[k].y) - 2,
                               std::abs(points[k].x - points[k - 1].x) + 4, std::abs(points[k].y - points[k - 1].y) + 4};
            if (segment.intersects(place)) return;
        }
    }
    drawLabelIn(painter, label, lens.map(place), Qt::AlignLeft, themed(Token::text3), lens.zoom);
}

void ScenePainter::paintPill(QPainter& painter, int index, const Lens& lens, const NodeLook& look)
{
    const SceneNode& one = node(index);
    const NodeColors c = colorsOf(state(index), look, m_highContrast);
    if (lens.level <= 1) {
        const QRectF small = lens.snapped(one.rect);
        painter.fillRect(small, lens.level == 0 && !look.selected ? themed(Token::line2) : c.outline);
        if (lens.level == 1) painter.fillRect(small.adjusted(1, 1, -1, -1), c.fill);
        return;
    }
    const QRectF box = lens.snapped(one.rect);
    const double inset = c.width == 2 ? 0 : 0.5;
    QPen pen(c.outline, c.width);
    if (!c.dashes.isEmpty()) pen.setDashPattern(c.dashes);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(pen);
    painter.setBrush(c.fill);
    const double radius = box.height() / 2;
    painter.drawRoundedRect(box.adjusted(inset, inset, -inset, -inset), radius, radius);
    if (lens.zoom * 10 >= kSmallestText - 1) {
        const double room = one.rect.width - 10;
        const QString second = one.kind == NodeKind::constant ? QString::fromStdString(one.detail) : QString::fromStdString(one.shape);
        const bool twoLines = !second.isEmpty() && one.rect.height >= 24;
        const Label name = m_labels.label(QString::fromStdString(one.name), Face::pill, room);
        if (twoLines) {
            const Label shape = m_labels.label(second, Face::monoSmall, room);
            drawLabelIn(painter, name, QRectF(box.x(), box.y() + 2 * lens.zoom, box.width(), box.height() / 2), Qt::AlignHCenter, c.text,
                        lens.zoom);
            drawLabelIn(painter, shape, QRectF(box.x(), box.center().y() - 1.5 * lens.zoom, box.width(), box.height() / 2),
                        Qt::AlignHCenter, c.text == themed(Token::text3) ? c.text : themed(Token::text2), lens.zoom);
        } else {
            drawLabelIn(painter, name, box, Qt::AlignHCenter, c.text, lens.zoom);
        }
    } else if (box.height() >= kSmallestText + 2) { // no room for two lines, but for the name
        const double scale = std::max(lens.zoom, kSmallestText / kNameSize);
        const double room = (box.width() - 6) / scale;
        if (room >= 12)
            drawLabelIn(painter, m_labels.label(QString::fromStdString(one.name), Face::pill, std::floor(room)), box, Qt::AlignHCenter,
                        c.text, scale);
    }
    paintMarks(painter, index, lens, look, box, radius);
}

void ScenePainter::paintStrip(QPainter& painter, const SceneNode& one, const QRectF& box, const Lens& lens, double left, double right)
{
    const size_t count = one.strip.size();
    if (count == 0) return;
    double step = 7 * lens.zoom;
    const double most = std::min(88 * lens.zoom, right - left);
    if (step * static_cast<double>(count) > most) step = most / static_cast<double>(count);
    const double height = std::min(10 * lens.zoom, box.height());
    const double top = box.center().y() - height / 2;
    const double gap = step > 3 ? std::max(1 / lens.ratio, step / 7) : 0;
    for (size_t i = 0; i < count; ++i) {
        const double x = box.x() + left + step * static_cast<double>(i);
        painter.fillRect(QRectF(x, top, std::max(1 / lens.ratio, step - gap), height), themed(one.strip[i]));
    }
}

void ScenePainter::paintGroup(QPainter& painter, int index, const Lens& lens, const NodeLook& look)
{
    const SceneNode& one = node(index);
    NodeColors c = colorsOf(state(index), look, m_highContrast);
    const QRectF box = lens.snapped(one.rect);
    const double z = lens.zoom;
    painter.setRenderHint(QPainter::Antialiasing);
    // A second outline behind says that something is folded away.
    painter.setPen(QPen(themed(Token::line), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5).translated(3 * z, 3 * z), 3 * z, 3 * z);
    const double inset = c.width == 2 ? 0 : 0.5;
    QPen pen(c.outline, c.width);
    if (!c.dashes.isEmpty()) pen.setDashPattern(c.dashes);
    painter.setPen(pen);
    painter.setBrush(c.fill);
    painter.drawRoundedRect(box.adjusted(inset, inset, -inset, -inset), 3 * z, 3 * z);
    QPainterPath arrow;
    const QPointF tip(box.x() + 11 * z, box.center().y());
    arrow.moveTo(tip);
    arrow.lineTo(tip + QPointF(-4 * z, -3.5 * z));
    arrow.lineTo(tip + QPointF(-4 * z, 3.5 * z));
    arrow.closeSubpath();
    painter.fillPath(arrow, themed(Token::text2));

    // Right to left: shape, count, strip, and the name has what is left.
    const double scale = std::max(z, kSmallestText / kNameSize);
    double right = box.right() - 6 * z;
    const double left = box.x() + 16 * z;
    const double nameWidth = std::min(m_labels.width(QString::fromStdString(one.name), Face::group) * scale, box.width() * 0.45);
    if (!one.shape.empty()) {
        const Label shape = m_labels.label(QString::fromStdString(one.shape), Face::mono);
        if (shape.width * scale < right - left - nameWidth - 8 * z) {
            drawLabelIn(painter, shape, QRectF(left, box.y(), right - left, box.height()), Qt::AlignRight, themed(Token::text2), scale);
            right -= shape.width * scale + 8 * z;
        }
    }
    const double stripWidth = std::min(88.0, 7.0 * static_cast<double>(one.strip.size())) * z;
    const double column = box.x() + std::max(16 * z + nameWidth + 10 * z, std::min(112 * z, box.width() * 0.37));
    if (!one.strip.empty() && column + stripWidth < right) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        paintStrip(painter, one, box, lens, column - box.x(), column - box.x() + stripWidth);
        painter.setRenderHint(QPainter::Antialiasing);
        const QString count = one.members.size() == 1 ? QStringLiteral("1 op") : QStringLiteral("%L1 ops").arg(one.members.size());
        const Label ops = m_labels.label(count, Face::index);
        const double at = column + stripWidth + 4 * z;
        if (at + ops.width * scale < right)
            drawLabelIn(painter, ops, QRectF(at, box.y(), right - at, box.height()), Qt::AlignLeft, themed(Token::text3), scale);
        right = column - 6 * z;
    }
    paintName(painter, one, QRectF(left, box.y(), std::max(12.0, right - left), std::max(11.0, box.height())), lens, c.text, c.meta,
              c.struck);
    paintMarks(painter, index, lens, look, box, 3 * z);
}

void ScenePainter::paintBreakpoint(QPainter& painter, BreakpointMark mark, QPointF at, double scale)
{
    const double r = 4.5 * scale;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(themed(Token::surface), 1.5));
    painter.setBrush(themed(Token::bp));
    switch (mark) {
    case BreakpointMark::none: return;
    case BreakpointMark::enabled: painter.drawEllipse(at, r, r); return;
    case BreakpointMark::condition:
        painter.drawEllipse(at, r, r);
        painter.fillRect(QRectF(at.x() - 2.5 * scale, at.y() - 0.75 * scale, 5 * scale, 1.5 * scale), themed(Token::surface));
        return;
    case BreakpointMark::disabled:
        painter.setPen(QPen(themed(Token::bp), 1.5));
        painter.setBrush(themed(Token::surface));
        painter.drawEllipse(at, r - 0.75, r - 0.75);
        return;
    case BreakpointMark::log: {
        QPolygonF diamond;
        diamond << at + QPointF(0, -r - 1) << at + QPointF(r + 1, 0) << at + QPointF(0, r + 1) << at + QPointF(-r - 1, 0);
        painter.setBrush(themed(Token::accent));
        painter.drawPolygon(diamond);
        return;
    }
    case BreakpointMark::unbound:
        painter.setBrush(themed(Token::text3));
        painter.drawEllipse(at, r, r);
        drawLabelIn(painter, m_labels.label(QStringLiteral("!"), Face::pill), QRectF(at.x() - r, at.y() - r, 2 * r, 2 * r),
                    Qt::AlignHCenter, themed(Token::surface), scale * 0.9);
        return;
    }
}

void ScenePainter::paintMarks(QPainter& painter, int index, const Lens& lens, const NodeLook& look, const QRectF& box, double radius)
{
    const NodeState& s = state(index);
    const auto ring = [&](double distance, const QPen& pen) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(pen);
        painter.setBrush(Qt::NoBrush);
        const double r = radius > 0 ? radius + distance : 0;
        painter.drawRoundedRect(box.adjusted(-distance, -distance, distance, distance), r, r);
    };
    if (s.compare == CompareMark::over) ring(2, QPen(themed(Token::sideB), 2));
    if (s.compare == CompareMark::farOver) ring(2, QPen(themed(Token::err), 2));
    if (s.compare == CompareMark::onlyHere) ring(2, QPen(themed(Token::text2), 1, Qt::DashLine));
    if (s.error) ring(4, QPen(themed(Token::err), 2));
    if (look.focused) {
        QPen pen(themed(Token::text), 2);
        pen.setDashPattern({1, 1.5});
        ring(s.error ? 7 : 4, pen);
    }
    if (lens.level < 2) return;
    const double scale = std::clamp(lens.zoom, 0.7, 1.5);
    if (s.last) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(themed(Token::accent));
        painter.setRenderHint(QPainter::Antialiasing);
        painter.drawEllipse(QPointF(box.left() - 5 * scale, box.center().y()), 2.5 * scale, 2.5 * scale);
    }
    paintBreakpoint(painter, s.breakpoint, {box.left() - 1 * scale, box.center().y()}, scale);
    if (s.error) {
        const int size = qRound(12 * scale);
        painter.drawPixmap(QPointF(box.right() + 2, box.top() - size + 2),
                           iconPixmap(QStringLiteral("error"), size, themed(Token::err), lens.ratio));
    }
}

bool ScenePainter::isElided(int index)
{
    const SceneNode& one = node(index);
    const Face face = one.kind == NodeKind::group ? Face::group : one.kind == NodeKind::op ? Face::name : Face::pill;
    return m_labels.width(shownName(one), face) +
               (one.index.empty() ? 0 : m_labels.width(QString::fromStdString(one.index), Face::index) + 4) >
           one.rect.width - 12;
}

} // namespace loopscope::viewer
