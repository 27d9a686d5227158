// Commands of the graph context, walking by keys, and the description that tests and screen readers get.
#include "viewer/canvas/graph_canvas.h"

#include "engine/observe/address_names.h"
#include "viewer/canvas/minimap.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QJsonArray>
#include <QMenu>

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
    return QString::fromStdString(shape.substr(open + 1, close - open - 1)).replace(QLatin1String(","), QLatin1String(" by "));
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

} // namespace

bool GraphCanvas::command(const QString& id)
{
    const auto is = [&](const char* name) { return id == QLatin1String(name); };
    const int node = currentNode();
    const SceneNode* one = node >= 0 ? &scene()->nodes[static_cast<size_t>(node)] : nullptr;
    const auto option = [&](bool ViewState::*which) {
        ViewState view = m_view;
        view.*which = !(view.*which);
        editView(view, m_selected.empty() ? std::string() : m_selected.front());
    };
    if (is("drillIn") || is("inlineCallee") || is("splitCallee")) {
        if (one && one->kind == NodeKind::group) toggleGroup(node, true);
        else if (const std::optional<CallSite> call = currentCall())
            emit openRequested(*call, is("drillIn")        ? OpenCallee::drillIn
                                      : is("inlineCallee") ? OpenCallee::inlineHere
                                                           : OpenCallee::split);
        else if (const int portal = portalOf(node); portal >= 0 && is("drillIn")) showEnds(portal, nodeRect(node).bottomLeft());
    } else if (is("up")) {
        emit upRequested();
    } else if (is("walkUp")) {
        walk(Qt::Key_Up);
    } else if (is("walkDown")) {
        walk(Qt::Key_Down);
    } else if (is("walkLeft")) {
        walk(Qt::Key_Left);
    } else if (is("walkRight")) {
        walk(Qt::Key_Right);
    } else if (is("nextNode")) {
        m_keyboardFocus = true;
        stepNode(1);
    } else if (is("previousNode")) {
        m_keyboardFocus = true;
        stepNode(-1);
    } else if (is("producer")) {
        follow(false);
    } else if (is("consumer")) {
        follow(true);
    } else if (is("expand")) {
        if (one && !toggleGroup(node, true) && one->call) emit openRequested(callOf(*one), OpenCallee::inlineHere);
    } else if (is("collapse")) {
        collapseRegion(regionUnderCurrent());
    } else if (is("expandAll")) {
        option(&ViewState::allExpanded);
    } else if (is("fit")) {
        fit();
    } else if (is("fitSelection")) {
        fitSelection();
    } else if (is("zoomIn")) {
        zoomAt(QPointF(width() / 2.0, height() / 2.0), 1.25);
    } else if (is("zoomOut")) {
        zoomAt(QPointF(width() / 2.0, height() / 2.0), 0.8);
    } else if (is("actualSize")) {
        zoomAt(QPointF(width() / 2.0, height() / 2.0), 1 / m_zoom);
    } else if (is("attributes")) {
        option(&ViewState::showAttributes);
    } else if (is("names")) {
        option(&ViewState::showNames);
    } else if (is("constants")) {
        option(&ViewState::showConstants);
    } else if (is("orientation")) {
        option(&ViewState::leftToRight);
        m_isFitted = true;
    } else if (is("minimap")) {
        setMinimapShown(!m_minimapShown);
    } else if (is("traceUp")) {
        traceNext();
    } else if (is("copyName")) {
        QStringList names;
        for (const int each : m_selectedNodes) {
            const SceneNode& n = scene()->nodes[static_cast<size_t>(each)];
            names.append(QString::fromStdString(n.name + n.index));
        }
        if (!names.isEmpty()) QGuiApplication::clipboard()->setText(names.join(QLatin1Char('\n')));
    } else {
        return false;
    }
    return true;
}

