// Who hears of a run: the observer that was set before it began, muted for a while, or joined by another. And the clock, which runs only
// where somebody wants times.
#pragma once

#include "engine/base/clock.h"
#include "engine/observe/execution_observer.h"
#include "engine/observe/loop_totals.h"
#include "engine/observe/trip_taker.h"

#include <cstdint>

namespace loopscope {

/// Not thread-safe.
class RunAudience {
public:
    /// Of the runs that begin from now on; null: nobody.
    void setNext(ExecutionObserver* observer) { m_next = observer; }
    /// Nobody hears anything until open().
    void close()
    {
        m_present = m_ofOperators = nullptr;
        m_totals = nullptr;
        m_trips = nullptr;
    }
    /// A run begins.
    void open()
    {
        present(m_ofRun = m_next);
        m_times = m_present && m_present->wantsTimes();
        m_start = now();
    }
    /// The run's observer hears nothing, or is there again; `also` hears what happens either way, if it is not null.
    void mute(bool muted, ExecutionObserver* also)
    {
        present(muted ? also : m_ofRun);
        if (muted || !also) return;
        m_joined = FanOut();
        if (m_ofRun) m_joined.add(*m_ofRun);
        m_joined.add(*also);
        present(&m_joined);
    }

    /// Who hears of events now; null: nobody.
    ExecutionObserver* present() const { return m_present; }
    /// The same, if it wants to hear of every operator.
    ExecutionObserver* ofOperators() const { return m_ofOperators; }

    /// The same, if it wants to hear of every iteration of a loop.
    ExecutionObserver* ofIterations() const { return m_totals ? nullptr : m_present; }
    /// Who hears of whole loops instead; null: nobody.
    LoopTotals* totals() const { return m_totals; }
    /// Who takes whole iterations instead of their operators; null: nobody.
    TripTaker* trips() const { return m_times ? nullptr : m_trips; }

    /// Nobody looks at values.
    bool isBlind() const { return !m_present || m_totals; }

    // Durations in nanoseconds.
    bool hasTimes() const { return m_times; }
    int64_t now() const { return m_times ? nowNs() : 0; }
    /// −1 if times are off.
    int64_t since(int64_t from) const { return m_times ? nowNs() - from : -1; }
    /// Of the run so far; 0 if times are off.
    int64_t sinceStart() const { return m_times ? nowNs() - m_start : 0; }

private:
    void present(ExecutionObserver* observer)
    {
        m_present = observer;
        m_ofOperators = observer && observer->wantsOperators() ? observer : nullptr;
        m_totals = dynamic_cast<LoopTotals*>(observer);
        m_trips = dynamic_cast<TripTaker*>(observer);
    }

    ExecutionObserver* m_present = nullptr;
    ExecutionObserver* m_ofOperators = nullptr;
    LoopTotals* m_totals = nullptr;
    TripTaker* m_trips = nullptr;
    ExecutionObserver* m_next = nullptr;
    ExecutionObserver* m_ofRun = nullptr;
    FanOut m_joined;
    bool m_times = false;
    int64_t m_start = 0;
};

} // namespace loopscope
