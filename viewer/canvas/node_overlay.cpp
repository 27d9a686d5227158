#include "viewer/canvas/node_overlay.h"

#include "viewer/bridge/raised_model.h"
#include "viewer/bridge/text.h"
#include "viewer/canvas/labels.h"
#include "viewer/style/theme.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

namespace loopscope::viewer {

namespace {

std::pair<int64_t, int64_t> keyOf(GraphId graph, OperatorId op) { return {graph.index, op.index}; }

QString durationText(double ns)
{
    for (const auto& [unit, size] : {std::pair("s", 1e9), std::pair("ms", 1e6), std::pair("µs", 1e3)})
        if (ns >= size) return QStringLiteral("%1 %2").arg(ns / size, 0, 'g', 3).arg(QString::fromUtf8(unit));
    return QStringLiteral("%1 ns").arg(ns, 0, 'g', 3);
}

QString shareText(int64_t part, int64_t whole, const QString& what) { return QObject::tr("%1 %L2 of %L3").arg(what).arg(part).arg(whole); }

/// From the surface to the colour of warnings: lightness falls all the way, so that it is read without colours, too.
QColor scaleColor(double place)
{
    const QColor low = themed(Token::surface), high = themed(Token::warn);
    const auto mix = [place](int a, int b) { return static_cast<int>(std::lround(a + (b - a) * std::clamp(place, 0.0, 1.0))); };
    return {mix(low.red(), high.red()), mix(low.green(), high.green()), mix(low.blue(), high.blue())};
}

QColor colorOf(const OverlayValue& value)
{
    if (value.isWrong) return themed(Token::err);
    return value.color.isValid() ? value.color : scaleColor(0.12 + 0.88 * value.place);
}

} // namespace

const OverlayValue* NodeOverlay::find(GraphId graph, OperatorId op) const
{
    const auto found = values.find(keyOf(graph, op));
    return found == values.end() ? nullptr : &found->second;
}

const OverlayValue* NodeOverlay::find(const SceneNode& node) const
{
    if (node.kind == NodeKind::op) return find(node.graph, node.op);
    const OverlayValue* worst = nullptr;
    if (node.kind != NodeKind::group) return nullptr;
    for (const OperatorId member : node.members)
        if (const OverlayValue* const one = find(node.graph, member))
            if (worst == nullptr || (one->isWrong && !worst->isWrong) || (one->isWrong == worst->isWrong && one->place > worst->place))
                worst = one;
    return worst;
}

NodeOverlay timeOverlay(std::span<const OperatorFigure> figures)
{
    NodeOverlay overlay;
    overlay.title = QObject::tr("time per operator");
    int64_t most = 0;
    for (const OperatorFigure& each : figures)
        if (!each.isCall) most = std::max(most, each.ns);
    for (const OperatorFigure& each : figures) {
        if (each.runs == 0) continue;
        OverlayValue value;
        value.place = most > 0 && !each.isCall ? static_cast<double>(each.ns) / static_cast<double>(most) : 0;
        value.text = durationText(static_cast<double>(each.ns));
        overlay.values[keyOf(each.graph, each.op)] = value;
    }
    overlay.low = QStringLiteral("0");
    overlay.high = durationText(static_cast<double>(most));
    return overlay;
}

NodeOverlay healthOverlay(std::span<const OperatorFigure> figures)
{
    NodeOverlay overlay;
    overlay.title = QObject::tr("health of results");
    for (const OperatorFigure& each : figures) {
        if (each.elements == 0) continue;
        OverlayValue value;
        value.isWrong = each.nan + each.inf > 0;
        value.place = static_cast<double>(each.zeros) / static_cast<double>(each.elements);
        value.text = each.nan > 0     ? shareText(each.nan, each.elements, QStringLiteral("NaN"))
                     : each.inf > 0   ? shareText(each.inf, each.elements, QStringLiteral("Inf"))
                     : each.zeros > 0 ? QObject::tr("%1 % zeros").arg(100 * value.place, 0, 'g', 2)
                                      : QString();
        overlay.values[keyOf(each.graph, each.op)] = value;
    }
    overlay.low = QObject::tr("no zeros");
    overlay.high = QObject::tr("zeros only");
    return overlay;
}

Result<NodeOverlay> nodeDataOverlay(const QByteArray& json, const QString& name, const Model& model)
{
    QJsonParseError damage;
    const QJsonDocument document = QJsonDocument::fromJson(json, &damage);
    const auto bad = [&](const std::string& found) {
        return Error(ErrorCode::badFile, "not node data").at(name.toStdString()).found(found).expected("an object with 'results'");
    };
    if (!document.isObject()) return bad(damage.errorString().toStdString());
    // One level down by graph, or not.
    QJsonObject data = document.object();
    if (!data["results"].isObject())
        for (const QString& graph : data.keys())
            if (const QJsonObject inner = data[graph].toObject(); inner["results"].isObject()) {
                data = inner;
                break;
            }
    if (!data["results"].isObject()) return bad("an object without it");

    std::unordered_map<std::string, std::pair<GraphId, OperatorId>> names;
    for (size_t g = 0; g < model.graphs.size(); ++g)
        for (size_t o = 0; o < model.graphs[g].operators.size(); ++o) {
            const Graph& graph = model.graphs[g];
            const Operator& op = graph.operators[o];
            const std::pair place(GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(o)));
            if (g == 0) names.emplace(std::to_string(o), place);
            if (!op.name.empty()) names.emplace(op.name, place);
            for (const ValueId result : op.results) {
                names.emplace(graph.value(result).id, place);
                names.emplace(graph.value(result).displayName(), place);
            }
            if (g == 0) names.emplace(addressInFrames(graph, place.second), place);
        }
    NodeOverlay overlay;
    overlay.title = name;
    double low = std::numeric_limits<double>::max(), high = std::numeric_limits<double>::lowest();
    struct Given {
        std::pair<GraphId, OperatorId> place;
        double value = 0;
        QString text;
        QColor color;
    };
    std::vector<Given> all;
    const QJsonObject results = data["results"].toObject();
    for (const QString& key : results.keys()) {
        const auto place = names.find(key.toStdString());
        if (place == names.end()) continue;
        const QJsonObject one = results[key].toObject();
        const QJsonValue value = results[key].isObject() ? one["value"] : results[key];
        Given given{place->second, value.toDouble(std::numeric_limits<double>::quiet_NaN()),
                    value.isString() ? value.toString() : QString::number(value.toDouble(), 'g', 4), QColor(one["bgColor"].toString())};
        if (std::isfinite(given.value)) {
            low = std::min(low, given.value);
            high = std::max(high, given.value);
        }
        all.push_back(std::move(given));
    }
    for (const Given& given : all) {
        OverlayValue value{high > low && std::isfinite(given.value) ? (given.value - low) / (high - low) : 0, given.text, given.color};
        for (const QJsonValue& each : data["thresholds"].toArray()) // the first that it does not pass
            if (!value.color.isValid() && given.value <= each.toObject()["value"].toDouble())
                value.color = QColor(each.toObject()["bgColor"].toString());
        overlay.values[keyOf(given.place.first, given.place.second)] = value;
    }
    if (overlay.values.empty() && !results.isEmpty())
        return Error(ErrorCode::badFile, "node data of another model")
            .at(name.toStdString())
            .found("'" + results.keys().front().toStdString() + "'")
            .expected("names or indices of operators");
    if (low <= high) {
        overlay.low = QString::number(low, 'g', 4);
        overlay.high = QString::number(high, 'g', 4);
    }
    return overlay;
}

