// Which iteration of a forward loop an iteration of its backward loop belongs to. A gradient loop takes from stacks, lists or tensor arrays
// what the forward loop has put there; each element knows at which stop that was.
#pragma once

#include "engine/debug/place.h"
#include "engine/debug/target.h"

#include <optional>
#include <string>

namespace loopscope {

struct ForwardIteration {
    int depth = 0;          ///< of the frame that is the backward iteration
    std::string address;    ///< of the forward iteration: "main/while/context@2:frame"
    int64_t iteration = -1; ///< its number
    std::string site;       ///< the operator that put there what the backward iteration takes: "while/StackPushV2"
    Tick tick;              ///< the stop before that operator
    Step step;
    bool popped = false; ///< it takes it away; else it reads it
};

/// Of the innermost iteration around the frame that takes something from another loop. Looks ahead in this iteration if that has not
/// happened yet, and stands where it stood afterwards. none: there is no such iteration. Errors: execution, cancelled.
Result<std::optional<ForwardIteration>> findForwardIteration(const DebugTarget& target, FrameContext frame);

} // namespace loopscope
