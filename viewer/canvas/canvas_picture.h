// What a canvas shows: the scene, and all that is known of it at this moment. The parts of a canvas look at one picture, and only the
// canvas itself changes it.
#pragma once

#include "viewer/canvas/canvas_state.h"
#include "viewer/canvas/labels.h"
#include "viewer/canvas/scene_index.h"
#include "viewer/canvas/scene_painter.h"
#include "viewer/scene/view_state.h"

#include <QHash>
#include <QString>

#include <memory>
#include <string>
#include <utility>

namespace loopscope::viewer {

struct CanvasPicture {
    const Model* model = nullptr;
    ViewState view;                              ///< that is wanted; the scene may be of an older one
    std::shared_ptr<const IndexedScene> indexed; ///< null: nothing is shown
    CanvasState state;
    QHash<QString, QString> values;   ///< by node id, of what is in view: for level 4
    QHash<QString, QString> abnormal; ///< by node id, of what is in view: "NaN", "Inf"
    mutable LabelCache labels;

    const Scene* scene() const { return indexed ? indexed->scene.get() : nullptr; }
    const SceneIndex& index() const { return indexed->index; }
    const SceneNode& node(int i) const { return indexed->scene->nodes[static_cast<size_t>(i)]; }
    const SceneRegion& region(int i) const { return indexed->scene->regions[static_cast<size_t>(i)]; }
    const SceneEdge& edge(int i) const { return indexed->scene->edges[static_cast<size_t>(i)]; }
    const NodeState& stateOf(int node) const { return state.nodes[static_cast<size_t>(node)]; }
    const RegionState& stateOfRegion(int region) const { return state.regions[static_cast<size_t>(region)]; }
    /// Region and loop variable of a pill; −1: it is none.
    std::pair<int, size_t> bindingOf(int node) const;
    /// Draws what is shown. Only while there is a scene.
    ScenePainter painter() const;
};

} // namespace loopscope::viewer
