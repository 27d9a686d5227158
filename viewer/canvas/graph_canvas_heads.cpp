// Heads of regions on the screen: in their place, or, where the region reaches beyond the view's top, stacked there, so that field, slider
// and condition of a loop can be used while its body is looked at.
#include "viewer/canvas/graph_canvas.h"

#include "viewer/canvas/minimap.h"
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

HeadPlace GraphCanvas::headPlace(int region) const
{
    for (const HeadPlace& head : m_stuckHeads)
        if (head.region == region) return head;
    return {region, scene()->regions[static_cast<size_t>(region)].head, m_zoom, m_origin, false};
}

std::optional<HeadPlace> GraphCanvas::headAt(QPointF point) const
{
    if (!m_scene) return std::nullopt;
    for (const HeadPlace& head : m_stuckHeads)
        if (head.onScreen(head.box).contains(point)) return head;
    const int region = m_scene->index.regionAt(toScene(point), true);
    return region < 0 ? std::nullopt : std::optional(headPlace(region));
}

LoopHead GraphCanvas::partsOf(const HeadPlace& head) const
{
    const auto region = static_cast<size_t>(head.region);
    return layOutHead(scene()->regions[region], head.box, m_state.regions[region], m_labels);
}

bool GraphCanvas::isUnderStuckHead(QPointF point) const
{
    return std::ranges::any_of(m_stuckHeads, [&](const HeadPlace& head) { return head.onScreen(head.box).contains(point); });
}

double GraphCanvas::stuckBottom() const
{
    double bottom = 0;
    for (const HeadPlace& head : m_stuckHeads) bottom = std::max(bottom, head.onScreen(head.box).bottom());
    return bottom;
}

/// Around the next operator while it is in view, else around the middle of the view; outermost first, groups left out.
std::vector<int> GraphCanvas::regionsInFocus() const
{
    const auto chain = [&](int region) {
        std::vector<int> regions;
        for (; region >= 0; region = scene()->regions[static_cast<size_t>(region)].parent)
            if (scene()->regions[static_cast<size_t>(region)].kind != RegionKind::group) regions.push_back(region);
        std::ranges::reverse(regions);
        return regions;
    };
    if (m_nextNode >= 0 && QRectF(rect()).intersects(nodeRect(m_nextNode)))
        if (std::vector<int> regions = chain(scene()->nodes[static_cast<size_t>(m_nextNode)].region); !regions.empty()) return regions;
    return chain(m_scene->index.regionAt(toScene(QRectF(rect()).center())));
}

void GraphCanvas::findNextNode()
{
    const auto next = std::ranges::find_if(m_state.nodes, [](const NodeState& node) { return node.next || node.error; });
    m_nextNode = next == m_state.nodes.end() ? -1 : static_cast<int>(next - m_state.nodes.begin());
}

void GraphCanvas::updateStuckHeads()
{
    const size_t before = m_stuckHeads.size();
    m_stuckHeads.clear();
    if (!m_scene || m_level < 2) {
        if (before > 0) update();
        return;
    }
    const double scale = std::clamp(m_zoom, kLeastScale, kMostScale);
    const QRectF free = freeArea(m_minimap->isVisibleTo(this));
    const double left = kMargin;
    const bool isAlone = free.right() > width() - 3 * kMargin; // nothing lies over the right end
    const double right = std::max(left + 1, isAlone ? width() - kMargin : free.right());
    std::vector<int> regions = regionsInFocus();
    const auto isHidden = [&](int region, double top) {
        const SceneRegion& one = scene()->regions[static_cast<size_t>(region)];
        return inWidget(one.head).top() < top && inWidget(one.rect).bottom() > top + 2 * one.head.height * scale;
    };
    const auto heightOf = [&](int region) { return scene()->regions[static_cast<size_t>(region)].head.height * scale; };
    // Which are too many: branches and calls before loops, the outer before the inner.
    std::vector<int> stuck;
    double top = 0;
    for (const int region : regions) {
        if (!isHidden(region, top)) continue;
        stuck.push_back(region);
        top += heightOf(region);
    }
    const auto most = std::min(kMostStuck, static_cast<size_t>(std::max(0.0, height() / 3.0 / 24)));
    while (stuck.size() > most) {
        const auto spare = std::ranges::find_if(stuck, [&](int region) {
            const RegionKind kind = scene()->regions[static_cast<size_t>(region)].kind;
            return kind != RegionKind::loop && kind != RegionKind::frame;
        });
        stuck.erase(spare == stuck.end() ? stuck.begin() : spare);
    }
    top = 0;
    for (const int region : regions) {
        const SceneRegion& one = scene()->regions[static_cast<size_t>(region)];
        const QRectF seen = inWidget(one.rect);
        if (std::ranges::find(stuck, region) != stuck.end()) {
            const double wide =
                std::min(right - left, std::max(kWholeHead * scale, std::min(seen.right(), right) - std::max(seen.left(), left)));
            const double x = std::clamp(seen.left(), left, right - wide);
            m_stuckHeads.push_back({region, {x / scale, top / scale, wide / scale, one.head.height}, scale, {}, true});
            top += heightOf(region);
        } else if (const QRectF head = inWidget(one.head); head.left() < 0 && head.top() >= top && head.bottom() <= height() &&
                                                           m_zoom >= kReadableFrom && head.right() > left + 160) {
            // Its left end is out of view: the words move with the view.
            const double wide = std::min(head.right(), right < width() - kMargin ? right : width()) / m_zoom;
            m_stuckHeads.push_back({region, {0, head.top() / m_zoom, wide, one.head.height}, m_zoom, {}, true});
        }
    }
    if (before + m_stuckHeads.size() > 0) update();
}

void GraphCanvas::setScrubbed(const std::string& region, int64_t iteration)
{
    m_scrubbed = iteration < 0 ? std::string() : region;
    m_scrubbedTo = iteration;
    update();
}

int64_t GraphCanvas::draggedIteration(int region) const
{
    if (region == m_sliderRegion && m_sliderIteration >= 0) return m_sliderIteration;
    const bool isScrubbed = !m_scrubbed.empty() && scene()->regions[static_cast<size_t>(region)].id == m_scrubbed;
    return isScrubbed ? m_scrubbedTo : -1;
}

void GraphCanvas::paintStuckHeads(QPainter& painter)
{
    ScenePainter scene = painterFor();
    for (const HeadPlace& head : m_stuckHeads) {
        const Lens l{head.zoom, 3, m_ratio};
        const QRectF box = l.snapped(head.box);
        QColor shade = themed(Token::line2);
        shade.setAlphaF(0.35F);
        painter.fillRect(box.adjusted(0, 0, 0, 2), shade);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(themed(Token::line2), 1));
        painter.setBrush(themed(Token::window));
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
        scene.paintHead(painter, head.region, head.box, l, draggedIteration(head.region));
        if (head.region != m_selectedRegion) continue;
        painter.setPen(QPen(themed(Token::accent), 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), 3, 3);
    }
}

} // namespace loopscope::viewer
