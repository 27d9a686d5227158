#include "viewer/canvas/canvas_selection.h"

#include "viewer/bridge/document.h"

#include <utility>

namespace loopscope::viewer {

void CanvasSelection::select(const std::vector<std::string>& addresses)
{
    std::vector<std::string> wanted;
    for (const std::string& address : addresses) wanted.push_back(staticAddress(address));
    if (wanted == m_addresses) return;
    m_addresses = std::move(wanted);
    m_edge = -1;
    resolve();
}

void CanvasSelection::resolve()
{
    m_nodes.clear();
    m_region = -1;
    if (const Scene* const scene = m_picture.scene()) {
        for (const std::string& address : m_addresses)
            if (const int node = scene->findNode(address); node >= 0) m_nodes.push_back(node);
        if (m_nodes.empty() && !m_addresses.empty())
            if (const auto region = scene->regionById.find(m_addresses.front()); region != scene->regionById.end())
                m_region = region->second;
    }
    emit changed();
}

void CanvasSelection::forgetMarks()
{
    m_hoverNode = m_hoverEdge = m_edge = -1;
    m_traced.clear();
    m_traceMode = 0;
}

std::optional<CallSite> CanvasSelection::call() const
{
    if (m_region >= 0) {
        const SceneRegion& region = m_picture.region(m_region);
        if (!region.site.empty()) return CallSite{region.site, region.caller, region.op};
    } else if (node() >= 0 && m_picture.node(node()).call) {
        return CallSite::of(m_picture.node(node()));
    }
    return std::nullopt;
}

void CanvasSelection::setRegion(int region)
{
    const SceneRegion& one = m_picture.region(region);
    setNodes({one.site.empty() ? one.id : one.site});
}

void CanvasSelection::setNodes(std::vector<std::string> addresses)
{
    m_edge = -1;
    m_addresses = std::move(addresses);
    resolve();
    emit edited();
}

void CanvasSelection::setEdge(int edge)
{
    m_edge = edge;
    m_addresses.clear();
    m_nodes.clear();
    if (const int from = m_picture.edge(edge).from; from >= 0) {
        setCurrent(from);
        m_edge = edge;
    }
    emit changed();
}

void CanvasSelection::setCurrent(int node, bool add)
{
    m_edge = -1;
    if (node < 0) {
        if (add) return;
        m_addresses.clear();
    } else {
        const std::string& id = m_picture.node(node).id;
        if (!add) m_addresses.clear();
        const auto known = std::ranges::find(m_addresses, id);
        if (known == m_addresses.end()) m_addresses.insert(m_addresses.begin(), id);
        else if (add) m_addresses.erase(known);
    }
    resolve();
    emit edited();
    if (node >= 0) emit currentMoved(node);
}

void CanvasSelection::setHover(int node, int edge)
{
    if (node == m_hoverNode && edge == m_hoverEdge) return;
    m_hoverNode = node;
    m_hoverEdge = edge;
    emit changed();
}

void CanvasSelection::traceNext()
{
    m_traced.clear();
    m_traceMode = (m_traceMode + 1) % 3;
    std::vector<int> open = m_traceMode == 0 ? std::vector<int>() : m_nodes;
    while (!open.empty()) {
        const int node = open.back();
        open.pop_back();
        if (!m_traced.insert(node).second) continue;
        for (const int edge : m_traceMode == 1 ? m_picture.index().into(node) : m_picture.index().outOf(node)) {
            const SceneEdge& one = m_picture.edge(edge);
            if (one.style == EdgeStyle::feedback) continue; // else a loop would light up whole
            const int other = m_traceMode == 1 ? one.from : one.to;
            if (other >= 0) open.push_back(other);
        }
    }
    emit changed();
}

std::vector<int> CanvasSelection::litEdges(bool selected) const
{
    std::set<int> edges;
    const SceneIndex& index = m_picture.index();
    const auto addNet = [&](int edge) {
        for (const int one : index.netOf(edge)) edges.insert(one);
    };
    if (selected) {
        if (m_edge >= 0) addNet(m_edge);
        for (const int node : m_nodes)
            for (const int edge : index.outOf(node)) edges.insert(edge);
    } else {
        if (m_hoverEdge >= 0) addNet(m_hoverEdge);
        if (m_hoverNode >= 0)
            for (const int edge : index.outOf(m_hoverNode)) edges.insert(edge);
    }
    // A net of hundreds of ends is lit as far as it is in view.
    return {edges.begin(), edges.end()};
}

} // namespace loopscope::viewer
