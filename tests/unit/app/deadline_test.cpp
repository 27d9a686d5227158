// Time limits: each sets its own flag when it passes, whatever others there are, and none after it has ended.
#include "app/wiring/signals.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

using namespace loopscope;
using namespace loopscope::app;

namespace {

bool isRequestedSoon(const CancelFlag& flag)
{
    for (int i = 0; i < 2000 && !flag.requested(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return flag.requested();
}

} // namespace

TEST(Deadlines, passWhileLaterOnesWait)
{
    CancelFlag late, soon, next;
    const Deadline longer(late, 1e300);
    {
        const Deadline shorter(soon, 0.01);
        EXPECT_TRUE(isRequestedSoon(soon));
        EXPECT_TRUE(shorter.passed());
    }
    const Deadline again(next, 0.01);
    EXPECT_TRUE(isRequestedSoon(next));
    EXPECT_FALSE(late.requested());
    EXPECT_FALSE(longer.passed());
}

TEST(Deadlines, thatEndedSetNothing)
{
    CancelFlag flag, other;
    {
        const Deadline ended(flag, 0.02);
    }
    const Deadline after(other, 0.04);
    EXPECT_TRUE(isRequestedSoon(other));
    EXPECT_FALSE(flag.requested());
}

TEST(Deadlines, ofNoTimeAreNone)
{
    CancelFlag flag;
    const Deadline none(flag, 0), less(flag, -1), unknown(flag, std::numeric_limits<double>::quiet_NaN());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(flag.requested());
}
