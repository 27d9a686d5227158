// The one limit of what files may ask for, and allocations that fail.
#include "engine/base/memory_budget.h"

#include "engine/base/allocation.h"
#include "engine/base/bytes.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace loopscope {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

struct LimitGuard {
    ~LimitGuard() { setMemoryLimit(0); }
};

TEST(MemoryBudget, refuses_what_is_beyond_the_limit)
{
    const LimitGuard restores;
    setMemoryLimit(memoryInUse() + 16 * kMiB);
    EXPECT_TRUE(checkMemory(8 * kMiB, "array").ok());
    const Status refused = checkMemory(64 * kMiB, "array");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.detail().code, ErrorCode::execution);
    EXPECT_NE(Error(ErrorCode::execution, refused.detail().what).message().find("(--memory)"), std::string::npos);
    EXPECT_FALSE(checkMemory(UINT64_MAX, "array").ok());
}

TEST(MemoryBudget, counts_what_is_held_already)
{
    const LimitGuard restores;
    setMemoryLimit(memoryInUse() + 64 * kMiB);
    EXPECT_TRUE(checkMemory(40 * kMiB, "array").ok());
    const std::vector<char> held(48 * kMiB, 'x');
    EXPECT_FALSE(checkMemory(40 * kMiB, "array").ok()) << held.size();
}

TEST(MemoryBudget, by_default_is_half_of_what_is_free)
{
    EXPECT_GE(memoryLimit(), 256 * kMiB);
    EXPECT_FALSE(checkMemory(uint64_t{1} << 50, "array").ok());
}

TEST(MemoryMeter, asks_while_something_grows)
{
    const LimitGuard restores;
    setMemoryLimit(memoryInUse() + 32 * kMiB);
    MemoryMeter meter("text");
    std::vector<std::vector<char>> pieces;
    Status status;
    for (int i = 0; i < 64 && status.ok(); ++i) {
        status = meter.grow(kMiB);
        if (status.ok()) pieces.emplace_back(kMiB, 'x');
    }
    EXPECT_FALSE(status.ok());
    EXPECT_LE(pieces.size(), 40U);
}

/// What a process answers that may have no more than so many bytes of addresses; 0: "out of memory".
int copyUnderALimit(size_t bytes)
{
    const pid_t child = fork();
    if (child == 0) {
        const std::vector<std::byte> source(bytes);
        const rlimit limit{256 * kMiB, 256 * kMiB};
        setrlimit(RLIMIT_AS, &limit);
        const Result<Bytes> copy = allocating([&]() -> Result<Bytes> { return Bytes::copyOf(source); });
        if (copy.ok()) _exit(1);
        _exit(copy.error().code() == ErrorCode::execution && copy.error().message() == "out of memory" ? 0 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(Allocating, makes_an_error_of_a_copy_that_does_not_fit)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers reserve addresses beyond any limit";
#endif
    EXPECT_EQ(copyUnderALimit(512 * kMiB), 0);
    EXPECT_EQ(copyUnderALimit(16), 1) << "a small copy fits";
}

} // namespace
} // namespace loopscope
