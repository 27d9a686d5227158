// Every item is visited once in every round, in the same pieces, whichever threads come to take them.
#include "engine/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using namespace loopscope;

TEST(ThreadPool, CoversEveryItemOnceInEveryRound)
{
    for (const int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        for (const int64_t count : {0, 1, 2, 7, 8, 9, 1000}) {
            std::vector<int> visits(static_cast<size_t>(count), 0);
            std::set<std::pair<int64_t, int64_t>> pieces, firstPieces;
            std::mutex mutex;
            for (int round = 0; round < 50; ++round) {
                pieces.clear();
                const auto work = [&](int64_t begin, int64_t end, int thread) {
                    EXPECT_LT(begin, end);
                    EXPECT_TRUE(thread >= 0 && thread < threads) << thread;
                    for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
                    const std::lock_guard lock(mutex);
                    pieces.emplace(begin, end);
                };
                pool.run(count, work);
                if (round == 0) firstPieces = pieces;
                EXPECT_EQ(pieces, firstPieces);
            }
            for (const int n : visits) EXPECT_EQ(n, 50) << count << " items, " << threads << " threads";
        }
    }
}

TEST(ThreadPool, NeverGivesOneThreadTwoPiecesAtATime)
{
    ThreadPool pool(4);
    std::vector<std::atomic<int>> busy(4);
    for (int round = 0; round < 500; ++round) {
        const auto work = [&](int64_t, int64_t, int thread) {
            EXPECT_EQ(busy[static_cast<size_t>(thread)].fetch_add(1), 0);
            EXPECT_EQ(busy[static_cast<size_t>(thread)].fetch_sub(1), 1);
        };
        pool.run(64, work);
    }
}

// A thread that is kept elsewhere must not be waited for: the pieces that it has not begun are done by the others.
TEST(ThreadPool, DoesTheWorkOfThreadsThatDoNotCome)
{
    ThreadPool pool(2);
    std::atomic<bool> isHeld = false, mayGo = false;
    std::atomic<int> done = 0;
    const auto work = [&](int64_t begin, int64_t end, int thread) {
        if (thread == 1 && !isHeld.exchange(true)) {
            while (!mayGo) std::this_thread::yield();
        } else if (thread == 0) {
            while (!isHeld) std::this_thread::yield(); // the other one has a piece
        }
        if ((done += static_cast<int>(end - begin)) >= 800 - 100) mayGo = true; // all but the one that is held
    };
    pool.run(800, work);
    EXPECT_EQ(done, 800);
}

// Rounds as far apart as makes threads fall asleep, and as near as keeps them awake.
TEST(ThreadPool, WakesWhoeverSleeps)
{
    ThreadPool pool(3);
    std::atomic<int64_t> sum = 0;
    for (int round = 0; round < 200; ++round) {
        if (round % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const auto work = [&](int64_t begin, int64_t end, int) { sum += end - begin; };
        pool.run(24, work);
    }
    EXPECT_EQ(sum, 200 * 24);
}
