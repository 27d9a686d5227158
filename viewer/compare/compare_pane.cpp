#include "viewer/compare/compare_pane.h"

#include "viewer/compare/compare_panels.h"
#include "viewer/compare/compare_parts.h"
#include "viewer/style/icons.h"

#include <QAction>
#include <QEvent>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr double kMargin = 6;
constexpr double kEdge = 12;      ///< of the picture: what is nearer counts as out of view
constexpr int64_t kMostChips = 8; ///< of a v1 frame; a head with more iterations has a slider
constexpr double kReadable = 0.8; ///< wider pictures are cut at the right instead

} // namespace

NameLine::NameLine(QWidget* parent) : QWidget(parent)
{
    setObjectName("compareName");
    const auto restyle = [this] {
        setFixedHeight(Theme::instance().barHeight(22));
        update();
    };
    restyle();
    connect(&Theme::instance(), &Theme::changed, this, restyle);
}

void NameLine::show(bool here, const QString& name, const QString& detail)
{
    m_here = here;
    m_name = name;
    m_detail = detail;
    setToolTip(detail.isEmpty() ? name : name + QStringLiteral(", ") + detail);
    setAccessibleName(QStringLiteral("%1 %2").arg(here ? "A" : "B", toolTip()));
    update();
}

void NameLine::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), themed(Token::surface));
    painter.setPen(themed(Token::line));
    painter.drawLine(0, height() - 1, width(), height() - 1);
    const Theme& theme = Theme::instance();
    QRect room(8, 0, width() - 14, height() - 1);
    painter.setFont(theme.font(FontUse::body, true));
    painter.setPen(themed(m_here ? Token::sideA : Token::sideB));
    painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft, m_here ? "A" : "B");
    room.setLeft(room.left() + painter.fontMetrics().horizontalAdvance('B') + 8);
    // The name has the room first; what is left goes to the detail.
    painter.setFont(theme.font(FontUse::body));
    painter.setPen(themed(Token::text));
    const QFontMetrics names = painter.fontMetrics();
    painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft, names.elidedText(m_name, Qt::ElideMiddle, room.width()));
    room.setLeft(room.left() + names.horizontalAdvance(m_name) + 8);
    painter.setFont(theme.font(FontUse::small));
    painter.setPen(themed(Token::text2));
    if (painter.fontMetrics().horizontalAdvance(m_detail) <= room.width())
        painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft, m_detail);
}

ComparePane::ComparePane(Document& document, CompareSide side)
    : Panel(document, side == CompareSide::here ? "panelCompareA" : "panelCompareB", side == CompareSide::here ? "A" : "B"),
      m_desk(CompareDesk::of(document)),
      m_side(side)
{
    auto* const content = new QWidget;
    auto* const column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_name = new NameLine(content);
    m_name->setObjectName("compareName");
    column->addWidget(m_name);
    m_canvas = new GraphCanvas(content);
    m_canvas->setObjectName(side == CompareSide::here ? "compareA" : "compareB");
    m_canvas->setAccessibleName(side == CompareSide::here ? tr("Side A") : tr("Side B"));
    m_canvas->setMinimapShown(false);
    m_canvas->installEventFilter(this);
    column->addWidget(m_canvas, 1);
    m_stack = new EmptyStack(content, this);
    auto* const whole = new QVBoxLayout(this);
    whole->setContentsMargins(0, 0, 0, 0);
    whole->addWidget(m_stack);

    m_fit = new QAction(tr("Fit the width"), this);
    m_fit->setIcon(themedIcon("fit"));
    connect(m_fit, &QAction::triggered, this, [this] {
        m_fitted = true;
        fitWidth();
    });
    if (side == CompareSide::there) {
        m_swap = new QAction(tr("Swap A and B"), this);
        m_swap->setObjectName("compareSwap");
        m_swap->setIcon(themedIcon("swap"));
        connect(m_swap, &QAction::triggered, &m_desk, &CompareDesk::swapRequested);
    } else {
        connect(&m_desk, &CompareDesk::placesChanged, this, &Panel::stateChanged);
    }
    m_canvas->setStateSource([this](const Scene& scene) { return stateOf(scene); });
    connectCanvas();
    connectViews();
    connect(&m_desk, &CompareDesk::runChanged, this, &ComparePane::showNames);
    connect(&m_desk, &CompareDesk::scenesChanged, this, &ComparePane::showScene);
    connect(&m_desk, &CompareDesk::judgementChanged, this, &ComparePane::showMarks);
    connect(&m_desk, &CompareDesk::selectionChanged, this, &ComparePane::showSelection);
    connect(&Theme::instance(), &Theme::changed, this, &ComparePane::showNames);
    showNames();
    showScene();
}

