// What an observer may be beside: one who wants to know how often loops went round, and nothing of each time. Telling of every iteration
// takes as long as the operators of a small loop.
#pragma once

#include <cstdint>

namespace loopscope {

/// An observer that is one of these hears of a loop's first iteration alone, and before that ends, of how many more there were. Machines
/// of dataflow tell of every iteration anyway.
class LoopTotals {
public:
    virtual ~LoopTotals() = default;
    /// Of the innermost open invocation, a loop's.
    virtual void loopEnded(int64_t trips) = 0;
};

} // namespace loopscope
