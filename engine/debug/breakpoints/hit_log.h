// How often a breakpoint was met, by position: what was heard of the run so far, whatever the order in which its parts were executed.
#pragma once

#include "engine/base/counts.h"

#include <cstdint>
#include <vector>

namespace loopscope {

/// Of one course of events. A stop is known by its tick and counts once, however often the breakpoint is met there. Exact for the first
/// 65,536 hits; beyond, counts are kept every few hits and what lies between them has to be looked at again.
class HitLog {
public:
    void clear();
    /// What happened after the tick is another course of events now.
    void forgetAfter(Tick tick);

    /// From here on, after `tick`, every hit is noted.
    void begin(Tick tick);
    /// A hit; ticks must not decrease. False if that stop was counted already.
    bool note(Tick tick)
    {
        if (m_lastTick == tick) return false;
        m_lastTick = tick;
        append(tick);
        return true;
    }
    /// Everything up to `tick` was heard, and goes on being heard.
    void extend(Tick tick);

    struct Known {
        int64_t upTo = 0;  ///< the last tick, from `from` on, up to which the count is known
        int64_t count = 0; ///< hits after `from` up to there
    };
    Known known(Tick from, Tick to) const;

private:
    /// So many hits of the part have ticks up to this one.
    struct Mark {
        Tick tick = 0, count = 0;
    };
    /// Hits at ticks after `from`, up to `to`.
    struct Part {
        int64_t from = 0, to = 0, count = 0;
        std::vector<Mark> marks;
    };
    void append(Tick tick);
    static Mark countUpTo(const Part& part, Tick tick);
    static Part cut(const Part& part, int64_t to);
    static Part cutFront(const Part& part, int64_t from);
    static void thin(Part& part);

    std::vector<Part> m_parts; ///< in order, none overlaps another
    Part m_part;               ///< that is being heard
    Tick m_lastTick = -1;      ///< of the last hit that was noted
    int64_t m_stride = 1;      ///< of the marks of m_part
};

} // namespace loopscope
