// A picture as a list: one operator a row, in listing order, calls nested where they stand, edges to the next row straight and all others
// in lanes at the left. Comparisons lay two of them beside each other, row by row.
#include "viewer/layout/index.h"
#include "viewer/scene/scene_builder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace loopscope::viewer {

namespace {

constexpr double kRowGap = 6, kDenseGap = 4;
constexpr double kIndent = 14, kPadding = 8;
constexpr double kLaneGap = 5;
constexpr int kMostLanes = 8; ///< more share the outermost
constexpr double kShapeGap = 10;
constexpr double kLoopHead = 296; ///< name, iteration field and a short slider

/// What stands below each other in a region or in the whole view: nodes and regions.
struct Item {
    bool isRegion = false;
    int index = 0;
};

/// Which lane each span of rows runs in, so that no two of one lane touch as long as there are lanes.
class Lanes {
public:
    int add(int first, int last)
    {
        for (int lane = 0; lane + 1 < kMostLanes; ++lane) {
            std::map<int, int>& taken = m_taken[at(lane)];
            const auto next = taken.upper_bound(last);
            if (next != taken.begin() && std::prev(next)->second >= first) continue;
            taken[first] = last;
            return used(lane);
        }
        return used(kMostLanes - 1);
    }
    int count() const { return m_count; }

private:
    int used(int lane)
    {
        m_count = std::max(m_count, lane + 1);
        return lane;
    }
    std::array<std::map<int, int>, kMostLanes> m_taken; ///< first row → last row
    int m_count = 0;
};

} // namespace

/// Places one picture: each step below needs what those before it found.
class SceneBuilder::RowPlacer {
public:
    explicit RowPlacer(SceneBuilder& builder)
        : m_builder(builder),
          m_nodes(builder.m_scene.nodes),
          m_regions(builder.m_scene.regions),
          m_gap(builder.m_view.dense ? kDenseGap : kRowGap),
          m_inside(m_regions.size()),
          m_rowOf(m_nodes.size(), -1),
          m_levelOf(m_nodes.size(), 0),
          m_levelOfRegion(m_regions.size(), 0)
    {
    }
    void nest();
    void stack();
    void assignLanes();
    void indent();
    void drawEdges();
    Rect bounds() const { return {0, 0, m_wide + kPadding, std::max(0.0, m_bottom - m_gap)}; }

private:
    /// A value that goes further than to the next row.
    struct Net {
        int first = 0, last = 0, lane = 0;
    };
    std::vector<Item>& itemsOf(int region) { return region < 0 ? m_whole : m_inside[at(region)]; }
    int rowOf(int node) const { return m_rowOf[at(node)]; }
    bool isStraight(const Draft& draft) const { return rowOf(draft.to) == rowOf(draft.from) + 1; }
    static std::pair<int, int> netOf(const Draft& draft) { return {draft.from, draft.style == EdgeStyle::feedback ? -1 : draft.net}; }
    void openRegion(int index, int level);
    void indentRegions(double right);
    std::vector<Point> route(const Draft& draft) const;

    SceneBuilder& m_builder;
    std::vector<SceneNode>& m_nodes;
    std::vector<SceneRegion>& m_regions;
    const double m_gap;
    std::vector<Item> m_whole;
    std::vector<std::vector<Item>> m_inside; ///< by region
    std::vector<int> m_rowOf, m_levelOf;     ///< by node; row −1: none
    std::vector<int> m_levelOfRegion;
    double m_widest = 0, m_widestShape = 0;
    int m_row = 0, m_deepest = 0;
    double m_bottom = 0;
    std::map<std::pair<int, int>, Net> m_nets;
    int m_lanes = 0;
    double m_left = 0, m_wide = 0;
};

/// Who stands in whom, by first appearance.
void SceneBuilder::RowPlacer::nest()
{
    std::vector<char> met(m_regions.size(), 0);
    for (size_t n = 0; n < m_nodes.size(); ++n) {
        const SceneNode& node = m_nodes[n];
        std::vector<int> around;
        for (int r = node.region; r >= 0 && met[at(r)] == 0; r = m_regions[at(r)].parent) around.push_back(r);
        for (auto r = around.rbegin(); r != around.rend(); ++r) {
            met[at(*r)] = 1;
            itemsOf(m_regions[at(*r)].parent).push_back({true, *r});
        }
        if (node.kind == NodeKind::actual) continue; // beside its pill
        itemsOf(node.region).push_back({false, static_cast<int>(n)});
        m_widest = std::max(m_widest, node.rect.width);
        if (node.kind == NodeKind::op || node.kind == NodeKind::group)
            m_widestShape = std::max(m_widestShape, node.shape.empty() ? 0 : kShapeGap + m_builder.textWidth(node.shape, TextStyle::mono));
    }
}

void SceneBuilder::RowPlacer::openRegion(int index, int level)
{
    SceneRegion& region = m_regions[at(index)];
    m_levelOfRegion[at(index)] = level;
    m_deepest = std::max(m_deepest, level + 1);
    region.rect.y = m_bottom;
    region.head.height = headHeight(region);
    m_bottom += region.head.height + kPadding;
    ++m_row;
}

