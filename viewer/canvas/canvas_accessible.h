// What screen readers see of the canvas: one child for each node in view, with its name and state in words.
#pragma once

namespace loopscope::viewer {

class GraphCanvas;

/// Once; safe to repeat.
void installCanvasAccessibility();
/// Tells that `node` is the current one now.
void announceFocus(GraphCanvas& canvas, int node);

} // namespace loopscope::viewer
