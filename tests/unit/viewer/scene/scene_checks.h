// What must hold of every scene, whatever the model and the view.
#pragma once

#include "viewer/scene/scene.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer::testing {

/// The first thing that is wrong; empty: nothing.
inline std::string problemOf(const Scene& scene)
{
    const auto inside = [](const Rect& inner, const Rect& outer) {
        return inner.x >= outer.x - 0.01 && inner.y >= outer.y - 0.01 && inner.right() <= outer.right() + 0.01 &&
               inner.bottom() <= outer.bottom() + 0.01;
    };
    std::vector<std::vector<std::pair<Rect, std::string>>> boxes(scene.regions.size() + 1);
    std::set<std::string> ids;
    for (const SceneNode& node : scene.nodes) {
        if (!ids.insert(node.id).second) return "two nodes are called " + node.id;
        if (node.rect.width <= 0 || node.rect.height <= 0) return node.id + " has no size";
        const Rect& around = node.region < 0 ? scene.bounds : scene.regions[static_cast<size_t>(node.region)].rect;
        if (!inside(node.rect, around)) return node.id + " leaves its region";
        if (node.region >= 0 && node.rect.intersects(scene.regions[static_cast<size_t>(node.region)].head))
            return node.id + " meets the head of its region";
        boxes[static_cast<size_t>(node.region + 1)].emplace_back(node.rect, node.id);
    }
    for (size_t r = 0; r < scene.regions.size(); ++r) {
        const SceneRegion& region = scene.regions[r];
        if (!ids.insert(region.id).second && region.kind != RegionKind::frame) return "a region and something else are called " + region.id;
        if (region.parent >= static_cast<int>(r)) return region.id + " stands before its parent";
        if (!inside(region.rect, region.parent < 0 ? scene.bounds : scene.regions[static_cast<size_t>(region.parent)].rect))
            return region.id + " leaves its region";
        boxes[static_cast<size_t>(region.parent + 1)].emplace_back(region.rect, region.id);
        for (const LoopBinding& binding : region.bindings)
            for (const int node : {binding.actual, binding.formal, binding.result})
                if (node < -1 || node >= static_cast<int>(scene.nodes.size())) return region.id + " binds a node that is not there";
    }
    // Contiguous: what lies side by side in one region does not meet, so nothing foreign is inside a region.
    for (auto& level : boxes) {
        std::sort(level.begin(), level.end(), [](const auto& a, const auto& b) { return a.first.y < b.first.y; });
        for (size_t i = 0; i < level.size(); ++i)
            for (size_t k = i + 1; k < level.size() && level[k].first.y < level[i].first.bottom(); ++k)
                if (level[i].first.intersects(level[k].first)) return level[i].second + " meets " + level[k].second;
    }
    for (const SceneEdge& edge : scene.edges) {
        if (edge.from < 0 || edge.to < 0) return "an edge without end";
        const std::string name = scene.nodes[static_cast<size_t>(edge.from)].id + " → " + scene.nodes[static_cast<size_t>(edge.to)].id;
        if (edge.portal != edge.points.empty()) return name + ": a portal has no points, another has";
        for (size_t i = 1; i < edge.points.size(); ++i)
            if (edge.points[i - 1].x != edge.points[i].x && edge.points[i - 1].y != edge.points[i].y) return name + " is not orthogonal";
        if (edge.points.empty()) continue;
        const Rect& from = scene.nodes[static_cast<size_t>(edge.from)].rect;
        const Rect& to = scene.nodes[static_cast<size_t>(edge.to)].rect;
        const bool turned = scene.view.leftToRight;
        const Point first = edge.points.front(), last = edge.points.back();
        if (turned ? first.x != from.right() : first.y != from.bottom()) return name + " does not begin at its node";
        if (turned ? last.x != to.x : last.y != to.y) return name + " does not end at its node";
        if (scene.nodes[static_cast<size_t>(edge.from)].kind != NodeKind::actual && !from.contains(first))
            return name + " begins beside its node";
        if (scene.nodes[static_cast<size_t>(edge.to)].kind != NodeKind::actual && !to.contains(last)) return name + " ends beside its node";
    }
    for (const auto& [id, node] : scene.nodeById)
        if (node < 0 || node >= static_cast<int>(scene.nodes.size())) return id + " leads nowhere";
    return {};
}

} // namespace loopscope::viewer::testing