bool GraphCanvas::toggleGroup(int node, bool open)
{
    if (node < 0) return false;
    const SceneNode& one = scene()->nodes[static_cast<size_t>(node)];
    if (one.kind != NodeKind::group) return false;
    ViewState view = m_view;
    if (open && view.folded.erase(one.id) == 0) view.expanded.insert(one.id);
    else if (!open) view.expanded.erase(one.id);
    editView(view, one.id);
    return true;
}

bool GraphCanvas::collapseRegion(int region)
{
    if (region < 0) return false;
    const SceneRegion& one = scene()->regions[static_cast<size_t>(region)];
    ViewState view = m_view;
    std::string anchor = one.id;
    if (view.allExpanded && (one.kind == RegionKind::group || (one.kind == RegionKind::frame && view.rows))) {
        view.folded.insert(one.id);
    } else if (view.allExpanded && !one.site.empty()) {
        view.folded.insert(one.site);
        anchor = one.site;
    } else if (one.kind == RegionKind::group) {
        view.expanded.erase(one.id);
    } else if (!one.site.empty()) {
        if (one.role == "cond" && view.condOpen.contains(one.site)) view.condOpen.erase(one.site);
        else view.inlined.erase(one.site);
        anchor = one.site;
    } else {
        return false;
    }
    select({anchor}); // what it is folded into
    emit selectionEdited();
    editView(view, anchor);
    return true;
}

int GraphCanvas::regionUnderCurrent() const
{
    if (m_selectedRegion >= 0) return m_selectedRegion;
    const int node = currentNode();
    return node < 0 ? -1 : scene()->nodes[static_cast<size_t>(node)].region;
}

/// The first node in the head's region, in listing order: where keys go on from a head.
int GraphCanvas::firstNodeOf(int region) const
{
    for (size_t i = 0; i < scene()->nodes.size(); ++i) {
        if (scene()->nodes[i].kind == NodeKind::actual) continue;
        for (int around = scene()->nodes[i].region; around >= 0; around = scene()->regions[static_cast<size_t>(around)].parent)
            if (around == region) return static_cast<int>(i);
    }
    return -1;
}

void GraphCanvas::stepNode(int by)
{
    if (!m_scene || scene()->nodes.empty()) return;
    const int count = static_cast<int>(scene()->nodes.size());
    int node = currentNode();
    if (node < 0 && m_selectedRegion >= 0) {
        node = firstNodeOf(m_selectedRegion);
        if (node < 0) return;
    } else if (node < 0) {
        node = by > 0 ? 0 : count - 1;
    } else {
        do node += by;
        while (node >= 0 && node < count && scene()->nodes[static_cast<size_t>(node)].kind == NodeKind::actual);
        if (node < 0 || node >= count) return;
    }
    setCurrent(node);
    reveal(m_selected.front());
}

void GraphCanvas::walk(int key)
{
    if (!m_scene || scene()->nodes.empty()) return;
    const int node = currentNode();
    if (node < 0) return stepNode(1);
    if (m_view.leftToRight) // the flow goes right, siblings lie above and below
        key = key == Qt::Key_Right ? Qt::Key_Down : key == Qt::Key_Left ? Qt::Key_Up : key == Qt::Key_Down ? Qt::Key_Right : Qt::Key_Left;
    const Rect& at = scene()->nodes[static_cast<size_t>(node)].rect;
    int best = -1;
    double least = 1e300;
    if (key == Qt::Key_Up || key == Qt::Key_Down) {
        const bool down = key == Qt::Key_Down;
        for (const int edge : down ? m_scene->index.outOf(node) : m_scene->index.into(node)) {
            const SceneEdge& one = scene()->edges[static_cast<size_t>(edge)];
            const int other = down ? one.to : one.from;
            if (other < 0 || other == node) continue;
            const Rect& r = scene()->nodes[static_cast<size_t>(other)].rect;
            const double distance = std::abs(r.center().x - at.center().x) + 0.5 * std::abs(r.center().y - at.center().y);
            if (distance >= least) continue;
            least = distance;
            best = other;
        }
    } else {
        const bool right = key == Qt::Key_Right;
        for (size_t i = 0; i < scene()->nodes.size(); ++i) {
            const SceneNode& one = scene()->nodes[i];
            if (static_cast<int>(i) == node || one.kind == NodeKind::actual) continue;
            const double dx = one.rect.center().x - at.center().x;
            const double dy = std::abs(one.rect.center().y - at.center().y);
            if ((right ? dx : -dx) <= 0 || dy > at.height) continue;
            const double distance = std::abs(dx) + 4 * dy;
            if (distance >= least) continue;
            least = distance;
            best = static_cast<int>(i);
        }
    }
    if (best < 0) return;
    setCurrent(best);
    reveal(m_selected.front());
}

