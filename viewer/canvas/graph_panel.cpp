#include "viewer/canvas/graph_panel.h"

#include "engine/observe/address.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"

#include <QAction>
#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

/// First elements of a value, one a line: "-0.2331", "0.0426 …".
QStringList firstElements(const Tensor& tensor)
{
    constexpr int64_t most = 2;
    if (!tensor.data) return {};
    const int64_t count = tensor.elementCount();
    if (count == 0) return {QStringLiteral("empty")};
    QStringList lines;
    for (int64_t i = 0; i < std::min(count, most); ++i) {
        const double value = elementAsReal(tensor, i);
        if (std::isnan(value) && (tensor.dtype == DType::string || tensor.dtype == DType::resource || tensor.dtype == DType::variant))
            return {};
        QString text = QString::number(value, 'g', 4);
        text.replace(QLatin1Char('-'), QChar(0x2212));
        lines.append(text);
    }
    if (count > most) lines.last() += QStringLiteral(" …");
    return lines;
}

} // namespace

GraphPanel::GraphPanel(Document& document, QWidget* parent)
    : Panel(document, QStringLiteral("panelGraph"), tr("Graph"), parent), m_canvas(new GraphCanvas(this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_canvas);
    setFocusProxy(m_canvas);

    const auto action = [this](const char* icon, const QString& text, const QString& id) {
        auto* made = new QAction(themedIcon(QString::fromLatin1(icon)), text, this);
        connect(made, &QAction::triggered, this, [this, id] { command(id); });
        m_actions.append(made);
    };
    action("fit", tr("Fit"), QStringLiteral("fit"));
    action("compare", tr("Open the callee beside"), QStringLiteral("splitCallee"));

    m_canvas->setBuilder(&buildScene);
    m_canvas->setStateSource([this](const Scene& scene) {
        const auto stop = this->document().stop();
        return stop ? stateAt(scene, this->document().model(), *stop, m_shownIterations) : idleState(scene);
    });
    connect(m_canvas, &GraphCanvas::selectionEdited, this, &GraphPanel::adoptSelection);
    connect(m_canvas, &GraphCanvas::viewEdited, this, [this] { this->document().setView(m_canvas->view()); });
    connect(m_canvas, &GraphCanvas::openRequested, this, &GraphPanel::open);
    connect(m_canvas, &GraphCanvas::openDefaultRequested, this, [this](int node) { open(node, this->document().openCallee()); });
    connect(m_canvas, &GraphCanvas::upRequested, this, [this] { command(QStringLiteral("up")); });
    connect(m_canvas, &GraphCanvas::breakpointRequested, this, [this](const QString& address) {
        for (const BreakpointRow& row : this->document().stop()->breakpoints)
            if (row.address == address.toStdString()) return this->document().execute(QStringLiteral("delete %1").arg(row.number));
        this->document().execute(QStringLiteral("break ") + address);
    });
    connect(m_canvas, &GraphCanvas::loopMoved, this, &GraphPanel::moveLoop);
    connect(m_canvas, &GraphCanvas::frameIterationChosen, this, [this](int region, qint64 iteration) {
        m_shownIterations[m_canvas->scene()->regions[static_cast<size_t>(region)].id] = iteration;
        m_canvas->refreshState();
    });
    connect(m_canvas, &GraphCanvas::commandRequested, this, &GraphPanel::triggerWindow);
    connect(m_canvas, &GraphCanvas::buildFailed, this, [this](const QString& text) {
        this->document().report(
            {Problem::Severity::error, text.toStdString(), this->document().view().root, "the picture before is shown"});
    });
    connect(m_canvas, &GraphCanvas::sceneChanged, this, [this] {
        showSelection();
        if (!m_reveal.empty() && m_canvas->reveal(m_reveal, false, true)) m_reveal.clear();
    });
    connect(m_canvas, &GraphCanvas::viewportChanged, this, [this] {
        if (m_zoomLabel) m_zoomLabel->setText(QStringLiteral("%1 %").arg(qRound(m_canvas->zoom() * 100)));
    });

    connect(&document, &Document::stopChanged, this, &GraphPanel::followStop);
    connect(&document, &Document::selectionChanged, this, &GraphPanel::showSelection);
    connect(&document, &Document::viewChanged, this, [this] {
        m_canvas->setView(this->document().view(), m_canvas->selected().empty() ? std::string() : m_canvas->selected().front());
    });
    connect(&document, &Document::revealRequested, this, [this](const QString& address) {
        const std::string text = address.toStdString();
        ViewState wanted = m_canvas->viewShowing(text);
        this->document().setView(std::move(wanted));
        m_reveal = m_canvas->isBuilding() || !m_canvas->reveal(text, true) ? text : std::string();
    });

    // A document that nobody has given a view yet starts with that of a fresh model.
    if (document.view().inlined.empty() && document.view().expanded.empty() && document.view().root.find('/') == std::string::npos) {
        ViewState view = initialView(document.model());
        if (!view.root.empty()) document.setView(std::move(view));
    }
    if (const Model& model = document.model(); !model.graphs.empty() && hasFramesOrSwitches(model.graphs.front())) setTitle(tr("Dataflow"));
    m_canvas->setModel(&document.model(), document.view());
    m_canvas->setLegendShown(!document.stop()->started);
}

