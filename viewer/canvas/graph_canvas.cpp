// What the canvas shows and where: scenes, views, zoom and place.
#include "viewer/canvas/graph_canvas.h"

#include "viewer/bridge/document.h"
#include "viewer/canvas/canvas_accessible.h"
#include "viewer/canvas/minimap.h"
#include "viewer/style/theme.h"

#include <QLineEdit>
#include <QResizeEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kLeastZoom = 0.02;
constexpr double kMostZoom = 4;
constexpr double kMargin = 8;
constexpr double kReadable = 0.6; ///< names can be read; a graph that would have to be smaller opens at its top instead

bool sameView(const ViewState& a, const ViewState& b)
{
    return a.root == b.root && a.inlined == b.inlined && a.expanded == b.expanded && a.condOpen == b.condOpen && a.folded == b.folded &&
           a.groupByNames == b.groupByNames && a.allExpanded == b.allExpanded && a.showConstants == b.showConstants &&
           a.showAttributes == b.showAttributes && a.showNames == b.showNames && a.leftToRight == b.leftToRight && a.rows == b.rows &&
           a.dense == b.dense;
}

} // namespace

GraphCanvas::GraphCanvas(QWidget* parent) : QWidget(parent), m_minimap(new Minimap(*this))
{
    setObjectName(QStringLiteral("graphCanvas"));
    setAccessibleName(tr("Graph"));
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    setMinimumSize(160, 96);
    installCanvasAccessibility(*this);
    m_measure = fontTextMeasure();
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
    connect(&Theme::instance(), &Theme::changed, this, &GraphCanvas::restyle);
}

GraphCanvas::~GraphCanvas() { m_loader.cancel(); }

void GraphCanvas::restyle()
{
    m_labels.clear();
    m_tiles.clear();
    m_minimap->repaintScene();
    m_measure = fontTextMeasure();
    if (m_view.dense != Theme::instance().dense()) {
        m_view.dense = Theme::instance().dense();
        if (m_model) m_loader.request(*m_model, m_view, m_measure);
    }
    update();
}

void GraphCanvas::setModel(const Model* model, const ViewState& view)
{
    m_loader.cancel();
    m_model = model;
    m_view = view;
    startOver();
    if (!model) {
        setScene(nullptr);
        return;
    }
    m_view.dense = Theme::instance().dense();
    m_busyDelay.start();
    m_loader.request(*model, m_view, m_measure);
    emit buildingChanged(true);
}

void GraphCanvas::setView(const ViewState& view, const std::string& anchor)
{
    if (sameView(view, m_view) && (m_scene || m_loader.isBusy())) return;
    if (view.root != m_view.root) startOver();
    m_view = view;
    m_anchor = anchor;
    if (!m_model) return;
    m_busyDelay.start();
    m_loader.request(*m_model, m_view, m_measure);
    emit buildingChanged(true);
}

void GraphCanvas::editView(ViewState view, const std::string& anchor)
{
    if (sameView(view, m_view)) return;
    setView(view, anchor);
    emit viewEdited();
}

void GraphCanvas::cancelBuilding()
{
    if (!m_loader.isBusy()) return;
    m_loader.cancel();
    m_busyDelay.stop();
    m_progress = -1;
    if (m_scene) m_view = scene()->view; // the old picture stays, and it is what is wanted now
    update();
    emit buildingChanged(false);
}

void GraphCanvas::setScene(std::shared_ptr<const IndexedScene> scene)
{
    if (scene) m_view = scene->scene->view;
    adopt(std::move(scene));
}

QPointF GraphCanvas::anchorPlace(const IndexedScene& indexed, const std::string& id, bool& found) const
{
    const Scene& scene = *indexed.scene;
    found = true;
    if (const auto it = scene.nodeById.find(id); it != scene.nodeById.end()) {
        const Rect& r = scene.nodes[static_cast<size_t>(it->second)].rect;
        return {r.x + r.width / 2, r.y};
    }
    for (const SceneRegion& region : scene.regions)
        if (region.id == id || region.site == id) return {region.rect.x + region.rect.width / 2, region.rect.y};
    found = false;
    return {};
}

