#include "viewer/canvas/canvas_description.h"

#include "viewer/bridge/text.h"
#include "viewer/canvas/graph_canvas.h"
#include "viewer/canvas/value_marks.h"

#include <QJsonArray>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

QString runWord(RunState state)
{
    switch (state) {
    case RunState::none: return {};
    case RunState::run: return QStringLiteral("run");
    case RunState::notRun: return QStringLiteral("not run");
    case RunState::untaken: return QStringLiteral("untaken");
    case RunState::dead: return QStringLiteral("dead");
    case RunState::ready: return QStringLiteral("ready");
    case RunState::waiting: return QStringLiteral("waiting");
    }
    return {};
}

QString breakpointWord(BreakpointMark mark)
{
    switch (mark) {
    case BreakpointMark::none: return {};
    case BreakpointMark::enabled: return QStringLiteral("breakpoint");
    case BreakpointMark::disabled: return QStringLiteral("disabled breakpoint");
    case BreakpointMark::log: return QStringLiteral("log point");
    case BreakpointMark::condition: return QStringLiteral("conditional breakpoint");
    case BreakpointMark::unbound: return QStringLiteral("unbound breakpoint");
    }
    return {};
}

QJsonArray rectArray(const QRectF& r)
{
    const auto one = [](double v) { return std::round(v * 10) / 10; };
    return {one(r.x()), one(r.y()), one(r.width()), one(r.height())};
}

/// "f32[2,4]" in words: "2 by 4"; scalars have none.
QString spokenShape(const std::string& shape)
{
    const size_t open = shape.find('[');
    const size_t close = shape.rfind(']');
    if (open == std::string::npos || close == std::string::npos || close <= open + 1) return {};
    return toText(shape.substr(open + 1, close - open - 1)).replace(QLatin1String(","), QLatin1String(" by "));
}

const char* kindWord(NodeKind kind)
{
    switch (kind) {
    case NodeKind::op: return "op";
    case NodeKind::input: return "input";
    case NodeKind::output: return "output";
    case NodeKind::actual: return "actual";
    case NodeKind::constant: return "constant";
    case NodeKind::group: return "group";
    }
    return "op";
}

QJsonArray statesOf(const GraphCanvas& canvas, int i)
{
    const NodeState& state = canvas.picture().stateOf(i);
    QJsonArray states;
    if (const QString run = runWord(state.run); !run.isEmpty()) states.append(run);
    if (state.next) states.append(QStringLiteral("next"));
    if (state.willBeDead) states.append(QStringLiteral("will be dead"));
    if (state.last) states.append(QStringLiteral("last"));
    if (state.error) states.append(QStringLiteral("error"));
    if (const QString mark = breakpointWord(state.breakpoint); !mark.isEmpty()) states.append(mark);
    if (state.compare == CompareMark::over) states.append(QStringLiteral("over tolerance"));
    if (state.compare == CompareMark::farOver) states.append(QStringLiteral("far over tolerance"));
    if (state.compare == CompareMark::onlyHere) states.append(QStringLiteral("only here"));
    if (canvas.selection().contains(i)) states.append(QStringLiteral("selected"));
    if (i == canvas.selection().hoverNode()) states.append(QStringLiteral("hover"));
    if (canvas.selection().traced().contains(i)) states.append(QStringLiteral("traced"));
    return states;
}

QJsonObject nodeObject(const GraphCanvas& canvas, int i)
{
    const CanvasPicture& picture = canvas.picture();
    const Camera& camera = canvas.camera();
    const SceneNode& one = picture.node(i);
    QJsonObject node{{QStringLiteral("id"), toText(one.id)},
                     {QStringLiteral("kind"), QLatin1String(kindWord(one.kind))},
                     {QStringLiteral("text"), shownName(one) + toText(one.index)},
                     {QStringLiteral("rect"), rectArray(camera.nodeRect(i))}};
    if (one.region >= 0) node[QStringLiteral("region")] = toText(picture.region(one.region).id);
    const QJsonArray states = statesOf(canvas, i);
    if (!states.isEmpty()) node[QStringLiteral("states")] = states;
    if (const std::string& badge = picture.stateOf(i).badge; !badge.empty()) node[QStringLiteral("badge")] = toText(badge);
    if (camera.level() >= 4 && picture.values.contains(toText(one.id))) node[QStringLiteral("value")] = picture.values[toText(one.id)];
    if (picture.abnormal.contains(toText(one.id))) node[QStringLiteral("abnormal")] = picture.abnormal[toText(one.id)];
    if (const int hits = canvas.hits().atNode(i); hits > 0) node[QStringLiteral("hits")] = hits;
    return node;
}