void GraphCanvas::follow(bool toConsumer)
{
    const int node = currentNode();
    if (node < 0) return;
    if (!toConsumer) {
        const std::vector<int>& into = m_scene->index.into(node);
        const auto found = std::ranges::find_if(into, [&](int e) { return scene()->edges[static_cast<size_t>(e)].from >= 0; });
        if (found == into.end()) return;
        m_consumerFrom.clear();
        setCurrent(scene()->edges[static_cast<size_t>(*found)].from);
    } else {
        // Again from a consumer reached this way: the next one of the same producer.
        int from = node;
        const int before = m_consumerFrom.empty() ? -1 : scene()->findNode(m_consumerFrom);
        if (before >= 0) {
            const std::vector<int>& out = m_scene->index.outOf(before);
            const bool cameFromThere = std::ranges::any_of(out, [&](int e) { return scene()->edges[static_cast<size_t>(e)].to == node; });
            if (cameFromThere && out.size() > 1) from = before;
        }
        if (from == node) {
            m_consumerFrom = scene()->nodes[static_cast<size_t>(node)].id;
            m_consumerIndex = 0;
        } else {
            ++m_consumerIndex;
        }
        const std::vector<int>& out = m_scene->index.outOf(from);
        if (out.empty()) return;
        const int to = scene()->edges[static_cast<size_t>(out[m_consumerIndex % out.size()])].to;
        if (to < 0) return;
        setCurrent(to);
    }
    reveal(m_selected.front());
}

void GraphCanvas::goToNode(int node)
{
    if (node < 0) return;
    setCurrent(node);
    reveal(m_selected.front(), true);
}

/// A cut edge that begins or ends at a node; −1: none.
int GraphCanvas::portalOf(int node) const
{
    if (node < 0) return -1;
    for (const auto* edges : {&m_scene->index.outOf(node), &m_scene->index.into(node)})
        for (const int edge : *edges)
            if (scene()->edges[static_cast<size_t>(edge)].portal) return edge;
    return -1;
}

/// All ends of the value that a cut edge carries, to choose from. False: there are only two.
bool GraphCanvas::showEnds(int edge, QPointF at)
{
    const std::vector<int> net = m_scene->index.netOf(edge);
    if (net.size() < 2) return false;
    auto* const menu = new QMenu(this);
    menu->setObjectName(QStringLiteral("portalEnds"));
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto add = [&](int node, const QString& what) {
        const SceneNode& one = scene()->nodes[static_cast<size_t>(node)];
        const std::string id = one.id;
        const QString text = shownName(one) + QString::fromStdString(one.index) + QLatin1Char('\t') + what;
        connect(menu->addAction(text), &QAction::triggered, this, [this, id] { goToNode(scene()->findNode(id)); });
    };
    const SceneEdge& first = scene()->edges[static_cast<size_t>(edge)];
    if (first.from >= 0) add(first.from, tr("from"));
    menu->addSeparator();
    for (const int other : net) add(scene()->edges[static_cast<size_t>(other)].to, tr("to"));
    menu->popup(mapToGlobal(at.toPoint()));
    return true;
}

