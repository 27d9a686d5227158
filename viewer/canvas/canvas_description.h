// What a canvas shows, in words and numbers: tests compare it, screen readers speak it.
#pragma once

#include <QJsonObject>
#include <QString>

namespace loopscope::viewer {

class GraphCanvas;

/// Everything in view, with places, states and level of detail.
QJsonObject describeCanvas(const GraphCanvas& canvas);
/// "tanh 15, next to run, breakpoint, input add 1, shape 2 by 4"
QString accessibleText(const GraphCanvas& canvas, int node);

} // namespace loopscope::viewer
