#include "viewer/canvas/value_marks.h"

#include "viewer/bridge/text.h"
#include "viewer/canvas/labels.h"
#include "viewer/style/theme.h"

#include <QJsonObject>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kLeastScale = 0.8;
constexpr double kPillHeight = 13;
constexpr double kRadius = 6;

double scaleOf(const Camera& camera) { return std::max(camera.zoom(), kLeastScale); }

/// Over the upper right corner of the operator.
QRectF boxAtNode(const CanvasPicture& picture, const Camera& camera, int node, const QString& word)
{
    const double scale = scaleOf(camera);
    const QRectF at = camera.inWidget(picture.node(node).rect);
    const double width = (picture.labels.width(word, Face::monoSmall) + 8) * scale, height = kPillHeight * scale;
    return {at.right() - width / 2, at.top() - height * 0.6, width, height};
}

/// Above the arrow, where the last stretch of the line has room for it.
QRectF boxAtEdge(const CanvasPicture& picture, const Camera& camera, const SceneEdge& edge, const QString& word)
{
    if (word.isEmpty() || edge.points.size() < 2) return {};
    const double scale = scaleOf(camera);
    const double width = (picture.labels.width(word, Face::monoSmall) + 8) * scale, height = kPillHeight * scale;
    const auto onScreen = [&](const Point& p) { return camera.inWidget({p.x, p.y, 0, 0}).topLeft(); };
    const QPointF tip = onScreen(edge.points.back()), before = onScreen(edge.points[edge.points.size() - 2]);
    const double room = 8 * scale; // of the arrow
    const bool isUpright = std::abs(tip.x() - before.x()) < 0.5;
    const double length = isUpright ? std::abs(tip.y() - before.y()) : std::abs(tip.x() - before.x());
    if (length < (isUpright ? height : width) + room) return {};
    if (isUpright) {
        const double y = tip.y() > before.y() ? tip.y() - room - height : tip.y() + room;
        return {tip.x() - width / 2, y, width, height};
    }
    const double x = tip.x() > before.x() ? tip.x() - room - width : tip.x() + room;
    return {x, tip.y() - height / 2, width, height};
}

/// The lines along which the main result of an operator flows.
template <typename Visit> void eachReader(const CanvasPicture& picture, int node, const Visit& visit)
{
    for (const int edge : picture.index().outOf(node)) {
        const SceneEdge& one = picture.edge(edge);
        if (!one.portal && one.points.size() >= 2 && one.value == picture.node(node).value) visit(edge, one);
    }
}

void addAbnormal(std::vector<ValueMark>& marks, const CanvasPicture& picture, const Camera& camera)
{
    for (auto one = picture.abnormal.cbegin(); one != picture.abnormal.cend(); ++one) {
        const int node = picture.scene()->findNode(one.key().toStdString());
        if (node < 0) continue;
        eachReader(picture, node, [&](int edge, const SceneEdge& line) {
            marks.push_back({ValueMark::Kind::abnormal, node, edge, one.value(), boxAtEdge(picture, camera, line, one.value()), 0});
        });
        marks.push_back({ValueMark::Kind::abnormal, node, -1, one.value(), boxAtNode(picture, camera, node, one.value()), 0});
    }
}

/// What an operator that failed was given.
void addFailed(std::vector<ValueMark>& marks, const CanvasPicture& picture, const Camera& camera)
{
    for (const int node : camera.visibleNodes()) {
        if (!picture.stateOf(node).error) continue;
        for (const int edge : picture.index().into(node)) {
            const SceneEdge& line = picture.edge(edge);
            if (line.portal || line.points.size() < 2) continue;
            const QString shape = toText(line.label);
            marks.push_back({ValueMark::Kind::failed, line.from, edge, shape, boxAtEdge(picture, camera, line, shape), 0});
        }
    }
}

void addTimes(std::vector<ValueMark>& marks, const CanvasPicture& picture, const Camera& camera, const NodeOverlay& overlay)
{
    for (const int node : camera.visibleNodes()) {
        const OverlayValue* const value = overlay.find(picture.node(node));
        if (value == nullptr || value->isWrong || value->place <= 0) continue;
        eachReader(picture, node, [&](int edge, const SceneEdge&) {
            marks.push_back({ValueMark::Kind::time, node, edge, value->text, QRectF(), value->place}); // the word stands at the operator
        });
    }
}

