// Where an iteration of a v1 loop has its values from: frames tell it, saved states keep it.
#pragma once

#include "engine/base/counts.h"

namespace loopscope {

/// Where an iteration first took something from a stack, list or tensor array that an iteration had put there: a backward loop takes
/// what its forward loop has saved.
struct TakenFrom {
    Tick tick = -1;      ///< the stop before the operator that had put it there; −1: nothing was taken
    bool popped = false; ///< else it was read; what is popped counts for more
    bool operator==(const TakenFrom&) const = default;
    void note(Tick from, bool pops)
    {
        if (from >= 0 && (tick < 0 || (pops && !popped))) *this = {from, pops};
    }
};

} // namespace loopscope