void GraphCanvas::traceNext()
{
    m_traced.clear();
    m_traceMode = (m_traceMode + 1) % 3;
    if (m_traceMode != 0 && currentNode() >= 0) {
        std::vector<int> open = m_selectedNodes;
        while (!open.empty()) {
            const int node = open.back();
            open.pop_back();
            if (!m_traced.insert(node).second) continue;
            for (const int edge : m_traceMode == 1 ? m_scene->index.into(node) : m_scene->index.outOf(node)) {
                const SceneEdge& one = scene()->edges[static_cast<size_t>(edge)];
                if (one.style == EdgeStyle::feedback) continue; // else a loop would light up whole
                const int other = m_traceMode == 1 ? one.from : one.to;
                if (other >= 0) open.push_back(other);
            }
        }
    }
    update();
}

QString GraphCanvas::cardLinkAt(QPointF point) const
{
    for (const auto& [box, target] : m_cardLinks)
        if (box.contains(point)) return QString::fromStdString(target);
    return {};
}

void GraphCanvas::fillContextMenu(QMenu& menu, int node)
{
    const auto add = [&](const QString& text, const char* id) {
        const QString name = QString::fromLatin1(id);
        QAction* action = menu.addAction(text);
        action->setObjectName(QStringLiteral("context.") + name);
        connect(action, &QAction::triggered, this, [this, name] {
            if (!command(name)) emit commandRequested(name);
        });
        return action;
    };
    const SceneNode* one = node >= 0 ? &scene()->nodes[static_cast<size_t>(node)] : nullptr;
    if (one && one->call) {
        add(tr("Open here"), "drillIn");
        add(tr("Open inline"), "inlineCallee");
        add(tr("Open beside"), "splitCallee");
        menu.addSeparator();
    }
    if (one && one->kind == NodeKind::group) add(tr("Expand group"), "expand");
    if (one && one->region >= 0) add(tr("Fold what holds this"), "collapse");
    if (one && one->kind == NodeKind::op) {
        if (!menu.isEmpty() && !menu.actions().last()->isSeparator()) menu.addSeparator();
        QAction* toggle = menu.addAction(tr("Toggle breakpoint"));
        toggle->setObjectName(QStringLiteral("context.toggleBreakpoint"));
        const QString address = QString::fromStdString(one->id);
        connect(toggle, &QAction::triggered, this, [this, address] { emit breakpointRequested(address); });
        add(tr("Edit breakpoint"), "editBreakpoint");
        add(tr("Run to here"), "runToCursor");
        add(tr("Run back to here"), "backToCursor");
        add(tr("Watch"), "watchExpression");
    }
    if (one) {
        if (!menu.isEmpty()) menu.addSeparator();
        add(tr("To the producer"), "producer")->setEnabled(!m_scene->index.into(node).empty());
        add(tr("To the consumer"), "consumer")->setEnabled(!m_scene->index.outOf(node).empty());
        add(tr("Light upstream, downstream, off"), "traceUp");
        add(tr("Properties"), "properties");
        menu.addSeparator();
        add(tr("Copy name"), "copyName");
        add(tr("Copy address"), "copyAddress");
        add(tr("Fit selection"), "fitSelection");
    } else {
        add(tr("Up to the caller"), "up")->setEnabled(!callerOf(m_view.root).empty());
        add(tr("Expand all"), "expandAll");
        menu.addSeparator();
        const auto check = [&](const QString& text, const char* id, bool on) {
            QAction* action = add(text, id);
            action->setCheckable(true);
            action->setChecked(on);
        };
        check(tr("Attributes"), "attributes", m_view.showAttributes);
        check(tr("Tensor names"), "names", m_view.showNames);
        check(tr("Constants"), "constants", m_view.showConstants);
        check(tr("Left to right"), "orientation", m_view.leftToRight);
        check(tr("Minimap"), "minimap", m_minimapShown);
        menu.addSeparator();
        add(tr("Export graph"), "exportGraph");
    }
    menu.addSeparator();
    add(tr("Fit"), "fit");
}

