// Where in a run something is: a place, the last stop at which a goal is met, the call that led into a frame, the trips of a loop. The run
// itself is gone through, from the nearest saved state on; how often loops ran is learned on the way.
#pragma once

#include "engine/debug/control/goals.h"
#include "engine/debug/place.h"
#include "engine/debug/target.h"

#include <cstdint>
#include <optional>

namespace loopscope {

/// Every search leads away from where the run stands: to what was found where that is said, else anywhere. Errors: of the run, cancelled.
/// Not thread-safe.
class RunSearch {
public:
    enum class Found : uint8_t { met, absent };

    explicit RunSearch(DebugTarget target);

    /// Goes on to a tick, with a handler of somebody else's traps and with a goal, either of which may be null. True: one of them stopped.
    Result<bool> run(Tick target, const TrapSet& traps, TrapHandler* handler, Goal* goal);
    /// Goes on until the goal is met, breakpoints or not.
    Result<bool> run(Goal& goal);
    /// Goes to a place, or to where it turns out that the run does not get there, which `absence` explains then.
    Result<Found> find(const ResolvedAddress& place, Error& absence);
    /// The last stop up to `end` where the goal is met.
    Result<std::optional<Tick>> lastBefore(Goal& goal, Tick end);
    /// The stop before the call that the frame at `depth` ≥ 1 was entered by.
    Result<Tick> tickBeforeCall(int depth);
    /// Of the loop that the frame at depth `loop` belongs to, which is run to its exit. Of a v1 loop its iterations, the last of which
    /// leaves it.
    Result<int64_t> countTrips(int loop);

    TripMemory& trips() { return m_trips; }
    const TripMemory& trips() const { return m_trips; }

private:
    Status seek(const StopOrder& place, Tick last);
    Result<bool> findUnordered(const ResolvedAddress& place);

    DebugTarget m_target;
    TrapSet m_loopTraps; ///< where trips are counted
    TripMemory m_trips;
};

} // namespace loopscope
