#include "viewer/canvas/canvas_cards.h"

#include "viewer/bridge/text.h"
#include "viewer/style/theme.h"

#include <QPainter>

#include <algorithm>
#include <utility>

namespace loopscope::viewer {

void CanvasCards::setValueCard(const ValueCard& card)
{
    if (card == m_valueCard) return;
    m_valueCard = card;
    m_canvas.update();
}

void CanvasCards::setCallout(const Callout& callout)
{
    if (callout == m_callout) return;
    m_callout = callout;
    m_canvas.update();
}

void CanvasCards::setOverlay(std::shared_ptr<const NodeOverlay> overlay)
{
    m_overlay = std::move(overlay);
    m_canvas.update();
}

std::string CanvasCards::linkAt(QPointF point) const
{
    for (const auto& [box, target] : m_links)
        if (box.contains(point)) return target;
    return {};
}

/// Beside the node, where it covers the fewest others and least of the next operator.
CanvasCards::Place CanvasCards::placeBeside(const QRectF& node, QSizeF size) const
{
    const QRectF room = m_camera.rect().adjusted(4, m_heads.bottom() + 4, -4, -4);
    const QPointF places[] = {{node.right() + 12, node.top() - 4},
                              {node.left() - size.width() - 12, node.top() - 4},
                              {node.center().x() - size.width() / 2, node.bottom() + 10},
                              {node.right() + 12, node.bottom() + 8},
                              {node.left() - size.width() - 12, node.bottom() + 8},
                              {node.center().x() - size.width() / 2, node.top() - size.height() - 10}};
    Place best{QRectF(places[0], size), 1000};
    std::vector<int> near;
    for (const QPointF& place : places) {
        QRectF box(place, size);
        box.moveLeft(std::clamp(box.left(), room.left(), std::max(room.left(), room.right() - size.width())));
        box.moveTop(std::clamp(box.top(), room.top(), std::max(room.top(), room.bottom() - size.height())));
        if (box.intersects(node)) continue;
        const Point at = m_camera.toScene(box.topLeft());
        m_picture.index().nodesIn({at.x, at.y, box.width() / m_camera.zoom(), box.height() / m_camera.zoom()}, near);
        int covered = 0;
        for (const int one : near) {
            if (!m_camera.nodeRect(one).intersects(box)) continue;
            covered += m_picture.stateOf(one).next ? 20 : 1;
        }
        if (!m_box.isEmpty() && m_box.intersects(box)) covered += 30;
        if (covered < best.covered) best = {box, covered};
    }
    return best;
}

/// Of a line of text, however large the user has it.
double CanvasCards::lineHeight(Face face, double least) const
{
    return std::max(least, m_picture.labels.label(QStringLiteral("Ag"), face).height + 1);
}

QStringList CanvasCards::wrapped(const QString& text, double width) const
{
    QStringList lines;
    QString line;
    for (const QString& word : text.split(QLatin1Char(' '))) {
        const QString longer = line.isEmpty() ? word : line + QLatin1Char(' ') + word;
        if (!line.isEmpty() && m_picture.labels.width(longer, Face::name) > width) lines.append(std::exchange(line, word));
        else line = longer;
    }
    lines.append(line);
    return lines;
}

void CanvasCards::paintFrame(QPainter& painter, const QRectF& box, const QString& title, const QString& type) const
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
    const Label shape = m_picture.labels.label(type, Face::mono);
    const bool oneLine = box.width() > 120 && !type.isEmpty();
    const double tall = lineHeight(Face::group, 16);
    if (oneLine)
        drawLabelIn(painter, shape, QRectF(box.x() + 8, box.y() + 5, box.width() - 16, tall), Qt::AlignRight, themed(Token::text2));
    const double room = box.width() - 16 - (oneLine ? shape.width + 8 : 0);
    drawLabelIn(painter, m_picture.labels.label(title, Face::group, room), QRectF(box.x() + 8, box.y() + 5, room, tall), Qt::AlignLeft,
                themed(Token::text));
}