/// Rows from top to bottom.
void SceneBuilder::RowPlacer::stack()
{
    struct Open {
        int region;
        size_t next = 0;
    };
    std::vector<Open> open = {{-1}};
    while (!open.empty()) {
        const std::vector<Item>& items = itemsOf(open.back().region);
        if (open.back().next == items.size()) {
            if (const int region = open.back().region; region >= 0) {
                m_regions[at(region)].rect.height = m_bottom - m_gap + kPadding - m_regions[at(region)].rect.y;
                m_bottom += kPadding;
            }
            open.pop_back();
            continue;
        }
        const Item item = items[open.back().next++];
        const int level = static_cast<int>(open.size()) - 1;
        if (item.isRegion) {
            openRegion(item.index, level);
            open.push_back({item.index});
            continue;
        }
        SceneNode& node = m_nodes[at(item.index)];
        m_levelOf[at(item.index)] = level;
        m_rowOf[at(item.index)] = m_row++;
        node.rect.y = m_bottom;
        if (node.kind == NodeKind::op || node.kind == NodeKind::group) node.rect.width = m_widest;
        m_bottom += node.rect.height + m_gap;
    }
}

/// One lane for each value that goes further than to the next row, short ones nearest to the nodes.
void SceneBuilder::RowPlacer::assignLanes()
{
    for (const Draft& draft : m_builder.m_drafts) {
        const int from = rowOf(draft.from), to = rowOf(draft.to);
        if (from < 0 || to < 0 || isStraight(draft)) continue;
        const auto [net, isNew] = m_nets.try_emplace(netOf(draft), Net{std::min(from, to), std::max(from, to), 0});
        if (isNew) continue;
        net->second.first = std::min({net->second.first, from, to});
        net->second.last = std::max({net->second.last, from, to});
    }
    std::vector<Net*> byLength;
    for (auto& [key, net] : m_nets) byLength.push_back(&net);
    std::ranges::stable_sort(byLength, {}, [](const Net* net) { return net->last - net->first; });
    Lanes lanes;
    for (Net* const net : byLength) net->lane = lanes.add(net->first, net->last);
    m_lanes = lanes.count();
}

/// Now it is known how far from the left everything stands.
void SceneBuilder::RowPlacer::indent()
{
    m_left = m_lanes * kLaneGap + kPadding;
    for (size_t n = 0; n < m_nodes.size(); ++n) m_nodes[n].rect.x = m_left + m_levelOf[n] * kIndent;
    indentRegions(m_left + m_deepest * kIndent + m_widest + std::max(m_widestShape, 0.0) + kPadding);
    for (size_t n = 0; n < m_nodes.size(); ++n) {
        if (m_builder.m_actualOf[n] < 0) continue;
        SceneNode& actual = m_nodes[at(m_builder.m_actualOf[n])];
        const Rect& pill = m_nodes[n].rect;
        actual.rect = {pill.right() + 14, pill.center().y - 6, std::ceil(m_builder.textWidth(actual.name, TextStyle::index)), 12};
    }
}

/// `right`: where the outermost region ends.
void SceneBuilder::RowPlacer::indentRegions(double right)
{
    m_wide = right;
    for (size_t r = 0; r < m_regions.size(); ++r) {
        SceneRegion& region = m_regions[r];
        region.rect.x = m_left + m_levelOfRegion[r] * kIndent;
        const double title = 38 + m_builder.textWidth(region.name + " " + region.index, TextStyle::head) + 24 +
                             m_builder.textWidth(region.note, TextStyle::name);
        const bool hasControls = region.kind == RegionKind::loop || region.kind == RegionKind::frame;
        const double least = hasControls ? std::max(title, kLoopHead) : title;
        region.rect.width = std::max(std::ceil(least), right + (m_deepest - 1 - m_levelOfRegion[r]) * kPadding - region.rect.x);
        region.head = {region.rect.x, region.rect.y, region.rect.width, region.head.height};
        m_wide = std::max(m_wide, region.rect.right());
    }
}

std::vector<Point> SceneBuilder::RowPlacer::route(const Draft& draft) const
{
    const Rect &from = m_nodes[at(draft.from)].rect, &to = m_nodes[at(draft.to)].rect;
    if (rowOf(draft.from) < 0 || rowOf(draft.to) < 0) // what a caller passes, and its pill
        return {{from.x, to.center().y}, {to.right(), to.center().y}};
    if (isStraight(draft)) {
        const double x = std::max(from.x, to.x) + std::min(from.width, to.width) / 2 - (from.x == to.x ? 0 : kIndent);
        return {{x, from.bottom()}, {x, to.y}};
    }
    const double x = m_left - kPadding / 2 - kLaneGap * (m_nets.at(netOf(draft)).lane + 1) + kLaneGap / 2;
    // Lines come in above the middle of a row and go out below it.
    const double out = from.center().y + 4, in = to.center().y - 4;
    return {{from.x, out}, {x, out}, {x, in}, {to.x, in}};
}

void SceneBuilder::RowPlacer::drawEdges()
{
    std::vector<SceneEdge>& edges = m_builder.m_scene.edges;
    for (const Draft& draft : m_builder.m_drafts) {
        SceneEdge edge = draft.edge();
        edge.points = route(draft);
        if (draft.binding >= 0) m_regions[at(draft.region)].bindings[at(draft.binding)].rail = edge.points;
        edges.push_back(std::move(edge));
        if (draft.actual < 0) continue;
        const Rect& to = m_nodes[at(draft.to)].rect;
        SceneEdge binding = edges.back();
        binding.from = draft.actual;
        binding.style = EdgeStyle::binding;
        binding.points = {{m_nodes[at(draft.actual)].rect.x, to.center().y}, {to.right(), to.center().y}};
        edges.push_back(std::move(binding));
    }
}

Status SceneBuilder::placeRows()
{
    RowPlacer rows(*this);
    rows.nest();
    rows.stack();
    if (m_progress.stop.stop_requested()) return Error(ErrorCode::cancelled, "layout cancelled");
    rows.assignLanes();
    rows.indent();
    rows.drawEdges();
    m_scene.bounds = rows.bounds();
    if (m_progress.report) m_progress.report(1);
    return {};
}

} // namespace loopscope::viewer
