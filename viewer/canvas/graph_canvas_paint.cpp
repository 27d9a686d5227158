// One frame: tiles of the still picture, then what is emphasised, then cards and legends that do not move with the graph.
#include "viewer/canvas/graph_canvas.h"

#include "viewer/canvas/minimap.h"
#include "viewer/style/theme.h"

#include <QPaintEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kBleed = 150;     ///< how far a node's side text and chips reach, scene units
constexpr qint64 kZoomPause = 120; ///< ms; while zooming, tiles would be thrown away unused

QString typeText(const SceneNode& node) { return QString::fromStdString(node.shape); }

} // namespace

ScenePainter GraphCanvas::painterFor() const
{
    return {*m_scene, m_labels, m_state, Theme::instance().name() == ThemeName::highContrast, m_model};
}

void GraphCanvas::paintEvent(QPaintEvent* event)
{
    QPainter painter(this);
    painter.fillRect(event->rect(), themed(Token::surface));
    if (m_scene) {
        const double ratio = painter.device()->devicePixelRatioF();
        if (m_ratio != ratio) m_tiles.clear();
        m_ratio = ratio;
        paintTiles(painter, event->rect());
        painter.save();
        painter.translate(-m_origin);
        paintEmphasis(painter);
        painter.restore();
        paintHits(painter);
        paintStuckHeads(painter);
        if (m_legend) paintLegend(painter);
        paintCards(painter);
    }
    if (scene() && scene()->nodes.empty()) {
        painter.setFont(Theme::instance().font(FontUse::body));
        painter.setPen(themed(Token::text3));
        painter.drawText(rect(), Qt::AlignCenter, tr("This subgraph has no operators; it returns its arguments."));
    }
    if (m_drag == Drag::rubber || m_drag == Drag::zoomRange) {
        QColor fill = themed(Token::accent);
        fill.setAlphaF(0.12F);
        painter.setPen(QPen(themed(Token::accent), 1, m_drag == Drag::rubber ? Qt::SolidLine : Qt::DashLine));
        painter.setBrush(fill);
        painter.drawRect(QRectF(m_pressed, m_dragTo).normalized());
    }
    if (m_progress >= 0) {
        painter.fillRect(QRectF(0, 0, width(), 2), themed(Token::line));
        painter.fillRect(QRectF(0, 0, std::max(12.0, width() * m_progress), 2), themed(Token::accent));
    }
    if (m_keyboardFocus && m_selectedNodes.empty() && m_selectedRegion < 0) {
        painter.setPen(QPen(themed(Token::text), 2, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(2, 2, -2, -2));
    }
}

void GraphCanvas::paintStillInto(QPainter& painter, const Rect& area) { painterFor().paintStill(painter, area, lens()); }

void GraphCanvas::paintTiles(QPainter& painter, const QRect& dirty)
{
    const QRectF wanted = QRectF(dirty).translated(m_origin);
    if (m_sinceZoom.isValid() && m_sinceZoom.elapsed() < kZoomPause) {
        painter.save();
        painter.setClipRect(dirty);
        painter.translate(-m_origin);
        paintStillInto(painter, {wanted.x() / m_zoom, wanted.y() / m_zoom, wanted.width() / m_zoom, wanted.height() / m_zoom});
        painter.restore();
        return;
    }
    const auto cell = [](double v) { return static_cast<int>(std::floor(v / TileCache::kSize)); };
    for (int y = cell(wanted.top()); y <= cell(wanted.bottom() - 0.01); ++y)
        for (int x = cell(wanted.left()); x <= cell(wanted.right() - 0.01); ++x) {
            const QPixmap& tile = m_tiles.tile({x, y}, m_ratio, [this](QPainter& into, const QRectF& area) {
                into.fillRect(area, themed(Token::surface));
                paintStillInto(into, {area.x() / m_zoom, area.y() / m_zoom, area.width() / m_zoom, area.height() / m_zoom});
            });
            painter.drawPixmap(QPointF(x * TileCache::kSize, y * TileCache::kSize) - m_origin, tile);
        }
}

std::vector<int> GraphCanvas::emphasizedEdges(bool selected) const
{
    std::set<int> edges;
    const SceneIndex& index = m_scene->index;
    const auto addNet = [&](int edge) {
        for (const int one : index.netOf(edge)) edges.insert(one);
    };
    if (selected) {
        if (m_selectedEdge >= 0) addNet(m_selectedEdge);
        for (const int node : m_selectedNodes)
            for (const int edge : index.outOf(node)) edges.insert(edge);
    } else {
        if (m_hoverEdge >= 0) addNet(m_hoverEdge);
        if (m_hoverNode >= 0)
            for (const int edge : index.outOf(m_hoverNode)) edges.insert(edge);
    }
    // A net of hundreds of ends is lit as far as it is in view.
    return {edges.begin(), edges.end()};
}

void GraphCanvas::paintEmphasis(QPainter& painter)
{
    ScenePainter scene = painterFor();
    const Lens l = lens();
    const QRectF seen = sceneInView();
    const Rect area{seen.x() - kBleed, seen.y() - 24, seen.width() + 2 * kBleed, seen.height() + 48};
    const auto inView = [&](int node) { return this->scene()->nodes[static_cast<size_t>(node)].rect.intersects(area); };
    std::set<int> again; // nodes to be drawn over the lines

    const auto railOf = [&](int edge) {
        const bool isRail = edge >= 0 && this->scene()->edges[static_cast<size_t>(edge)].style == EdgeStyle::feedback;
        return bindingOf(isRail ? this->scene()->edges[static_cast<size_t>(edge)].to : -1);
    };
    const std::pair<int, size_t> rails[] = {bindingOf(m_hoverNode), bindingOf(currentNode()), railOf(m_hoverEdge), railOf(m_selectedEdge)};
    for (const auto& [region, which] : rails)
        if (region >= 0) scene.paintRail(painter, region, which, l);

    for (const bool selected : {false, true})
        for (const int edge : emphasizedEdges(selected)) {
            const SceneEdge& one = this->scene()->edges[static_cast<size_t>(edge)];
            scene.paintEdge(painter, edge, l, selected ? EdgeLook::selected : EdgeLook::hovered);
            for (const int end : {one.from, one.to})
                if (end >= 0 && inView(end)) again.insert(end);
        }
    for (const int node : m_traced)
        if (inView(node)) again.insert(node);
    for (const int node : m_selectedNodes)
        if (inView(node)) again.insert(node);
    if (m_hoverNode >= 0) again.insert(m_hoverNode);
    // An emphasised line passes behind heads.
    for (size_t i = 0; i < this->scene()->regions.size(); ++i) {
        const SceneRegion& region = this->scene()->regions[i];
        const bool dragged = draggedIteration(static_cast<int>(i)) >= 0;
        if (!dragged && (again.empty() || region.kind == RegionKind::group)) continue;
        if (region.head.intersects(area))
            scene.paintHead(painter, static_cast<int>(i), region.head, l, draggedIteration(static_cast<int>(i)));
    }
    if (m_selectedRegion >= 0) {
        const SceneRegion& region = this->scene()->regions[static_cast<size_t>(m_selectedRegion)];
        const QRectF head = l.snapped(region.head);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(themed(Token::accent), 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(head.adjusted(1, 1, -1, -1), 3, 3);
        if (m_keyboardFocus) {
            QPen ring(themed(Token::text), 2);
            ring.setDashPattern({1, 1.5});
            painter.setPen(ring);
            painter.drawRoundedRect(head.adjusted(-3, -3, 3, 3), 4, 4);
        }
    }
    for (const int node : again) {
        NodeLook look;
        look.hovered = node == m_hoverNode;
        look.highlighted = m_traced.contains(node);
        look.selected = std::ranges::find(m_selectedNodes, node) != m_selectedNodes.end();
        look.focused = m_keyboardFocus && node == currentNode();
        scene.paintNode(painter, node, l, look);
    }
    if (l.level >= 4)
        scene.paintDetails(painter, {seen.x(), seen.y(), seen.width(), seen.height()}, l, m_values,
                           m_valueCard.lines.isEmpty() ? -1 : currentNode());
    if (l.level >= 2) paintTokens(painter, scene);
}

void GraphCanvas::paintTokens(QPainter& painter, ScenePainter&)
{
    for (const TokenChip& chip : m_state.tokens) {
        const SceneEdge& edge = scene()->edges[static_cast<size_t>(chip.edge)];
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
        const Label& label = m_labels.label(QString::fromStdString(chip.text), Face::mono);
        const Point middle{(edge.points[longest].x + edge.points[longest - 1].x) / 2,
                           (edge.points[longest].y + edge.points[longest - 1].y) / 2};
        const double w = label.width + 14;
        const QRectF box((middle.x - w / 2) * m_zoom, (middle.y - 8) * m_zoom, w * m_zoom, 16 * m_zoom);
        painter.setRenderHint(QPainter::Antialiasing);
        QPen pen(themed(chip.isDead ? Token::dead : Token::curLine), 1);
        if (chip.isDead) pen.setDashPattern({3, 3});
        painter.setPen(pen);
        painter.setBrush(themed(chip.isDead ? Token::deadWeak : Token::cur));
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2);
        drawLabelIn(painter, label, box, Qt::AlignHCenter, themed(chip.isDead ? Token::dead : Token::curText), m_zoom);
    }
}

/// Counts of search hits beside what holds them: a pill at its right; a dot beside a single operator.
void GraphCanvas::paintHits(QPainter& painter)
{
    painter.setRenderHint(QPainter::Antialiasing);
    const auto mark = [&](const QRectF& box, int count, bool isCounted) {
        if (!QRectF(rect()).adjusted(-60, -20, 60, 20).intersects(box)) return;
        painter.setPen(QPen(themed(Token::curLine), 1));
        painter.setBrush(themed(Token::cur));
        if (!isCounted) return painter.drawEllipse(QPointF(box.right() + 6, box.center().y()), 3.5, 3.5);
        const Label& label = m_labels.label(QStringLiteral("%L1").arg(count), Face::index);
        const QRectF pill(box.right() + 6, box.center().y() - 7, std::max(26.0, label.width + 12), 14);
        painter.drawRoundedRect(pill, 7, 7);
        drawLabelIn(painter, label, pill, Qt::AlignHCenter, themed(Token::curText));
    };
    for (const auto& [node, count] : m_hits)
        mark(nodeRect(node), count, count > 1 || scene()->nodes[static_cast<size_t>(node)].kind == NodeKind::group);
    if (m_level >= 3 && !m_portalHits.empty()) {
        ScenePainter chips = painterFor();
        std::set<std::pair<int, int32_t>> done; // a chip at a source stands for all edges of its net
        for (const auto& [index, hits] : m_portalHits) {
            const SceneEdge& edge = scene()->edges[static_cast<size_t>(index)];
            const bool isFirst = done.emplace(edge.from, edge.value.index).second;
            if (const auto chip = isFirst && hits.first > 0 ? chips.portalChip(index, true) : std::nullopt)
                mark(inWidget(*chip), hits.first, true);
            if (const auto chip = hits.second > 0 ? chips.portalChip(index, false) : std::nullopt)
                mark(inWidget({chip->x - 38 / m_zoom, chip->y, 0, chip->height}), hits.second, true); // towards the outside
        }
    }
    for (const auto& [region, count] : m_regionHits) mark(inWidget(scene()->regions[static_cast<size_t>(region)].head), count, true);
}

void GraphCanvas::paintLegend(QPainter& painter)
{
    if (width() < 640 || !m_model) return;
    std::array<int64_t, kFamilyCount> counts{};
    for (const SceneNode& node : scene()->nodes) {
        if (node.kind == NodeKind::op) ++counts[static_cast<size_t>(node.family)];
        if (node.kind != NodeKind::group) continue;
        if (node.members.size() == node.strip.size())
            for (const Family family : node.strip) ++counts[static_cast<size_t>(family)];
        else
            for (const OperatorId op : node.members) ++counts[static_cast<size_t>(familyOf(m_model->graph(node.graph).op(op).kind))];
    }
    const double right = m_minimap->isVisibleTo(this) && m_minimap->height() > 100 ? m_minimap->x() - 12 : width() - 8;
    const QRectF card(right - 148, 12, 148, 30 + 16.0 * kFamilyCount);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(themed(Token::line), 1));
    painter.setBrush(themed(Token::surface));
    painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    drawLabel(painter, m_labels.label(tr("Operator families"), Face::group), {card.x() + 10, card.y() + 17}, themed(Token::text));
    for (size_t i = 0; i < kFamilyCount; ++i) {
        const double y = card.y() + 27 + 16.0 * static_cast<double>(i);
        const QColor ink = themed(counts[i] > 0 ? Token::text : Token::text3);
        painter.fillRect(QRectF(card.x() + 10, y, 10, 10), themed(static_cast<Family>(i)));
        const std::string_view name = familyName(static_cast<Family>(i));
        drawLabel(painter, m_labels.label(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())), Face::name),
                  {card.x() + 26, y + 9}, ink);
        drawLabelIn(painter, m_labels.label(QStringLiteral("%L1").arg(counts[i]), Face::mono), QRectF(card.x(), y, card.width() - 10, 10),
                    Qt::AlignRight, ink);
    }
    if (m_hits.empty()) return;
    int groups = 0;
    int hits = 0;
    for (const auto& [node, count] : m_hits) {
        hits += count;
        groups += scene()->nodes[static_cast<size_t>(node)].kind == NodeKind::group;
    }
    const QRectF note(card.x(), card.bottom() + 12, 148, 42);
    painter.setPen(QPen(themed(Token::line), 1));
    painter.setBrush(themed(Token::surface));
    painter.drawRoundedRect(note.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    const QRectF pill(note.x() + 10, note.y() + 8, 26, 14);
    painter.setPen(QPen(themed(Token::curLine), 1));
    painter.setBrush(themed(Token::cur));
    painter.drawRoundedRect(pill, 7, 7);
    drawLabelIn(painter, m_labels.label(QStringLiteral("1"), Face::index), pill, Qt::AlignHCenter, themed(Token::curText));
    drawLabel(painter, m_labels.label(tr("search hits inside"), Face::name), {note.x() + 42, note.y() + 19}, themed(Token::text));
    const QString text = tr("%L1 hits, %L2 groups · F3 next").arg(hits).arg(groups);
    drawLabel(painter, m_labels.label(text, Face::index, 130), {note.x() + 10, note.y() + 36}, themed(Token::text3));
}

