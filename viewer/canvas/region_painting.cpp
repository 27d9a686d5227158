// Regions: loops with their binding rows and rails, branches, calls, v1 frames, opened groups.
#include "viewer/canvas/loop_slider.h"
#include "viewer/canvas/scene_painter.h"

#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kHeadSize = 12;    ///< pixels of a head's name at zoom 1
constexpr double kSmallestHead = 8; ///< on screen
constexpr double kLeastLine = 9.5;  ///< height on screen that holds a name of that size

struct RegionColors {
    QColor outline, name;
    double width = 1.5;
    bool dashed = false;
};

RegionColors colorsOf(const SceneRegion& region, const RegionState& state)
{
    RegionColors c{themed(Family::controlFlow), themed(Token::text), 1.5, false};
    if (region.kind == RegionKind::group) c = {themed(Token::line2), themed(Token::text), 1, false};
    if (region.kind == RegionKind::branch && !region.role.empty()) {
        if (state.note == "taken") c.outline = themed(Token::ok);
        if (state.run == RunState::untaken) c = {themed(Token::dead), themed(Token::text3), 1.5, true};
    }
    return c;
}

const char* iconOf(RegionKind kind)
{
    switch (kind) {
    case RegionKind::loop:
    case RegionKind::frame: return "loop-region";
    case RegionKind::branch: return "branch-region";
    case RegionKind::call: return "call-region";
    case RegionKind::group: break;
    }
    return nullptr;
}

} // namespace

void ScenePainter::paintRegion(QPainter& painter, int index, const Lens& lens)
{
    const SceneRegion& region = m_scene.regions[static_cast<size_t>(index)];
    const RegionState& state = m_state.regions[static_cast<size_t>(index)];
    const RegionColors c = colorsOf(region, state);
    const QRectF box = lens.snapped(region.rect);
    const double radius = lens.level >= 2 ? 4 * lens.zoom : 0;
    QPen pen(c.outline, lens.level >= 2 ? c.width : 1);
    if (c.dashed) pen.setDashPattern({3, 3});
    painter.setRenderHint(QPainter::Antialiasing, radius > 0);
    painter.setPen(pen);
    painter.setBrush(state.run == RunState::untaken ? themed(Token::deadWeak) : themed(Token::raised));
    const double inset = lens.level >= 2 ? 0.75 : 0.5;
    painter.drawRoundedRect(box.adjusted(inset, inset, -inset, -inset), radius, radius);
    if (lens.level >= 2) paintRails(painter, index, lens);
}

void ScenePainter::paintRails(QPainter& painter, int index, const Lens& lens)
{
    const SceneRegion& region = m_scene.regions[static_cast<size_t>(index)];
    painter.setRenderHint(QPainter::Antialiasing);
    QColor color = themed(Token::line2);
    if (!m_highContrast) color.setAlphaF(0.75F);
    for (const LoopBinding& binding : region.bindings) {
        if (binding.rail.size() < 2) continue;
        painter.setPen(QPen(color, lens.stroke()));
        painter.setBrush(Qt::NoBrush);
        painter.drawPath(roundedPath(binding.rail, lens, 2 * lens.zoom));
        paintArrow(painter, lens.map(binding.rail[binding.rail.size() - 2]), lens.map(binding.rail.back()), color,
                   std::max(0.7, lens.zoom));
    }
    if (region.foldedRails > 0) paintBundle(painter, region, lens, color);
}

/// Many feedback lines as one thick one, from the row of results to the row of formals, with how many they are.
void ScenePainter::paintBundle(QPainter& painter, const SceneRegion& region, const Lens& lens, const QColor& color)
{
    const Rect* formal = nullptr;
    const Rect* result = nullptr; // the leftmost of their rows
    for (const LoopBinding& binding : region.bindings) {
        if (binding.formal >= 0 && (!formal || node(binding.formal).rect.x < formal->x)) formal = &node(binding.formal).rect;
        if (binding.result >= 0 && (!result || node(binding.result).rect.x < result->x)) result = &node(binding.result).rect;
    }
    if (!formal || !result || m_scene.view.leftToRight) return;
    const double x = region.rect.x + 8;
    const std::vector<Point> line{
        {result->x, result->center().y}, {x, result->center().y}, {x, formal->center().y}, {formal->x, formal->center().y}};
    painter.setPen(QPen(color, 3 * lens.stroke() * std::min(1.0, std::max(0.5, lens.zoom))));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(roundedPath(line, lens, 3 * lens.zoom));
    paintArrow(painter, lens.map(line[2]), lens.map(line[3]), color, 1.4 * std::max(0.7, lens.zoom));
    if (lens.level < 3) return;
    const Label& label = m_labels.label(QStringLiteral("%L1 variables").arg(region.foldedRails), Face::index);
    if (result->y - formal->bottom() < label.width + 20) return;
    painter.save();
    painter.translate(lens.map(Point{x + 9, (result->y + formal->bottom()) / 2}));
    painter.rotate(-90);
    drawLabelIn(painter, label, QRectF(-60 * lens.zoom, -7 * lens.zoom, 120 * lens.zoom, 14 * lens.zoom), Qt::AlignHCenter,
                themed(Token::text2), lens.zoom);
    painter.restore();
}

