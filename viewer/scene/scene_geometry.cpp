// From a scene without places to one with them: the layout engine's input and output.
#include "viewer/layout/index.h"
#include "viewer/scene/scene_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace loopscope::viewer {

namespace {

constexpr double kLoopControls = 310; ///< field, number of iterations, a short slider, and what the condition compared
constexpr double kFrameHead = 320;    ///< name and chips of iterations
constexpr double kWidestTitle = 400;  ///< of groups, calls and branches; longer ones are cut
constexpr double kWidestActual = 120; ///< beside its pill, where the flow goes from left to right
constexpr double kActualBand = 18;    ///< under the head of a region whose pills have actuals

/// Splits an orthogonal line where it crosses `low` and `high` on the flow's axis: what comes before and what after.
void splitLine(const std::vector<Point>& line, double low, double high, bool leftToRight, std::vector<Point>& before,
               std::vector<Point>& after)
{
    const auto along = [&](Point p) { return leftToRight ? p.x : p.y; };
    const auto cut = [&](Point p, double where) {
        (leftToRight ? p.x : p.y) = where;
        return p;
    };
    size_t i = 0;
    for (; i < line.size() && along(line[i]) <= low; ++i) before.push_back(line[i]);
    if (i == 0 || i == line.size()) { // nothing to cut
        before = line;
        return;
    }
    before.push_back(cut(line[i - 1], low));
    while (i < line.size() && along(line[i]) < high) ++i;
    if (i == line.size()) return;
    after.push_back(cut(line[i], high));
    for (; i < line.size(); ++i) after.push_back(line[i]);
}

} // namespace

double headHeight(const SceneRegion& region)
{
    switch (region.kind) {
    case RegionKind::loop:
    case RegionKind::call: return 26;
    case RegionKind::branch: return region.role.empty() ? 26 : 20; // a side
    case RegionKind::frame: return 24;
    case RegionKind::group: return 20;
    }
    return 20;
}

/// What a caller passes is often longer than the pill below it: it has half of the room between the pill and its neighbours.
void SceneBuilder::widenActuals()
{
    constexpr double gap = 6;
    std::vector<int> row;
    for (const int actual : m_actualOf)
        if (actual >= 0) row.push_back(actual);
    const auto nodeAt = [&](size_t i) -> SceneNode& { return m_scene.nodes[at(row[i])]; };
    std::ranges::sort(row, [&](int a, int b) {
        const SceneNode &one = m_scene.nodes[at(a)], &other = m_scene.nodes[at(b)];
        return std::tie(one.region, one.rect.x) < std::tie(other.region, other.rect.x);
    });
    std::vector<double> half(row.size()); // of the width that it gets
    for (size_t i = 0; i < row.size(); ++i) {
        const SceneNode& one = nodeAt(i);
        const Rect& box = m_scene.regions[at(one.region)].rect;
        const double middle = one.rect.center().x, own = one.rect.width / 2;
        double room = std::min(middle - box.x, box.right() - middle) - gap;
        for (const size_t i2 : {i - 1, i + 1}) { // i − 1 of the first is beyond the end, too
            if (i2 >= row.size() || nodeAt(i2).region != one.region) continue;
            const Rect& other = nodeAt(i2).rect;
            const double between = std::abs(other.center().x - middle) - own - other.width / 2;
            room = std::min(room, own + (between - gap) / 2);
        }
        const double wanted = std::ceil(textWidth(one.name, TextStyle::index)) / 2 + 2;
        half[i] = std::clamp(wanted, own, std::max(own, room));
    }
    for (size_t i = 0; i < row.size(); ++i) {
        Rect& rect = nodeAt(i).rect;
        rect = {std::round(rect.center().x - half[i]), rect.y, std::round(2 * half[i]), rect.height};
    }
}

/// Hands one picture to the layout engine and takes the places back.
class SceneBuilder::LayeredPlacer {
public:
    explicit LayeredPlacer(SceneBuilder& builder)
        : m_builder(builder),
          m_scene(builder.m_scene),
          m_turned(builder.m_view.leftToRight),
          m_placed(m_scene.nodes.size(), -1),
          m_edgeOf(builder.m_drafts.size(), -1),
          m_hasActuals(m_scene.regions.size(), 0),
          m_widestActual(m_scene.regions.size(), 0)
    {
    }
    void addNodes();
    void addGroups();
    void addEdges();
    bool layOut(); ///< false: cancelled
    void takePlaces();
    void placeActuals();
    void drawEdges();
    void countPortalEnds();
    const Rect& bounds() const { return m_layout.bounds; }

private:
    const Rect& rectOf(int node) const { return m_scene.nodes[at(node)].rect; }
    /// From a rectangle straight along the flow to the next one.
    std::vector<Point> straight(const Rect& from, const Rect& to) const;
    void labelEdge(SceneEdge& edge, const Draft& draft) const;
    void drawThroughActual(SceneEdge edge, const Draft& draft, const std::vector<Point>& route);