/// What the card beside a pill lists: the way of its variable; of a pill of many, the variables with what the caller passes.
std::vector<CanvasCards::Row> CanvasCards::bindingRows(const SceneRegion& loop, size_t which, int subject) const
{
    constexpr size_t mostRows = 8;
    const Scene& now = *m_picture.scene();
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
    std::vector<Row> rows;
    if (const auto all = static_cast<size_t>(std::ranges::count_if(loop.bindings, isHere)); all > 1) {
        for (const LoopBinding& one : loop.bindings) {
            if (!isHere(one)) continue;
            if (rows.size() == mostRows) {
                rows.push_back({QObject::tr("… %1 more").arg(all - mostRows), {}, {}});
                break;
            }
            rows.push_back({toText(one.variable), toText(one.actualText), producer(loop.caller, one.actualValue)});
        }
        return rows;
    }
    const auto idOf = [&](int node) { return node < 0 ? std::string() : m_picture.node(node).id; };
    std::string feedback = nodeWith(loop.graph, binding.resultValue, NodeKind::op);
    if (feedback.empty()) feedback = idOf(binding.result);
    const bool isLoop = loop.kind == RegionKind::loop;
    rows.push_back({QObject::tr("actual"), toText(binding.actualText), producer(loop.caller, binding.actualValue)});
    rows.push_back({QObject::tr("formal"), toText(binding.formalText), idOf(binding.formal)});
    if (isLoop) rows.push_back({QObject::tr("feedback"), toText(binding.feedbackText), feedback});
    rows.push_back({isLoop ? QObject::tr("exit") : QObject::tr("result"), toText(binding.exitText),
                    binding.exitText.ends_with("unused") ? std::string() : loop.site});
    std::erase_if(rows, [](const Row& row) { return row.text.isEmpty(); });
    return rows;
}

void CanvasCards::hide()
{
    m_links.clear();
    m_box = {};
}

void CanvasCards::paint(QPainter& painter)
{
    hide();
    const int hovered = m_selection.hoverNode();
    const int subject = m_picture.bindingOf(hovered).first >= 0 ? hovered : m_selection.node();
    const auto [region, which] = m_picture.bindingOf(subject);
    if (region >= 0 && m_picture.region(region).kind != RegionKind::group) paintBinding(painter, m_picture.region(region), which, subject);
    paintValue(painter);
    paintCallout(painter);
}

/// As wide as it may be beside the operator without covering others: in a narrow place the words take more lines.
CanvasCards::CalloutShape CanvasCards::calloutShape(const QRectF& node) const
{
    constexpr double kWidest = 320, kNarrowest = 128, kStep = 32;
    constexpr qsizetype kMostLines = 6;
    const double head = lineHeight(Face::group, 16) + 10, line = lineHeight(Face::name, 14);
    CalloutShape best;
    int least = 1000;
    for (double width = kWidest; width >= kNarrowest && least > 0; width -= kStep) {
        QStringList lines = wrapped(m_callout.text, width - 16);
        if (lines.size() > kMostLines) {
            lines.resize(kMostLines);
            lines.last() += QStringLiteral(" …");
        }
        double wide = m_picture.labels.width(m_callout.title, Face::group) + 16;
        for (const QString& each : lines) wide = std::max(wide, m_picture.labels.width(each, Face::name) + 16);
        const Place place =
            placeBeside(node.adjusted(-6, -6, 6, 6), {std::min(wide, width), head + line * static_cast<double>(lines.size())});
        const bool isBeside = place.box.left() >= node.right();
        const int cost = 2 * place.covered + (isBeside ? 0 : 1); // where it is looked for
        if (cost >= least) continue;
        least = cost;
        best = {place.box, std::move(lines)};
    }
    return best;
}

QRectF CanvasCards::calloutBox() const
{
    const int node = m_callout.address.empty() || !m_picture.scene() ? -1 : m_picture.scene()->findNode(m_callout.address);
    if (node < 0 || !m_camera.rect().intersects(m_camera.nodeRect(node))) return {};
    return calloutShape(m_camera.nodeRect(node)).box;
}

/// In the colour of errors, with a point at the operator.
void CanvasCards::paintCallout(QPainter& painter) const
{
    const int node = m_callout.address.empty() || !m_picture.scene() ? -1 : m_picture.scene()->findNode(m_callout.address);
    if (node < 0) return;
    const QRectF at = m_camera.nodeRect(node);
    if (!m_camera.rect().intersects(at)) return;
    const auto [box, lines] = calloutShape(at);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(themed(Token::err), 1));
    painter.setBrush(themed(Token::surface));
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    if (const double y = std::clamp(at.center().y(), box.top() + 8, box.bottom() - 8); box.left() >= at.right()) {
        const QPointF point[] = {{box.left() + 0.5, y - 5}, {box.left() - 7, y}, {box.left() + 0.5, y + 5}};
        painter.drawPolyline(point, 3);
    }
    const double room = box.width() - 16, head = lineHeight(Face::group, 16), line = lineHeight(Face::name, 14);
    drawLabelIn(painter, m_picture.labels.label(m_callout.title, Face::group, room), QRectF(box.x() + 8, box.y() + 5, room, head),
                Qt::AlignLeft, themed(Token::err));
    for (qsizetype i = 0; i < lines.size(); ++i)
        drawLabelIn(painter, m_picture.labels.label(lines[i], Face::name, room),
                    QRectF(box.x() + 8, box.y() + 6 + head + line * static_cast<double>(i), room, line), Qt::AlignLeft,
                    themed(Token::text2));
}

