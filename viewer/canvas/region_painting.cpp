// Regions: loops with their binding rows and rails, branches, calls, v1 frames, opened groups.
#include "viewer/canvas/loop_head.h"
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

/// Paints the head of one region as large as it is: what layOutHead() placed, in the colours of its state.
class HeadPainter {
public:
    HeadPainter(QPainter& painter, const SceneRegion& region, const RegionState& state, const Rect& place, const Lens& lens,
                LabelCache& labels)
        : m_painter(painter),
          m_region(region),
          m_state(state),
          m_place(place),
          m_lens(lens),
          m_labels(labels),
          m_colors(colorsOf(region, state)),
          m_box(lens.snapped(place)),
          m_zoom(lens.zoom),
          m_stroke(lens.stroke())
    {
    }
    /// Of a side in the colour of its state; the family's is an outline's, too pale to be read.
    QColor nameColor() const { return isSide() && m_colors.outline != themed(Family::controlFlow) ? m_colors.outline : m_colors.name; }
    void paintGround();
    void paintGroup();
    void paint();

private:
    bool isSide() const { return m_region.kind == RegionKind::branch && !m_region.role.empty(); } ///< of a branch
    double at(double x) const { return x * m_zoom; }
    double words(const QString& text, Face face, double x, const QColor& ink);
    double words(const std::string& text, Face face, double x, const QColor& ink)
    {
        return words(QString::fromStdString(text), face, x, ink);
    }
    /// A small box with round corners; returns where it is.
    QRectF chip(const Rect& place, const QColor& outline, const QColor& ground, double radius);
    void paintIcon();
    void paintName();
    void paintChips();
    void paintField();
    void paintSlider();
    void paintTrack(QPointF left, QPointF right);
    void paintCondition();
    void paintWhy();

    QPainter& m_painter;
    const SceneRegion& m_region;
    const RegionState& m_state;
    const Rect m_place;
    const Lens& m_lens;
    LabelCache& m_labels;
    const RegionColors m_colors;
    const QRectF m_box;
    const double m_zoom, m_stroke;
    LoopHead m_head;
};

void HeadPainter::paintGround()
{
    m_painter.setRenderHint(QPainter::Antialiasing);
    if (m_region.kind == RegionKind::group || isSide()) { // edges that cross a head pass behind it
        m_painter.fillRect(m_box.adjusted(2, 2, -2, 0), themed(m_state.run == RunState::untaken ? Token::deadWeak : Token::raised));
        return;
    }
    m_painter.setPen(QPen(m_colors.outline, m_lens.level >= 2 ? m_colors.width : 1));
    m_painter.setBrush(themed(Token::window));
    const double radius = m_lens.level >= 2 ? 4 * m_zoom : 0;
    m_painter.drawRoundedRect(m_box.adjusted(0.75, 0.75, -0.75, -0.75), radius, radius);
}

double HeadPainter::words(const QString& text, Face face, double x, const QColor& ink)
{
    const Label label = m_labels.label(text, face);
    drawLabelIn(m_painter, label, QRectF(at(x), m_box.y(), 0, m_box.height()), Qt::AlignLeft, ink, m_zoom);
    return label.width;
}

QRectF HeadPainter::chip(const Rect& place, const QColor& outline, const QColor& ground, double radius)
{
    const QRectF area = m_lens.snapped(place);
    m_painter.setPen(QPen(outline, m_stroke));
    m_painter.setBrush(ground);
    m_painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), radius * m_zoom, radius * m_zoom);
    return area;
}

void HeadPainter::paintGroup()
{
    const QPointF tip(at(m_place.x + 8.5), m_box.center().y() + 2 * m_zoom);
    const QPointF arrow[] = {tip, tip + QPointF(-3.5 * m_zoom, -4 * m_zoom), tip + QPointF(3.5 * m_zoom, -4 * m_zoom)};
    m_painter.setPen(Qt::NoPen);
    m_painter.setBrush(themed(Token::text2));
    m_painter.drawPolygon(arrow, 3);
    const double name = words(m_region.name, Face::group, m_place.x + 16, themed(Token::text));
    words(m_region.note, Face::index, m_place.x + 16 + name + 10, themed(Token::text3));
}

void HeadPainter::paint()
{
    paintIcon();
    m_head = layOutHead(m_region, m_place, m_state, m_labels);
    paintName();
    paintChips();
    if (m_head.why.width > 0) paintWhy();
    if (m_head.field.width == 0) return;
    paintField();
    if (m_head.slider.width > 0) paintSlider();
    if (m_head.condition.width > 0) paintCondition();
}

void HeadPainter::paintIcon()
{
    const char* const icon = iconOf(m_region.kind);
    if (!icon) return;
    const int size = std::max(8, qRound(16 * m_zoom));
    m_painter.drawPixmap(
        QPointF(std::round(at(m_place.x + 8)), std::round(m_box.center().y() - size / 2.0)),
        iconPixmap(QString::fromLatin1(icon), size, isSide() ? m_colors.outline : themed(Family::controlFlow), m_lens.ratio));
}

void HeadPainter::paintName()
{
    const double name = words(headName(m_region), Face::head, m_head.nameX, nameColor());
    if (!m_region.index.empty()) words(m_region.index, Face::head, m_head.nameX + name + 4, themed(Token::text3));
    if (!m_head.note.isEmpty()) words(m_head.note, Face::name, m_head.noteX, themed(Token::text2));
    if (!m_head.caption.isEmpty() && !m_head.isEmpty()) words(m_head.caption, Face::name, m_head.captionX, themed(Token::text2));
}

