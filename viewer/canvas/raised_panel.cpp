#include "viewer/canvas/raised_panel.h"

#include "engine/observe/address_names.h"
#include "engine/observe/address_origin.h"
#include "viewer/bridge/proving.h"
#include "viewer/canvas/raised_state.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/widgets/value_menu.h"

#include <QAction>
#include <QLabel>
#include <QVBoxLayout>

namespace loopscope::viewer {

RaisedPanel::RaisedPanel(Document& document)
    : Panel(document, QStringLiteral("panelRaised"), tr("Raised")),
      m_desk(RaisedDesk::of(document)),
      m_canvas(new GraphCanvas),
      m_link(new QAction(themedIcon(QStringLiteral("follow")), tr("Scroll together with the dataflow picture"), this)),
      m_fit(new QAction(themedIcon(QStringLiteral("fit")), tr("Fit"), this)),
      m_prove(new QAction(themedIcon(QStringLiteral("compare")), tr("Prove"), this)),
      m_verdict(new QLabel(this))
{
    m_canvas->setObjectName(QStringLiteral("raisedCanvas"));
    m_canvas->setAccessibleName(tr("Raised graph"));
    m_canvas->setBuilder(&buildScene);
    m_stack = new EmptyStack(m_canvas, this);
    auto* const column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_stack, 1);
    m_verdict->setObjectName(QStringLiteral("raisedVerdict"));
    m_verdict->setWordWrap(true);
    m_verdict->setMargin(6);
    m_verdict->setTextFormat(Qt::PlainText);
    m_verdict->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_verdict->hide();
    column->addWidget(m_verdict);
    m_prove->setObjectName(QStringLiteral("raisedProve"));
    m_prove->setToolTip(tr("Runs both forms on the inputs of the last run and on drawn ones, and compares every value that pairs"));
    connect(m_prove, &QAction::triggered, this, &RaisedPanel::prove);
    setFocusProxy(m_canvas);
    m_link->setObjectName(QStringLiteral("raisedLink"));
    m_link->setCheckable(true);
    m_link->setChecked(m_desk.isLinked());
    connect(m_link, &QAction::toggled, this, [this](bool on) { m_desk.setLinked(on); });
    connect(m_fit, &QAction::triggered, this, [this] { command(QStringLiteral("fit")); });

    m_canvas->setStateSource([this](const Scene& scene) {
        return m_desk.raised() ? raisedState(scene, *m_desk.raised(), this->document().model(), *this->document().stop())
                               : idleState(scene);
    });
    connect(&m_canvas->selection(), &CanvasSelection::edited, this, &RaisedPanel::adoptSelection);
    connect(m_canvas, &GraphCanvas::openRequested, this, &RaisedPanel::open);
    connect(m_canvas, &GraphCanvas::openDefaultRequested, this, [this](const CallSite& site) { open(site, OpenCallee::inlineHere); });
    connect(m_canvas, &GraphCanvas::upRequested, this, [this] {
        ViewState view = m_canvas->view();
        view.root = callerOf(view.root);
        if (!view.root.empty()) m_canvas->editView(view);
    });
    connect(m_canvas, &GraphCanvas::breakpointRequested, this, [this](const QString& address) {
        const Result<Address> place = parseAddress(address.toStdString());
        const std::optional<Address> node = place.ok() ? throughOrigin(this->document().model(), *place) : std::nullopt;
        if (node) this->document().perform(request::ToggleBreakpoint{*node});
    });
    connect(&m_canvas->input(), &CanvasInput::loopMoved, this, [this](int region, int64_t iteration, bool isFinal) {
        if (isFinal) goToIteration(region, iteration);
    });
    connect(m_canvas, &GraphCanvas::commandRequested, this, [this](const QString& id) {
        if (id.startsWith(QLatin1String("ask why branch "))) return askWhyDead(id.mid(15).toStdString());
        if (QAction* const action = window()->findChild<QAction*>(QStringLiteral("action.") + id)) action->trigger();
    });
    connect(m_canvas, &GraphCanvas::sceneChanged, this, [this] {
        showSelection();
        followStop();
    });
    connect(&document, &Document::stopChanged, this, &RaisedPanel::followStop);
    connect(&document, &Document::selectionChanged, this, &RaisedPanel::showSelection);
    connect(&m_desk, &RaisedDesk::changed, this, &RaisedPanel::showStage);
    m_desk.setRaised(m_canvas);
    showStage();
}