void CanvasCards::paintBinding(QPainter& painter, const SceneRegion& loop, size_t which, int subject)
{
    const LoopBinding& binding = loop.bindings[which];
    const std::vector<Row> rows = bindingRows(loop, which, subject);
    const int anchor = binding.formal >= 0 ? binding.formal : subject;
    const QString type = toText(m_picture.node(anchor).shape);
    const bool isOne = m_picture.node(anchor).value.valid();
    const QString title = toText(isOne ? binding.variable : m_picture.node(anchor).name);
    double wide = m_picture.labels.width(title, Face::group) + m_picture.labels.width(type, Face::mono) + 28;
    double names = 58;
    for (const Row& row : rows) names = std::max(names, m_picture.labels.width(row.name, Face::name) + 8);
    for (const Row& row : rows) wide = std::max(wide, names + 4 + m_picture.labels.width(row.text, Face::mono) + 16);
    wide = std::clamp(wide, 162.0, std::max(320.0, names + 200));
    const double head = lineHeight(Face::group, 16) + 6, tall = lineHeight(Face::name, 15);
    const QRectF box = placeBeside(m_camera.nodeRect(subject), {wide, head + 4 + tall * static_cast<double>(rows.size())}).box;
    paintFrame(painter, box, title, type);
    m_box = box;
    for (size_t i = 0; i < rows.size(); ++i) {
        const QRectF line(box.x() + 8, box.y() + head + tall * static_cast<double>(i), box.width() - 16, tall);
        drawLabelIn(painter, m_picture.labels.label(rows[i].name, Face::name), line, Qt::AlignLeft, themed(Token::text2));
        const Label label = m_picture.labels.label(rows[i].text, Face::mono, line.width() - names);
        drawLabelIn(painter, label, line, Qt::AlignRight, themed(rows[i].target.empty() ? Token::text3 : Token::accent));
        if (!rows[i].target.empty()) m_links.emplace_back(line, rows[i].target);
    }
}

void CanvasCards::paintValue(QPainter& painter) const
{
    if (m_camera.level() < 3 || m_valueCard.lines.isEmpty() || m_selection.node() < 0) return;
    if (m_picture.node(m_selection.node()).id != m_valueCard.address) return;
    const QRectF node = m_camera.nodeRect(m_selection.node());
    if (!m_camera.rect().intersects(node)) return;
    const bool isElsewhere = !m_valueCard.moment.isEmpty();
    const QString type = (isElsewhere ? m_valueCard.moment + QStringLiteral(" · ") : QString()) + m_valueCard.type;
    double wide = std::max(m_picture.labels.width(m_valueCard.title, Face::group), m_picture.labels.width(type, Face::mono)) + 16;
    for (const QString& line : m_valueCard.lines) wide = std::max(wide, m_picture.labels.width(line, Face::mono) + 16);
    wide = std::clamp(wide, 70.0, 220.0);
    const double head = lineHeight(Face::group, 16) + 5, tall = lineHeight(Face::mono, 11);
    const QRectF box = placeBeside(node, {wide, head + 7 + tall * static_cast<double>(m_valueCard.lines.size() + 1)}).box;
    paintFrame(painter, box, m_valueCard.title, {});
    drawLabelIn(painter, m_picture.labels.label(type, Face::mono, wide - 16), QRectF(box.x() + 8, box.y() + head - 1, wide, tall + 1),
                Qt::AlignLeft, themed(Token::text2));
    for (qsizetype i = 0; i < m_valueCard.lines.size(); ++i)
        drawLabelIn(painter, m_picture.labels.label(m_valueCard.lines[i], isElsewhere ? Face::monoItalic : Face::mono, wide - 16),
                    QRectF(box.x() + 8, box.y() + head + tall * static_cast<double>(i + 1), wide, tall + 1), Qt::AlignLeft,
                    themed(isElsewhere ? Token::text3 : Token::text));
}

} // namespace loopscope::viewer
