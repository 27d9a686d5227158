#include "viewer/canvas/graph_panel.h"

#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "engine/observe/address_resolution.h"
#include "viewer/canvas/callee_pane.h"
#include "viewer/canvas/raised_desk.h"
#include "viewer/style/icons.h"

#include <QAction>
#include <QLabel>
#include <QResizeEvent>
#include <QSplitter>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

/// A graph is higher than wide: side by side only where that leaves both panes wide enough.
Qt::Orientation splitFor(QSize size) { return size.width() > 1.3 * size.height() ? Qt::Horizontal : Qt::Vertical; }

} // namespace

GraphPanel::GraphPanel(Document& document, QWidget* parent)
    : Panel(document, QStringLiteral("panelGraph"), tr("Graph"), parent),
      m_splitter(new QSplitter(this)),
      m_main(new GraphPane(document)),
      m_active(m_main)
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_splitter);
    m_splitter->setChildrenCollapsible(false);
    m_splitter->addWidget(m_main);
    setFocusProxy(m_main);

    const auto action = [this](const char* icon, const QString& text, const QString& id) {
        auto* made = new QAction(themedIcon(QString::fromLatin1(icon)), text, this);
        connect(made, &QAction::triggered, this, [this, id] { command(id); });
        m_actions.append(made);
    };
    action("fit", tr("Fit"), QStringLiteral("fit"));
    action("compare", tr("Open the callee beside, or close it"), QStringLiteral("splitCallee"));

    connect(m_main, &GraphPane::viewWanted, this, [this](const ViewState& view) { this->document().setView(view); });
    connect(m_main, &GraphPane::splitWanted, this, [this](const QString& callee) {
        if (m_callee && m_callee->root() == callee.toStdString()) return hideCallee();
        showCallee(callee.toStdString());
        m_callee->setFocus(Qt::OtherFocusReason);
    });
    connect(m_main, &GraphPane::upWanted, this, &GraphPanel::goUp);
    watchZoom(*m_main);
    connect(m_main, &GraphPane::stateChanged, this, &GraphPanel::stateChanged);

    connect(&document, &Document::stopChanged, this, &GraphPanel::followStop);
    connect(&document, &Document::viewChanged, this, &GraphPanel::followView);
    connect(&document, &Document::hitsChanged, this, [this] {
        for (GraphCanvas* canvas : {&this->canvas(), calleeCanvas()})
            if (canvas) canvas->setHits(this->document().hits());
    });
    connect(&document, &Document::revealRequested, this, [this](const QString& address) {
        const std::string place = staticAddress(address.toStdString());
        const bool isInCallee = m_callee && place.starts_with(m_callee->root() + "/");
        (isInCallee ? m_callee->pane() : *m_main).reveal(place);
    });

    // A document that nobody has given a view yet starts with that of a fresh model.
    if (document.view().inlined.empty() && document.view().expanded.empty() && callerOf(document.view().root).empty()) {
        ViewState view = initialView(document.model());
        if (!view.root.empty()) document.setView(std::move(view));
    }
    if (const Model& model = document.model(); !model.graphs.empty() && hasFramesOrSwitches(model.graphs.front())) {
        setTitle(tr("Dataflow"));
        m_raised = &RaisedDesk::of(document);
        m_raised->setDataflow(&canvas());
    }
    m_main->show(document.view());
}

Panel* makeGraphPanel(Document& document) { return new GraphPanel(document); }

GraphCanvas* GraphPanel::calleeCanvas() { return m_callee ? &m_callee->pane().canvas() : nullptr; }

GraphPane& GraphPanel::activePane() const { return *m_active; }

bool GraphPanel::settled() const
{
    if (m_raised != nullptr && m_raised->isBusy()) return false;
    return !m_main->canvas().isBuilding() && !(m_callee && m_callee->pane().canvas().isBuilding());
}

QJsonObject GraphPanel::state() const
{
    QJsonObject state = m_main->state();
    if (!m_callee) return state;
    QJsonObject callee = m_callee->pane().state();
    callee[QStringLiteral("root")] = QString::fromStdString(m_callee->root());
    state[QStringLiteral("callee")] = callee;
    return state;
}

void GraphPanel::setState(const QJsonObject& state)
{
    m_main->setState(state);
    const QJsonObject callee = state[QStringLiteral("callee")].toObject();
    const std::string root = callee[QStringLiteral("root")].toString().toStdString();
    // The model may be another one by now.
    const Result<Address> address = parseAddress(root);
    if (root.empty() || !address.ok() || !resolveAddress(document().model(), *address).ok()) return;
    showCallee(root);
    m_callee->pane().setState(callee);
}