Panel* makeRaisedPanel(Document& document) { return new RaisedPanel(document); }

QWidget* RaisedPanel::headWidget()
{
    if (!m_count) {
        m_count = new QLabel;
        m_count->setProperty("type", "small");
        m_count->setProperty("tone", "meta");
        showCount();
    }
    return m_count;
}

void RaisedPanel::showCount()
{
    if (!m_count || !m_desk.raised()) return;
    const auto left = static_cast<int>(m_desk.raised()->left().size()), raised = static_cast<int>(m_desk.raised()->rewrites());
    m_count->setText(left == 0 ? tr("%L1 raised").arg(raised) : tr("%L1 raised, %L2 left").arg(raised).arg(left));
}

/// Why a side was not taken is, in the graph that runs, why its nodes are dead.
void RaisedPanel::askWhyDead(const std::string& site)
{
    const Scene& scene = *m_canvas->scene();
    for (size_t i = 0; i < scene.nodes.size(); ++i) {
        const SceneNode& node = scene.nodes[i];
        const NodeState& state = m_canvas->state().nodes[i];
        const bool isOut = state.run == RunState::untaken || state.run == RunState::dead || state.willBeDead;
        if (node.kind != NodeKind::op || !node.id.starts_with(site + ":") || !isOut) continue;
        const std::optional<ModelPlace> source = m_desk.raised()->nodeOf({node.graph, node.op, node.value});
        if (!source) continue;
        const std::string address = addressInFrames(document().model().graph(source->graph), source->op);
        return askDebugger(document(), *this, QStringLiteral("why dead ") + QString::fromStdString(document().atStop(address)));
    }
}

/// Both forms run beside the session, off the GUI thread; the verdict stays below the picture.
void RaisedPanel::prove()
{
    const auto* const proving = dynamic_cast<const Proving*>(&document().backend());
    if (proving == nullptr || m_isProving || !m_desk.raised()) return;
    m_isProving = true;
    m_prove->setEnabled(false);
    m_verdict->setText(tr("Proving …"));
    m_verdict->show();
    m_work.run([proving](const std::stop_token& stop) { return proving->proveRaised(stop); },
               [this](const Result<ProvedForm>& proved) {
                   m_isProving = false;
                   m_prove->setEnabled(true);
                   if (!proved.ok()) return m_verdict->setText(tr("not proved: %1").arg(QString::fromStdString(proved.error().message())));
                   QStringList lines{(proved->differs ? tr("✕ different") : tr("✓ %1").arg(QString::fromStdString(proved->verdict)))};
                   for (const std::string& line : proved->lines) lines.append(QString::fromStdString(line));
                   m_verdict->setText(lines.join(QLatin1Char('\n')));
                   m_verdict->setStyleSheet(QStringLiteral("color: %1;").arg(themed(proved->differs ? Token::err : Token::text2).name()));
                   if (proved->differs)
                       document().report({Problem::Severity::warning,
                                          "the raised form computes something else",
                                          {},
                                          proved->lines.empty() ? std::string() : proved->lines.back()});
               });
}

