#include "engine/debug/reference/run_place.h"

#include <algorithm>
#include <limits>

namespace loopscope {

std::vector<int64_t> wayTo(const Executor& executor, int depth)
{
    std::vector<int64_t> way;
    way.reserve(static_cast<size_t>(3 * depth) + 1);
    for (int d = 1; d <= depth; ++d) {
        const FrameInfo frame = executor.frame(d);
        const bool isLoop = frame.role == CallRole::loop;
        way.push_back(frame.site.index);
        way.push_back(isLoop ? frame.iteration : 0);
        way.push_back(isLoop && !frame.inCond ? 1 : 0);
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
