// Which iteration of a forward loop an iteration of its backward loop belongs to, and the other way round. A gradient loop takes from
// stacks, lists or tensor arrays what the forward loop has put there; each element knows at which stop that was.
#pragma once

#include "engine/debug/place.h"
#include "engine/debug/target.h"

#include <optional>
#include <string>

namespace loopscope {

struct ForwardIteration {
    int depth = 0;          ///< of the frame that was asked about
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

/// The other way: the iteration of a backward loop that takes what the innermost iteration around the frame puts where it is taken from,
/// the nearest to this stop if there are several. `site` is the operator that takes it, `tick` the stop before it. Looks ahead to the end
/// of the run, and stands where it stood afterwards. none: nobody takes anything. Errors: execution, cancelled.
Result<std::optional<ForwardIteration>> findBackwardIteration(const DebugTarget& target, FrameContext frame);

} // namespace loopscope
