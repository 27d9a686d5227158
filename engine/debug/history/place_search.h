// Looking a value up at another moment of the run: in another iteration, or in an invocation that was left. Travels there and comes back.
#pragma once

#include "engine/debug/history/value_keeper.h"
#include "engine/debug/target.h"

#include <optional>
#include <vector>

namespace loopscope {

/// One call on the way from the root to an invocation.
struct PathStep {
    OperatorId site;
    CallRole role = CallRole::main;
    int32_t branch = -1;
    int64_t iteration = -1; ///< loops; −1: any
};

/// The calls that lead to the frame at `depth` now.
std::vector<PathStep> pathOf(const Executor& executor, int depth);
/// Whether the frames on the stack, `frames` of them, are those of the path.
bool isOnPath(const Executor& executor, int frames, const std::vector<PathStep>& path);

/// The last write of a value in invocations that the path leads to, before this stop; else the first after it, as far as this timeline was
/// run before. none: there is none. Errors: execution, cancelled.
Result<std::optional<KeptWrite>> findAtPath(const DebugTarget& target, const std::vector<PathStep>& path, GraphId graph, ValueId value);

/// Trips of a loop that has ended in the frame at `depth`. none: it did not run there.
Result<std::optional<int64_t>> findTrips(const DebugTarget& target, int depth, OperatorId loop);

} // namespace loopscope
