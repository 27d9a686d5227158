// What has to happen to a TensorFlow model between its marked functions and the patterns: variables that nothing writes become constants,
// and calls become what they call.
#pragma once

#include "converters/fuse/fuse.h"
#include "engine/transform/graph_editor.h"

#include <string>
#include <vector>

namespace loopscope::fusing {

bool hasVariables(const Model& model);

/// Puts the bodies of called functions into the graph, calls in them included. Functions with a mark stay, and those that do something
/// beside computing their results. Their number.
Result<int64_t> inlineCalls(Model& model, GraphId graph, const std::vector<std::string>& keeps);
/// The operators of `body` stand for the call, with its names; `body` is a copy of what it calls.
void becomeBody(GraphEditor& editor, OperatorId call, const Graph& body);
/// Composites of StableHLO become their bodies, those in a body included; their names.
Result<std::vector<std::string>> openComposites(Model& model, GraphId graph);

} // namespace loopscope::fusing
