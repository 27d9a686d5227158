// Threads that share one piece of work: loops whose parts do not depend on each other are cut into pieces that threads take as they come.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
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

    int threads() const { return m_threadCount; }
    /// Calls work(begin, end, thread) for pieces that cover 0 … count − 1, some of them for each thread, and waits until all are done. The
    /// pieces depend on `count` and the number of threads alone. Each thread begins with pieces of its own, so that it finds in its cache
    /// what it left there, and then takes those that others have not begun: one that wakes late, or does not run at all, is not waited for.
    void run(int64_t count, BlockFunction work);

private:
    static constexpr int kPieces = 4; ///< of each thread: the last one that somebody waits for is small
    /// How many pieces of a thread nobody has begun.
    struct alignas(64) Share {
        std::atomic<uint32_t> left = 0;
    };

    void serve(int thread);
    void workOff(int thread);
    bool runPieceOf(int owner, int thread);
    bool enter(uint64_t& seen);
    void leave();
    int64_t firstOf(int thread) const { return m_count * thread / m_threadCount; }

    const int m_threadCount;
    std::unique_ptr<Share[]> m_shares; ///< by thread
    /// The number of the round, whether threads may still join it, and how many are in it beside the caller.
    alignas(64) std::atomic<uint64_t> m_round = 0;
    const BlockFunction* m_work = nullptr;
    int64_t m_count = 0;
    std::atomic<int> m_sleeping = 0;
    std::atomic<bool> m_ending = false;
    std::mutex m_mutex;
    std::condition_variable m_wake, m_done;
    std::vector<std::thread> m_workers;
};

} // namespace loopscope
