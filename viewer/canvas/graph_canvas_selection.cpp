// What is selected and hovered, by address so that it outlives pictures, and how a place comes into view.
#include "viewer/canvas/graph_canvas.h"

#include "viewer/bridge/document.h"
#include "viewer/canvas/canvas_accessible.h"
#include "viewer/canvas/minimap.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr double kWordsFrom = 0.75; ///< below, heads of loops have no field and slider

} // namespace

void GraphCanvas::select(const std::vector<std::string>& addresses)
{
    std::vector<std::string> wanted;
    for (const std::string& address : addresses) wanted.push_back(staticAddress(address));
    if (wanted == m_selected) return;
    m_selected = std::move(wanted);
    m_selectedEdge = -1;
    resolveSelection();
    update();
}

void GraphCanvas::resolveSelection()
{
    m_selectedNodes.clear();
    m_selectedRegion = -1;
    if (m_scene) {
        for (const std::string& address : m_selected)
            if (const int node = scene()->findNode(address); node >= 0) m_selectedNodes.push_back(node);
        if (m_selectedNodes.empty() && !m_selected.empty())
            if (const auto region = scene()->regionById.find(m_selected.front()); region != scene()->regionById.end())
                m_selectedRegion = region->second;
    }
    m_minimap->markNode(currentNode());
}

std::optional<CallSite> GraphCanvas::currentCall() const
{
    if (m_selectedRegion >= 0) {
        const SceneRegion& region = scene()->regions[static_cast<size_t>(m_selectedRegion)];
        if (!region.site.empty()) return CallSite{region.site, region.caller, region.op};
    } else if (const int node = currentNode(); node >= 0) {
        const SceneNode& one = scene()->nodes[static_cast<size_t>(node)];
        if (one.call) return callOf(one);
    }
    return std::nullopt;
}

void GraphCanvas::selectRegion(int region)
{
    const SceneRegion& one = scene()->regions[static_cast<size_t>(region)];
    m_selectedEdge = -1;
    m_selected = {one.site.empty() ? one.id : one.site};
    resolveSelection();
    update();
    emit selectionEdited();
}

void GraphCanvas::setCurrent(int node, bool add)
{
    m_selectedEdge = -1;
    if (node < 0) {
        if (add) return;
        m_selected.clear();
    } else {
        const std::string& id = scene()->nodes[static_cast<size_t>(node)].id;
        if (!add) m_selected.clear();
        const auto known = std::ranges::find(m_selected, id);
        if (known == m_selected.end()) m_selected.insert(m_selected.begin(), id);
        else if (add) m_selected.erase(known);
    }
    resolveSelection();
    update();
    emit selectionEdited();
    if (node >= 0) announceFocus(*this, node);
}

void GraphCanvas::setHover(int node, int edge)
{
    if (node == m_hoverNode && edge == m_hoverEdge) return;
    m_hoverNode = node;
    m_hoverEdge = edge;
    update();
}

bool GraphCanvas::reveal(const std::string& address, bool center, bool readable)
{
    if (!m_scene) return false;
    const std::string place = staticAddress(address);
    const int node = scene()->findNode(place);
    const auto region = node < 0 ? scene()->regionById.find(place) : scene()->regionById.end();
    if (node < 0 && region == scene()->regionById.end()) return false;
    Rect r = node >= 0 ? scene()->nodes[static_cast<size_t>(node)].rect : scene()->regions[static_cast<size_t>(region->second)].head;
    if (node < 0) r.width = std::min(r.width, 240.0); // its name
    const QRectF box = inWidget(r);
    const QRectF room = QRectF(rect()).adjusted(24, std::max(24.0, stuckBottom() + 8), -24, -24);
    const bool grows = readable && m_isFitted && !m_fitsWhole && m_zoom < kWordsFrom;
    if (!center && !grows && room.contains(box)) return true;
    m_isFitted = false;
    if (grows || m_zoom < 0.5) { // so small that arriving would show nothing
        m_zoom = 1;
        m_level = detailLevel(m_zoom, m_level);
        m_tiles.clear();
    }
    // In the middle, but without leaving room empty that the rest of the graph could have.
    const Rect& all = scene()->bounds;
    const QRectF area = freeArea(true);
    const auto originFor = [&](double middle, double low, double high, double size, double from, double to) {
        const double origin = middle * m_zoom - size / 2, first = low * m_zoom - from, last = high * m_zoom - to;
        return first < last ? std::clamp(origin, first, last) : std::clamp(origin, last, first);
    };
    m_origin = {originFor(r.center().x, all.x, all.right(), width(), area.left(), area.right()),
                originFor(r.center().y, all.y, all.bottom(), height(), area.top(), area.bottom())};
    clampOrigin();
    viewportMoved();
    return true;
}

ViewState GraphCanvas::viewShowing(const std::string& address) const
{
    ViewState view = m_view;
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
    if (const int node = m_scene ? scene()->findNode(plain) : -1; node >= 0) {
        const SceneNode& one = scene()->nodes[static_cast<size_t>(node)];
        if (one.kind == NodeKind::group) view.expanded.insert(one.id);
    }
    return view;
}

} // namespace loopscope::viewer
