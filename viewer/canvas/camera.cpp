#include "viewer/canvas/camera.h"

#include "viewer/style/theme.h"

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr double kLeastZoom = 0.02;
constexpr double kMostZoom = 4;
constexpr double kMargin = 8;
constexpr double kWhole = 0.25;      ///< a graph that would have to be smaller to be seen whole opens at its inputs instead
constexpr double kReadable = 0.6;    ///< so large that names can be read
constexpr double kWordsFrom = 0.75;  ///< below, words are small
constexpr double kHeadsFrom = 0.667; ///< below, heads of loops have no field and slider
constexpr double kDetailFrom = 1.5;  ///< beyond, values are written beside operators

/// At which words are as large as elsewhere in the window.
double fullZoom() { return std::clamp(Theme::instance().textPercent() / 100.0, 1.0, kDetailFrom); }

/// Zooms at which words are just readable grow with the text that is read elsewhere.
double atTextSize(double zoom) { return zoom * fullZoom(); }

/// The largest that a graph is shown unasked: a small one uses the room of a large window, as far as it does not become another drawing.
double largestFit(const QRectF& area)
{
    constexpr double kUsualWidth = 1000, kUsualHeight = 700, kLargest = 1.4;
    const double room = std::min(area.width() / kUsualWidth, area.height() / kUsualHeight);
    return std::max(fullZoom(), std::min(room, kLargest));
}

/// The middle of what the graph begins with: its inputs, else its first operator.
double inputsX(const Scene& scene)
{
    double left = INFINITY, right = -INFINITY;
    for (const SceneNode& node : scene.nodes) {
        if (node.kind != NodeKind::input || node.region >= 0) continue;
        left = std::min(left, node.rect.x);
        right = std::max(right, node.rect.right());
    }
    if (left <= right) return (left + right) / 2;
    return scene.nodes.empty() ? 0 : scene.nodes.front().rect.center().x;
}

} // namespace

bool Camera::setRatio(double ratio)
{
    const bool isOther = ratio != m_ratio;
    m_ratio = ratio;
    return isOther;
}

void Camera::reserve(QSizeF legend, double map)
{
    m_legend = legend.width();
    m_legendHeight = legend.height();
    m_map = map;
}

QRectF Camera::freeArea(bool besideMap) const
{
    QRectF area = rect().adjusted(kMargin, kMargin, -kMargin, -kMargin);
    area.setRight(area.right() - m_legend - (besideMap ? m_map : 0));
    return area;
}

bool Camera::showsAll() const { return m_picture.indexed && rect().contains(inWidget(m_picture.scene()->bounds)); }

void Camera::fit()
{
    m_fitsWhole = true;
    placeFirst();
}

void Camera::startOver()
{
    m_isFitted = true;
    m_isPlaced = false;
    m_fitsWhole = false;
    m_brought.reset();
}

void Camera::placeFirst()
{
    m_isFitted = true;
    m_isPlaced = false;
    m_brought.reset();
    if (!m_picture.indexed || width() < 2 || height() < 2) return;
    const Rect& b = m_picture.scene()->bounds;
    if (b.width <= 0 || b.height <= 0) return;
    // A picture that is seen whole needs no map, and the legend no room where nothing is drawn below it.
    const std::pair<double, QPointF> whole = placedIn(freeArea(false).adjusted(0, 0, m_legend, 0));
    const std::pair<double, QPointF> beside =
        m_legend > 0 && liesUnderLegend(whole.second, whole.first) ? placedIn(freeArea(false)) : whole;
    if (beside.first >= kWhole || m_fitsWhole) return settle(beside);
    const QRectF area = freeArea(true);
    const double zoom = std::clamp(area.width() / b.width, atTextSize(kReadable), fullZoom());
    QPointF origin;
    origin.setX((b.width * zoom > area.width() ? inputsX(*m_picture.scene()) : b.x + b.width / 2) * zoom - area.center().x());
    origin.setY(b.y * zoom - (b.height * zoom < area.height() ? area.top() : kMargin));
    settle({zoom, origin});
}

