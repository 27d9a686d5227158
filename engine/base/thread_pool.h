// Threads that share one piece of work: loops whose parts do not depend on each other are cut into as many blocks as there are threads.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace loopscope {

/// A callable that is only borrowed for a call: no allocation.
class BlockFunction {
public:
    template <typename Work> BlockFunction(const Work& work) // NOLINT(google-explicit-constructor): a lambda is passed as it is
        : m_work(&work),
          m_call([](const void* w, int64_t begin, int64_t end, int thread) { (*static_cast<const Work*>(w))(begin, end, thread); })
    {
    }
    void operator()(int64_t begin, int64_t end, int thread) const { m_call(m_work, begin, end, thread); }

private:
    const void* m_work;
    void (*m_call)(const void*, int64_t, int64_t, int);
};

/// Used by one thread at a time. Work must not throw.
class ThreadPool {
public:
    /// `threads` ≥ 1, the calling one included.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return static_cast<int>(m_workers.size()) + 1; }
    /// Calls work(begin, end, thread) for blocks that cover 0 … count − 1, one for each thread, and waits for all. Which block a thread
    /// gets depends on `count` and the number of threads alone.
    void run(int64_t count, BlockFunction work);

private:
    void serve(int thread);
    int64_t firstOf(int thread) const { return m_count * thread / threads(); }

    std::mutex m_mutex;
    std::condition_variable m_wake, m_done;
    const BlockFunction* m_work = nullptr;
    int64_t m_count = 0;
    int64_t m_round = 0;
    int m_running = 0;
    bool m_ending = false;
    std::vector<std::thread> m_workers;
};

} // namespace loopscope