void ScenePainter::paintRail(QPainter& painter, int index, size_t which, const Lens& lens)
{
    const SceneRegion& region = m_scene.regions[static_cast<size_t>(index)];
    const LoopBinding& binding = region.bindings[which];
    if (binding.rail.size() < 2) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(themed(Token::accent), 2 * lens.stroke()));
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(roundedPath(binding.rail, lens, 2 * lens.zoom));
    paintArrow(painter, lens.map(binding.rail[binding.rail.size() - 2]), lens.map(binding.rail.back()), themed(Token::accent),
               1.3 * std::max(0.7, lens.zoom));
    if (lens.level < 3) return;
    // The longest upright stretch carries the words.
    size_t longest = 0;
    double length = 0;
    for (size_t k = 1; k < binding.rail.size(); ++k) {
        const double here =
            std::abs(binding.rail[k].x - binding.rail[k - 1].x) < 0.5 ? std::abs(binding.rail[k].y - binding.rail[k - 1].y) : 0;
        if (here <= length) continue;
        length = here;
        longest = k;
    }
    const QString words = QStringLiteral("feedback %1 → %2").arg(which).arg(QString::fromStdString(binding.variable));
    const Label& label = m_labels.label(words, Face::index);
    if (longest == 0 || length < label.width + 20) return;
    const Point middle{binding.rail[longest].x, (binding.rail[longest].y + binding.rail[longest - 1].y) / 2};
    painter.save();
    painter.translate(lens.map(middle));
    painter.rotate(-90);
    const QRectF area(-(label.width / 2 + 4) * lens.zoom, -7 * lens.zoom, (label.width + 8) * lens.zoom, 14 * lens.zoom);
    painter.fillRect(area, themed(Token::raised));
    drawLabelIn(painter, label, area, Qt::AlignHCenter, themed(Token::accent), lens.zoom);
    painter.restore();
}