void ComparePane::connectCanvas()
{
    connect(&m_canvas->selection(), &CanvasSelection::edited, this, &ComparePane::adoptSelection);
    connect(m_canvas, &GraphCanvas::viewportChanged, this, [this] {
        if (!m_placing) m_fitted = false;
        if (!m_following && m_canvas->scene())
            m_desk.views().move(m_side, {m_canvas->camera().zoom(), m_canvas->camera().origin().y(), m_fitted});
        if (m_zoom) m_zoom->setText(QStringLiteral("%1 %").arg(qRound(m_canvas->camera().zoom() * 100)));
    });
    connect(&m_canvas->input(), &CanvasInput::loopMoved, this,
            [this](int region, qint64 iteration, bool) { chooseIteration(region, iteration); });
    connect(&m_canvas->input(), &CanvasInput::frameIterationChosen, this, &ComparePane::chooseIteration);
    connect(m_canvas, &GraphCanvas::viewEdited, this, &ComparePane::adoptView);
    const auto unfold = [this](const CallSite& site) { m_desk.setFolded(shown(), site.address, false); };
    connect(m_canvas, &GraphCanvas::openRequested, this, unfold);
    connect(m_canvas, &GraphCanvas::openDefaultRequested, this, unfold);
    connect(m_canvas, &GraphCanvas::commandRequested, this, [this](const QString& id) {
        if (QAction* const action = window()->findChild<QAction*>(QStringLiteral("action.") + id)) action->trigger();
    });
}

/// The other side's place is followed, and told this one's.
void ComparePane::connectViews()
{
    connect(&m_desk.views(), &LinkedViews::moved, this, [this](CompareSide from, const LinkedViews::Viewport& viewport) {
        if (from == m_side || !m_desk.views().isLinked() || !m_canvas->scene()) return;
        m_following = true;
        m_canvas->camera().setViewport(viewport.zoom, QPointF(m_canvas->camera().origin().x(), viewport.top));
        m_following = false;
        m_fitted = viewport.fitted;
    });
    connect(&m_desk.views(), &LinkedViews::scrollWanted, this, [this](double top) {
        if (m_side == CompareSide::here && m_canvas->scene())
            m_canvas->camera().setViewport(m_canvas->camera().zoom(), QPointF(m_canvas->camera().origin().x(), top));
    });
    connect(&m_desk.views(), &LinkedViews::linkChanged, this, [this] { // A shows where both are
        if (m_desk.views().isLinked() && m_side == CompareSide::here && m_canvas->scene())
            m_desk.views().move(m_side, {m_canvas->camera().zoom(), m_canvas->camera().origin().y(), m_fitted});
    });
}