QJsonArray portalArray(const GraphCanvas& canvas)
{
    const CanvasPicture& picture = canvas.picture();
    const Camera& camera = canvas.camera();
    QJsonArray portals;
    if (camera.level() < 3) return portals;
    ScenePainter painter = picture.painter();
    for (size_t e = 0; e < picture.scene()->edges.size(); ++e)
        for (const bool atSource : {true, false}) {
            const SceneEdge& edge = picture.scene()->edges[e];
            const std::optional<Rect> chip = edge.portal ? painter.portalChip(static_cast<int>(e), atSource) : std::nullopt;
            if (!chip || !camera.rect().intersects(camera.inWidget(*chip))) continue;
            QJsonObject portal{{QStringLiteral("text"), toText(atSource ? edge.label : edge.endLabel)},
                               {QStringLiteral("rect"), rectArray(camera.inWidget(*chip))}};
            const std::pair<int, int> hits = canvas.hits().atPortal(static_cast<int>(e));
            const int count = atSource ? hits.first : hits.second;
            if (count > 0) portal[QStringLiteral("hits")] = count;
            portals.append(portal);
        }
    return portals;
}

QJsonObject regionObject(const GraphCanvas& canvas, int i)
{
    const CanvasPicture& picture = canvas.picture();
    const SceneRegion& one = picture.region(i);
    const RegionState& state = picture.stateOfRegion(i);
    const PlacedHead place = canvas.heads().of(i);
    const auto placeOf = [&](const Rect& r) { return rectArray(place.onScreen(r)); };
    QJsonObject region{{QStringLiteral("id"), toText(one.id)},
                       {QStringLiteral("rect"), rectArray(canvas.camera().inWidget(one.rect))},
                       {QStringLiteral("head"), placeOf(place.box)}};
    if (place.isStuck) region[QStringLiteral("stuck")] = true;
    if (state.iteration) region[QStringLiteral("iteration")] = static_cast<qint64>(*state.iteration);
    if (const int64_t dragged = canvas.heads().iterationIn(i); dragged >= 0)
        region[QStringLiteral("scrubbed")] = static_cast<qint64>(dragged);
    if (state.trips) region[QStringLiteral("trips")] = static_cast<qint64>(*state.trips);
    if (state.tripsFromEarlier) region[QStringLiteral("tripsFromEarlier")] = true;
    if (!state.condition.empty()) region[QStringLiteral("decided")] = toText(state.condition);
    if (!state.note.empty()) region[QStringLiteral("note")] = toText(state.note);
    if (i == canvas.selection().region()) region[QStringLiteral("selected")] = true;
    const LoopHead head = canvas.heads().partsOf(place);
    if (head.slider.width > 0) region[QStringLiteral("slider")] = placeOf(head.slider);
    if (head.field.width > 0) region[QStringLiteral("field")] = placeOf(head.field);
    if (head.condition.width > 0) region[QStringLiteral("condition")] = placeOf(head.condition);
    if (head.why.width > 0) region[QStringLiteral("why")] = placeOf(head.why);
    QJsonArray chips;
    for (const Rect& chip : head.chips) chips.append(placeOf(chip));
    if (!chips.isEmpty()) region[QStringLiteral("chips")] = chips;
    if (const int hits = canvas.hits().atRegion(i); hits > 0) region[QStringLiteral("hits")] = hits;
    return region;
}

} // namespace

