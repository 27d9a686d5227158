// Loops of a TensorFlow 1 graph whose iterations run their nodes in one fixed order, whatever the values are: no calls, no frames inside,
// nothing that waits for somebody else. docs/dataflow.md, "Whole iterations".
#pragma once

#include "engine/exec/dataflow/graph_code.h"

namespace loopscope::dataflow {

/// Fills FrameCode::straight of every frame of a graph that is compiled otherwise.
void findStraightFrames(GraphCode& code);

} // namespace loopscope::dataflow
