// Answers to "why": why a loop goes on, why a branch was taken, where a NaN comes from, where an element comes from. Derived from the graph
// and from values at other moments of the run, which are looked up by travelling there.
#pragma once

#include "engine/debug/place.h"
#include "engine/debug/target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// How large something was in each iteration of a loop, in the order of the iterations.
struct IterationCourse {
    struct Point {
        int64_t iteration = 0;
        double value = 0; ///< NaN: not finite
    };
    std::string loop; ///< the address of its operator
    std::vector<Point> points;
};

/// Lines as people read them, most important first.
struct Explanation {
    std::vector<std::string> lines;
    std::vector<IterationCourse> courses; ///< `grad V`: the norm of the gradient on its way through loops
};

/// `loop`, `loop ADDR`, `stop`, `stop ADDR`, `branch`, `branch ADDR`, `nan`, `nan V`, `grad V`, `dead NODE`, `waiting`, `V[i,j]`; empty:
/// what fits the stop best. Stands where it stood afterwards. Errors: usage, execution, cancelled.
Result<Explanation> explainWhy(const DebugTarget& target, FrameContext frame, std::string_view question);

} // namespace loopscope