QString accessibleText(const GraphCanvas& canvas, int node)
{
    const CanvasPicture& picture = canvas.picture();
    const SceneNode& one = picture.node(node);
    const NodeState& state = picture.stateOf(node);
    QStringList parts;
    parts.append(toText(one.name) + (one.index.empty() ? QString() : QLatin1Char(' ') + toText(one.index).remove(QLatin1Char('#'))));
    if (one.kind == NodeKind::input) parts.append(QObject::tr("input"));
    if (one.kind == NodeKind::output) parts.append(QObject::tr("output"));
    if (one.kind == NodeKind::group) parts.append(QObject::tr("folded group of %L1 operators").arg(one.members.size()));
    if (one.kind == NodeKind::op) parts.append(toText(familyName(one.family)));
    if (state.error) parts.append(QObject::tr("failed"));
    else if (state.next) parts.append(QObject::tr("next to run"));
    else if (picture.state.started && !runWord(state.run).isEmpty() && state.run != RunState::run) parts.append(runWord(state.run));
    if (state.willBeDead) parts.append(QObject::tr("will be dead"));
    if (!state.badge.empty() && state.badge != "dead") parts.append(toText(state.badge));
    if (const QString mark = breakpointWord(state.breakpoint); !mark.isEmpty()) parts.append(mark);
    QStringList inputs;
    for (const int edge : picture.index().into(node)) {
        const int from = picture.edge(edge).from;
        if (from < 0 || inputs.size() >= 4) continue;
        inputs.append(toText(picture.node(from).name));
    }
    if (!inputs.isEmpty())
        parts.append((inputs.size() == 1 ? QObject::tr("input %1") : QObject::tr("inputs %1")).arg(inputs.join(QLatin1String(", "))));
    if (const QString shape = spokenShape(one.shape); !shape.isEmpty()) parts.append(QObject::tr("shape %1").arg(shape));
    return parts.join(QLatin1String(", "));
}

QJsonObject describeCanvas(const GraphCanvas& canvas)
{
    const CanvasPicture& picture = canvas.picture();
    const Camera& camera = canvas.camera();
    QJsonObject all;
    all[QStringLiteral("zoom")] = std::round(camera.zoom() * 1000) / 1000;
    all[QStringLiteral("level")] = camera.level();
    all[QStringLiteral("root")] = toText(canvas.view().root);
    all[QStringLiteral("building")] = canvas.isBuilding();
    if (!picture.indexed) return all;
    all[QStringLiteral("operators")] = static_cast<qint64>(canvas.scene()->operators);
    QJsonArray nodes;
    for (const int i : camera.visibleNodes()) nodes.append(nodeObject(canvas, i));
    all[QStringLiteral("nodes")] = nodes;
    if (const QJsonArray portals = portalArray(canvas); !portals.isEmpty()) all[QStringLiteral("portals")] = portals;
    QJsonArray regions;
    const QRectF seen = camera.sceneInView();
    for (size_t i = 0; i < canvas.scene()->regions.size(); ++i)
        if (canvas.scene()->regions[i].rect.intersects({seen.x(), seen.y(), seen.width(), seen.height()}))
            regions.append(regionObject(canvas, static_cast<int>(i)));
    all[QStringLiteral("regions")] = regions;
    QJsonArray tokens;
    for (const TokenChip& chip : picture.state.tokens) tokens.append(toText(chip.text));
    if (!tokens.isEmpty()) all[QStringLiteral("tokens")] = tokens;
    if (const QJsonArray edges = describeEdgeMarks(picture, camera, canvas.cards().overlay()); !edges.isEmpty())
        all[QStringLiteral("edgeMarks")] = edges;
    if (const ValueCard& card = canvas.cards().valueCard(); !card.lines.isEmpty())
        all[QStringLiteral("valueCard")] = (QStringList{card.title, card.moment} + card.lines).join(QLatin1Char(' '));
    if (const Callout& callout = canvas.cards().callout(); !callout.address.empty())
        all[QStringLiteral("callout")] = callout.title + QLatin1Char(' ') + callout.text;
    if (canvas.cards().overlay() != nullptr) all[QStringLiteral("overlay")] = describeOverlay(picture, *canvas.cards().overlay());
    if (!canvas.cards().box().isEmpty()) all[QStringLiteral("card")] = rectArray(canvas.cards().box());
    return all;
}

} // namespace loopscope::viewer