void HeadPainter::paintChips()
{
    for (size_t i = 0; i < m_head.chips.size(); ++i) {
        const IterationChip& shown = m_state.chips[i];
        const bool chosen = shown.state == ChipState::chosen, flight = shown.state == ChipState::inFlight;
        const QRectF area = chip(m_head.chips[i],
                                 themed(chosen   ? Token::accent
                                        : flight ? Token::ok
                                                 : Token::line),
                                 themed(chosen   ? Token::accent
                                        : flight ? Token::okWeak
                                                 : Token::surface),
                                 2);
        drawLabelIn(m_painter, m_labels.label(QString::number(shown.iteration), Face::mono), area, Qt::AlignHCenter,
                    themed(chosen ? Token::onAccent : Token::text), m_zoom);
    }
}

/// The iteration's number, and of how many.
void HeadPainter::paintField()
{
    const bool known = m_state.iteration.has_value();
    const QRectF field = chip(m_head.field, themed(known ? Token::accent : Token::line), themed(Token::surface), 2);
    drawLabelIn(m_painter, m_labels.label(known ? QString::number(*m_state.iteration) : QStringLiteral("–"), Face::mono), field,
                Qt::AlignHCenter, themed(known ? Token::text : Token::text3), m_zoom * 1.1);
    if (!m_head.total.isEmpty()) words(m_head.total, Face::name, m_head.totalX, themed(Token::text2));
}

void HeadPainter::paintTrack(QPointF left, QPointF right)
{
    m_painter.setPen(QPen(themed(Token::line2), 3 * m_stroke, Qt::SolidLine, Qt::RoundCap));
    m_painter.drawLine(left, right);
    const double share = shareOfKnown(m_state);
    if (share >= 1) return;
    // The end is not known: hatched.
    const QPointF from = left + (right - left) * share;
    m_painter.setPen(QPen(themed(Token::window), 5 * m_stroke, Qt::SolidLine, Qt::FlatCap));
    m_painter.drawLine(from, right + QPointF(3, 0));
    m_painter.setPen(QPen(themed(Token::line2), m_stroke));
    const double y = left.y(), tall = 3 * m_zoom;
    for (double x = from.x(); x < right.x(); x += 4 * m_zoom) m_painter.drawLine(QPointF(x, y + tall), QPointF(x + 4 * m_zoom, y - tall));
}

void HeadPainter::paintSlider()
{
    const double y = m_box.center().y();
    const QPointF left(at(m_head.slider.x), y), right(at(m_head.slider.right()), y);
    paintTrack(left, right);
    if (m_state.iteration) {
        const QPointF knob = left + (right - left) * sliderPosition(m_state, *m_state.iteration);
        m_painter.setPen(QPen(themed(Token::accent), 3 * m_stroke, Qt::SolidLine, Qt::RoundCap));
        m_painter.drawLine(left, knob);
        m_painter.setPen(QPen(themed(Token::accent), 2 * m_stroke));
        m_painter.setBrush(themed(Token::surface));
        m_painter.drawEllipse(knob, 6 * m_zoom, 6 * m_zoom);
    }
    if (m_state.newest < 0) return;
    // A mark below the track for each iteration in flight, as many as there is room for.
    const auto step = std::max<int64_t>(1, static_cast<int64_t>(3 * static_cast<double>(m_state.newest + 1) / m_head.slider.width));
    m_painter.setPen(QPen(themed(Token::ok), 2 * m_stroke, Qt::SolidLine, Qt::FlatCap));
    for (int64_t k = m_state.oldest; k <= m_state.newest; k += step) {
        const QPointF mark = left + (right - left) * sliderPosition(m_state, k) + QPointF(0, 7 * m_zoom);
        m_painter.drawLine(mark, mark + QPointF(0, 4 * m_zoom));
    }
}

void HeadPainter::paintWhy()
{
    const QRectF area = chip(m_head.why, themed(Token::line2), themed(Token::surface), 8);
    drawLabelIn(m_painter, m_labels.label(m_head.whyText, Face::name), area, Qt::AlignHCenter, themed(Token::accent), m_zoom);
}

/// "cond" in text, what follows in grey, then what it gave.
void HeadPainter::paintCondition()
{
    const QRectF area = chip(m_head.condition, themed(Token::line), themed(Token::surface), 3);
    const QString& text = m_head.conditionText;
    const qsizetype blank = text.indexOf(QLatin1Char(' '));
    const double left = m_head.condition.x + 8;
    const double first = words(text.left(blank < 0 ? text.size() : blank + 1), Face::name, left, themed(Token::text));
    if (blank >= 0) words(text.mid(blank + 1), Face::name, left + first, themed(Token::text3));
    if (m_state.condition.empty()) return;
    drawLabelIn(m_painter, m_labels.label(QString::fromStdString(m_state.condition), Face::mono), area.adjusted(0, 0, -8 * m_zoom, 0),
                Qt::AlignRight, themed(m_state.condition.ends_with("false") ? Token::text2 : Token::ok), m_zoom);
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
    const Label label = m_labels.label(QStringLiteral("%L1 variables").arg(region.foldedRails), Face::index);
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
    const Label label = m_labels.label(words, Face::index);
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
    HeadPainter head(painter, region, state, place, lens, m_labels);
    head.paintGround();
    if (lens.snapped(place).height() < kLeastLine) return;
    if (kHeadSize * lens.zoom < kSmallestHead) return paintHeadName(painter, index, lens, lens.snapped(place), head.nameColor());
    if (region.kind == RegionKind::group) head.paintGroup();
    else head.paint();
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
    const Label name = m_labels.label(headName(region), face, room);
    drawLabelIn(painter, name, QRectF(left, box.y(), 0, box.height()), Qt::AlignLeft, color, scale);
    if (region.index.empty() || name.isElided) return;
    const Label number = m_labels.label(QString::fromStdString(region.index), Face::head);
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