Panel* makeGraphPanel(Document& document) { return new GraphPanel(document); }

QWidget* GraphPanel::headWidget()
{
    if (!m_zoomLabel) {
        m_zoomLabel = new QLabel(QStringLiteral("%1 %").arg(qRound(m_canvas->zoom() * 100)));
        m_zoomLabel->setProperty("type", "small");
        m_zoomLabel->setProperty("tone", "meta");
        connect(m_zoomLabel, &QObject::destroyed, this, [this] { m_zoomLabel = nullptr; });
    }
    return m_zoomLabel;
}

bool GraphPanel::command(const QString& id)
{
    if (id == QLatin1String("up")) {
        ViewState view = document().view();
        const size_t slash = view.root.rfind('/');
        if (slash == std::string::npos) return true;
        const std::string site = view.root.substr(0, view.root.rfind(':'));
        view.root.resize(slash);
        document().setView(std::move(view));
        document().select(site);
        return true;
    }
    if (id.startsWith(QLatin1String("exportTo "))) {
        const QString problem = m_canvas->exportPicture(id.mid(9));
        if (!problem.isEmpty())
            document().report({Problem::Severity::error, problem.toStdString(), document().view().root, "choose another file"});
        return true;
    }
    if (id == QLatin1String("cancel")) {
        if (!m_canvas->isBuilding()) return false;
        m_canvas->cancelBuilding();
        document().setView(m_canvas->view());
        return true;
    }
    return m_canvas->command(id);
}

std::string GraphPanel::calleeOf(const SceneNode& node) const
{
    if (!node.op.valid()) return {};
    const Model& model = const_cast<GraphPanel*>(this)->document().model();
    const CallForm form = callForm(model.graph(node.graph).op(node.op));
    std::string role;
    // The side that runs, else the body of a loop, else the first.
    for (const FrameSnapshot& frame : const_cast<GraphPanel*>(this)->document().stop()->stack) {
        const std::string plain = staticAddress(frame.address);
        if (plain.starts_with(node.id + ":") && plain.find('/', node.id.size()) == std::string::npos)
            role = plain.substr(node.id.size() + 1);
    }
    for (const Callee& callee : form.callees)
        if (role.empty() && callee.role == "body") role = callee.role;
    if (role.empty() && !form.callees.empty()) role = form.callees.front().role;
    return role.empty() ? std::string() : node.id + ":" + role;
}

void GraphPanel::open(int index, OpenCallee how)
{
    const SceneNode& node = m_canvas->scene()->nodes[static_cast<size_t>(index)];
    if (!node.call) return;
    ViewState view = document().view();
    document().setOpenCallee(how);
    switch (how) {
    case OpenCallee::drillIn: {
        const std::string callee = calleeOf(node);
        if (callee.empty()) return;
        view.root = callee;
        break;
    }
    case OpenCallee::inlineHere:
        if (!view.inlined.insert(node.id).second) view.inlined.erase(node.id);
        break;
    case OpenCallee::split: {
        const std::string callee = calleeOf(node);
        if (!callee.empty()) emit splitRequested(QString::fromStdString(callee));
        return;
    }
    }
    document().setView(std::move(view));
}

void GraphPanel::followStop()
{
    const StopSnapshot& stop = *document().stop();
    m_canvas->setLegendShown(!stop.started);
    const bool moved = stop.tick != m_stoppedAt;
    m_stoppedAt = stop.tick;
    if (moved) m_shownIterations.clear();
    m_canvas->refreshState();
    if (moved && stop.started && !stop.finished && !m_canvas->underMouseDrag()) {
        const bool there = m_canvas->reveal(stop.address, false, true);
        m_reveal = m_canvas->isBuilding() || !there ? stop.address : std::string();
    }
    askValue();
}

