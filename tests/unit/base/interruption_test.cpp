// Who is interrupted, and who is not.
#include "engine/base/interruption.h"

#include <gtest/gtest.h>
#include <thread>

namespace loopscope {
namespace {

bool isInterrupted()
{
    try {
        interruptionPoint();
        return false;
    } catch (const Interrupted&) {
        return true;
    }
}

TEST(Interruption, needs_a_scope_and_a_request)
{
    CancelFlag flag;
    flag.request();
    EXPECT_FALSE(isInterrupted());
    {
        const InterruptionScope heeds(&flag);
        EXPECT_TRUE(isInterrupted());
        bool other = true;
        std::thread([&] { other = isInterrupted(); }).join();
        EXPECT_FALSE(other) << "another thread has scopes of its own";
        flag.clear();
        EXPECT_FALSE(isInterrupted());
        flag.request();
        const InterruptionScope heedsNothing(nullptr);
        EXPECT_FALSE(isInterrupted()) << "the innermost scope counts";
    }
    EXPECT_FALSE(isInterrupted());
}

TEST(Interruption, waits_until_it_may)
{
    CancelFlag flag;
    flag.request();
    bool may = false;
    const InterruptionScope heeds(
        &flag, [](const void* whom) { return *static_cast<const bool*>(whom); }, &may);
    EXPECT_FALSE(isInterrupted());
    may = true;
    EXPECT_TRUE(isInterrupted());
}

TEST(LoopPace, looks_after_many_elements)
{
    CancelFlag flag;
    flag.request();
    const InterruptionScope heeds(&flag);
    LoopPace pace;
    EXPECT_NO_THROW(pace.did(LoopPace::kElements - 1));
    EXPECT_THROW(pace.did(1), Interrupted);
    EXPECT_NO_THROW(pace.did(1)) << "not again at once";
    EXPECT_THROW(pace.did(LoopPace::kElements), Interrupted);
}

} // namespace
} // namespace loopscope