std::pair<int, size_t> GraphCanvas::bindingOf(int node) const
{
    if (node < 0 || !m_scene) return {-1, 0};
    const int region = scene()->nodes[static_cast<size_t>(node)].region;
    if (region < 0) return {-1, 0};
    const std::vector<LoopBinding>& bindings = scene()->regions[static_cast<size_t>(region)].bindings;
    for (size_t i = 0; i < bindings.size(); ++i)
        if (bindings[i].actual == node || bindings[i].formal == node || bindings[i].result == node) return {region, i};
    return {-1, 0};
}

/// Beside the node, where it covers the fewest others and least of the next operator.
QRectF GraphCanvas::placeCard(const QRectF& node, QSizeF size) const
{
    const QRectF room = QRectF(rect()).adjusted(4, stuckBottom() + 4, -4, -4);
    const QPointF places[] = {{node.right() + 12, node.top() - 4},
                              {node.left() - size.width() - 12, node.top() - 4},
                              {node.center().x() - size.width() / 2, node.bottom() + 10},
                              {node.right() + 12, node.bottom() + 8},
                              {node.left() - size.width() - 12, node.bottom() + 8},
                              {node.center().x() - size.width() / 2, node.top() - size.height() - 10}};
    QRectF best(places[0], size);
    int least = 1000;
    std::vector<int> near;
    for (const QPointF& place : places) {
        QRectF box(place, size);
        box.moveLeft(std::clamp(box.left(), room.left(), std::max(room.left(), room.right() - size.width())));
        box.moveTop(std::clamp(box.top(), room.top(), std::max(room.top(), room.bottom() - size.height())));
        if (box.intersects(node)) continue;
        const Point at = toScene(box.topLeft());
        m_scene->index.nodesIn({at.x, at.y, box.width() / m_zoom, box.height() / m_zoom}, near);
        int covered = 0;
        for (const int one : near) {
            if (!nodeRect(one).intersects(box)) continue;
            covered += m_state.nodes[static_cast<size_t>(one)].next ? 20 : 1;
        }
        if (!m_cardBox.isEmpty() && m_cardBox.intersects(box)) covered += 30;
        if (covered >= least) continue;
        least = covered;
        best = box;
    }
    return best;
}