void GraphCanvas::adopt(std::shared_ptr<const IndexedScene> scene)
{
    bool had = false;
    bool has = false;
    QPointF before;
    if (m_scene && scene && !m_isFitted && !m_anchor.empty()) {
        before = anchorPlace(*m_scene, m_anchor, had) * m_zoom - m_origin;
        // A head that was kept at the top of the view goes on from there.
        for (const HeadPlace& head : m_stuckHeads)
            if (const SceneRegion& region = this->scene()->regions[static_cast<size_t>(head.region)];
                region.id == m_anchor || region.site == m_anchor)
                before.setY(head.onScreen(head.box).top());
        const QPointF after = anchorPlace(*scene, m_anchor, has) * m_zoom;
        if (had && has) m_origin = after - before;
    }
    m_anchor.clear();
    m_stuckHeads.clear(); // of the old picture
    m_loader.discard(std::exchange(m_scene, std::move(scene)));
    m_tiles.clear();
    m_hoverNode = m_hoverEdge = m_selectedEdge = -1;
    m_traced.clear();
    m_traceMode = 0;
    if (m_iterationField) m_iterationField->hide();
    m_state = m_scene ? (m_source ? m_source(*m_scene->scene) : idleState(*m_scene->scene)) : CanvasState();
    findNextNode();
    dropDrag(); // who hears of it may ask for the state
    setCompareMarks(m_compareMarks);
    resolveSelection();
    countHits();
    m_minimap->setScene(this->scene());
    if (m_isFitted) {
        placeFitted();
    } else {
        keepInView();
        clampOrigin();
    }
    placeMinimap();
    updateStuckHeads();
    update();
    emit sceneChanged();
    emit viewportChanged();
}

void GraphCanvas::setStateSource(StateSource source)
{
    m_source = std::move(source);
    refreshState();
}

void GraphCanvas::refreshState()
{
    if (m_scene && m_source) applyState(m_source(*m_scene->scene));
}

void GraphCanvas::applyState(CanvasState state)
{
    const Scene& now = *scene();
    for (size_t i = 0; i < now.nodes.size(); ++i) {
        const CompareMark mark = m_state.nodes[i].compare;
        state.nodes[i].compare = mark;
        if (state.nodes[i] == m_state.nodes[i]) continue;
        invalidate(now.nodes[i].rect);
        // Edges are drawn dead with their ends.
        if ((state.nodes[i].run == RunState::dead) == (m_state.nodes[i].run == RunState::dead)) continue;
        for (const auto* edges : {&m_scene->index.into(static_cast<int>(i)), &m_scene->index.outOf(static_cast<int>(i))})
            for (const int edge : *edges)
                for (const Point& point : now.edges[static_cast<size_t>(edge)].points) invalidate({point.x, point.y, 0, 0});
    }
    for (size_t i = 0; i < now.regions.size(); ++i) {
        if (state.regions[i] == m_state.regions[i]) continue;
        const bool same = state.regions[i].run == m_state.regions[i].run && state.regions[i].note == m_state.regions[i].note;
        invalidate(same ? now.regions[i].head : now.regions[i].rect);
    }
    const bool tokens = state.tokens != m_state.tokens;
    m_state = std::move(state);
    findNextNode();
    updateStuckHeads();
    if (tokens) update();
}

void GraphCanvas::invalidate(const Rect& area)
{
    const double reach = 12;
    const QRectF pixels((area.x - reach) * m_zoom - 8, (area.y - reach) * m_zoom - 8, (area.width + 2 * reach) * m_zoom + 16,
                        (area.height + 2 * reach) * m_zoom + 16);
    m_tiles.drop(pixels);
    update(pixels.translated(-m_origin).toAlignedRect());
}