namespace {

/// The title and, where there is a scale, what its ends mean.
void paintScale(QPainter& painter, const CanvasPicture& picture, const Camera& camera, const NodeOverlay& overlay)
{
    const Label title = picture.labels.label(overlay.title, Face::group);
    const Label low = picture.labels.label(overlay.low, Face::monoSmall), high = picture.labels.label(overlay.high, Face::monoSmall);
    const bool hasScale = !overlay.high.isEmpty();
    const double wide = std::max({title.width, low.width + high.width + 24, 120.0}) + 20;
    const QRectF box(8, camera.height() - (hasScale ? 56 : 32), wide, hasScale ? 48 : 24);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(themed(Token::line), 1));
    painter.setBrush(themed(Token::surface));
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    drawLabel(painter, title, {box.x() + 10, box.y() + 16}, themed(Token::text));
    if (!hasScale) return;
    const QRectF bar(box.x() + 10, box.y() + 22, box.width() - 20, 8);
    QLinearGradient gradient(bar.topLeft(), bar.topRight());
    gradient.setColorAt(0, scaleColor(0.12));
    gradient.setColorAt(1, scaleColor(1));
    painter.setBrush(gradient);
    painter.drawRect(bar);
    drawLabel(painter, low, {bar.left(), box.bottom() - 6}, themed(Token::text2));
    drawLabelIn(painter, high, QRectF(bar.left(), box.bottom() - 16, bar.width(), 12), Qt::AlignRight, themed(Token::text2));
}

} // namespace

