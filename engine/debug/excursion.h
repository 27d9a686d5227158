// Going to another tick to look at a value, and coming back.
#pragma once

#include "engine/base/counts.h"
#include "engine/base/result.h"
#include "engine/debug/target.h"

#include <cstdint>

namespace loopscope {

/// The destructor returns to the tick and timeline where it was made.
class Excursion {
public:
    explicit Excursion(DebugTarget target);
    ~Excursion();
    Excursion(const Excursion&) = delete;
    Excursion& operator=(const Excursion&) = delete;
    Status goTo(Tick tick);
    /// Errors: of Timeline; nothing is left to do then.
    Status comeBack();

private:
    DebugTarget m_target;
    TimelineId m_line;
    int64_t m_tick;
};

} // namespace loopscope