QString GraphCanvas::accessibleText(int node) const
{
    const SceneNode& one = scene()->nodes[static_cast<size_t>(node)];
    const NodeState& state = m_state.nodes[static_cast<size_t>(node)];
    QStringList parts;
    parts.append(QString::fromStdString(one.name) +
                 (one.index.empty() ? QString() : QLatin1Char(' ') + QString::fromStdString(one.index).remove(QLatin1Char('#'))));
    if (one.kind == NodeKind::input) parts.append(tr("input"));
    if (one.kind == NodeKind::output) parts.append(tr("output"));
    if (one.kind == NodeKind::group) parts.append(tr("folded group of %L1 operators").arg(one.members.size()));
    if (one.kind == NodeKind::op) {
        const std::string_view family = familyName(one.family);
        parts.append(QString::fromUtf8(family.data(), static_cast<qsizetype>(family.size())));
    }
    if (state.error) parts.append(tr("failed"));
    else if (state.next) parts.append(tr("next to run"));
    else if (m_state.started && !runWord(state.run).isEmpty() && state.run != RunState::run) parts.append(runWord(state.run));
    if (state.willBeDead) parts.append(tr("will be dead"));
    if (!state.badge.empty() && state.badge != "dead") parts.append(QString::fromStdString(state.badge));
    if (const QString mark = breakpointWord(state.breakpoint); !mark.isEmpty()) parts.append(mark);
    QStringList inputs;
    for (const int edge : m_scene->index.into(node)) {
        const int from = scene()->edges[static_cast<size_t>(edge)].from;
        if (from < 0 || inputs.size() >= 4) continue;
        inputs.append(QString::fromStdString(scene()->nodes[static_cast<size_t>(from)].name));
    }
    if (!inputs.isEmpty()) parts.append((inputs.size() == 1 ? tr("input %1") : tr("inputs %1")).arg(inputs.join(QLatin1String(", "))));
    if (const QString shape = spokenShape(one.shape); !shape.isEmpty()) parts.append(tr("shape %1").arg(shape));
    return parts.join(QLatin1String(", "));
}

