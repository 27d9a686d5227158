// A stop of a TensorFlow 1 run as the graph that was raised from it wears it: its loops have the iterations of their frames, its operators
// what their nodes did in them.
#pragma once

#include "viewer/bridge/raised_model.h"
#include "viewer/canvas/canvas_state.h"

namespace loopscope::viewer {

/// `scene` is one of the raised model, `v1` the model that runs.
CanvasState raisedState(const Scene& scene, const RaisedModel& raised, const Model& v1, const StopSnapshot& stop);

/// The node of a scene that draws a place; −1: none does.
int nodeOfPlace(const Scene& scene, const ModelPlace& place);

} // namespace loopscope::viewer
