#include "engine/api/engine_thread.h"

#include "engine/base/clock.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

namespace loopscope {

namespace {

/// What became of work that threw.
Error thrownError()
{
    try {
        throw;
    } catch (const std::length_error&) {
        return Error(ErrorCode::execution, "a size that no machine can hold");
    } catch (const std::exception& exception) {
        return Error(ErrorCode::internal, exception.what());
    } catch (...) {
        return Error(ErrorCode::internal, "an unknown fault");
    }
}

} // namespace

EngineThread::EngineThread(CancelFlag& cancel)
    : m_cancel(cancel),
      m_outOfMemory(Error(ErrorCode::execution, "out of memory")),
      m_thread([this] { serve(); })
{
}

EngineThread::~EngineThread()
{
    std::deque<Task> left;
    {
        const std::lock_guard lock(m_mutex);
        m_ending = true;
        left.swap(m_queue);
        m_cancel.request();
    }
    m_wake.notify_one();
    m_thread.join();
    for (Task& task : left)
        if (task.failed) task.failed(Error(ErrorCode::cancelled, "the session has ended"));
}

void EngineThread::post(Task task)
{
    std::function<void(Error)> replaced;
    {
        const std::lock_guard lock(m_mutex);
        const auto same = task.tag.empty() ? m_queue.end() : std::ranges::find(m_queue, task.tag, &Task::tag);
        if (same != m_queue.end()) {
            replaced = std::move(same->failed);
            m_queue.erase(same);
        }
        m_queue.push_back(std::move(task));
    }
    m_wake.notify_one();
    if (replaced) replaced(Error(ErrorCode::cancelled, "a newer request has taken its place"));
}

void EngineThread::pause()
{
    const std::lock_guard lock(m_mutex);
    if (m_busy) m_cancel.request();
}

SessionProgress EngineThread::progress() const
{
    const std::lock_guard lock(m_mutex);
    SessionProgress progress;
    progress.busy = m_busy;
    if (!m_busy) return progress;
    progress.tag = m_tag;
    progress.tick = m_tick.load();
    progress.target = m_target.load();
    progress.sinceNs = nowNs() - m_startedNs;
    return progress;
}

void EngineThread::note(Tick tick, Tick target)
{
    m_tick = tick;
    m_target = target;
}

/// Makes the error that is told when there is no memory to make one. False: there is none now either.
bool EngineThread::reserve()
{
    if (!m_outOfMemory.ok()) return true;
    try {
        m_outOfMemory = Error(ErrorCode::execution, "out of memory");
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void EngineThread::serve()
{
    std::unique_lock lock(m_mutex);
    for (;;) {
        m_wake.wait(lock, [this] { return m_ending || !m_queue.empty(); });
        if (m_ending) return;
        Task task = std::move(m_queue.front());
        m_queue.pop_front();
        m_busy = true;
        m_tag.swap(task.tag);
        m_startedNs = nowNs();
        m_cancel.clear(); // a pause is meant for what was running then
        lock.unlock();
        try {
            task.work();
        } catch (const std::bad_alloc&) {
            while (!reserve()) std::this_thread::sleep_for(std::chrono::milliseconds(10)); // others hold the memory
            if (task.failed) task.failed(std::move(m_outOfMemory).takeError());
        } catch (...) {
            if (task.failed) task.failed(thrownError());
        }
        task = {};
        static_cast<void>(reserve());
        lock.lock();
        m_busy = false;
    }
}

} // namespace loopscope