void paintLine(QPainter& painter, const CanvasPicture& picture, const Camera& camera, const ValueMark& mark)
{
    constexpr double kWidest = 5;
    const Lens lens = camera.lens();
    const SceneEdge& edge = picture.edge(mark.edge);
    const bool isTime = mark.kind == ValueMark::Kind::time;
    const QColor color = themed(isTime ? Token::warn : Token::err);
    const double width = (isTime ? 1.2 + (kWidest - 1.2) * std::clamp(mark.place, 0.0, 1.0) : 2) * lens.stroke();
    QPen pen(color, width);
    pen.setCapStyle(Qt::FlatCap);
    if (mark.kind == ValueMark::Kind::failed) pen.setDashPattern({6 / width, 3 / width});
    painter.save();
    painter.translate(-camera.origin());
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.drawPath(roundedPath(edge.points, lens, lens.level >= 3 ? kRadius * lens.zoom : 0));
    paintArrow(painter, lens.map(edge.points[edge.points.size() - 2]), lens.map(edge.points.back()), color, std::max(0.7, lens.zoom));
    painter.restore();
}

} // namespace

std::vector<ValueMark> valueMarks(const CanvasPicture& picture, const Camera& camera, const NodeOverlay* overlay)
{
    std::vector<ValueMark> marks;
    if (!picture.indexed || camera.level() < 2) return marks;
    if (overlay != nullptr) addTimes(marks, picture, camera, *overlay);
    addFailed(marks, picture, camera);
    addAbnormal(marks, picture, camera);
    return marks;
}

void paintValueMarks(QPainter& painter, const CanvasPicture& picture, const Camera& camera, const NodeOverlay* overlay)
{
    const std::vector<ValueMark> marks = valueMarks(picture, camera, overlay);
    painter.setRenderHint(QPainter::Antialiasing);
    for (const ValueMark& mark : marks)
        if (mark.edge >= 0) paintLine(painter, picture, camera, mark);
    for (const ValueMark& mark : marks) {
        if (mark.box.isEmpty()) continue;
        painter.setPen(QPen(themed(Token::err), 1.2));
        painter.setBrush(themed(Token::errWeak));
        painter.drawRoundedRect(mark.box, mark.box.height() / 2, mark.box.height() / 2);
        drawLabelIn(painter, picture.labels.label(mark.word, Face::monoSmall), mark.box, Qt::AlignHCenter, themed(Token::err),
                    scaleOf(camera));
    }
}

QString questionOfMark(const CanvasPicture& picture, const Camera& camera, QPointF point)
{
    const std::vector<ValueMark> marks = valueMarks(picture, camera, nullptr);
    const auto found = std::find_if(marks.rbegin(), marks.rend(), [&](const ValueMark& mark) { return mark.box.contains(point); });
    if (found == marks.rend() || found->node < 0 || picture.node(found->node).kind != NodeKind::op) return {};
    return QLatin1String(found->kind == ValueMark::Kind::failed ? "whoWrote " : "whyNaN ") + toText(picture.node(found->node).id);
}

QJsonArray describeEdgeMarks(const CanvasPicture& picture, const Camera& camera, const NodeOverlay* overlay)
{
    QJsonArray all;
    for (const ValueMark& mark : valueMarks(picture, camera, overlay)) {
        if (mark.edge < 0) continue;
        const SceneEdge& edge = picture.edge(mark.edge);
        const auto idOf = [&](int node) { return node < 0 ? QString() : toText(picture.node(node).id); };
        const char* const kind = mark.kind == ValueMark::Kind::abnormal ? "abnormal"
                                 : mark.kind == ValueMark::Kind::failed ? "failed"
                                                                        : "time";
        QJsonObject one{{"from", idOf(edge.from)}, {"to", idOf(edge.to)}, {"mark", kind}, {"word", mark.word}};
        if (!mark.box.isEmpty()) one["rect"] = QJsonArray{mark.box.x(), mark.box.y(), mark.box.width(), mark.box.height()};
        all.append(one);
    }
    return all;
}

} // namespace loopscope::viewer
