#include "viewer/canvas/canvas_heads.h"

#include "viewer/style/theme.h"

#include <QPainter>

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr double kLeastScale = 0.8, kMostScale = 1; ///< of heads at the top: to be read and grabbed at any zoom
constexpr size_t kMostStuck = 3;
constexpr double kWholeHead = 440;      ///< width that holds field, slider and condition
constexpr double kReadableFrom = 0.667; ///< zoom below which a head in its place has only a name
constexpr double kMargin = 4;

} // namespace

PlacedHead CanvasHeads::of(int region) const
{
    for (const PlacedHead& head : m_stuck)
        if (head.region == region) return head;
    return {region, m_picture.region(region).head, m_camera.zoom(), m_camera.origin(), false};
}

std::optional<PlacedHead> CanvasHeads::at(QPointF point) const
{
    if (!m_picture.indexed) return std::nullopt;
    for (const PlacedHead& head : m_stuck)
        if (head.onScreen(head.box).contains(point)) return head;
    const int region = m_picture.index().regionAt(m_camera.toScene(point), true);
    return region < 0 ? std::nullopt : std::optional(of(region));
}

LoopHead CanvasHeads::partsOf(const PlacedHead& head) const
{
    return layOutHead(m_picture.region(head.region), head.box, m_picture.stateOfRegion(head.region), m_picture.labels);
}

bool CanvasHeads::covers(QPointF point) const
{
    return std::ranges::any_of(m_stuck, [&](const PlacedHead& head) { return head.onScreen(head.box).contains(point); });
}

double CanvasHeads::bottom() const
{
    double bottom = 0;
    for (const PlacedHead& head : m_stuck) bottom = std::max(bottom, head.onScreen(head.box).bottom());
    return bottom;
}

/// Around the next operator while it is in view, else around the middle of the view; outermost first, groups left out.
std::vector<int> CanvasHeads::regionsInFocus() const
{
    const auto chain = [&](int region) {
        std::vector<int> regions;
        for (; region >= 0; region = m_picture.region(region).parent)
            if (m_picture.region(region).kind != RegionKind::group) regions.push_back(region);
        std::ranges::reverse(regions);
        return regions;
    };
    if (m_nextNode >= 0 && m_camera.rect().intersects(m_camera.nodeRect(m_nextNode)))
        if (std::vector<int> regions = chain(m_picture.node(m_nextNode).region); !regions.empty()) return regions;
    return chain(m_picture.index().regionAt(m_camera.toScene(m_camera.rect().center())));
}

void CanvasHeads::findNext()
{
    const std::vector<NodeState>& nodes = m_picture.state.nodes;
    const auto next = std::ranges::find_if(nodes, [](const NodeState& node) { return node.next || node.error; });
    m_nextNode = next == nodes.end() ? -1 : static_cast<int>(next - nodes.begin());
}

/// Of `regions` those whose heads are above the view while their insides are in it, as many as there is room for.
std::vector<int> CanvasHeads::covered(const std::vector<int>& regions, double scale) const
{
    std::vector<int> stuck;
    double top = 0;
    for (const int region : regions) {
        const SceneRegion& one = m_picture.region(region);
        const double height = one.head.height * scale;
        if (m_camera.inWidget(one.head).top() >= top || m_camera.inWidget(one.rect).bottom() <= top + 2 * height) continue;
        stuck.push_back(region);
        top += height;
    }
    // Which are too many: branches and calls before loops, the outer before the inner.
    const auto most = std::min(kMostStuck, static_cast<size_t>(std::max(0.0, m_camera.height() / 3.0 / 24)));
    while (stuck.size() > most) {
        const auto spare = std::ranges::find_if(stuck, [&](int region) {
            const RegionKind kind = m_picture.region(region).kind;
            return kind != RegionKind::loop && kind != RegionKind::frame;
        });
        stuck.erase(spare == stuck.end() ? stuck.begin() : spare);
    }
    return stuck;
}

bool CanvasHeads::place(bool mapShown)
{
    const bool had = !m_stuck.empty();
    m_stuck.clear();
    if (!m_picture.indexed || m_camera.level() < 2) return had;
    const double scale = std::clamp(m_camera.zoom(), kLeastScale, kMostScale);
    const double width = m_camera.width();
    const QRectF free = m_camera.freeArea(mapShown);
    const double left = kMargin;
    const bool isAlone = free.right() > width - 3 * kMargin; // nothing lies over the right end
    const double right = std::max(left + 1, isAlone ? width - kMargin : free.right());
    const std::vector<int> regions = regionsInFocus();
    const std::vector<int> stuck = covered(regions, scale);
    double top = 0;
    for (const int region : regions) {
        const SceneRegion& one = m_picture.region(region);
        const QRectF seen = m_camera.inWidget(one.rect);
        if (std::ranges::find(stuck, region) != stuck.end()) {
            const double wide =
                std::min(right - left, std::max(kWholeHead * scale, std::min(seen.right(), right) - std::max(seen.left(), left)));
            const double x = std::clamp(seen.left(), left, right - wide);
            m_stuck.push_back({region, {x / scale, top / scale, wide / scale, one.head.height}, scale, {}, true});
            top += one.head.height * scale;
        } else if (const QRectF head = m_camera.inWidget(one.head); head.left() < 0 && head.top() >= top &&
                                                                    head.bottom() <= m_camera.height() &&
                                                                    m_camera.zoom() >= kReadableFrom && head.right() > left + 160) {
            // Its left end is out of view: the words move with the view.
            const double zoom = m_camera.zoom(), wide = std::min(head.right(), right < width - kMargin ? right : width) / zoom;
            m_stuck.push_back({region, {0, head.top() / zoom, wide, one.head.height}, zoom, {}, true});
        }
    }
    return had || !m_stuck.empty();
}

void CanvasHeads::drag(int region, int64_t iteration)
{
    m_dragRegion = region;
    m_dragIteration = iteration;
}

void CanvasHeads::setScrubbed(const std::string& region, int64_t iteration)
{
    m_scrubbed = iteration < 0 ? std::string() : region;
    m_scrubbedTo = iteration;
}

int64_t CanvasHeads::iterationIn(int region) const
{
    if (region == m_dragRegion && m_dragIteration >= 0) return m_dragIteration;
    const bool isScrubbed = !m_scrubbed.empty() && m_picture.region(region).id == m_scrubbed;
    return isScrubbed ? m_scrubbedTo : -1;
}

void CanvasHeads::paint(QPainter& painter, int selectedRegion) const
{
    ScenePainter scene = m_picture.painter();
    for (const PlacedHead& head : m_stuck) {
        const Lens l{head.zoom, 3, m_camera.ratio()};
        const QRectF box = l.snapped(head.box);
        QColor shade = themed(Token::line2);
        shade.setAlphaF(0.35F);
        painter.fillRect(box.adjusted(0, 0, 0, 2), shade);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(themed(Token::line2), 1));
        painter.setBrush(themed(Token::window));
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
        scene.paintHead(painter, head.region, head.box, l, iterationIn(head.region));
        if (head.region != selectedRegion) continue;
        painter.setPen(QPen(themed(Token::accent), 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), 3, 3);
    }
}

} // namespace loopscope::viewer
