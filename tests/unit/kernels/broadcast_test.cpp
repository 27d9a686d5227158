#include "engine/kernels/cpu/broadcast.h"

#include <gtest/gtest.h>
#include <vector>

namespace loopscope {
namespace {

// Flat operand index of every result element, by the loop under test.
std::vector<int64_t> walk(const Shape& result, const Shape& operand)
{
    const BroadcastLoop<1> loop(result, {&operand});
    std::vector<int64_t> out;
    loop.forEachRow([&](int64_t o, const int64_t(&offset)[1]) {
        EXPECT_EQ(o, static_cast<int64_t>(out.size()));
        for (int64_t i = 0; i < loop.rowLength(); ++i) out.push_back(offset[0] + i * loop.rowStride(0));
    });
    return out;
}

// The same by definition: drop the result's coordinates along which the operand has size 1 or no dimension.
std::vector<int64_t> byDefinition(const Shape& result, const Shape& operand)
{
    std::vector<int64_t> out;
    for (int64_t flat = 0; flat < result.elementCount(); ++flat) {
        int64_t rest = flat;
        int64_t index = 0;
        int64_t stride = 1;
        for (int i = 1; i <= result.rank(); ++i) {
            const int64_t coordinate = rest % result[result.rank() - i];
            rest /= result[result.rank() - i];
            if (i > operand.rank()) continue;
            const int64_t size = operand[operand.rank() - i];
            index += size == 1 ? 0 : coordinate * stride;
            stride *= size;
        }
        out.push_back(index);
    }
    return out;
}

TEST(Broadcast, walksEveryPatternOfStretchedDimensions)
{
    const Shape result = {2, 3, 1, 2, 2};
    for (int mask = 0; mask < 32; ++mask) {
        Shape operand = result;
        for (int d = 0; d < 5; ++d)
            if ((mask >> d) & 1) operand[d] = 1;
        EXPECT_EQ(walk(result, operand), byDefinition(result, operand)) << toString(operand);
    }
    EXPECT_EQ(walk(result, Shape{2}), byDefinition(result, Shape{2}));
    EXPECT_EQ(walk(result, Shape{}), byDefinition(result, Shape{}));
    EXPECT_EQ(walk(Shape{}, Shape{}), std::vector<int64_t>{0});
}

TEST(Broadcast, emptyResultHasNoRows) { EXPECT_TRUE(walk(Shape{3, 0, 2}, Shape{1, 1, 2}).empty()); }

TEST(Broadcast, takesTenDimensions)
{
    const Shape result = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    const Shape operand = {2, 1, 2, 1, 2, 1, 2, 1, 2, 1};
    EXPECT_EQ(walk(result, operand), byDefinition(result, operand));
}

} // namespace
} // namespace loopscope
