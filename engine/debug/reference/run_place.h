// Where in a run a value is written, as numbers that can be compared, kept and translated from one model to another.
#pragma once

#include "engine/exec/executor.h"

#include <compare>
#include <cstdint>
#include <vector>

namespace loopscope {

/// `way` has three numbers for each call on the way (call operator, iteration or 0, 1 in a loop's body and 0 elsewhere) and at its end the
/// operator that writes, or kFormal for a value that the graph was given. Ways order places as a run comes by them: a call comes after
/// everything inside it.
struct RunPlace {
    static constexpr int64_t kFormal = -1;
    std::vector<int64_t> way;
    int32_t slot = 0; ///< result of the operator, or position among the graph's inputs
    auto operator<=>(const RunPlace&) const = default;
};

/// The calls that lead to the frame at `depth`.
std::vector<int64_t> wayTo(const Executor& executor, int depth);
/// The same, with the next operator of that frame at the end (of a frame at its end: a large number).
std::vector<int64_t> wayOfStop(const Executor& executor, int depth);
/// Whether what is written at a place has been written at a stop.
bool isWritten(const std::vector<int64_t>& place, const std::vector<int64_t>& stop);

} // namespace loopscope