void ScenePainter::paintHead(QPainter& painter, int index, const Rect& place, const Lens& lens, int64_t dragged)
{
    const SceneRegion& region = m_scene.regions[static_cast<size_t>(index)];
    RegionState state = m_state.regions[static_cast<size_t>(index)];
    if (dragged >= 0) state.iteration = dragged;
    const RegionColors c = colorsOf(region, state);
    const double z = lens.zoom;
    const double s = lens.stroke();
    const QRectF box = lens.snapped(place);
    painter.setRenderHint(QPainter::Antialiasing);
    const bool isGroup = region.kind == RegionKind::group;
    const bool isSide = region.kind == RegionKind::branch && !region.role.empty();
    if (!isGroup && !isSide) {
        painter.setPen(QPen(c.outline, lens.level >= 2 ? c.width : 1));
        painter.setBrush(themed(Token::window));
        const double radius = lens.level >= 2 ? 4 * z : 0;
        painter.drawRoundedRect(box.adjusted(0.75, 0.75, -0.75, -0.75), radius, radius);
    }
    if (isGroup || isSide) // edges that cross a head pass behind it
        painter.fillRect(box.adjusted(2, 2, -2, 0), themed(state.run == RunState::untaken ? Token::deadWeak : Token::raised));
    if (box.height() < kLeastLine) return;
    if (kHeadSize * z < kSmallestHead) return paintHeadName(painter, index, lens, box, isSide ? c.outline : c.name);
    const auto color = [](Token token) { return themed(token); };
    const auto at = [&](double x) { return x * z; };
    const auto words = [&](const QString& text, Face face, double x, const QColor& ink) {
        const Label& label = m_labels.label(text, face);
        drawLabelIn(painter, label, QRectF(at(x), box.y(), 0, box.height()), Qt::AlignLeft, ink, z);
        return label.width;
    };
    if (isGroup) {
        const QPointF tip(at(place.x + 8.5), box.center().y() + 2 * z);
        const QPointF arrow[] = {tip, tip + QPointF(-3.5 * z, -4 * z), tip + QPointF(3.5 * z, -4 * z)};
        painter.setPen(Qt::NoPen);
        painter.setBrush(color(Token::text2));
        painter.drawPolygon(arrow, 3);
        const double name = words(QString::fromStdString(region.name), Face::group, place.x + 16, color(Token::text));
        words(QString::fromStdString(region.note), Face::index, place.x + 16 + name + 10, color(Token::text3));
        return;
    }
    if (const char* icon = iconOf(region.kind)) {
        const int size = std::max(8, qRound(16 * z));
        const QColor ink = isSide ? c.outline : themed(Family::controlFlow);
        painter.drawPixmap(QPointF(std::round(at(place.x + 8)), std::round(box.center().y() - size / 2.0)),
                           iconPixmap(QString::fromLatin1(icon), size, ink, lens.ratio));
    }
    const LoopHead head = layOutHead(region, place, state, m_labels);
    const double name = words(headName(region), Face::head, head.nameX, isSide ? c.outline : c.name);
    if (!region.index.empty()) words(QString::fromStdString(region.index), Face::head, head.nameX + name + 4, color(Token::text3));
    if (!head.note.isEmpty()) words(head.note, Face::name, head.noteX, color(Token::text2));
    if (!head.caption.isEmpty() && !head.isEmpty()) words(head.caption, Face::name, head.captionX, color(Token::text2));

    for (size_t i = 0; i < head.chips.size(); ++i) {
        const IterationChip& chip = state.chips[i];
        const QRectF area = lens.snapped(head.chips[i]);
        const bool chosen = chip.state == ChipState::chosen;
        const bool flight = chip.state == ChipState::inFlight;
        painter.setPen(QPen(color(chosen ? Token::accent : flight ? Token::ok : Token::line), s));
        painter.setBrush(color(chosen ? Token::accent : flight ? Token::okWeak : Token::surface));
        painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 2 * z, 2 * z);
        drawLabelIn(painter, m_labels.label(QString::number(chip.iteration), Face::mono), area, Qt::AlignHCenter,
                    color(chosen ? Token::onAccent : Token::text), z);
    }
    if (head.field.width == 0) return;
    const QRectF field = lens.snapped(head.field);
    const bool known = state.iteration.has_value();
    painter.setPen(QPen(color(known ? Token::accent : Token::line), s));
    painter.setBrush(color(Token::surface));
    painter.drawRoundedRect(field.adjusted(0.5, 0.5, -0.5, -0.5), 2 * z, 2 * z);
    drawLabelIn(painter, m_labels.label(known ? QString::number(*state.iteration) : QStringLiteral("–"), Face::mono), field,
                Qt::AlignHCenter, color(known ? Token::text : Token::text3), z * 1.1);
    if (!head.total.isEmpty()) words(head.total, Face::name, head.totalX, color(Token::text2));
    if (head.slider.width > 0) {
        const double y = box.center().y();
        const QPointF left(at(head.slider.x), y);
        const QPointF right(at(head.slider.right()), y);
        painter.setPen(QPen(color(Token::line2), 3 * s, Qt::SolidLine, Qt::RoundCap));
        painter.drawLine(left, right);
        if (const double share = shareOfKnown(state); share < 1) { // the end is not known: hatched
            const QPointF from = left + (right - left) * share;
            painter.setPen(QPen(color(Token::window), 5 * s, Qt::SolidLine, Qt::FlatCap));
            painter.drawLine(from, right + QPointF(3, 0));
            painter.setPen(QPen(color(Token::line2), s));
            for (double x = from.x(); x < right.x(); x += 4 * z) painter.drawLine(QPointF(x, y + 3 * z), QPointF(x + 4 * z, y - 3 * z));
        }
        if (known) {
            const QPointF knob = left + (right - left) * sliderPosition(state, *state.iteration);
            painter.setPen(QPen(color(Token::accent), 3 * s, Qt::SolidLine, Qt::RoundCap));
            painter.drawLine(left, knob);
            painter.setPen(QPen(color(Token::accent), 2 * s));
            painter.setBrush(color(Token::surface));
            painter.drawEllipse(knob, 6 * z, 6 * z);
        }
        if (state.newest >= 0) { // a mark below the track for each iteration in flight, as many as there is room for
            const auto step = std::max<int64_t>(1, static_cast<int64_t>(3 * static_cast<double>(state.newest + 1) / head.slider.width));
            painter.setPen(QPen(color(Token::ok), 2 * s, Qt::SolidLine, Qt::FlatCap));
            for (int64_t k = state.oldest; k <= state.newest; k += step) {
                const QPointF mark = left + (right - left) * sliderPosition(state, k) + QPointF(0, 7 * z);
                painter.drawLine(mark, mark + QPointF(0, 4 * z));
            }
        }
    }
    if (head.condition.width > 0) {
        const QRectF chip = lens.snapped(head.condition);
        painter.setPen(QPen(color(Token::line), s));
        painter.setBrush(color(Token::surface));
        painter.drawRoundedRect(chip.adjusted(0.5, 0.5, -0.5, -0.5), 3 * z, 3 * z);
        // "cond" in text, what follows in grey.
        const qsizetype blank = head.conditionText.indexOf(QLatin1Char(' '));
        const double first = words(head.conditionText.left(blank < 0 ? head.conditionText.size() : blank + 1), Face::name,
                                   head.condition.x + 8, color(Token::text));
        if (blank >= 0) words(head.conditionText.mid(blank + 1), Face::name, head.condition.x + 8 + first, color(Token::text3));
        if (!state.condition.empty())
            drawLabelIn(painter, m_labels.label(QString::fromStdString(state.condition), Face::mono), chip.adjusted(0, 0, -8 * z, 0),
                        Qt::AlignRight, color(state.condition.ends_with("false") ? Token::text2 : Token::ok), z);
    }
}

