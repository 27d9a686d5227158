// What faces see and set of timelines.
#pragma once

#include "engine/base/counts.h"

#include <cstddef>
#include <cstdint>

namespace loopscope {

/// What going back may cost.
struct TimelineBudget {
    uint64_t bytes = uint64_t{256} << 20; ///< of all saved states and edits
    double overhead = 0.02;               ///< taking checkpoints, as a share of the running time
    int64_t spacingNs = 5'000'000;        ///< running time between checkpoints to begin with; doubled whenever the budget is used up
    size_t undoStates = 1024;             ///< most stops in the undo ring, which takes at most a quarter of the bytes
};

/// One course of events. The first, 1, has no parent; each edit makes another one that shares everything before its fork.
struct TimelineInfo {
    TimelineId id;
    TimelineId parent;
    Tick forkTick; ///< its first own stop: the parent's stop at this tick, edited
    Tick lastTick; ///< where it was left; switchTo() returns there
    Tick frontier; ///< the farthest tick that was reached on it
};

} // namespace loopscope