void GraphCanvas::paintCard(QPainter& painter, const QRectF& box, const QString& title, const QString& type)
{
    QColor shadow = themed(Token::line2);
    shadow.setAlphaF(0.35F);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(shadow);
    painter.drawRoundedRect(box.translated(2, 2), 4, 4);
    painter.setPen(QPen(themed(Token::accent), 1));
    painter.setBrush(themed(Token::surface));
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    const Label& shape = m_labels.label(type, Face::mono);
    const bool oneLine = box.width() > 120;
    if (oneLine) drawLabelIn(painter, shape, QRectF(box.x() + 8, box.y() + 5, box.width() - 16, 16), Qt::AlignRight, themed(Token::text2));
    const double room = box.width() - 16 - (oneLine ? shape.width + 8 : 0);
    drawLabelIn(painter, m_labels.label(title, Face::group, room), QRectF(box.x() + 8, box.y() + 5, room, 16), Qt::AlignLeft,
                themed(Token::text));
}

/// What the card beside a pill lists: the way of its variable; of a pill of many, the variables with what the caller passes.
std::vector<GraphCanvas::CardRow> GraphCanvas::bindingRows(const SceneRegion& loop, size_t which, int subject) const
{
    constexpr size_t mostRows = 8;
    const Scene& now = *scene();
    const LoopBinding& binding = loop.bindings[which];
    const auto isHere = [&](const LoopBinding& one) { return one.formal == subject || one.result == subject; };
    const auto nodeWith = [&](GraphId graph, ValueId value, NodeKind kind) -> std::string {
        if (!value.valid()) return {};
        for (const SceneNode& node : now.nodes)
            if (node.kind == kind && node.graph == graph && node.value == value) return node.id;
        return {};
    };
    const auto producer = [&](GraphId graph, ValueId value) {
        const std::string op = nodeWith(graph, value, NodeKind::op);
        return op.empty() ? nodeWith(graph, value, NodeKind::input) : op;
    };
    std::vector<CardRow> rows;
    if (const auto all = static_cast<size_t>(std::ranges::count_if(loop.bindings, isHere)); all > 1) {
        for (const LoopBinding& one : loop.bindings) {
            if (!isHere(one)) continue;
            if (rows.size() == mostRows) {
                rows.push_back({tr("… %1 more").arg(all - mostRows), {}, {}});
                break;
            }
            rows.push_back(
                {QString::fromStdString(one.variable), QString::fromStdString(one.actualText), producer(loop.caller, one.actualValue)});
        }
        return rows;
    }
    const auto idOf = [&](int node) { return node < 0 ? std::string() : now.nodes[static_cast<size_t>(node)].id; };
    std::string feedback = nodeWith(loop.graph, binding.resultValue, NodeKind::op);
    if (feedback.empty()) feedback = idOf(binding.result);
    const bool isLoop = loop.kind == RegionKind::loop;
    rows.push_back({tr("actual"), QString::fromStdString(binding.actualText), producer(loop.caller, binding.actualValue)});
    rows.push_back({tr("formal"), QString::fromStdString(binding.formalText), idOf(binding.formal)});
    if (isLoop) rows.push_back({tr("feedback"), QString::fromStdString(binding.feedbackText), feedback});
    rows.push_back({isLoop ? tr("exit") : tr("result"), QString::fromStdString(binding.exitText),
                    binding.exitText.ends_with("unused") ? std::string() : loop.site});
    std::erase_if(rows, [](const CardRow& row) { return row.text.isEmpty(); });
    return rows;
}

