// Requests for memory that cannot be had.
#include "engine/base/allocation.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace loopscope {
namespace {

TEST(Allocating, gives_what_the_work_gives)
{
    EXPECT_EQ(allocating([]() -> Result<int> { return 7; }).value(), 7);
    EXPECT_TRUE(allocating([]() -> Status { return {}; }).ok());
}

TEST(Allocating, makes_an_error_of_memory_that_is_not_there)
{
    const auto refused = allocating([]() -> Result<int> { throw std::bad_alloc(); });
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message(), "out of memory");
    EXPECT_EQ(refused.error().code(), ErrorCode::execution);
}

TEST(Allocating, makes_an_error_of_an_impossible_size)
{
    const auto refused = allocating([]() -> Status {
        std::vector<int> values;
        values.reserve(values.max_size() + 1);
        return {};
    });
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.detail().what, "a size that no machine can hold");
}

} // namespace
} // namespace loopscope