CanvasState ComparePane::stateOf(const Scene& scene) const
{
    CanvasState state = idleState(scene);
    if (!m_desk.drift() || !m_desk.scenes()) return state;
    state.started = true;
    const bool here = shown() == CompareSide::here;
    for (size_t r = 0; r < scene.regions.size(); ++r) {
        const SceneRegion& region = scene.regions[r];
        const std::string loop = m_desk.loopOf(shown(), region);
        if (loop.empty() || m_desk.judgement().iterationsOf(loop) == 0) continue;
        state.regions[r].trips = m_desk.judgement().iterationsOf(loop);
        state.regions[r].iteration = m_desk.judgement().iterationOf(loop);
        if (region.kind != RegionKind::frame) continue;
        for (int64_t k = 0; k < m_desk.judgement().iterationsOf(loop) && m_desk.judgement().iterationsOf(loop) <= kMostChips; ++k)
            state.regions[r].chips.push_back({k, m_desk.judgement().iterationOf(loop) == k ? ChipState::chosen : ChipState::done});
    }
    const auto& rows = here ? m_desk.scenes()->rowsHere : m_desk.scenes()->rowsThere;
    for (size_t n = 0; n < scene.nodes.size(); ++n) {
        if (scene.nodes[n].kind != NodeKind::op) continue;
        const auto row = rows.find(scene.nodes[n].id);
        if (row == rows.end()) continue;
        const std::string& address = m_desk.scenes()->rows[static_cast<size_t>(row->second.front())].here;
        state.nodes[n].run = m_desk.judgement().verdictAt(address) ? RunState::run : RunState::notRun;
    }
    return state;
}

QWidget* ComparePane::headWidget()
{
    if (!m_zoom) {
        m_zoom = new QLabel(QStringLiteral("%1 %").arg(qRound(m_canvas->camera().zoom() * 100)));
        m_zoom->setProperty("type", "small");
        m_zoom->setProperty("tone", "meta");
        connect(m_zoom, &QObject::destroyed, this, [this] { m_zoom = nullptr; });
    }
    return m_zoom;
}

void ComparePane::showNames()
{
    const bool here = shown() == CompareSide::here;
    m_name->show(here, m_desk.nameOf(shown()), m_desk.detailOf(shown()));
    if (m_swap) m_swap->setEnabled(m_desk.canSwap());
    if (m_desk.stage() == CompareDesk::Stage::none || (m_desk.stage() == CompareDesk::Stage::notRun && !m_desk.problem().isEmpty())) {
        showStage(*m_stack, m_desk, this);
    } else if (m_desk.reference() && !m_desk.reference()->model()) {
        m_stack->showEmpty(tr("%1 holds arrays and no graph: the differences are in the table.").arg(m_desk.nameOf(CompareSide::there)));
    } else {
        m_stack->showContent();
    }
}

void ComparePane::showScene()
{
    showNames();
    m_placing = true;
    m_canvas->setScene(m_desk.sceneOf(shown()));
    m_placing = false;
    if (m_fitted) fitWidth();
    showMarks();
    showSelection();
}

void ComparePane::showMarks()
{
    QHash<QString, CompareMark> marks;
    if (const PairedScenes* const scenes = m_desk.scenes()) {
        const bool here = shown() == CompareSide::here;
        for (const PairedRow& row : scenes->rows) {
            const std::optional<Verdict> verdict = m_desk.judgement().verdictAt(row.here);
            if (!verdict || *verdict < Verdict::over) continue;
            marks[toText(here ? row.here : row.there)] = *verdict == Verdict::over ? CompareMark::over : CompareMark::farOver;
        }
        for (const std::string& address : here ? scenes->onlyHere : scenes->onlyThere) marks[toText(address)] = CompareMark::onlyHere;
    }
    m_canvas->setCompareMarks(marks);
    m_canvas->refreshState();
}

