#include "viewer/canvas/canvas_commands.h"

#include "engine/observe/address_names.h"
#include "engine/ops/control_flow.h"
#include "viewer/bridge/text.h"
#include "viewer/canvas/graph_canvas.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>

#include <algorithm>

namespace loopscope::viewer {

namespace {

/// What can be asked about what a run has decided at a loop or a branch; empty: it decides nothing.
QString questionAt(const CanvasPicture& picture, const SceneNode& node)
{
    if (!picture.model || !node.call) return {};
    switch (callForm(picture.model->graph(node.graph).op(node.op)).kind) {
    case CallKind::loop: return QStringLiteral("why loop ") + toText(node.id);
    case CallKind::branch:
    case CallKind::select: return QStringLiteral("why branch ") + toText(node.id);
    default: return {};
    }
}

} // namespace

CanvasCommands::CanvasCommands(GraphCanvas& canvas) : m_canvas(canvas), m_picture(canvas.picture())
{
    addWays();
    addViews();
    m_commands["drillIn"] = [this] { open(OpenCallee::drillIn); };
    m_commands["inlineCallee"] = [this] { open(OpenCallee::inlineHere); };
    m_commands["splitCallee"] = [this] { open(OpenCallee::split); };
    m_commands["up"] = [this] { emit m_canvas.upRequested(); };
    m_commands["expand"] = [this] {
        const int node = m_canvas.selection().node();
        if (node < 0 || toggleGroup(node, true) || !m_picture.node(node).call) return;
        emit m_canvas.openRequested(CallSite::of(m_picture.node(node)), OpenCallee::inlineHere);
    };
    m_commands["collapse"] = [this] { foldRegion(regionUnderCurrent()); };
    m_commands["traceUp"] = [this] { m_canvas.selection().traceNext(); };
    m_commands["copyName"] = [this] { copyNames(); };
}

/// From node to node.
void CanvasCommands::addWays()
{
    const auto byKeys = [this](int by) {
        m_canvas.selection().setByKeys(true);
        m_canvas.ways().step(by);
    };
    m_commands["walkUp"] = [this] { m_canvas.ways().walk(Qt::Key_Up); };
    m_commands["walkDown"] = [this] { m_canvas.ways().walk(Qt::Key_Down); };
    m_commands["walkLeft"] = [this] { m_canvas.ways().walk(Qt::Key_Left); };
    m_commands["walkRight"] = [this] { m_canvas.ways().walk(Qt::Key_Right); };
    m_commands["nextNode"] = [byKeys] { byKeys(1); };
    m_commands["previousNode"] = [byKeys] { byKeys(-1); };
    m_commands["producer"] = [this] { m_canvas.ways().follow(false); };
    m_commands["consumer"] = [this] { m_canvas.ways().follow(true); };
}

/// What is drawn, and how large.
void CanvasCommands::addViews()
{
    const auto zoomBy = [this](double factor) { m_canvas.camera().zoomAt(m_canvas.camera().rect().center(), factor); };
    m_commands["fit"] = [this] { m_canvas.camera().fit(); };
    m_commands["fitSelection"] = [this] { m_canvas.camera().fitNodes(m_canvas.selection().nodes()); };
    m_commands["zoomIn"] = [zoomBy] { zoomBy(1.25); };
    m_commands["zoomOut"] = [zoomBy] { zoomBy(0.8); };
    m_commands["actualSize"] = [this, zoomBy] { zoomBy(1 / m_canvas.camera().zoom()); };
    m_commands["expandAll"] = [this] { toggle(&ViewState::allExpanded); };
    m_commands["attributes"] = [this] { toggle(&ViewState::showAttributes); };
    m_commands["names"] = [this] { toggle(&ViewState::showNames); };
    m_commands["constants"] = [this] { toggle(&ViewState::showConstants); };
    m_commands["orientation"] = [this] {
        toggle(&ViewState::leftToRight);
        m_canvas.camera().startOver();
    };
    m_commands["minimap"] = [this] { m_canvas.setMinimapShown(!m_canvas.isMinimapShown()); };
}

bool CanvasCommands::perform(const QString& id)
{
    const auto known = m_commands.find(id.toStdString());
    if (known == m_commands.end()) return false;
    known->second();
    return true;
}

void CanvasCommands::open(OpenCallee how)
{
    const int node = m_canvas.selection().node();
    if (toggleGroup(node, true)) return;
    if (const std::optional<CallSite> call = m_canvas.selection().call()) emit m_canvas.openRequested(*call, how);
    else if (const int portal = m_canvas.ways().portalOf(node); portal >= 0 && how == OpenCallee::drillIn)
        m_canvas.ways().showEnds(portal, m_canvas.camera().nodeRect(node).bottomLeft());
}

void CanvasCommands::toggle(bool ViewState::*option)
{
    ViewState view = m_picture.view;
    view.*option = !(view.*option);
    const std::vector<std::string>& selected = m_canvas.selection().addresses();
    m_canvas.editView(view, selected.empty() ? std::string() : selected.front());
}

void CanvasCommands::copyNames() const
{
    QStringList names;
    for (const int each : m_canvas.selection().nodes()) names.append(toText(m_picture.node(each).name + m_picture.node(each).index));
    if (!names.isEmpty()) QGuiApplication::clipboard()->setText(names.join(QLatin1Char('\n')));
}

bool CanvasCommands::toggleGroup(int node, bool open)
{
    if (node < 0) return false;
    const SceneNode& one = m_picture.node(node);
    if (one.kind != NodeKind::group) return false;
    ViewState view = m_picture.view;
    if (open && view.folded.erase(one.id) == 0) view.expanded.insert(one.id);
    else if (!open) view.expanded.erase(one.id);
    m_canvas.editView(view, one.id);
    return true;
}

bool CanvasCommands::foldRegion(int region)
{
    if (region < 0) return false;
    const SceneRegion& one = m_picture.region(region);
    ViewState view = m_picture.view;
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
    m_canvas.selection().select({anchor}); // what it is folded into
    emit m_canvas.selection().edited();
    m_canvas.editView(view, anchor);
    return true;
}

int CanvasCommands::regionUnderCurrent() const
{
    if (m_canvas.selection().region() >= 0) return m_canvas.selection().region();
    const int node = m_canvas.selection().node();
    return node < 0 ? -1 : m_picture.node(node).region;
}

QAction* CanvasCommands::add(QMenu& menu, const QString& text, const char* id)
{
    const QString name = QString::fromUtf8(id);
    QAction* const action = menu.addAction(text);
    action->setObjectName(QStringLiteral("context.") + name);
    connect(action, &QAction::triggered, this, [this, name] {
        if (!perform(name)) emit m_canvas.commandRequested(name);
    });
    return action;
}

void CanvasCommands::fillMenu(QMenu& menu, int node)
{
    const SceneNode* one = node >= 0 ? &m_picture.node(node) : nullptr;
    if (one && one->call) {
        add(menu, tr("Open here"), "drillIn");
        add(menu, tr("Open inline"), "inlineCallee");
        add(menu, tr("Open beside"), "splitCallee");
        menu.addSeparator();
    }
    if (one && one->kind == NodeKind::group) add(menu, tr("Expand group"), "expand");
    if (one && one->region >= 0) add(menu, tr("Fold what holds this"), "collapse");
    if (one && one->kind == NodeKind::op) addOperator(menu, *one);
    if (const QString question = one && m_picture.state.started ? questionAt(m_picture, *one) : QString(); !question.isEmpty())
        add(menu, question.startsWith(QLatin1String("why loop")) ? tr("Why the loop goes on") : tr("Why this branch"),
            (QStringLiteral("ask ") + question).toUtf8().constData())
            ->setObjectName(QStringLiteral("context.why"));
    if (one) {
        if (!menu.isEmpty()) menu.addSeparator();
        add(menu, tr("To the producer"), "producer")->setEnabled(!m_picture.index().into(node).empty());
        add(menu, tr("To the consumer"), "consumer")->setEnabled(!m_picture.index().outOf(node).empty());
        add(menu, tr("Light upstream, downstream, off"), "traceUp");
        add(menu, tr("Properties"), "properties");
        menu.addSeparator();
        add(menu, tr("Copy name"), "copyName");
        add(menu, tr("Copy address"), "copyAddress");
        add(menu, tr("Fit selection"), "fitSelection");
    } else {
        addWhole(menu);
    }
    menu.addSeparator();
    add(menu, tr("Fit"), "fit");
}

void CanvasCommands::addOperator(QMenu& menu, const SceneNode& node)
{
    if (!menu.isEmpty() && !menu.actions().last()->isSeparator()) menu.addSeparator();
    QAction* const toggle = menu.addAction(tr("Toggle breakpoint"));
    toggle->setObjectName(QStringLiteral("context.toggleBreakpoint"));
    connect(toggle, &QAction::triggered, this, [this, address = toText(node.id)] { emit m_canvas.breakpointRequested(address); });
    add(menu, tr("Edit breakpoint"), "editBreakpoint");
    add(menu, tr("Run to here"), "runToCursor");
    add(menu, tr("Run back to here"), "backToCursor");
    add(menu, tr("Watch"), "watchExpression");
}

/// Of the graph, beside everything in it.
void CanvasCommands::addWhole(QMenu& menu)
{
    add(menu, tr("Up to the caller"), "up")->setEnabled(!callerOf(m_picture.view.root).empty());
    add(menu, tr("Expand all"), "expandAll");
    menu.addSeparator();
    const auto check = [&](const QString& text, const char* id, bool on) {
        QAction* const action = add(menu, text, id);
        action->setCheckable(true);
        action->setChecked(on);
    };
    check(tr("Attributes"), "attributes", m_picture.view.showAttributes);
    check(tr("Tensor names"), "names", m_picture.view.showNames);
    check(tr("Constants"), "constants", m_picture.view.showConstants);
    check(tr("Left to right"), "orientation", m_picture.view.leftToRight);
    check(tr("Minimap"), "minimap", m_canvas.isMinimapShown());
    QMenu* const figures = menu.addMenu(tr("Figures over operators"));
    add(*figures, tr("Time per operator"), "overlay time");
    add(*figures, tr("Health of results"), "overlay health");
    add(*figures, tr("Node data of a file…"), "overlay data");
    add(*figures, tr("None"), "overlay none")->setEnabled(m_canvas.cards().overlay() != nullptr);
    menu.addSeparator();
    add(menu, tr("Export graph"), "exportGraph");
}

} // namespace loopscope::viewer