QWidget* GraphPanel::headWidget()
{
    if (!m_zoomLabel) {
        m_zoomLabel = new QLabel(QStringLiteral("%1 %").arg(qRound(activePane().canvas().camera().zoom() * 100)));
        m_zoomLabel->setProperty("type", "small");
        m_zoomLabel->setProperty("tone", "meta");
    }
    return m_zoomLabel;
}

/// The zoom in the head, and where commands go, are of the pane that has the focus.
void GraphPanel::watchZoom(GraphPane& pane)
{
    const auto show = [this, &pane] {
        if (m_zoomLabel && m_active == &pane) m_zoomLabel->setText(QStringLiteral("%1 %").arg(qRound(pane.canvas().camera().zoom() * 100)));
    };
    connect(&pane.canvas(), &GraphCanvas::viewportChanged, this, show);
    connect(&pane.canvas().input(), &CanvasInput::focused, this, [this, &pane, show] {
        m_active = &pane;
        show();
    });
}

bool GraphPanel::command(const QString& id)
{
    if (id == QLatin1String("up")) {
        goUp();
        return true;
    }
    if (id == QLatin1String("splitCallee") && toggleCallee()) return true;
    return activePane().command(id);
}

/// Closes the callee where the command could open no other one.
bool GraphPanel::toggleCallee()
{
    if (!m_callee) return false;
    if (activePane().canvas().selection().call()) return false;
    hideCallee();
    return true;
}

/// From a callee beside its caller to the call in the caller; else the caller takes the place of the graph.
void GraphPanel::goUp()
{
    ViewState view = document().view();
    const bool fromCallee = m_callee && m_active == &m_callee->pane();
    const std::string from = fromCallee ? m_callee->root() : view.root;
    const std::string site = callSiteOf(from);
    if (site.empty()) return;
    if (fromCallee) {
        m_main->setFocus(Qt::OtherFocusReason);
        m_active = m_main;
        document().select(site);
        return m_main->reveal(site);
    }
    view.root = callerOf(from);
    document().setView(std::move(view));
    document().select(site);
}

void GraphPanel::showCallee(const std::string& root)
{
    m_dismissed.clear();
    ViewState view = document().view();
    view.root = root;
    if (m_callee) {
        m_callee->setRoot(root);
        emit stateChanged();
        return m_callee->pane().setView(view);
    }
    m_callee = new CalleePane(document());
    m_callee->setRoot(root);
    GraphPane& pane = m_callee->pane();
    connect(&pane, &GraphPane::viewWanted, this, [this](const ViewState& wanted) {
        // What is open is the same in both; a callee that was drilled into takes the place of this one.
        ViewState shared = wanted;
        m_callee->setRoot(wanted.root);
        shared.root = document().view().root;
        document().setView(std::move(shared));
    });
    connect(&pane, &GraphPane::splitWanted, this, [this](const QString& callee) { showCallee(callee.toStdString()); });
    connect(&pane, &GraphPane::upWanted, this, &GraphPanel::goUp);
    connect(m_callee, &CalleePane::closeRequested, this, &GraphPanel::hideCallee);
    watchZoom(pane);
    connect(&pane, &GraphPane::stateChanged, this, &GraphPanel::stateChanged);
    m_splitter->setOrientation(splitFor(size()));
    m_splitter->addWidget(m_callee);
    const int half = std::max(m_splitter->width(), m_splitter->height()) / 2;
    m_splitter->setSizes({half, half});
    pane.show(view);
    emit stateChanged();
}

void GraphPanel::hideCallee()
{
    if (!m_callee) return;
    m_active = m_main;
    m_main->setFocus(Qt::OtherFocusReason);
    m_dismissed = m_callee->root();
    m_callee->hide();
    m_callee->deleteLater(); // it may be one of its own widgets that asks
    m_callee = nullptr;
    emit stateChanged();
}

void GraphPanel::followView()
{
    m_main->setView(document().view());
    if (!m_callee) return;
    ViewState view = document().view();
    view.root = m_callee->root();
    m_callee->pane().setView(view);
}

/// Where the user has callees beside their callers, a stop in one that is not drawn in the caller shows it.
void GraphPanel::followStop()
{
    const StopSnapshot& stop = *document().stop();
    if (document().openCallee() != OpenCallee::split || !stop.started || stop.isDataflow) return;
    const std::string& root = document().view().root;
    for (const FrameSnapshot& frame : stop.stack) {
        const std::string invocation = staticAddress(frame.address);
        if (callerOf(invocation) != root) continue;
        if (document().view().inlined.contains(callSiteOf(invocation))) return;
        if (m_callee ? m_callee->root() != invocation : m_dismissed != invocation) showCallee(invocation);
        return;
    }
}

void GraphPanel::resizeEvent(QResizeEvent* event)
{
    Panel::resizeEvent(event);
    if (m_callee) m_splitter->setOrientation(splitFor(size()));
}

} // namespace loopscope::viewer