QJsonObject GraphCanvas::describe() const
{
    QJsonObject all;
    all[QStringLiteral("zoom")] = std::round(m_zoom * 1000) / 1000;
    all[QStringLiteral("level")] = m_level;
    all[QStringLiteral("root")] = QString::fromStdString(m_view.root);
    all[QStringLiteral("building")] = m_loader.isBusy();
    if (!m_scene) return all;
    all[QStringLiteral("operators")] = static_cast<qint64>(scene()->operators);
    QJsonArray nodes;
    for (const int i : visibleNodes()) {
        const SceneNode& one = scene()->nodes[static_cast<size_t>(i)];
        const NodeState& state = m_state.nodes[static_cast<size_t>(i)];
        QJsonObject node{{QStringLiteral("id"), QString::fromStdString(one.id)},
                         {QStringLiteral("kind"), QLatin1String(kindWord(one.kind))},
                         {QStringLiteral("text"), shownName(one) + QString::fromStdString(one.index)},
                         {QStringLiteral("rect"), rectArray(nodeRect(i))}};
        if (one.region >= 0) node[QStringLiteral("region")] = QString::fromStdString(scene()->regions[static_cast<size_t>(one.region)].id);
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
        if (std::ranges::find(m_selectedNodes, i) != m_selectedNodes.end()) states.append(QStringLiteral("selected"));
        if (i == m_hoverNode) states.append(QStringLiteral("hover"));
        if (m_traced.contains(i)) states.append(QStringLiteral("traced"));
        if (!states.isEmpty()) node[QStringLiteral("states")] = states;
        if (!state.badge.empty()) node[QStringLiteral("badge")] = QString::fromStdString(state.badge);
        if (m_level >= 4 && m_values.contains(QString::fromStdString(one.id)))
            node[QStringLiteral("value")] = m_values[QString::fromStdString(one.id)];
        if (const auto hit = m_hits.find(i); hit != m_hits.end()) node[QStringLiteral("hits")] = hit->second;
        nodes.append(node);
    }
    all[QStringLiteral("nodes")] = nodes;
    QJsonArray portals;
    if (m_level >= 3) {
        ScenePainter painter = painterFor();
        for (size_t e = 0; e < scene()->edges.size(); ++e)
            for (const bool atSource : {true, false}) {
                const SceneEdge& edge = scene()->edges[e];
                const std::optional<Rect> chip = edge.portal ? painter.portalChip(static_cast<int>(e), atSource) : std::nullopt;
                if (!chip || !QRectF(rect()).intersects(inWidget(*chip))) continue;
                QJsonObject portal{{QStringLiteral("text"), QString::fromStdString(atSource ? edge.label : edge.endLabel)},
                                   {QStringLiteral("rect"), rectArray(inWidget(*chip))}};
                const auto hits = m_portalHits.find(static_cast<int>(e));
                const int count = hits == m_portalHits.end() ? 0 : atSource ? hits->second.first : hits->second.second;
                if (count > 0) portal[QStringLiteral("hits")] = count;
                portals.append(portal);
            }
    }
    if (!portals.isEmpty()) all[QStringLiteral("portals")] = portals;
    QJsonArray regions;
    const QRectF seen = sceneInView();
    for (size_t i = 0; i < scene()->regions.size(); ++i) {
        const SceneRegion& one = scene()->regions[i];
        if (!one.rect.intersects({seen.x(), seen.y(), seen.width(), seen.height()})) continue;
        const RegionState& state = m_state.regions[i];
        const HeadPlace place = headPlace(static_cast<int>(i));
        const auto placeOf = [&](const Rect& r) { return rectArray(place.onScreen(r)); };
        QJsonObject region{{QStringLiteral("id"), QString::fromStdString(one.id)},
                           {QStringLiteral("rect"), rectArray(inWidget(one.rect))},
                           {QStringLiteral("head"), placeOf(place.box)}};
        if (place.isStuck) region[QStringLiteral("stuck")] = true;
        if (state.iteration) region[QStringLiteral("iteration")] = static_cast<qint64>(*state.iteration);
        if (const int64_t dragged = draggedIteration(static_cast<int>(i)); dragged >= 0)
            region[QStringLiteral("scrubbed")] = static_cast<qint64>(dragged);
        if (state.trips) region[QStringLiteral("trips")] = static_cast<qint64>(*state.trips);
        if (state.tripsFromEarlier) region[QStringLiteral("tripsFromEarlier")] = true;
        if (!state.condition.empty()) region[QStringLiteral("decided")] = QString::fromStdString(state.condition);
        if (!state.note.empty()) region[QStringLiteral("note")] = QString::fromStdString(state.note);
        if (static_cast<int>(i) == m_selectedRegion) region[QStringLiteral("selected")] = true;
        const LoopHead head = partsOf(place);
        if (head.slider.width > 0) region[QStringLiteral("slider")] = placeOf(head.slider);
        if (head.field.width > 0) region[QStringLiteral("field")] = placeOf(head.field);
        if (head.condition.width > 0) region[QStringLiteral("condition")] = placeOf(head.condition);
        QJsonArray chips;
        for (const Rect& chip : head.chips) chips.append(placeOf(chip));
        if (!chips.isEmpty()) region[QStringLiteral("chips")] = chips;
        if (const auto hit = m_regionHits.find(static_cast<int>(i)); hit != m_regionHits.end())
            region[QStringLiteral("hits")] = hit->second;
        regions.append(region);
    }
    all[QStringLiteral("regions")] = regions;
    QJsonArray tokens;
    for (const TokenChip& chip : m_state.tokens) tokens.append(QString::fromStdString(chip.text));
    if (!tokens.isEmpty()) all[QStringLiteral("tokens")] = tokens;
    if (!m_valueCard.lines.isEmpty())
        all[QStringLiteral("valueCard")] = (QStringList{m_valueCard.title, m_valueCard.moment} + m_valueCard.lines).join(' ');
    if (!m_cardBox.isEmpty()) all[QStringLiteral("card")] = rectArray(m_cardBox);
    return all;
}

} // namespace loopscope::viewer
