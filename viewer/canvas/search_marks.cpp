#include "viewer/canvas/search_marks.h"

#include "viewer/style/theme.h"

#include <algorithm>
#include <optional>
#include <set>

namespace loopscope::viewer {

void SearchMarks::setHits(std::vector<std::string> addresses)
{
    m_addresses = std::move(addresses);
    count();
}

int SearchMarks::atNode(int node) const
{
    const auto found = m_nodes.find(node);
    return found == m_nodes.end() ? 0 : found->second;
}

int SearchMarks::atRegion(int region) const
{
    const auto found = m_regions.find(region);
    return found == m_regions.end() ? 0 : found->second;
}

std::pair<int, int> SearchMarks::atPortal(int edge) const
{
    const auto found = m_portals.find(edge);
    return found == m_portals.end() ? std::pair(0, 0) : found->second;
}

int SearchMarks::total() const
{
    int hits = 0;
    for (const auto& [node, count] : m_nodes) hits += count;
    return hits;
}

int SearchMarks::groups() const
{
    return static_cast<int>(
        std::ranges::count_if(m_nodes, [&](const auto& hit) { return m_picture.node(hit.first).kind == NodeKind::group; }));
}

/// A hit counts for what is drawn of it: the operator, the folded group, or the call whose callee is not drawn. An open group or callee
/// counts what lies inside at its head.
void SearchMarks::count()
{
    m_nodes.clear();
    m_regions.clear();
    m_portals.clear();
    if (!m_picture.indexed) return;
    for (const std::string& address : m_addresses) {
        std::string place = address;
        int node = m_picture.scene()->findNode(place);
        for (size_t end = place.rfind(':'); node < 0 && end != std::string::npos; end = place.rfind(':')) {
            place.resize(end);
            node = m_picture.scene()->findNode(place);
        }
        if (node < 0) continue;
        ++m_nodes[node];
        for (int region = m_picture.node(node).region; region >= 0; region = m_picture.region(region).parent)
            if (m_picture.region(region).kind == RegionKind::group) ++m_regions[region];
    }
    if (m_nodes.empty()) return;
    // Chips of cut edges count for what they lead to.
    std::map<std::pair<int, int32_t>, int> ofNet;
    for (const SceneEdge& edge : m_picture.scene()->edges)
        if (edge.portal) ofNet[{edge.from, edge.value.index}] += atNode(edge.to);
    for (size_t e = 0; e < m_picture.scene()->edges.size(); ++e) {
        const SceneEdge& edge = m_picture.scene()->edges[e];
        if (!edge.portal) continue;
        const std::pair<int, int> hits(ofNet[{edge.from, edge.value.index}], atNode(edge.from));
        if (hits.first + hits.second > 0) m_portals[static_cast<int>(e)] = hits;
    }
}

/// Counts of search hits beside what holds them: a pill at its right; a dot beside a single operator.
void SearchMarks::paint(QPainter& painter) const
{
    painter.setRenderHint(QPainter::Antialiasing);
    const auto mark = [&](const QRectF& box, int count, bool isCounted) {
        if (!m_camera.rect().adjusted(-60, -20, 60, 20).intersects(box)) return;
        painter.setPen(QPen(themed(Token::curLine), 1));
        painter.setBrush(themed(Token::cur));
        if (!isCounted) return painter.drawEllipse(QPointF(box.right() + 6, box.center().y()), 3.5, 3.5);
        const Label label = m_picture.labels.label(QStringLiteral("%L1").arg(count), Face::index);
        const QRectF pill(box.right() + 6, box.center().y() - 7, std::max(26.0, label.width + 12), 14);
        painter.drawRoundedRect(pill, 7, 7);
        drawLabelIn(painter, label, pill, Qt::AlignHCenter, themed(Token::curText));
    };
    for (const auto& [node, count] : m_nodes)
        mark(m_camera.nodeRect(node), count, count > 1 || m_picture.node(node).kind == NodeKind::group);
    if (m_camera.level() >= 3 && !m_portals.empty()) {
        ScenePainter chips = m_picture.painter();
        std::set<std::pair<int, int32_t>> done; // a chip at a source stands for all edges of its net
        for (const auto& [index, hits] : m_portals) {
            const SceneEdge& edge = m_picture.edge(index);
            const bool isFirst = done.emplace(edge.from, edge.value.index).second;
            if (const auto chip = isFirst && hits.first > 0 ? chips.portalChip(index, true) : std::nullopt)
                mark(m_camera.inWidget(*chip), hits.first, true);
            if (const auto chip = hits.second > 0 ? chips.portalChip(index, false) : std::nullopt)
                mark(m_camera.inWidget({chip->x - 38 / m_camera.zoom(), chip->y, 0, chip->height}), hits.second,
                     true); // towards the outside
        }
    }
    for (const auto& [region, count] : m_regions) mark(m_camera.inWidget(m_picture.region(region).head), count, true);
}

} // namespace loopscope::viewer
