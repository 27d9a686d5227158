// Every item is visited once, by the thread that its number says, in every round.
#include "engine/base/thread_pool.h"

#include <gtest/gtest.h>

#include <vector>

using namespace loopscope;

TEST(ThreadPool, CoversEveryItemOnceInEveryRound)
{
    for (const int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threads(), threads);
        for (const int64_t count : {0, 1, 2, 7, 8, 9, 1000}) {
            std::vector<int> visits(static_cast<size_t>(count), 0);
            std::vector<int> owner(static_cast<size_t>(count), -1);
            for (int round = 0; round < 50; ++round) {
                const auto work = [&](int64_t begin, int64_t end, int thread) {
                    for (int64_t i = begin; i < end; ++i) {
                        ++visits[static_cast<size_t>(i)];
                        if (round == 0) owner[static_cast<size_t>(i)] = thread;
                        EXPECT_EQ(owner[static_cast<size_t>(i)], thread);
                    }
                };
                pool.run(count, work);
            }
            for (const int n : visits) EXPECT_EQ(n, 50) << count << " items, " << threads << " threads";
        }
    }
}