    SceneBuilder& m_builder;
    Scene& m_scene;
    const bool m_turned; ///< flows from left to right
    layout::Graph m_graph;
    layout::Layout m_layout;
    std::vector<int> m_placed, m_edgeOf; ///< node, draft → of the layout's graph; −1: the layout does not know it
    std::vector<char> m_hasActuals;      ///< by region
    std::vector<double> m_widestActual;
};

void SceneBuilder::LayeredPlacer::addNodes()
{
    // Folded groups of one region are equally wide: their columns stand below each other.
    std::vector<double> groupWidth(m_scene.regions.size() + 1, 0);
    for (const SceneNode& node : m_scene.nodes)
        if (node.kind == NodeKind::group) groupWidth[at(node.region + 1)] = std::max(groupWidth[at(node.region + 1)], node.rect.width);
    for (size_t n = 0; n < m_scene.nodes.size(); ++n) {
        SceneNode& node = m_scene.nodes[n];
        if (node.kind == NodeKind::actual) {
            m_hasActuals[at(node.region)] = 1;
            m_widestActual[at(node.region)] = std::max(m_widestActual[at(node.region)], m_builder.textWidth(node.name, TextStyle::index));
            continue;
        }
        if (node.kind == NodeKind::group) node.rect.width = groupWidth[at(node.region + 1)];
        m_placed[n] = static_cast<int>(m_graph.nodes.size());
        layout::Node item;
        item.width = std::ceil(node.rect.width);
        item.height = std::ceil(node.rect.height);
        item.group = node.region;
        item.row = node.kind == NodeKind::input ? 0 : node.kind == NodeKind::output ? 1 : -1;
        m_graph.nodes.push_back(item);
    }
}

void SceneBuilder::LayeredPlacer::addGroups()
{
    for (size_t r = 0; r < m_scene.regions.size(); ++r) {
        const SceneRegion& region = m_scene.regions[r];
        layout::Group group;
        group.parent = region.parent;
        group.head = headHeight(region);
        group.left = group.right = group.top = group.bottom = 8;
        if (m_hasActuals[r] != 0)
            (m_turned ? group.left : group.top) = m_turned ? std::min(m_widestActual[r], kWidestActual) + 10 : kActualBand;
        if (region.foldedRails > 0) group.left += 18;
        const double title = 38 + m_builder.textWidth(region.name + " " + region.index, TextStyle::head) + 12 +
                             m_builder.textWidth(region.note, TextStyle::name) + 12;
        group.minWidth = std::ceil(region.kind == RegionKind::loop    ? title + kLoopControls
                                   : region.kind == RegionKind::frame ? std::max(title, kFrameHead)
                                                                      : std::min(title, kWidestTitle));
        m_graph.groups.push_back(group);
    }
}

void SceneBuilder::LayeredPlacer::addEdges()
{
    for (size_t d = 0; d < m_builder.m_drafts.size(); ++d) {
        const Draft& draft = m_builder.m_drafts[d];
        if (m_placed[at(draft.from)] < 0 || m_placed[at(draft.to)] < 0) continue;
        layout::Edge edge;
        edge.from = m_placed[at(draft.from)];
        edge.to = m_placed[at(draft.to)];
        edge.net = draft.net;
        edge.fromPort = draft.fromPort;
        edge.toPort = draft.toPort;
        edge.feedback = draft.style == EdgeStyle::feedback;
        m_edgeOf[d] = static_cast<int>(m_graph.edges.size());
        m_graph.edges.push_back(edge);
    }
}

bool SceneBuilder::LayeredPlacer::layOut()
{
    layout::Options options;
    options.leftToRight = m_turned;
    if (m_builder.m_view.dense) options.rankGap = 8;
    std::optional<layout::Layout> result = layout::layOut(m_graph, options, m_builder.m_progress.stop);
    if (result) m_layout = std::move(*result);
    return result.has_value();
}

void SceneBuilder::LayeredPlacer::takePlaces()
{
    for (size_t n = 0; n < m_scene.nodes.size(); ++n)
        if (m_placed[n] >= 0) m_scene.nodes[n].rect = m_layout.nodes[at(m_placed[n])];
    for (size_t r = 0; r < m_scene.regions.size(); ++r) {
        SceneRegion& region = m_scene.regions[r];
        region.rect = m_layout.groups[r];
        region.head = {region.rect.x, region.rect.y, region.rect.width, m_graph.groups[r].head};
    }
}

