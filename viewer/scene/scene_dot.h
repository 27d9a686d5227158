// A scene as DOT text with all positions, for Graphviz to draw and for other tools to read.
#pragma once

#include "viewer/scene/scene.h"

#include <string>

namespace loopscope::viewer {

/// Nodes are named by their addresses, clusters are regions. `neato -n2` draws it as it stands; `dot` makes its own layout of it.
std::string sceneDot(const Scene& scene, const TextMeasure& measure);

} // namespace loopscope::viewer
