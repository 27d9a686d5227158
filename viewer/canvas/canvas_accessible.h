// What screen readers see of the canvas: one child for each node in view, with its name and state in words.
#pragma once

namespace loopscope::viewer {

class GraphCanvas;

/// At the end of making a canvas: a screen reader that runs already may have asked for it while it was a plain widget.
void installCanvasAccessibility(GraphCanvas& canvas);
/// Tells that `node` is the current one now.
void announceFocus(GraphCanvas& canvas, int node);

} // namespace loopscope::viewer
