// Where in a run a value is written, as numbers that can be compared, kept and translated from one model to another.
#pragma once

#include "engine/exec/executor.h"

#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

namespace loopscope {

/// `way` has three numbers for each call on the way (call operator, iteration or 0, 1 in a loop's body and 0 elsewhere) and at its end the
/// operator that writes, or kFormal for a value that the graph was given. A v1 frame counts as a call, by its first Enter; what an Enter or
/// an Exit writes has the way of the frame outside. Ways order places as a run of a functional graph comes by them: a call comes after
/// everything inside it. Runs of v1 graphs come by their places in another order (Executor::stopsInAddressOrder).
struct RunPlace {
    static constexpr int64_t kFormal = -1;
    std::vector<int64_t> way;
    int32_t slot = 0; ///< result of the operator, or position among the graph's inputs
    auto operator<=>(const RunPlace&) const = default;
};

/// Frames on the stack while a trap handler is asked about an operator at `step`.
int framesAtTrap(const Executor& executor, Step step);
/// The iteration and the last number of a frame, as ways have them.
std::pair<int64_t, int64_t> roundOf(const FrameInfo& frame);
/// The calls that lead to the frame at `depth`.
std::vector<int64_t> wayTo(const Executor& executor, int depth);
/// The same, with the next operator of that frame at the end (of a frame at its end: a large number).
std::vector<int64_t> wayOfStop(const Executor& executor, int depth);
/// Whether what is written at a place has been written at a stop.
bool isWritten(const std::vector<int64_t>& place, const std::vector<int64_t>& stop);

} // namespace loopscope
