#include "engine/api/session.h"

#include "engine/base/clock.h"

#include <algorithm>
#include <utility>

namespace loopscope {

Debugger::Debugger(std::unique_ptr<Executor> executor, const TimelineBudget& budget, CancelFlag& cancel)
    : m_executor(std::move(executor)),
      m_timeline(*m_executor, budget),
      m_travel{&cancel, {}},
      m_target{m_executor->model(), *m_executor, m_timeline, m_travel},
      m_breakpoints(m_target),
      m_run(m_target, m_breakpoints)
{
}

Session::Session(std::unique_ptr<Executor> executor, std::unique_ptr<CancelFlag> cancel, const TimelineBudget& budget)
    : m_cancel(std::move(cancel)),
      m_debugger(std::move(executor), budget, *m_cancel)
{
    m_debugger.travel().progress = [this](int64_t tick, int64_t target) {
        m_tick = tick;
        m_target = target;
    };
    m_thread = std::thread([this] { serve(); });
}

Session::~Session()
{
    {
        const std::lock_guard lock(m_mutex);
        m_ending = true;
        m_queue.clear();
        m_cancel->request();
    }
    m_wake.notify_one();
    m_thread.join();
}

void Session::post(std::string tag, std::function<void(Debugger&)> work, std::function<void()> dropped)
{
    std::function<void()> replaced;
    {
        const std::lock_guard lock(m_mutex);
        const auto same = tag.empty() ? m_queue.end() : std::ranges::find(m_queue, tag, &Request::tag);
        if (same != m_queue.end()) {
            replaced = std::move(same->dropped);
            m_queue.erase(same);
        }
        m_queue.push_back({std::move(tag), std::move(work), std::move(dropped)});
    }
    m_wake.notify_one();
    if (replaced) replaced();
}

void Session::pause()
{
    const std::lock_guard lock(m_mutex);
    if (m_busy) m_cancel->request();
}

SessionProgress Session::progress() const
{
    const std::lock_guard lock(m_mutex);
    SessionProgress progress;
    progress.busy = m_busy;
    if (!m_busy) return progress;
    progress.tag = m_tag;
    progress.tick = m_tick;
    progress.target = m_target;
    progress.sinceNs = nowNs() - m_startedNs;
    return progress;
}

void Session::serve()
{
    std::unique_lock lock(m_mutex);
    for (;;) {
        m_wake.wait(lock, [this] { return m_ending || !m_queue.empty(); });
        if (m_ending) return;
        Request request = std::move(m_queue.front());
        m_queue.pop_front();
        m_busy = true;
        m_tag = request.tag;
        m_startedNs = nowNs();
        m_tick = m_target = m_debugger.timeline().tick();
        m_cancel->clear(); // a pause is meant for what was running then
        lock.unlock();
        request.work(m_debugger);
        request = {};
        lock.lock();
        m_busy = false;
    }
}

} // namespace loopscope
