// Until where a run goes on: its budget of steps, the tick or step that runTo() wants, and a trap that wants to stop.
#pragma once

#include "engine/base/counts.h"

#include <algorithm>
#include <cstdint>

namespace loopscope {

/// One comparison tells whether a limit is reached: all of them as a number of completed steps. Not thread-safe.
class RunLimits {
public:
    explicit RunLimits(int64_t maxSteps) : m_maxSteps(maxSteps) {}

    // What runTo() wants; the largest numbers: nothing.
    void aimAt(Tick tick, Step step)
    {
        m_tick = tick;
        m_step = step;
        update();
    }
    int64_t tick() const { return m_tick; }
    int64_t step() const { return m_step; }

    /// Invocations that were entered and have not returned; each is a tick more than the steps say.
    void setOpenCalls(int64_t count)
    {
        m_openCalls = count;
        update();
    }
    int64_t openCalls() const { return m_openCalls; }

    // A trap wants to stop: at the next operator, or at the end.
    void setStop(bool stops)
    {
        m_stops = stops;
        update();
    }
    bool stops() const { return m_stops; }

    // Something has to be done between two operators, and then the run goes on.
    void setPause(bool pauses)
    {
        m_pauses = pauses;
        update();
    }
    bool pauses() const { return m_pauses; }

    /// How many more steps can be completed before a limit is reached; negative: a trap or a pause wants to stop.
    int64_t stepsLeft(Step done) const { return m_stops || m_pauses ? -1 : m_limit - done.number; }
    bool isReached(Step done) const { return done >= m_limit; }
    /// It is not only the budget that ends here.
    bool isWanted(Step done) const { return m_stops || m_pauses || done >= m_step || done + m_openCalls >= m_tick; }
    bool isBudgetUsedUp(Step done) const { return done >= m_maxSteps; }

private:
    void update() { m_limit = m_stops || m_pauses ? INT64_MIN : std::min({m_maxSteps, m_step, m_tick - m_openCalls}); }

    const int64_t m_maxSteps;
    int64_t m_limit = 0;
    int64_t m_tick = INT64_MAX, m_step = INT64_MAX;
    int64_t m_openCalls = 0;
    bool m_stops = false, m_pauses = false;
};

} // namespace loopscope
