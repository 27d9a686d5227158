// What the strong types of counts refuse to compile, and that they count.
#include "engine/base/counts.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace loopscope {
namespace {

template <typename A, typename B>
concept Comparable = requires(A a, B b)
{
    a == b;
};
template <typename A, typename B>
concept Ordered = requires(A a, B b)
{
    a < b;
};

static_assert(!std::is_convertible_v<Tick, Step> && !std::is_constructible_v<Step, Tick>);
static_assert(!std::is_convertible_v<InvocationId, TimelineId> && !std::is_assignable_v<Tick&, InvocationId>);
static_assert(!Comparable<Tick, Step> && !Ordered<Tick, Step>);
static_assert(Comparable<Tick, Tick> && Ordered<Tick, Tick> && Comparable<Tick, int>);
static_assert(std::is_convertible_v<int64_t, Tick> && std::is_convertible_v<Tick, int64_t>, "files and text know plain numbers");
static_assert(!std::is_convertible_v<double, Tick>);

TEST(Counts, countFromTheirFirst)
{
    Tick tick;
    EXPECT_EQ(tick++, 0);
    EXPECT_EQ(++tick, 2);
    tick += 3;
    EXPECT_EQ(tick - 1, 4);
    EXPECT_EQ(tick.number, 5);
}

} // namespace
} // namespace loopscope
