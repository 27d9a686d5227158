// Groups from names: the scopes in which a framework built its operators, read from tensor names (TFLite) or node names (TensorFlow).
#pragma once

#include "viewer/scene/op_groups.h"

namespace loopscope::viewer {

/// No groups where the graph is small or its names say nothing.
OpGroups nameGroups(const Graph& graph, Dialect dialect);

} // namespace loopscope::viewer