/// In the band in front of their pills.
void SceneBuilder::LayeredPlacer::placeActuals()
{
    for (size_t n = 0; n < m_scene.nodes.size(); ++n) {
        if (m_builder.m_actualOf[n] < 0) continue;
        SceneNode& actual = m_scene.nodes[at(m_builder.m_actualOf[n])];
        const Rect& pill = m_scene.nodes[n].rect;
        const SceneRegion& region = m_scene.regions[at(actual.region)];
        if (m_turned)
            actual.rect = {region.rect.x + 4, pill.center().y - 6, std::min(m_widestActual[at(actual.region)], kWidestActual), 12};
        else actual.rect = {pill.x, region.head.bottom() + 3, pill.width, 12};
    }
    if (!m_turned) m_builder.widenActuals();
}

std::vector<Point> SceneBuilder::LayeredPlacer::straight(const Rect& from, const Rect& to) const
{
    if (m_turned) return {{from.right(), to.center().y}, {to.x, to.center().y}};
    return {{to.center().x, from.bottom()}, {to.center().x, to.y}};
}

void SceneBuilder::LayeredPlacer::labelEdge(SceneEdge& edge, const Draft& draft) const
{
    if (!draft.value.valid()) return;
    const Value& value = m_builder.m_model.graph(draft.graph).value(draft.value);
    if (edge.portal) {
        edge.label = value.id;
        edge.endLabel = value.id + " ←";
    }
    if (edge.label.empty()) edge.label = m_builder.m_view.showNames ? value.id + " " + shapeText(value.type) : shapeText(value.type);
}

/// An edge above whose end stands what the caller passes: one line to that and one from there.
void SceneBuilder::LayeredPlacer::drawThroughActual(SceneEdge edge, const Draft& draft, const std::vector<Point>& route)
{
    const Rect& actual = rectOf(draft.actual);
    SceneEdge binding = edge;
    binding.from = draft.actual;
    binding.style = EdgeStyle::binding;
    binding.portal = false;
    edge.to = draft.actual;
    if (edge.portal) binding.points = straight(actual, rectOf(draft.to));
    else
        splitLine(route, m_turned ? actual.x : actual.y, m_turned ? actual.right() : actual.bottom(), m_turned, edge.points,
                  binding.points);
    m_scene.edges.push_back(std::move(edge));
    m_scene.edges.push_back(std::move(binding));
}

void SceneBuilder::LayeredPlacer::drawEdges()
{
    for (size_t d = 0; d < m_builder.m_drafts.size(); ++d) {
        const Draft& draft = m_builder.m_drafts[d];
        SceneEdge edge = draft.edge();
        if (m_edgeOf[d] < 0) { // a constant's text and its pill
            edge.points = straight(rectOf(draft.from), rectOf(draft.to));
            m_scene.edges.push_back(std::move(edge));
            continue;
        }
        layout::Route& route = m_layout.routes[at(m_edgeOf[d])];
        edge.portal = route.portal;
        labelEdge(edge, draft);
        if (draft.actual >= 0) {
            drawThroughActual(std::move(edge), draft, route.points);
            continue;
        }
        if (draft.binding >= 0) m_scene.regions[at(draft.region)].bindings[at(draft.binding)].rail = route.points;
        edge.points = std::move(route.points);
        m_scene.edges.push_back(std::move(edge));
    }
}

/// The chip at the source counts its ends.
void SceneBuilder::LayeredPlacer::countPortalEnds()
{
    std::unordered_map<int64_t, int> ends;
    const auto key = [](const SceneEdge& e) { return (static_cast<int64_t>(e.from) << 32) | static_cast<uint32_t>(e.value.index); };
    for (const SceneEdge& e : m_scene.edges)
        if (e.portal) ++ends[key(e)];
    for (SceneEdge& e : m_scene.edges)
        if (e.portal) e.label += " → " + std::to_string(ends[key(e)]);
}

Status SceneBuilder::place()
{
    LayeredPlacer placer(*this);
    placer.addNodes();
    placer.addGroups();
    placer.addEdges();
    if (!placer.layOut()) return Error(ErrorCode::cancelled, "layout cancelled");
    if (m_progress.report) m_progress.report(0.9);
    placer.takePlaces();
    placer.placeActuals();
    placer.drawEdges();
    placer.countPortalEnds();
    m_scene.bounds = placer.bounds();
    if (m_progress.report) m_progress.report(1);
    return {};
}

} // namespace loopscope::viewer