/// Where a whole head would be too small to read, its name stays, not smaller than that.
void ScenePainter::paintHeadName(QPainter& painter, int index, const Lens& lens, const QRectF& box, const QColor& color)
{
    const SceneRegion& region = m_scene.regions[static_cast<size_t>(index)];
    const double scale = kSmallestHead / kHeadSize;
    double left = box.left() + 4;
    if (const char* icon = iconOf(region.kind)) {
        const int size = std::min(10, static_cast<int>(box.height()) - 2);
        const bool isSide = region.kind == RegionKind::branch && !region.role.empty();
        painter.drawPixmap(QPointF(std::round(left), std::round(box.center().y() - size / 2.0)),
                           iconPixmap(QString::fromLatin1(icon), size, isSide ? color : themed(Family::controlFlow), lens.ratio));
        left += size + 3;
    }
    const double room = (box.right() - 4 - left) / scale;
    if (room < 12) return;
    const Face face = region.kind == RegionKind::group ? Face::group : Face::head;
    const Label& name = m_labels.label(headName(region), face, room);
    drawLabelIn(painter, name, QRectF(left, box.y(), 0, box.height()), Qt::AlignLeft, color, scale);
    if (region.index.empty() || name.isElided) return;
    const Label& number = m_labels.label(QString::fromStdString(region.index), Face::head);
    if (name.width + 4 + number.width > room) return;
    drawLabelIn(painter, number, QRectF(left + (name.width + 4) * scale, box.y(), 0, box.height()), Qt::AlignLeft, themed(Token::text3),
                scale);
}

void ScenePainter::paintStill(QPainter& painter, const Rect& area, const Lens& lens)
{
    constexpr double reach = 16; // arrows, rings and second outlines beyond their node
    constexpr double side = 150; // shapes, badges and chips beside it
    const Rect near{area.x - reach, area.y - reach, area.width + 2 * reach, area.height + 2 * reach};
    const Rect far{area.x - side, near.y, area.width + 2 * side, near.height};
    std::vector<int> items;
    for (size_t i = 0; i < m_scene.regions.size(); ++i)
        if (m_scene.regions[i].rect.intersects(near)) paintRegion(painter, static_cast<int>(i), lens);
    if (lens.level == 0) {
        m_index.nodesIn(near, items);
        paintBlocks(painter, near, lens, items);
        return;
    }
    m_index.edgesIn(near, items);
    if (lens.level < 3) {
        paintEdgeLines(painter, lens, items);
    } else {
        for (const int edge : items) paintEdge(painter, edge, lens, EdgeLook::plain);
    }
    for (size_t i = 0; i < m_scene.regions.size(); ++i)
        if (const Rect& head = m_scene.regions[i].head; head.intersects(near)) paintHead(painter, static_cast<int>(i), head, lens);
    m_index.nodesIn(lens.level >= 3 ? far : near, items);
    painter.setRenderHint(QPainter::Antialiasing, lens.level >= 3);
    for (const int i : items)
        if (node(i).rect.intersects(near) || hasSideText(i)) {
            painter.setRenderHint(QPainter::Antialiasing, lens.level >= 3);
            paintNode(painter, i, lens, {});
        }
}

int detailLevel(double zoom, int before)
{
    static constexpr double thresholds[] = {0.15, 0.4, 0.75, 1.5};
    int level = 0;
    for (int i = 0; i < 4; ++i) {
        // Leaving the level so far takes 5 % more, in either direction.
        const double margin = before < 0 ? 1 : before > i ? 0.95 : 1.05;
        if (zoom >= thresholds[i] * margin - 1e-9) level = i + 1;
    }
    return level;
}

} // namespace loopscope::viewer
