// Where things of a scene are: a grid for drawing and picking, and the nets that edges belong to. Built on the thread that lays out.
#pragma once

#include "viewer/scene/scene.h"

#include <memory>
#include <utility>
#include <vector>

namespace loopscope::viewer {

class SceneIndex {
public:
    explicit SceneIndex(const Scene& scene);

    /// Indices in ascending order of what touches `area`. `out` is cleared first. GUI thread (they share marks).
    void nodesIn(const Rect& area, std::vector<int>& out) const;
    void edgesIn(const Rect& area, std::vector<int>& out) const;

    /// −1: nothing there. The last one drawn wins.
    int nodeAt(Point point) const;
    /// The edge nearest to `point`, at most `reach` away.
    int edgeAt(Point point, double reach) const;
    /// Innermost region that contains `point`; with `headOnly` only by its head.
    int regionAt(Point point, bool headOnly = false) const;

    const std::vector<int>& into(int node) const { return m_into[static_cast<size_t>(node)]; }
    const std::vector<int>& outOf(int node) const { return m_outOf[static_cast<size_t>(node)]; }
    /// All edges that carry what `edge` carries from its node.
    std::vector<int> netOf(int edge) const;

private:
    struct Grid {
        double size = 1;
        Rect bounds;
        int columns = 1, rows = 1;
        std::vector<int> first; ///< of each cell, one more at the end
        std::vector<int> items;
    };
    static Grid gridFor(const Rect& bounds, size_t items);
    template <typename Boxes> static void fill(Grid& grid, size_t count, const Boxes& boxesOf);
    void collect(const Grid& grid, const Rect& area, size_t count, std::vector<int>& out) const;

    const Scene& m_scene;
    Grid m_nodes, m_edges;
    std::vector<std::vector<int>> m_into, m_outOf;
    mutable std::vector<uint32_t> m_marks;
    mutable uint32_t m_mark = 0;
};

/// A scene and its index, as the worker hands them over.
struct IndexedScene {
    explicit IndexedScene(std::shared_ptr<const Scene> scene_) : scene(std::move(scene_)), index(*scene) {}
    std::shared_ptr<const Scene> scene;
    SceneIndex index;
};

} // namespace loopscope::viewer