void RaisedPanel::showStage()
{
    m_prove->setEnabled(m_desk.stage() == RaisedDesk::Stage::ready && dynamic_cast<const Proving*>(&document().backend()) != nullptr);
    switch (m_desk.stage()) {
    case RaisedDesk::Stage::none: return m_stack->showEmpty(tr("Nothing to raise: the model has no Switch, Merge or frame."));
    case RaisedDesk::Stage::waiting:
        return m_stack->showEmpty(tr("A large graph is raised when it is asked for."), {{tr("Raise"), [this] { m_desk.raise(); }}});
    case RaisedDesk::Stage::working: return m_stack->showEmpty(tr("Raising …"));
    case RaisedDesk::Stage::failed: return m_stack->showEmpty(tr("Not raised: %1").arg(m_desk.problem()));
    case RaisedDesk::Stage::ready: break;
    }
    m_stack->showContent();
    showCount();
    m_canvas->setModel(&m_desk.raised()->model(), initialView(m_desk.raised()->model()));
}

bool RaisedPanel::command(const QString& id) { return m_canvas->commands().perform(id); }

/// What stands for the next node comes into view, unless the dataflow picture beside has brought it there.
void RaisedPanel::followStop()
{
    m_canvas->refreshState();
    const StopSnapshot& stop = *document().stop();
    if (stop.tick == m_stoppedAt || !stop.started || stop.finished || !m_canvas->scene()) return;
    m_stoppedAt = stop.tick;
    const std::vector<NodeState>& nodes = m_canvas->state().nodes;
    for (size_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].next || nodes[i].last) m_canvas->reveal(m_canvas->scene()->nodes[i].id);
}

void RaisedPanel::showSelection()
{
    const Scene* const scene = m_canvas->scene();
    if (m_adopting || !scene || !m_desk.raised()) return;
    const Selection& selection = document().selection();
    const std::optional<ModelPlace> place = selection.op.valid() ? m_desk.raised()->raisedOf(selection.graph, selection.op) : std::nullopt;
    if (!place) return m_canvas->selection().select({});
    const int node = nodeOfPlace(*scene, *place);
    const std::string address = node >= 0 ? scene->nodes[static_cast<size_t>(node)].id : m_desk.raisedAddress(selection.address);
    m_canvas->selection().select({address});
    if (isVisible()) m_canvas->reveal(address);
}

void RaisedPanel::adoptSelection()
{
    const int index = m_canvas->selection().node();
    if (index < 0 || !m_desk.raised()) return;
    const SceneNode& node = m_canvas->scene()->nodes[static_cast<size_t>(index)];
    const bool isInput = node.kind == NodeKind::input;
    if (node.kind != NodeKind::op && !isInput) return;
    const std::optional<ModelPlace> source = m_desk.raised()->nodeOf({node.graph, isInput ? OperatorId() : node.op, node.value});
    if (!source) return;
    m_adopting = true;
    const std::string address = addressInFrames(document().model().graph(source->graph), source->op);
    if (document().select(address)) document().reveal(address);
    m_adopting = false;
}

void RaisedPanel::open(const CallSite& site, OpenCallee how)
{
    ViewState view = m_canvas->view();
    if (how == OpenCallee::drillIn) {
        for (const Callee& callee : calleesOf(m_desk.raised()->model().graph(site.graph).op(site.op)))
            if (callee.role != "cond") view.root = site.address + ":" + callee.role;
    } else if (!view.inlined.insert(site.address).second) {
        view.inlined.erase(site.address);
    }
    m_canvas->editView(view);
}

/// The slider of a loop moves the run to that iteration of its frame.
void RaisedPanel::goToIteration(int region, int64_t iteration)
{
    const SceneRegion& loop = m_canvas->scene()->regions[static_cast<size_t>(region)];
    Result<Address> address = parseAddress(loop.site + "@" + std::to_string(iteration) + ":" + loop.role);
    std::optional<Address> frame = address.ok() ? throughOrigin(document().model(), *address) : std::nullopt;
    if (frame && document().stop()->started) document().perform(request::GoToAddress{std::move(*frame)}, QStringLiteral("scrub"));
}

} // namespace loopscope::viewer