void GraphPanel::showSelection()
{
    if (!m_adopting) {
        const Selection& selection = document().selection();
        const std::string address = selection.address.empty() ? std::string() : staticAddress(selection.address);
        if (address.empty()) {
            m_canvas->select({});
        } else {
            // Inputs and results of a graph are pills; of an operator the address of its value is not that of its node.
            std::string place = address;
            if (m_canvas->scene() && m_canvas->scene()->findNode(place) < 0 && selection.value.valid()) {
                for (const SceneNode& node : m_canvas->scene()->nodes)
                    if (node.graph == selection.graph && node.value == selection.value &&
                        (node.kind == NodeKind::input || node.op == selection.op))
                        place = node.id;
            }
            if (m_canvas->selected().empty() || m_canvas->selected().front() != place) {
                m_canvas->select({place});
                m_canvas->reveal(place);
            }
        }
    }
    askValue();
}

void GraphPanel::adoptSelection()
{
    m_adopting = true;
    const int index = m_canvas->currentNode();
    if (index < 0) {
        document().clearSelection();
    } else {
        const SceneNode& node = m_canvas->scene()->nodes[static_cast<size_t>(index)];
        if (node.kind == NodeKind::op && document().select(node.id)) {
            // done: the address with the iterations of the stop
        } else {
            Selection selection;
            selection.graph = node.graph;
            selection.value = node.value;
            selection.op = node.op;
            // "main/while#1:body>arg4" is the input of the graph "main/while#1:body", which has the address with "/arg4".
            std::string address = node.id;
            const size_t mark = address.find_last_of("><");
            if (mark != std::string::npos && node.value.valid())
                address = address.substr(0, mark) + "/" + document().model().graph(node.graph).value(node.value).id;
            if (node.kind == NodeKind::group || !document().select(address)) {
                selection.address = node.id;
                document().select(selection);
            }
        }
    }
    m_adopting = false;
    askValue();
}

void GraphPanel::askValue()
{
    const int index = m_canvas->currentNode();
    const StopSnapshot& stop = *document().stop();
    if (index < 0 || !stop.started || !m_canvas->scene()) return m_canvas->setValueCard({});
    const SceneNode& node = m_canvas->scene()->nodes[static_cast<size_t>(index)];
    if (node.kind != NodeKind::op || !node.value.valid()) return m_canvas->setValueCard({});
    int depth = -1;
    const size_t slash = node.id.rfind('/');
    const std::string context = slash == std::string::npos ? std::string() : node.id.substr(0, slash);
    for (size_t d = 0; d < stop.stack.size(); ++d)
        if (stop.stack[d].info.graph == node.graph && staticAddress(stop.stack[d].address) == context) depth = static_cast<int>(d);
    ValueCard card;
    card.address = node.id;
    card.title = QString::fromStdString(document().model().graph(node.graph).value(node.value).id);
    card.type = QString::fromStdString(node.shape);
    if (depth < 0) return m_canvas->setValueCard({});
    document().bridge().ask(
        this, QStringLiteral("canvas value"),
        [depth, value = node.value](Debugger& debugger) {
            if (depth >= debugger.executor().position().depth) return QStringList();
            const Tensor* tensor = debugger.executor().value(depth, value);
            return tensor ? firstElements(*tensor) : QStringList();
        },
        [this, card](QStringList lines) mutable {
            card.lines = std::move(lines);
            m_canvas->setValueCard(card);
        });
}

void GraphPanel::moveLoop(int region, int64_t iteration, bool isFinal)
{
    // While the knob is dragged, what is known of that iteration is shown; the run goes there on release.
    if (!isFinal) return document().setPreview(iteration);
    document().setPreview(std::nullopt);
    const SceneRegion& loop = m_canvas->scene()->regions[static_cast<size_t>(region)];
    const RegionState& state = m_canvas->state().regions[static_cast<size_t>(region)];
    const StopSnapshot& stop = *document().stop();
    if (!stop.started || state.iteration == iteration) return;
    const bool isInnermost = !stop.stack.empty() && stop.stack.back().address == state.address;
    if (isInnermost && document().frame() < 0) return document().execute(QStringLiteral("iter %1").arg(iteration), QStringLiteral("scrub"));
    // The loop's own iteration is the last one in the address of its frame; loops around it stay where they are.
    Result<Address> address = parseAddress(state.address.empty() ? document().atStop(loop.id) : state.address);
    if (!address.ok() || address->steps.empty()) return;
    address->steps.back().iteration = iteration;
    document().execute(QStringLiteral("goto ") + QString::fromStdString(toString(*address)), QStringLiteral("scrub"));
}

void GraphPanel::triggerWindow(const QString& id)
{
    if (QAction* action = window()->findChild<QAction*>(QStringLiteral("action.") + id)) action->trigger();
}

} // namespace loopscope::viewer