/// Zoom and origin at which all of the graph lies in an area. What fits in height hangs at the top: a graph is read downwards.
std::pair<double, QPointF> Camera::placedIn(const QRectF& area) const
{
    const Rect& b = m_picture.scene()->bounds;
    const double zoom = std::clamp(std::min({area.width() / b.width, area.height() / b.height, largestFit(area)}), kLeastZoom, kMostZoom);
    return {zoom, QPointF((b.x + b.width / 2) * zoom - area.center().x(), b.y * zoom - area.top())};
}

void Camera::settle(const std::pair<double, QPointF>& place)
{
    if (place.first != m_zoom) emit zoomed(false);
    m_zoom = place.first;
    m_level = detailLevel(m_zoom);
    m_origin = place.second;
    clampOrigin();
    emit moved();
}

/// Whether something of the graph would be drawn where the legend lies over the picture.
bool Camera::liesUnderLegend(QPointF origin, double zoom) const
{
    const QRectF corner((width() - m_legend - kMargin + origin.x()) / zoom, origin.y() / zoom, (m_legend + kMargin) / zoom,
                        m_legendHeight / zoom);
    const Rect area{corner.x(), corner.y(), corner.width(), corner.height()};
    std::vector<int> nodes;
    m_picture.index().nodesIn(area, nodes);
    if (std::ranges::any_of(nodes, [&](int node) { return m_picture.node(node).rect.intersects(area); })) return true;
    for (const SceneRegion& region : m_picture.scene()->regions)
        if (region.rect.intersects(area)) return true;
    for (const SceneEdge& edge : m_picture.scene()->edges)
        for (size_t k = 1; k < edge.points.size(); ++k) {
            const Point &a = edge.points[k - 1], &c = edge.points[k];
            const Rect line{std::min(a.x, c.x), std::min(a.y, c.y), std::abs(a.x - c.x) + 1, std::abs(a.y - c.y) + 1};
            if (line.intersects(area)) return true;
        }
    return false;
}

