#include "engine/base/thread_pool.h"

#include "engine/base/clock.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Waking a sleeping thread takes 10 to 50 µs. So who waits looks for that long first whether it is over, and no longer: where threads
/// outnumber free cores, a thread that looks on keeps the one from running that it waits for, for a whole slice of the scheduler.
constexpr int64_t kLooksNs = 30'000;

// What m_round holds.
constexpr uint64_t kInside = 0xFFFF; ///< how many are in it
constexpr uint64_t kOpen = 0x10000;
constexpr uint64_t kNext = 0x20000; ///< one round further
constexpr uint64_t numberOf(uint64_t round) { return round / kNext; }

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
    : m_threadCount(std::max(threads, 1)),
      m_shares(std::make_unique<Share[]>(static_cast<size_t>(m_threadCount)))
{
    m_workers.reserve(static_cast<size_t>(m_threadCount - 1));
    for (int thread = 1; thread < m_threadCount; ++thread) m_workers.emplace_back([this, thread] { serve(thread); });
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
    if (m_threadCount == 1 || count < 2) {
        if (count > 0) work(0, count, 0);
        return;
    }
    // Nobody is in the last round any more, and nobody can join it.
    m_work = &work;
    m_count = count;
    for (int thread = 0; thread < m_threadCount; ++thread)
        m_shares[static_cast<size_t>(thread)].left.store(
            static_cast<uint32_t>(std::min<int64_t>(kPieces, firstOf(thread + 1) - firstOf(thread))), std::memory_order_relaxed);
    m_round.store((numberOf(m_round.load()) + 1) * kNext | kOpen);
    if (m_sleeping.load() > 0) {
        {
            const std::lock_guard lock(m_mutex);
        } // who has just seen no round sleeps by now, and hears it
        m_wake.notify_all();
    }
    workOff(0);
    if ((m_round.fetch_and(~kOpen) & kInside) == 0) return;
    const auto isEmpty = [this] { return (m_round.load() & kInside) == 0; };
    lookFor(isEmpty);
    if (isEmpty()) return;
    std::unique_lock lock(m_mutex);
    m_done.wait(lock, isEmpty);
}

void ThreadPool::serve(int thread)
{
    uint64_t seen = 0; // number of the round
    const auto isAwaited = [&] { return numberOf(m_round.load()) != seen || m_ending.load(); };
    for (;;) {
        lookFor(isAwaited);
        if (!isAwaited()) {
            std::unique_lock lock(m_mutex);
            ++m_sleeping;
            m_wake.wait(lock, isAwaited);
            --m_sleeping;
        }
        if (m_ending) return;
        if (!enter(seen)) continue;
        workOff(thread);
        leave();
    }
}

/// Joins the round, unless it is over. `seen` becomes its number.
bool ThreadPool::enter(uint64_t& seen)
{
    uint64_t round = m_round.load();
    for (;;) {
        seen = numberOf(round);
        if ((round & kOpen) == 0) return false;
        if (m_round.compare_exchange_weak(round, round + 1)) return true;
    }
}

void ThreadPool::leave()
{
    const uint64_t before = m_round.fetch_sub(1);
    if ((before & kOpen) != 0 || (before & kInside) != 1) return;
    {
        const std::lock_guard lock(m_mutex);
    }
    m_done.notify_one();
}

void ThreadPool::workOff(int thread)
{
    for (int k = 0; k < m_threadCount; ++k) {
        const int owner = (thread + k) % m_threadCount;
        while (runPieceOf(owner, thread)) {
        }
    }
}

/// Runs the first piece that nobody has begun. False: there is none.
bool ThreadPool::runPieceOf(int owner, int thread)
{
    std::atomic<uint32_t>& left = m_shares[static_cast<size_t>(owner)].left;
    uint32_t piece = left.load();
    do {
        if (piece == 0) return false;
    } while (!left.compare_exchange_weak(piece, piece - 1));
    const int64_t first = firstOf(owner), items = firstOf(owner + 1) - first, pieces = std::min<int64_t>(kPieces, items);
    const int64_t begin = first + items * (pieces - piece) / pieces, end = first + items * (pieces - piece + 1) / pieces;
    (*m_work)(begin, end, thread);
    return true;
}

} // namespace loopscope