void GraphCanvas::setCompareMarks(const QHash<QString, CompareMark>& marks)
{
    m_compareMarks = marks;
    if (!m_scene) return;
    std::vector<CompareMark> wanted(m_state.nodes.size(), CompareMark::none);
    for (auto it = marks.begin(); it != marks.end(); ++it)
        if (const int node = scene()->findNode(it.key().toStdString()); node >= 0)
            wanted[static_cast<size_t>(node)] = std::max(wanted[static_cast<size_t>(node)], it.value());
    for (size_t i = 0; i < wanted.size(); ++i) {
        if (m_state.nodes[i].compare == wanted[i]) continue;
        m_state.nodes[i].compare = wanted[i];
        invalidate(scene()->nodes[i].rect);
    }
}

void GraphCanvas::setHits(const QStringList& addresses)
{
    std::vector<std::string> wanted;
    for (const QString& address : addresses) wanted.push_back(staticAddress(address.toStdString()));
    m_hitAddresses = std::move(wanted);
    countHits();
}

/// A hit counts for what is drawn of it: the operator, the folded group, or the call whose callee is not drawn. An open group or callee
/// counts what lies inside at its head.
void GraphCanvas::countHits()
{
    m_hits.clear();
    m_regionHits.clear();
    m_portalHits.clear();
    update();
    if (!m_scene) return;
    for (const std::string& address : m_hitAddresses) {
        std::string place = address;
        int node = scene()->findNode(place);
        for (size_t end = place.rfind(':'); node < 0 && end != std::string::npos; end = place.rfind(':')) {
            place.resize(end);
            node = scene()->findNode(place);
        }
        if (node < 0) continue;
        ++m_hits[node];
        for (int region = scene()->nodes[static_cast<size_t>(node)].region; region >= 0;
             region = scene()->regions[static_cast<size_t>(region)].parent)
            if (scene()->regions[static_cast<size_t>(region)].kind == RegionKind::group) ++m_regionHits[region];
    }
    if (m_hits.empty()) return;
    // Chips of cut edges count for what they lead to.
    const auto hitsAt = [&](int node) {
        const auto found = m_hits.find(node);
        return found == m_hits.end() ? 0 : found->second;
    };
    std::map<std::pair<int, int32_t>, int> ofNet;
    for (const SceneEdge& edge : scene()->edges)
        if (edge.portal) ofNet[{edge.from, edge.value.index}] += hitsAt(edge.to);
    for (size_t e = 0; e < scene()->edges.size(); ++e) {
        const SceneEdge& edge = scene()->edges[e];
        if (!edge.portal) continue;
        const std::pair<int, int> hits(ofNet[{edge.from, edge.value.index}], hitsAt(edge.from));
        if (hits.first + hits.second > 0) m_portalHits[static_cast<int>(e)] = hits;
    }
}

void GraphCanvas::setValueCard(const ValueCard& card)
{
    if (card == m_valueCard) return;
    m_valueCard = card;
    update();
}

void GraphCanvas::setValues(const QHash<QString, QString>& values)
{
    if (values == m_values) return;
    m_values = values;
    if (m_level >= 4) update();
}

void GraphCanvas::setLegendShown(bool shown)
{
    if (m_legend == shown) return;
    m_legend = shown;
    if (m_isFitted) placeFitted();
    placeMinimap();
    updateStuckHeads();
    update();
}

void GraphCanvas::setMinimapShown(bool shown)
{
    m_minimapShown = shown;
    placeMinimap();
    updateStuckHeads();
}

// --- Place ----------------------------------------------------------------------------------------------------------------------------

QRectF GraphCanvas::freeArea(bool besideMap) const
{
    QRectF area = QRectF(rect()).adjusted(kMargin, kMargin, -kMargin, -kMargin);
    if (m_legend && width() >= 640) area.setRight(area.right() - 156);
    if (besideMap && m_minimapShown && m_scene && m_minimap->height() > 100 && width() >= 420)
        area.setRight(area.right() - m_minimap->width() - kMargin);
    return area;
}