void Camera::fitNodes(std::span<const int> nodes)
{
    if (nodes.empty()) return fit();
    Rect box = m_picture.node(nodes.front()).rect;
    for (const int node : nodes) {
        const Rect& r = m_picture.node(node).rect;
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

void Camera::setViewport(double zoom, QPointF origin)
{
    zoom = std::clamp(zoom, kLeastZoom, kMostZoom);
    const bool isZoomed = zoom != m_zoom;
    const QPointF before = m_origin;
    m_isFitted = false;
    m_isPlaced = true;
    if (isZoomed) {
        emit zoomed(true);
        m_level = detailLevel(zoom, m_level);
    }
    m_zoom = zoom;
    m_origin = origin;
    clampOrigin();
    if (isZoomed || m_origin != before) emit moved();
}

void Camera::zoomAt(QPointF point, double factor)
{
    const double zoom = std::clamp(m_zoom * factor, kLeastZoom, kMostZoom);
    if (zoom == m_zoom) return;
    setViewport(zoom, (m_origin + point) * (zoom / m_zoom) - point);
}

void Camera::adopt(QPointF origin)
{
    if (m_isFitted) return placeFirst();
    m_brought.reset();
    m_origin = origin;
    keepInView();
    clampOrigin();
}

void Camera::resized(QSize before)
{
    if (m_isFitted) {
        placeFirst();
    } else if (m_brought && !m_isPlaced) {
        come(*m_brought);
    } else {
        // What is in the middle stays there.
        if (before.isValid()) m_origin += QPointF(before.width() - width(), before.height() - height()) / 2;
        clampOrigin();
    }
    emit moved();
}

bool Camera::bring(const Rect& part, double covered, bool center, bool readable)
{
    const QRectF room = rect().adjusted(24, std::max(24.0, covered + 8), -24, -24);
    const bool grows = readable && !m_isPlaced && !m_fitsWhole && m_zoom < atTextSize(kWordsFrom);
    if (!center && !grows && room.contains(inWidget(part))) return false;
    m_isFitted = false;
    m_brought = {part, grows || (m_brought && m_brought->grows && !m_isPlaced), center};
    if (m_zoom < 0.5 && !grows) { // so small that arriving would show nothing
        m_zoom = fullZoom();
        m_level = detailLevel(m_zoom, m_level);
        emit zoomed(false);
    }
    come(*m_brought);
    emit moved();
    return true;
}

/// From the beginning of the graph on while the part is in view then, else, or if that was asked for, with it in the middle, but without
/// leaving room empty that the rest of the graph could have.
void Camera::come(const Brought& brought)
{
    const Rect& all = m_picture.scene()->bounds;
    QRectF area = freeArea(true);
    if (brought.grows) {
        const double whole = area.width() / all.width; // somewhat smaller where all of it can be seen then
        const double zoom = whole >= atTextSize(kHeadsFrom) ? std::min(whole, fullZoom()) : atTextSize(kWordsFrom);
        if (zoom != m_zoom) {
            m_zoom = zoom;
            m_level = detailLevel(m_zoom, m_level);
            emit zoomed(false);
        }
    }
    if (const QRectF whole = freeArea(false); all.width * m_zoom <= whole.width() && all.height * m_zoom <= whole.height()) area = whole;
    const auto originFor = [&](double begin, double end, double low, double high, double size, double from, double to, bool hangs) {
        constexpr double kSeen = 0.95; // of the view
        const double origin = (begin + end) / 2 * m_zoom - size / 2, first = low * m_zoom - from, last = high * m_zoom - to;
        if (first < last && !brought.isCentered && end * m_zoom - first <= kSeen * size) return first;
        if (first < last) return std::clamp(origin, first, last);
        return hangs ? first : (first + last) / 2; // all of it has room: at the top, and in the middle across
    };
    const Rect& part = brought.part;
    m_origin = {originFor(part.x, part.right(), all.x, all.right(), width(), area.left(), area.right(), false),
                originFor(part.y, part.bottom(), all.y, all.bottom(), height(), area.top(), area.bottom(), true)};
    clampOrigin();
}

void Camera::clampOrigin()
{
    if (!m_picture.indexed) return;
    // Some of the graph stays in view, and tiles lie on device pixels.
    const Rect& b = m_picture.scene()->bounds;
    const double keep = 48;
    m_origin.setX(
        std::clamp(m_origin.x(), b.x * m_zoom - width() + keep, std::max(b.x * m_zoom - width() + keep, b.right() * m_zoom - keep)));
    m_origin.setY(
        std::clamp(m_origin.y(), b.y * m_zoom - height() + keep, std::max(b.y * m_zoom - height() + keep, b.bottom() * m_zoom - keep)));
    const double ratio = m_view.devicePixelRatioF();
    m_origin = {std::round(m_origin.x() * ratio) / ratio, std::round(m_origin.y() * ratio) / ratio};
}

/// A picture that has become so small that it fits is shown whole: it moves as little as that takes.
void Camera::keepInView()
{
    if (!m_picture.indexed) return;
    const QRectF area = freeArea(false), box = inWidget(m_picture.scene()->bounds);
    if (box.width() > area.width() || box.height() > area.height()) return;
    m_origin.rx() += std::max(0.0, box.right() - area.right()) - std::max(0.0, area.left() - box.left());
    m_origin.ry() += std::max(0.0, box.bottom() - area.bottom()) - std::max(0.0, area.top() - box.top());
}

QRectF Camera::inWidget(const Rect& r) const
{
    return {r.x * m_zoom - m_origin.x(), r.y * m_zoom - m_origin.y(), r.width * m_zoom, r.height * m_zoom};
}

QRectF Camera::sceneInView() const { return {m_origin.x() / m_zoom, m_origin.y() / m_zoom, width() / m_zoom, height() / m_zoom}; }

std::vector<int> Camera::visibleNodes() const
{
    std::vector<int> nodes;
    if (!m_picture.indexed) return nodes;
    const QRectF seen = sceneInView();
    const Rect area{seen.x(), seen.y(), seen.width(), seen.height()};
    m_picture.index().nodesIn(area, nodes);
    std::erase_if(nodes, [&](int i) { return !m_picture.node(i).rect.intersects(area); });
    return nodes;
}

} // namespace loopscope::viewer
