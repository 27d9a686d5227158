// What the nodes of TensorFlow 1's control flow do in their graph. They are the form of such graphs, as loops and branches are that of
// structured ones: listings, frames, executors and pictures all read it, from here.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>

namespace loopscope {

enum class FlowRole : uint8_t {
    none,
    choice,         ///< Switch: hands data on at one of two outputs; the other is dead
    manyChoice,     ///< _SwitchN: at one of many
    merge,          ///< Merge: hands on the first live operand
    enter,          ///< Enter: into a frame
    exit,           ///< Exit: out of a frame
    nextIteration,  ///< NextIteration: to the next iteration of a frame
    loopCondition,  ///< LoopCond: marks the predicate of a loop
    controlTrigger, ///< ControlTrigger: is live even if its control operands are dead
};

/// Nodes that hand on references (RefSwitch, …) have the roles of the others.
FlowRole flowRole(const Operator& op);

} // namespace loopscope
