// Memory for the end of a loop: which iteration is the last is known only afterwards, so values (and, in sparse recordings, events) of the
// latest iterations wait here until the loop ends or an alert wants them.
#pragma once

#include "engine/base/ids.h"
#include "engine/observe/events.h"
#include "tracer/record/content.h"
#include "tracer/record/records.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace loopscope {

/// Is something of this iteration stored?
enum class Sampled : uint8_t { no, maybe, yes };

/// A value or the records of an event, waiting.
struct HeldEntry {
    int64_t iteration = 0;
    std::unique_ptr<Item> blob; ///< null: an event
    std::vector<RingSlot> records;
    int64_t step = 0; ///< of the event
    size_t bytes() const;
};

/// The latest iterations of one execution of one loop.
struct LoopRing {
    InvocationId parent = 0; ///< that holds the loop operator
    OperatorId site;
    LoopRing* outer = nullptr; ///< where entries go that this loop keeps; null: they are stored
    int64_t outerIteration = -1;
    int64_t reach = 0;       ///< entries older than this many iterations before the present one cannot be wanted
    int64_t latest = -1;     ///< number of the newest iteration
    bool bodyRan = false;    ///< the newest iteration executed something of the body
    int64_t storeUntil = -1; ///< after an alert: iterations up to here are stored
    std::deque<HeldEntry> entries;
};

} // namespace loopscope
