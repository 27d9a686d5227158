// A picture as a list: one operator a row, in listing order, calls nested where they stand, edges to the next row straight and all others
// in lanes at the left. Comparisons lay two of them beside each other, row by row.
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

size_t at(int32_t i) { return static_cast<size_t>(i); }

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

Status SceneBuilder::placeRows()
{
    const double gap = m_view.dense ? kDenseGap : kRowGap;
    std::vector<SceneNode>& nodes = m_scene.nodes;
    std::vector<SceneRegion>& regions = m_scene.regions;

    // Who stands in whom, by first appearance.
    std::vector<Item> whole;
    std::vector<std::vector<Item>> inside(regions.size());
    const auto itemsOf = [&](int region) -> std::vector<Item>& { return region < 0 ? whole : inside[at(region)]; };
    std::vector<char> met(regions.size(), 0);
    double widest = 0, widestShape = 0;
    for (size_t n = 0; n < nodes.size(); ++n) {
        const SceneNode& node = nodes[n];
        std::vector<int> around;
        for (int r = node.region; r >= 0 && met[at(r)] == 0; r = regions[at(r)].parent) around.push_back(r);
        for (auto r = around.rbegin(); r != around.rend(); ++r) {
            met[at(*r)] = 1;
            itemsOf(regions[at(*r)].parent).push_back({true, *r});
        }
        if (node.kind == NodeKind::actual) continue; // beside its pill
        itemsOf(node.region).push_back({false, static_cast<int>(n)});
        widest = std::max(widest, node.rect.width);
        if (node.kind == NodeKind::op || node.kind == NodeKind::group)
            widestShape = std::max(widestShape, node.shape.empty() ? 0 : kShapeGap + textWidth(node.shape, TextStyle::mono));
    }

    // Rows from top to bottom.
    struct Open {
        int region;
        size_t next = 0;
    };
    std::vector<int> rowOf(nodes.size(), -1), levelOf(nodes.size(), 0);
    std::vector<int> levelOfRegion(regions.size(), 0);
    std::vector<Open> open = {{-1}};
    double y = 0;
    int row = 0, deepest = 0;
    while (!open.empty()) {
        const std::vector<Item>& items = itemsOf(open.back().region);
        if (open.back().next == items.size()) {
            if (const int region = open.back().region; region >= 0) {
                regions[at(region)].rect.height = y - gap + kPadding - regions[at(region)].rect.y;
                y += kPadding;
            }
            open.pop_back();
            continue;
        }
        const Item item = items[open.back().next++];
        const int level = static_cast<int>(open.size()) - 1;
        if (item.isRegion) {
            SceneRegion& region = regions[at(item.index)];
            levelOfRegion[at(item.index)] = level;
            deepest = std::max(deepest, level + 1);
            region.rect.y = y;
            region.head.height = headHeight(region);
            y += region.head.height + kPadding;
            ++row;
            open.push_back({item.index});
            continue;
        }
        SceneNode& node = nodes[at(item.index)];
        levelOf[at(item.index)] = level;
        rowOf[at(item.index)] = row++;
        node.rect.y = y;
        if (node.kind == NodeKind::op || node.kind == NodeKind::group) node.rect.width = widest;
        y += node.rect.height + gap;
    }
    if (m_progress.stop.stop_requested()) return Error(ErrorCode::cancelled, "layout cancelled");

    // One lane for each value that goes further than to the next row, short ones nearest to the nodes.
    struct Net {
        int first = 0, last = 0, lane = 0;
    };
    std::map<std::pair<int, int>, Net> nets;
    const auto isStraight = [&](const Draft& draft) { return rowOf[at(draft.to)] == rowOf[at(draft.from)] + 1; };
    for (const Draft& draft : m_drafts) {
        const int from = rowOf[at(draft.from)], to = rowOf[at(draft.to)];
        if (from < 0 || to < 0 || isStraight(draft)) continue;
        const auto [net, isNew] = nets.try_emplace({draft.from, draft.style == EdgeStyle::feedback ? -1 : draft.net},
                                                   Net{std::min(from, to), std::max(from, to), 0});
        if (isNew) continue;
        net->second.first = std::min({net->second.first, from, to});
        net->second.last = std::max({net->second.last, from, to});
    }
    std::vector<Net*> byLength;
    for (auto& [key, net] : nets) byLength.push_back(&net);
    std::ranges::stable_sort(byLength, {}, [](const Net* net) { return net->last - net->first; });
    Lanes lanes;
    for (Net* const net : byLength) net->lane = lanes.add(net->first, net->last);

    // Now it is known how far from the left everything stands.
    const double left = lanes.count() * kLaneGap + kPadding;
    const double right = left + deepest * kIndent + widest + std::max(widestShape, 0.0) + kPadding;
    for (size_t n = 0; n < nodes.size(); ++n) nodes[n].rect.x = left + levelOf[n] * kIndent;
    double wide = right;
    for (size_t r = 0; r < regions.size(); ++r) {
        SceneRegion& region = regions[r];
        region.rect.x = left + levelOfRegion[r] * kIndent;
        const double title =
            38 + textWidth(region.name + " " + region.index, TextStyle::head) + 24 + textWidth(region.note, TextStyle::name);
        const bool hasControls = region.kind == RegionKind::loop || region.kind == RegionKind::frame;
        const double least = hasControls ? std::max(title, kLoopHead) : title;
        region.rect.width = std::max(std::ceil(least), right + (deepest - 1 - levelOfRegion[r]) * kPadding - region.rect.x);
        region.head = {region.rect.x, region.rect.y, region.rect.width, region.head.height};
        wide = std::max(wide, region.rect.right());
    }
    for (size_t n = 0; n < nodes.size(); ++n) {
        if (m_actualOf[n] < 0) continue;
        SceneNode& actual = nodes[at(m_actualOf[n])];
        actual.rect = {nodes[n].rect.right() + 14, nodes[n].rect.center().y - 6, std::ceil(textWidth(actual.name, TextStyle::index)), 12};
    }

    for (const Draft& draft : m_drafts) {
        SceneEdge edge = draft.edge();
        const Rect &from = nodes[at(draft.from)].rect, &to = nodes[at(draft.to)].rect;
        if (rowOf[at(draft.from)] < 0 || rowOf[at(draft.to)] < 0) { // what a caller passes, and its pill
            edge.points = {{from.x, to.center().y}, {to.right(), to.center().y}};
        } else if (isStraight(draft)) {
            const double x = std::max(from.x, to.x) + std::min(from.width, to.width) / 2 - (from.x == to.x ? 0 : kIndent);
            edge.points = {{x, from.bottom()}, {x, to.y}};
        } else {
            const Net& net = nets.at({draft.from, draft.style == EdgeStyle::feedback ? -1 : draft.net});
            const double x = left - kPadding / 2 - kLaneGap * (net.lane + 1) + kLaneGap / 2;
            // Lines come in above the middle of a row and go out below it.
            const double out = from.center().y + 4, in = to.center().y - 4;
            edge.points = {{from.x, out}, {x, out}, {x, in}, {to.x, in}};
        }
        if (draft.binding >= 0) regions[at(draft.region)].bindings[at(draft.binding)].rail = edge.points;
        m_scene.edges.push_back(std::move(edge));
        if (draft.actual < 0) continue;
        SceneEdge binding = m_scene.edges.back();
        binding.from = draft.actual;
        binding.style = EdgeStyle::binding;
        binding.points = {{nodes[at(draft.actual)].rect.x, to.center().y}, {to.right(), to.center().y}};
        m_scene.edges.push_back(std::move(binding));
    }
    m_scene.bounds = {0, 0, wide + kPadding, std::max(0.0, y - gap)};
    if (m_progress.report) m_progress.report(1);
    return {};
}

} // namespace loopscope::viewer
