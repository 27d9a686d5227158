// The nodes of TensorFlow 1 at which values change their frame: what pairing and places of a reference run must know of them.
#pragma once

#include "engine/ir/attribute.h"
#include "engine/ir/flow_role.h"
#include "engine/ir/model.h"

#include <string>

namespace loopscope {

/// Runs in the frame outside and gives its result to the frame that it names.
inline bool entersFrame(const Operator& op) { return flowRole(op) == FlowRole::enter; }
/// Runs inside a frame and gives its result to the frame outside, once, in the last iteration.
inline bool leavesFrame(const Operator& op) { return flowRole(op) == FlowRole::exit; }
/// Of an Enter; names are unique within a graph.
inline std::string frameNameOf(const Operator& enter) { return std::string(attributeString(enter.attributes, "frame_name", "")); }

} // namespace loopscope
