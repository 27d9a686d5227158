#include "engine/debug/reference/run_place.h"

#include "engine/debug/inspect/call_path.h"
#include "engine/exec/executor.h"

#include <algorithm>
#include <limits>

namespace loopscope {

int framesAtTrap(const Executor& executor, Step step)
{
    // Where v1 frames lie on the stack, ticks do not count it; an executor that has them shows its position to handlers.
    return executor.stopsInAddressOrder() ? frameCount(executor, step) : executor.position().depth;
}

std::pair<int64_t, int64_t> roundOf(const FrameInfo& frame)
{
    if (frame.role == CallRole::frame) return {frame.iteration, 0};
    if (frame.role != CallRole::loop) return {0, 0};
    return {frame.iteration, frame.inCond ? 0 : 1};
}

std::vector<int64_t> wayTo(const Executor& executor, int depth)
{
    std::vector<int64_t> way;
    way.reserve(static_cast<size_t>(3 * depth) + 1);
    for (int d = 1; d <= depth; ++d) {
        const FrameInfo frame = executor.frame(d);
        const auto [iteration, part] = roundOf(frame);
        way.push_back(frame.site.index);
        way.push_back(iteration);
        way.push_back(part);
    }
    return way;
}

std::vector<int64_t> wayOfStop(const Executor& executor, int depth)
{
    std::vector<int64_t> way = wayTo(executor, depth);
    const OperatorId next = executor.frame(depth).next;
    way.push_back(next.valid() ? next.index : std::numeric_limits<int32_t>::max());
    return way;
}

bool isWritten(const std::vector<int64_t>& place, const std::vector<int64_t>& stop)
{
    // Inside the call that writes, and right before it, the numbers agree as far as the place goes.
    const size_t common = std::min(place.size(), stop.size());
    for (size_t i = 0; i < common; ++i)
        if (place[i] != stop[i]) return stop[i] > place[i];
    return false;
}

} // namespace loopscope
