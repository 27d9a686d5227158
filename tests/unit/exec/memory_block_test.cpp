// Memory of values: what is refused, and that waiting for gigabytes of it can be given up.
#include "engine/base/interruption.h"
#include "engine/exec/memory_block.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

TEST(MemoryBlock, waitingForItCanBeGivenUp)
{
    MemoryAccount account;
    account.limit = uint64_t{1} << 30U;
    CancelFlag flag;
    flag.request();
    MemoryBlock block(account);
    {
        const InterruptionScope heeds(&flag);
        EXPECT_THROW((void)block.reserve(uint64_t{1} << 28U), Interrupted);
    }
    block.release();
    EXPECT_EQ(account.used, 0U);
    ASSERT_TRUE(block.reserve(uint64_t{1} << 28U).ok()); // without anybody who asked for the end
    EXPECT_EQ(block.data()[(size_t{1} << 28U) - 1], std::byte{0});
}

} // namespace
} // namespace loopscope