void ComparePane::showSelection()
{
    const std::vector<std::string>& selected = m_desk.selected(shown());
    m_canvas->selection().select(selected);
    if (m_adopting || selected.empty() || !m_canvas->scene()) return;
    // Only up or down: rows begin at the left. A call that is drawn open is found by its head.
    const Scene& scene = *m_canvas->scene();
    double y = 0, height = 0;
    if (const int node = scene.findNode(selected.front()); node >= 0) {
        y = scene.nodes[static_cast<size_t>(node)].rect.y;
        height = scene.nodes[static_cast<size_t>(node)].rect.height;
    } else if (const auto region = scene.regionById.find(selected.front()); region != scene.regionById.end()) {
        y = scene.regions[static_cast<size_t>(region->second)].head.y;
        height = scene.regions[static_cast<size_t>(region->second)].head.height;
    } else {
        return;
    }
    const double zoom = m_canvas->camera().zoom(), top = y * zoom - m_canvas->camera().origin().y();
    if (top >= kEdge && top + height * zoom <= m_canvas->height() - kEdge) return;
    m_canvas->camera().setViewport(zoom, QPointF(m_canvas->camera().origin().x(), (y + height / 2) * zoom - m_canvas->height() / 2.0));
}

void ComparePane::chooseIteration(int region, qint64 iteration)
{
    const std::string loop = m_desk.loopOf(shown(), m_canvas->scene()->regions[static_cast<size_t>(region)]);
    if (!loop.empty()) m_desk.judgement().setIteration(loop, iteration);
}

/// What was closed or opened in this picture is closed or opened in both.
void ComparePane::adoptView()
{
    const std::set<std::string>& now = m_canvas->view().folded;
    const std::set<std::string> before = m_canvas->scene() ? m_canvas->scene()->view.folded : std::set<std::string>();
    if (!m_canvas->view().allExpanded) return m_desk.unfoldAll();
    for (const std::string& id : now)
        if (!before.contains(id)) m_desk.setFolded(shown(), id, true);
    for (const std::string& id : before)
        if (!now.contains(id)) m_desk.setFolded(shown(), id, false);
}

void ComparePane::adoptSelection()
{
    if (m_canvas->selection().addresses().empty()) return;
    m_adopting = true;
    m_desk.selectAt(shown(), m_canvas->selection().addresses().front());
    m_adopting = false;
}

void ComparePane::fitWidth()
{
    const Scene* const scene = m_canvas->scene();
    if (!scene || scene->bounds.width <= 0 || m_canvas->width() < 2) return;
    const double zoom = std::clamp((m_canvas->width() - 2 * kMargin) / scene->bounds.width, kReadable, 1.0);
    m_placing = true;
    m_canvas->camera().setViewport(zoom, QPointF(scene->bounds.x * zoom - kMargin, scene->bounds.y * zoom - kMargin));
    m_placing = false;
}

bool ComparePane::command(const QString& id)
{
    if (id == QLatin1String("nextFinding") || id == QLatin1String("previousFinding"))
        return m_desk.goToDifference(id == QLatin1String("nextFinding") ? 1 : -1);
    if (id == QLatin1String("toggleAB")) {
        m_swapped = !m_swapped;
        const double zoom = m_canvas->camera().zoom();
        const QPointF origin = m_canvas->camera().origin();
        const bool fitted = std::exchange(m_fitted, false);
        showScene(); // the same place of the other side: rows stand at the same height
        m_placing = true;
        m_canvas->camera().setViewport(zoom, origin);
        m_placing = false;
        m_fitted = fitted;
        return true;
    }
    if (id == QLatin1String("fit")) {
        m_fitted = true;
        fitWidth();
        return true;
    }
    return m_canvas->commands().perform(id);
}

bool ComparePane::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_canvas && event->type() == QEvent::Resize) {
        m_placing = true;
        static_cast<QObject*>(m_canvas)->event(event); // its own way of resizing first
        m_placing = false;
        if (m_fitted) fitWidth();
        return true;
    }
    return Panel::eventFilter(watched, event);
}

Panel* makeCompareAPanel(Document& document) { return new ComparePane(document, CompareSide::here); }
Panel* makeCompareBPanel(Document& document) { return new ComparePane(document, CompareSide::there); }

} // namespace loopscope::viewer
