#include "viewer/canvas/graph_canvas.h"

#include "viewer/bridge/document.h"
#include "viewer/canvas/canvas_accessible.h"
#include "viewer/canvas/canvas_description.h"
#include "viewer/canvas/minimap.h"
#include "viewer/style/theme.h"

#include <QPaintEvent>
#include <QPainter>
#include <QResizeEvent>

#include <algorithm>
#include <optional>

namespace loopscope::viewer {

namespace {

constexpr int kMargin = 8;

bool sameView(const ViewState& a, const ViewState& b)
{
    return a.root == b.root && a.inlined == b.inlined && a.expanded == b.expanded && a.condOpen == b.condOpen && a.folded == b.folded &&
           a.groupByNames == b.groupByNames && a.allExpanded == b.allExpanded && a.showConstants == b.showConstants &&
           a.showAttributes == b.showAttributes && a.showNames == b.showNames && a.leftToRight == b.leftToRight && a.rows == b.rows &&
           a.dense == b.dense;
}

/// Where the thing is that stays under the user's eyes when a picture gives way to another one: the middle of its top.
std::optional<QPointF> anchorIn(const IndexedScene& indexed, const std::string& id)
{
    const Scene& scene = *indexed.scene;
    if (const auto it = scene.nodeById.find(id); it != scene.nodeById.end()) {
        const Rect& r = scene.nodes[static_cast<size_t>(it->second)].rect;
        return QPointF(r.x + r.width / 2, r.y);
    }
    for (const SceneRegion& region : scene.regions)
        if (region.id == id || region.site == id) return QPointF(region.rect.x + region.rect.width / 2, region.rect.y);
    return std::nullopt;
}

} // namespace

GraphCanvas::GraphCanvas(QWidget* parent)
    : QWidget(parent),
      m_camera(m_picture, *this),
      m_selection(m_picture),
      m_heads(m_picture, m_camera),
      m_hits(m_picture, m_camera),
      m_cards(m_picture, m_camera, m_selection, m_heads, *this),
      m_frame(m_picture, m_camera, m_selection, m_heads, m_hits),
      m_legend(m_picture, m_camera, m_heads, m_hits,
               [this] {
                   reserveRoom();
                   if (m_camera.isFitted()) m_camera.placeFirst();
                   placeOverlays();
                   update();
               }),
      m_walk(*this),
      m_commands(*this),
      m_input(*this),
      m_minimap(new Minimap(*this))
{
    setObjectName(QStringLiteral("graphCanvas"));
    setAccessibleName(tr("Graph"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMinimumSize(160, 96);
    installCanvasAccessibility(*this);
    m_measure = fontTextMeasure();
    connectLoader();
    connect(&m_camera, &Camera::zoomed, this, [this](bool byHand) { m_frame.restart(byHand); });
    connect(&m_camera, &Camera::moved, this, &GraphCanvas::followCamera);
    connect(&m_selection, &CanvasSelection::changed, this, [this] {
        m_minimap->markNode(m_selection.node());
        update();
    });
    connect(&m_selection, &CanvasSelection::currentMoved, this, [this](int node) { announceFocus(*this, node); });
    connect(&Theme::instance(), &Theme::changed, this, &GraphCanvas::restyle);
}

GraphCanvas::~GraphCanvas() { m_loader.cancel(); }

void GraphCanvas::connectLoader()
{
    m_busyDelay.setSingleShot(true);
    m_busyDelay.setInterval(250); // shorter work shows nothing
    connect(&m_busyDelay, &QTimer::timeout, this, [this] {
        m_progress = std::max(0.0, m_progress);
        update(0, 0, width(), 3);
    });
    connect(&m_loader, &SceneLoader::loaded, this, [this](const std::shared_ptr<const IndexedScene>& scene) {
        m_busyDelay.stop();
        m_progress = -1;
        adopt(scene);
        emit buildingChanged(false);
    });
    connect(&m_loader, &SceneLoader::failed, this, [this](const QString& text) {
        m_busyDelay.stop();
        m_progress = -1;
        update();
        emit buildingChanged(false);
        emit buildFailed(text);
    });
    connect(&m_loader, &SceneLoader::progressed, this, [this](double done) {
        if (m_busyDelay.isActive()) return;
        m_progress = done;
        update(0, 0, width(), 3);
    });
}

// --- Pictures -------------------------------------------------------------------------------------------------------------------------

void GraphCanvas::restyle()
{
    m_picture.labels.clear();
    m_frame.restart();
    m_minimap->repaintScene();
    m_measure = fontTextMeasure();
    if (m_picture.view.dense != Theme::instance().dense()) {
        m_picture.view.dense = Theme::instance().dense();
        if (m_picture.model) m_loader.request(*m_picture.model, m_picture.view, m_measure);
    }
    update();
}

void GraphCanvas::build()
{
    m_busyDelay.start();
    m_loader.request(*m_picture.model, m_picture.view, m_measure);
    emit buildingChanged(true);
}

void GraphCanvas::setModel(const Model* model, const ViewState& view)
{
    m_loader.cancel();
    m_picture.model = model;
    m_picture.view = view;
    m_camera.startOver();
    if (!model) {
        setScene(nullptr);
        return;
    }
    m_picture.view.dense = Theme::instance().dense();
    build();
}

void GraphCanvas::setView(const ViewState& view, const std::string& anchor)
{
    if (sameView(view, m_picture.view) && (m_picture.indexed || m_loader.isBusy())) return;
    if (view.root != m_picture.view.root) m_camera.startOver();
    m_picture.view = view;
    m_anchor = anchor;
    if (m_picture.model) build();
}

void GraphCanvas::editView(const ViewState& view, const std::string& anchor)
{
    if (sameView(view, m_picture.view)) return;
    setView(view, anchor);
    emit viewEdited();
}

void GraphCanvas::cancelBuilding()
{
    if (!m_loader.isBusy()) return;
    m_loader.cancel();
    m_busyDelay.stop();
    m_progress = -1;
    if (m_picture.indexed) m_picture.view = scene()->view; // the old picture stays, and it is what is wanted now
    update();
    emit buildingChanged(false);
}

void GraphCanvas::setScene(std::shared_ptr<const IndexedScene> scene)
{
    if (scene) m_picture.view = scene->scene->view;
    adopt(std::move(scene));
}

void GraphCanvas::adopt(std::shared_ptr<const IndexedScene> scene)
{
    QPointF origin = m_camera.origin();
    if (m_picture.indexed && scene && !m_camera.isFitted() && !m_anchor.empty()) {
        const std::optional<QPointF> before = anchorIn(*m_picture.indexed, m_anchor), after = anchorIn(*scene, m_anchor);
        if (before && after) {
            QPointF seen = *before * m_camera.zoom() - origin;
            // A head that was kept at the top of the view goes on from there.
            for (const PlacedHead& head : m_heads.stuck())
                if (const SceneRegion& region = m_picture.region(head.region); region.id == m_anchor || region.site == m_anchor)
                    seen.setY(head.onScreen(head.box).top());
            origin = *after * m_camera.zoom() - seen;
        }
    }
    m_anchor.clear();
    m_heads.clear(); // of the old picture
    m_loader.discard(std::exchange(m_picture.indexed, std::move(scene)));
    m_frame.restart();
    m_selection.forgetMarks();
    m_input.hideField();
    m_picture.state = !m_picture.indexed ? CanvasState() : m_source ? m_source(*this->scene()) : idleState(*this->scene());
    m_heads.findNext();
    m_input.dropDrag(); // who hears of it may ask for the state
    setCompareMarks(m_compareMarks);
    m_selection.resolve();
    m_hits.count();
    m_minimap->setScene(this->scene());
    reserveRoom();
    m_camera.adopt(origin);
    placeOverlays();
    update();
    emit sceneChanged();
    emit viewportChanged();
}

ViewState GraphCanvas::viewShowing(const std::string& address) const
{
    ViewState view = m_picture.view;
    const std::string plain = staticAddress(address);
    // Every call on the way from the view's root is drawn inline: "main/while#1:body/if#3:then/add#2" needs while#1 and if#3.
    if (!plain.starts_with(view.root)) {
        const size_t last = plain.find_last_of('/');
        if (last != std::string::npos) view.root = plain.substr(0, last);
        return view;
    }
    for (size_t colon = plain.find(':', view.root.size()); colon != std::string::npos; colon = plain.find(':', colon + 1)) {
        const std::string site = plain.substr(0, colon);
        if (plain.compare(colon, 5, ":cond") == 0) view.condOpen.insert(site);
        if (colon > 0 && site.find('/') != std::string::npos) view.inlined.insert(site);
    }
    if (const int node = scene() ? scene()->findNode(plain) : -1; node >= 0 && m_picture.node(node).kind == NodeKind::group)
        view.expanded.insert(m_picture.node(node).id);
    return view;
}

// --- What is known of the moment ------------------------------------------------------------------------------------------------------

void GraphCanvas::setStateSource(StateSource source)
{
    m_source = std::move(source);
    refreshState();
}

void GraphCanvas::refreshState()
{
    if (m_picture.indexed && m_source) applyState(m_source(*scene()));
}

void GraphCanvas::applyState(CanvasState state)
{
    const Scene& now = *scene();
    const CanvasState& before = m_picture.state;
    for (size_t i = 0; i < now.nodes.size(); ++i) {
        state.nodes[i].compare = before.nodes[i].compare;
        if (state.nodes[i] == before.nodes[i]) continue;
        invalidate(now.nodes[i].rect);
        // Edges are drawn dead with their ends.
        if ((state.nodes[i].run == RunState::dead) == (before.nodes[i].run == RunState::dead)) continue;
        for (const auto* edges : {&m_picture.index().into(static_cast<int>(i)), &m_picture.index().outOf(static_cast<int>(i))})
            for (const int edge : *edges)
                for (const Point& point : m_picture.edge(edge).points) invalidate({point.x, point.y, 0, 0});
    }
    for (size_t i = 0; i < now.regions.size(); ++i) {
        if (state.regions[i] == before.regions[i]) continue;
        const bool same = state.regions[i].run == before.regions[i].run && state.regions[i].note == before.regions[i].note;
        invalidate(same ? now.regions[i].head : now.regions[i].rect);
    }
    const bool tokens = state.tokens != before.tokens;
    m_picture.state = std::move(state);
    m_heads.findNext();
    if (m_heads.place(m_minimap->isVisibleTo(this)) || tokens) update();
}

void GraphCanvas::invalidate(const Rect& area) { update(m_frame.drop(area)); }

void GraphCanvas::setCompareMarks(const QHash<QString, CompareMark>& marks)
{
    m_compareMarks = marks;
    if (!m_picture.indexed) return;
    std::vector<NodeState>& nodes = m_picture.state.nodes;
    std::vector<CompareMark> wanted(nodes.size(), CompareMark::none);
    for (auto it = marks.begin(); it != marks.end(); ++it)
        if (const int node = scene()->findNode(it.key().toStdString()); node >= 0)
            wanted[static_cast<size_t>(node)] = std::max(wanted[static_cast<size_t>(node)], it.value());
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (nodes[i].compare == wanted[i]) continue;
        nodes[i].compare = wanted[i];
        invalidate(scene()->nodes[i].rect);
    }
}

void GraphCanvas::setHits(const QStringList& addresses)
{
    std::vector<std::string> wanted;
    for (const QString& address : addresses) wanted.push_back(staticAddress(address.toStdString()));
    m_hits.setHits(std::move(wanted));
    update();
}

void GraphCanvas::setValues(const QHash<QString, QString>& values, const QHash<QString, QString>& abnormal)
{
    if (values == m_picture.values && abnormal == m_picture.abnormal) return;
    const bool isSeen = m_camera.level() >= 4 || abnormal != m_picture.abnormal;
    m_picture.values = values;
    m_picture.abnormal = abnormal;
    if (isSeen) update();
}

void GraphCanvas::setScrubbed(const std::string& region, int64_t iteration)
{
    m_heads.setScrubbed(region, iteration);
    update();
}

// --- Place ----------------------------------------------------------------------------------------------------------------------------

void GraphCanvas::setMinimapShown(bool shown)
{
    m_minimapShown = shown;
    reserveRoom();
    placeOverlays();
}

/// Legend and map lie over the graph's right side: pictures are placed beside them.
void GraphCanvas::reserveRoom()
{
    const bool map = m_minimapShown && m_picture.indexed && m_minimap->isTall() && width() >= 420;
    m_legend.setRight(width());
    const QRectF card = m_legend.rect();
    m_camera.reserve(card.isEmpty() ? QSizeF(0, 0) : QSizeF(card.width() + kMargin, card.bottom()), map ? m_minimap->width() + kMargin : 0);
}

void GraphCanvas::placeOverlays()
{
    const bool room = width() > 300 && height() > 160;
    const bool shown = m_minimapShown && m_picture.indexed && !scene()->nodes.empty() && room && !m_camera.showsAll();
    m_minimap->setVisible(shown);
    bool isOther = m_heads.place(shown);
    if (shown) { // each gives way to the other: the map to heads that stay at the top, these to a map that is beside them
        m_minimap->place();
        isOther |= m_heads.place(shown);
    }
    m_legend.setRight(m_minimap->isVisibleTo(this) && m_minimap->isTall() ? m_minimap->x() - 4 : width());
    isOther |= m_legend.place();
    if (isOther) update();
}

void GraphCanvas::followCamera()
{
    m_input.hideField(); // its head has moved away
    update();
    placeOverlays();
    m_minimap->update();
    emit viewportChanged();
}

void GraphCanvas::resizeEvent(QResizeEvent* event)
{
    reserveRoom();
    m_camera.resized(event->oldSize());
}

bool GraphCanvas::reveal(const std::string& address, bool center, bool readable)
{
    if (!m_picture.indexed) return false;
    const std::string place = staticAddress(address);
    Rect part;
    if (const int node = scene()->findNode(place); node >= 0) {
        part = m_picture.node(node).rect;
    } else if (const auto region = scene()->regionById.find(place); region != scene()->regionById.end()) {
        part = m_picture.region(region->second).head;
        part.width = std::min(part.width, 240.0); // its name
    } else {
        return false;
    }
    m_camera.bring(part, m_heads.bottom(), center, readable);
    return true;
}

int GraphCanvas::nodeAt(QPointF point) const
{
    return m_picture.indexed && !m_heads.covers(point) ? m_picture.index().nodeAt(m_camera.toScene(point)) : -1;
}

std::pair<int, bool> GraphCanvas::portalAt(QPointF point) const
{
    if (!m_picture.indexed || m_camera.level() < 3 || m_heads.covers(point)) return {-1, false};
    const Point at = m_camera.toScene(point);
    std::vector<int> near;
    m_picture.index().edgesIn({at.x, at.y - 16, 0, 32}, near);
    ScenePainter painter = m_picture.painter();
    for (const int edge : near)
        for (const bool atSource : {true, false})
            if (const std::optional<Rect> chip = painter.portalChip(edge, atSource); chip && chip->contains(at)) return {edge, atSource};
    return {-1, false};
}

QJsonObject GraphCanvas::describe() const { return describeCanvas(*this); }

void GraphCanvas::paintEvent(QPaintEvent* event)
{
    QPainter painter(this);
    painter.fillRect(event->rect(), themed(Token::surface));
    if (m_picture.indexed) {
        if (m_camera.setRatio(painter.device()->devicePixelRatioF())) m_frame.restart();
        m_frame.paint(painter, event->rect(), m_cards);
        if (m_cards.overlay() != nullptr) paintOverlay(painter, m_picture, m_camera, *m_cards.overlay());
        m_legend.paint(painter);
        if (m_camera.level() < 2 || m_input.isDragging()) m_cards.hide();
        else m_cards.paint(painter);
    }
    if (scene() && scene()->nodes.empty()) {
        painter.setFont(Theme::instance().font(FontUse::body));
        painter.setPen(themed(Token::text3));
        painter.drawText(rect(), Qt::AlignCenter, tr("This subgraph has no operators; it returns its arguments."));
    }
    if (const std::optional<QRectF> band = m_input.band()) {
        QColor fill = themed(Token::accent);
        fill.setAlphaF(0.12F);
        painter.setPen(QPen(themed(Token::accent), 1, m_input.bandZooms() ? Qt::DashLine : Qt::SolidLine));
        painter.setBrush(fill);
        painter.drawRect(*band);
    }
    if (m_progress >= 0) {
        painter.fillRect(QRectF(0, 0, width(), 2), themed(Token::line));
        painter.fillRect(QRectF(0, 0, std::max(12.0, width() * m_progress), 2), themed(Token::accent));
    }
    if (m_selection.isByKeys() && m_selection.node() < 0 && m_selection.region() < 0) {
        painter.setPen(QPen(themed(Token::text), 2, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(2, 2, -2, -2));
    }
}

} // namespace loopscope::viewer