void paintOverlay(QPainter& painter, const CanvasPicture& picture, const Camera& camera, const NodeOverlay& overlay)
{
    painter.setRenderHint(QPainter::Antialiasing);
    const bool hasWords = camera.level() >= 2;
    for (const int index : camera.visibleNodes()) {
        const SceneNode& node = picture.node(index);
        const OverlayValue* const value = overlay.find(node);
        if (value == nullptr) continue;
        const QRectF at = camera.nodeRect(index);
        const QColor color = colorOf(*value);
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        if (!hasWords) {
            painter.drawRect(at);
            continue;
        }
        // A bar below the node, as long as the value is high, and its text over the upper right corner.
        const double zoom = camera.zoom(), height = std::max(2.5, 4 * zoom);
        const QRectF track(at.left(), at.bottom() + 1, at.width(), height);
        painter.setBrush(themed(Token::surface));
        painter.setPen(QPen(themed(Token::line2), 0.5));
        painter.drawRect(track);
        painter.setPen(Qt::NoPen);
        painter.setBrush(color);
        painter.drawRect(QRectF(track.topLeft(), QSizeF(std::max(1.0, track.width() * (value->isWrong ? 1 : value->place)), height)));
        if (value->text.isEmpty()) continue;
        const double scale = std::max(zoom, 0.8);
        const Label label = picture.labels.label(value->text, Face::monoSmall);
        const double wide = (label.width + 8) * scale, high = 13 * scale;
        const QRectF words(at.right() - std::min(wide / 2, at.width() * 0.3), at.top() - high * 0.6, wide, high);
        painter.setPen(QPen(themed(value->isWrong ? Token::err : Token::line2), 1));
        painter.setBrush(themed(value->isWrong ? Token::errWeak : Token::surface));
        painter.drawRoundedRect(words, high / 2, high / 2);
        drawLabelIn(painter, label, words, Qt::AlignHCenter, themed(value->isWrong ? Token::err : Token::text), scale);
    }
    paintScale(painter, picture, camera, overlay);
}

QJsonObject describeOverlay(const CanvasPicture& picture, const NodeOverlay& overlay)
{
    QJsonObject values;
    if (picture.scene() != nullptr)
        for (const SceneNode& node : picture.scene()->nodes)
            if (const OverlayValue* const value = overlay.find(node)) values[toText(node.id)] = value->text;
    return {{"title", overlay.title}, {"low", overlay.low}, {"high", overlay.high}, {"values", values}};
}

} // namespace loopscope::viewer
