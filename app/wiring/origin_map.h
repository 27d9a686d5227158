// The map of a proof between a TensorFlow 1 graph and what was raised from it: which frame is which loop, which node is which value.
#pragma once

#include "engine/debug/prove/run_map.h"
#include "engine/ir/model.h"

namespace loopscope::app {

/// What pairs decides: the raised model says it itself (engine/ir/origin.h). A call that raising made of a conditional has no
/// partner: what is in it pairs as if it lay outside. Values that stand for nothing, and v1 nodes that nothing stands for, are named in the
/// summary.
RunMap mapOfOrigin(const Model& v1, GraphId root, const Model& raised, GraphId raisedRoot);

} // namespace loopscope::app
