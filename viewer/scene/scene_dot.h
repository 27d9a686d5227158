// A scene as DOT text with all positions, for Graphviz to draw and for other tools to read.
#pragma once

#include "viewer/scene/scene.h"

#include <functional>
#include <string>

namespace loopscope::viewer {

/// The classes that SVG pictures give nodes and regions, apart by blanks, so that pages find them; empty: none.
struct SceneClasses {
    std::function<std::string(const SceneNode&)> node;
    std::function<std::string(const SceneRegion&)> region;
    std::function<std::string(const SceneNode&)> fill; ///< the colour of an operator's box, "#fff8ef"; empty: white
};

/// Nodes are named by their addresses, clusters are regions. `neato -n2` draws it as it stands; `dot` makes its own layout of it.
std::string sceneDot(const Scene& scene, const TextMeasure& measure, const SceneClasses& classes = {});

} // namespace loopscope::viewer
