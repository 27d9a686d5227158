// What all parts of a debugger share: the model, the executor that runs it, its timeline, and how long work is followed and stopped.
#pragma once

#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"

namespace loopscope {

/// Owns nothing. One thread, that of the engine, uses it.
struct DebugTarget {
    const Model& model;
    Executor& executor;
    Timeline& timeline;
    /// Of every long request: progress and cancellation. Whoever runs the engine sets it.
    TravelControl& control;
};

/// Goes somewhere else to look at a value and comes back: the destructor returns to the tick and timeline where it was made.
class Excursion {
public:
    explicit Excursion(DebugTarget target) : m_target(target), m_line(target.timeline.current()), m_tick(target.timeline.tick()) {}
    ~Excursion()
    {
        try {
            static_cast<void>(comeBack().ok());
        } catch (...) {
            m_target.control.isStray = true; // there is no memory for the way
        }
    }
    Excursion(const Excursion&) = delete;
    Excursion& operator=(const Excursion&) = delete;
    Status goTo(Tick tick) { return m_target.timeline.goTo(tick, m_target.control); }
    /// Errors: of Timeline; nothing is left to do then.
    Status comeBack()
    {
        if (m_target.control.cancel) m_target.control.cancel->clear(); // it was meant for the search
        if (m_target.timeline.current() != m_line) LS_CHECK_OK(m_target.timeline.switchTo(m_line));
        return m_target.timeline.goTo(m_tick);
    }

private:
    DebugTarget m_target;
    TimelineId m_line;
    int64_t m_tick;
};

} // namespace loopscope
