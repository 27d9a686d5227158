#include "engine/base/thread_pool.h"

#include "engine/base/clock.h"

#include <algorithm>
#include <atomic>

namespace loopscope {

namespace {

/// Waking a sleeping thread takes 10 to 50 µs. So who waits looks for that long first whether it is over, and no longer: where threads
/// outnumber free cores, a thread that looks on keeps the one from running that it waits for, for a whole slice of the scheduler.
constexpr int64_t kLooksNs = 30'000;

template <typename Done> void lookFor(Done isDone)
{
    static const bool isWorthIt = std::thread::hardware_concurrency() > 1;
    if (!isWorthIt || isDone()) return;
    const int64_t from = nowNs();
    do {
        for (int i = 0; i < 64; ++i) {
            if (isDone()) return;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    } while (nowNs() - from < kLooksNs);
}

} // namespace

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
        std::atomic_ref(m_running).store(static_cast<int>(m_workers.size()));
        std::atomic_ref(m_round).store(m_round + 1);
    }
    m_wake.notify_all();
    if (const int64_t end = count / threads(); end > 0) work(0, end, 0);
    lookFor([this] { return std::atomic_ref(m_running).load() == 0; });
    std::unique_lock lock(m_mutex);
    m_done.wait(lock, [this] { return m_running == 0; });
}

void ThreadPool::serve(int thread)
{
    int64_t seen = 0;
    std::unique_lock lock(m_mutex);
    for (;;) {
        lock.unlock();
        lookFor([&] { return std::atomic_ref(m_round).load() != seen; });
        lock.lock();
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
        std::atomic_ref(m_running).store(m_running - 1);
        if (m_running == 0) m_done.notify_one();
    }
}

} // namespace loopscope
