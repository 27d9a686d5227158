#include "engine/debug/excursion.h"

#include "engine/debug/timeline.h"

namespace loopscope {

Excursion::Excursion(DebugTarget target) : m_target(target), m_line(target.timeline.current()), m_tick(target.timeline.tick()) {}

Excursion::~Excursion()
{
    try {
        static_cast<void>(comeBack().ok());
    } catch (...) {
        m_target.control.isStray = true; // there is no memory for the way
    }
}

Status Excursion::goTo(Tick tick) { return m_target.timeline.goTo(tick, m_target.control); }

Status Excursion::comeBack()
{
    if (m_target.control.cancel) m_target.control.cancel->clear(); // it was meant for the search
    if (m_target.timeline.current() != m_line) LS_CHECK_OK(m_target.timeline.switchTo(m_line));
    return m_target.timeline.goTo(m_tick);
}

} // namespace loopscope