bool GraphCanvas::showsAll() const { return m_scene && QRectF(rect()).contains(inWidget(scene()->bounds)); }

void GraphCanvas::fit()
{
    m_fitsWhole = true;
    placeFitted();
}

void GraphCanvas::startOver()
{
    m_isFitted = true;
    m_isPlaced = false;
    m_fitsWhole = false;
}

void GraphCanvas::placeFitted()
{
    m_isFitted = true;
    m_isPlaced = false;
    if (!m_scene || width() < 2 || height() < 2) return;
    const Rect& b = scene()->bounds;
    if (b.width <= 0 || b.height <= 0) return;
    QRectF area = freeArea(false); // a picture that is seen whole needs no map
    double zoom = std::min({area.width() / b.width, area.height() / b.height, 1.0});
    QPointF origin;
    const bool tooSmall = zoom < kReadable && !m_fitsWhole;
    if (tooSmall) {
        area = freeArea(true);
        zoom = std::clamp(area.width() / b.width, kReadable, 1.0);
    }
    zoom = std::clamp(zoom, kLeastZoom, kMostZoom);
    origin.setX((b.x + b.width / 2) * zoom - area.center().x());
    origin.setY(tooSmall ? b.y * zoom - kMargin : (b.y + b.height / 2) * zoom - area.center().y());
    // What fits in height hangs at the top: a graph is read downwards.
    if (b.height * zoom < area.height()) origin.setY(b.y * zoom - std::min(area.top(), area.top() + (area.height() - b.height * zoom) / 2));
    if (zoom != m_zoom) m_tiles.clear();
    m_zoom = zoom;
    m_level = detailLevel(zoom);
    m_origin = origin;
    clampOrigin();
    viewportMoved();
}

void GraphCanvas::fitSelection()
{
    if (m_selectedNodes.empty()) return fit();
    Rect box = scene()->nodes[static_cast<size_t>(m_selectedNodes.front())].rect;
    for (const int node : m_selectedNodes) {
        const Rect& r = scene()->nodes[static_cast<size_t>(node)].rect;
        const double right = std::max(box.right(), r.right());
        const double bottom = std::max(box.bottom(), r.bottom());
        box.x = std::min(box.x, r.x);
        box.y = std::min(box.y, r.y);
        box.width = right - box.x;
        box.height = bottom - box.y;
    }
    const double zoom = std::clamp(std::min(width() / (box.width + 80), height() / (box.height + 80)), kLeastZoom, 1.5);
    setViewport(zoom, QPointF(box.center().x * zoom - width() / 2.0, box.center().y * zoom - height() / 2.0));
}

void GraphCanvas::setViewport(double zoom, QPointF origin)
{
    zoom = std::clamp(zoom, kLeastZoom, kMostZoom);
    const bool zoomed = zoom != m_zoom;
    const QPointF before = m_origin;
    m_isFitted = false;
    m_isPlaced = true;
    if (zoomed) {
        m_tiles.clear();
        m_sinceZoom.restart();
        m_level = detailLevel(zoom, m_level);
    }
    m_zoom = zoom;
    m_origin = origin;
    clampOrigin();
    if (!zoomed && m_origin == before) return;
    if (m_iterationField) m_iterationField->hide(); // its head has moved away
    viewportMoved();
}

void GraphCanvas::clampOrigin()
{
    if (!m_scene) return;
    // Some of the graph stays in view, and tiles lie on device pixels.
    const Rect& b = scene()->bounds;
    const double keep = 48;
    m_origin.setX(
        std::clamp(m_origin.x(), b.x * m_zoom - width() + keep, std::max(b.x * m_zoom - width() + keep, b.right() * m_zoom - keep)));
    m_origin.setY(
        std::clamp(m_origin.y(), b.y * m_zoom - height() + keep, std::max(b.y * m_zoom - height() + keep, b.bottom() * m_zoom - keep)));
    const double ratio = devicePixelRatioF();
    m_origin = {std::round(m_origin.x() * ratio) / ratio, std::round(m_origin.y() * ratio) / ratio};
}

