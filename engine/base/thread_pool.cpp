#include "engine/base/thread_pool.h"

#include <algorithm>

namespace loopscope {

ThreadPool::ThreadPool(int threads)
{
    m_workers.reserve(static_cast<size_t>(std::max(threads, 1) - 1));
    for (int thread = 1; thread < threads; ++thread) m_workers.emplace_back([this, thread] { serve(thread); });
}

ThreadPool::~ThreadPool()
{
    {
        const std::lock_guard lock(m_mutex);
        m_ending = true;
    }
    m_wake.notify_all();
    for (std::thread& worker : m_workers) worker.join();
}

void ThreadPool::run(int64_t count, BlockFunction work)
{
    if (m_workers.empty() || count < 2) {
        if (count > 0) work(0, count, 0);
        return;
    }
    {
        const std::lock_guard lock(m_mutex);
        m_work = &work;
        m_count = count;
        m_running = static_cast<int>(m_workers.size());
        ++m_round;
    }
    m_wake.notify_all();
    if (const int64_t end = count / threads(); end > 0) work(0, end, 0);
    std::unique_lock lock(m_mutex);
    m_done.wait(lock, [this] { return m_running == 0; });
}

void ThreadPool::serve(int thread)
{
    int64_t seen = 0;
    std::unique_lock lock(m_mutex);
    for (;;) {
        m_wake.wait(lock, [&] { return m_ending || m_round != seen; });
        if (m_ending) return;
        seen = m_round;
        const BlockFunction work = *m_work;
        // The vector of workers may still be growing when the first ones start: it never is once there is work.
        const int64_t begin = firstOf(thread);
        const int64_t end = firstOf(thread + 1);
        lock.unlock();
        if (begin < end) work(begin, end, thread);
        lock.lock();
        if (--m_running == 0) m_done.notify_one();
    }
}

} // namespace loopscope