void GraphCanvas::paintCards(QPainter& painter)
{
    m_cardLinks.clear();
    m_cardBox = {};
    if (m_level < 2 || m_drag != Drag::none) return;
    const Scene& now = *scene();
    const int subject = bindingOf(m_hoverNode).first >= 0 ? m_hoverNode : currentNode();
    if (const auto [region, which] = bindingOf(subject);
        region >= 0 && now.regions[static_cast<size_t>(region)].kind != RegionKind::group) {
        const SceneRegion& loop = now.regions[static_cast<size_t>(region)];
        const LoopBinding& binding = loop.bindings[which];
        const std::vector<CardRow> rows = bindingRows(loop, which, subject);
        const int anchor = binding.formal >= 0 ? binding.formal : subject;
        const QString type = typeText(now.nodes[static_cast<size_t>(anchor)]);
        const bool isOne = now.nodes[static_cast<size_t>(anchor)].value.valid();
        const QString title = QString::fromStdString(isOne ? binding.variable : now.nodes[static_cast<size_t>(anchor)].name);
        double wide = m_labels.width(title, Face::group) + m_labels.width(type, Face::mono) + 28;
        for (const CardRow& row : rows) wide = std::max(wide, 62 + m_labels.width(row.text, Face::mono) + 16);
        wide = std::clamp(wide, 162.0, 320.0);
        const QRectF box = placeCard(nodeRect(subject), {wide, 24 + 15.0 * static_cast<double>(rows.size()) + 2});
        paintCard(painter, box, title, type);
        m_cardBox = box;
        for (size_t i = 0; i < rows.size(); ++i) {
            const QRectF line(box.x() + 8, box.y() + 22 + 15.0 * static_cast<double>(i), box.width() - 16, 15);
            drawLabelIn(painter, m_labels.label(rows[i].name, Face::name), line, Qt::AlignLeft, themed(Token::text2));
            const Label& label = m_labels.label(rows[i].text, Face::mono, line.width() - 58);
            drawLabelIn(painter, label, line, Qt::AlignRight, themed(rows[i].target.empty() ? Token::text3 : Token::accent));
            if (!rows[i].target.empty()) m_cardLinks.emplace_back(line, rows[i].target);
        }
    }
    if (m_level < 3 || m_valueCard.lines.isEmpty() || currentNode() < 0) return;
    if (now.nodes[static_cast<size_t>(currentNode())].id != m_valueCard.address) return;
    const QRectF node = nodeRect(currentNode());
    if (!QRectF(rect()).intersects(node)) return;
    const bool isElsewhere = !m_valueCard.moment.isEmpty();
    const QString type = (isElsewhere ? m_valueCard.moment + QStringLiteral(" · ") : QString()) + m_valueCard.type;
    double wide = std::max(m_labels.width(m_valueCard.title, Face::group), m_labels.width(type, Face::mono)) + 16;
    for (const QString& line : m_valueCard.lines) wide = std::max(wide, m_labels.width(line, Face::mono) + 16);
    wide = std::clamp(wide, 70.0, isElsewhere ? 200.0 : 118.0);
    const QRectF box = placeCard(node, {wide, 24 + 11.0 * static_cast<double>(m_valueCard.lines.size() + 1) + 4});
    paintCard(painter, box, m_valueCard.title, {});
    drawLabelIn(painter, m_labels.label(type, Face::mono, wide - 16), QRectF(box.x() + 8, box.y() + 20, wide, 12), Qt::AlignLeft,
                themed(Token::text2));
    for (qsizetype i = 0; i < m_valueCard.lines.size(); ++i)
        drawLabelIn(painter, m_labels.label(m_valueCard.lines[i], isElsewhere ? Face::monoItalic : Face::mono, wide - 16),
                    QRectF(box.x() + 8, box.y() + 31 + 11.0 * static_cast<double>(i), wide, 12), Qt::AlignLeft,
                    themed(isElsewhere ? Token::text3 : Token::text));
}

} // namespace loopscope::viewer