/// A picture that has become so small that it fits is shown whole: it moves as little as that takes.
void GraphCanvas::keepInView()
{
    if (!m_scene) return;
    const QRectF area = freeArea(false), box = inWidget(scene()->bounds);
    if (box.width() > area.width() || box.height() > area.height()) return;
    m_origin.rx() += std::max(0.0, box.right() - area.right()) - std::max(0.0, area.left() - box.left());
    m_origin.ry() += std::max(0.0, box.bottom() - area.bottom()) - std::max(0.0, area.top() - box.top());
}

void GraphCanvas::zoomAt(QPointF point, double factor)
{
    const double zoom = std::clamp(m_zoom * factor, kLeastZoom, kMostZoom);
    if (zoom == m_zoom) return;
    setViewport(zoom, (m_origin + point) * (zoom / m_zoom) - point);
}

QRectF GraphCanvas::inWidget(const Rect& r) const
{
    return {r.x * m_zoom - m_origin.x(), r.y * m_zoom - m_origin.y(), r.width * m_zoom, r.height * m_zoom};
}

QRectF GraphCanvas::nodeRect(int node) const { return inWidget(scene()->nodes[static_cast<size_t>(node)].rect); }

QRectF GraphCanvas::sceneInView() const { return {m_origin.x() / m_zoom, m_origin.y() / m_zoom, width() / m_zoom, height() / m_zoom}; }

std::vector<int> GraphCanvas::visibleNodes() const
{
    std::vector<int> nodes;
    if (!m_scene) return nodes;
    const QRectF seen = sceneInView();
    const Rect area{seen.x(), seen.y(), seen.width(), seen.height()};
    m_scene->index.nodesIn(area, nodes);
    std::erase_if(nodes, [&](int i) { return !scene()->nodes[static_cast<size_t>(i)].rect.intersects(area); });
    return nodes;
}

int GraphCanvas::nodeAt(QPointF point) const { return m_scene && !isUnderStuckHead(point) ? m_scene->index.nodeAt(toScene(point)) : -1; }

std::pair<int, bool> GraphCanvas::portalAt(QPointF point) const
{
    if (!m_scene || m_level < 3 || isUnderStuckHead(point)) return {-1, false};
    const Point at = toScene(point);
    std::vector<int> near;
    m_scene->index.edgesIn({at.x, at.y - 16, 0, 32}, near);
    ScenePainter painter = painterFor();
    for (const int edge : near)
        for (const bool atSource : {true, false})
            if (const std::optional<Rect> chip = painter.portalChip(edge, atSource); chip && chip->contains(at)) return {edge, atSource};
    return {-1, false};
}

void GraphCanvas::viewportMoved()
{
    update();
    placeMinimap();
    updateStuckHeads();
    m_minimap->update();
    emit viewportChanged();
}

void GraphCanvas::placeMinimap()
{
    const bool room = width() > 300 && height() > 160;
    const bool shown = m_minimapShown && m_scene && !scene()->nodes.empty() && room && !showsAll();
    m_minimap->setVisible(shown);
    if (!shown) return;
    // A tall map stands at the top right, a low one lies at the bottom right.
    const int y = m_minimap->height() > 100 ? 12 : height() - m_minimap->height() - 12;
    m_minimap->move(width() - m_minimap->width() - static_cast<int>(kMargin), y);
}

void GraphCanvas::resizeEvent(QResizeEvent* event)
{
    if (m_isFitted) {
        placeFitted();
    } else {
        // What is in the middle stays there.
        const QSize before = event->oldSize();
        if (before.isValid()) m_origin += QPointF(before.width() - width(), before.height() - height()) / 2;
        clampOrigin();
    }
    viewportMoved();
}

} // namespace loopscope::viewer
