#include "tests/unit/kernels/kernel_harness.h"

#include <gtest/gtest.h>
#include <limits>

namespace loopscope {
namespace {

TEST(Arithmetic, scalarAndStretchedOperandsAgree)
{
    const auto a = tensorOf<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
    const auto row = tensorOf<int32_t>({3}, {10, 20, 30});
    const auto column = tensorOf<int32_t>({2, 1}, {100, 200});
    const auto one = tensorOf<int32_t>({}, {7});
    EXPECT_EQ(valuesOf<int32_t>("add", {&a, &row}), (std::vector<int32_t>{11, 22, 33, 14, 25, 36}));
    EXPECT_EQ(valuesOf<int32_t>("sub", {&column, &a}), (std::vector<int32_t>{99, 98, 97, 196, 195, 194}));
    EXPECT_EQ(valuesOf<int32_t>("mul", {&one, &a}), (std::vector<int32_t>{7, 14, 21, 28, 35, 42}));
    EXPECT_EQ(valuesOf<int32_t>("add", {&one, &one}), (std::vector<int32_t>{14}));
}

TEST(Arithmetic, integersWrapAndFloatsStayFinite)
{
    const auto big = tensorOf<int32_t>({1}, {INT32_MAX});
    EXPECT_EQ(valuesOf<int32_t>("add", {&big, &big}), (std::vector<int32_t>{-2}));
    EXPECT_EQ(valuesOf<int32_t>("mul", {&big, &big}), (std::vector<int32_t>{1}));
    const auto zero = tensorOf<float>({1}, {0.0F});
    const auto ones = tensorOf<float>({2}, {1.0F, -1.0F});
    constexpr float kMax = std::numeric_limits<float>::max();
    EXPECT_EQ(valuesOf<float>("div", {&ones, &zero}), (std::vector<float>{kMax, -kMax}));
}

TEST(Arithmetic, zeroDivisorIsNamedByItsPlace)
{
    const auto a = tensorOf<int32_t>({2, 2}, {1, 2, 3, 4});
    const auto b = tensorOf<int32_t>({2}, {1, 0});
    EXPECT_EQ(messageOf("div", {&a, &b}), "C2: division by zero at [0,1] (i32)");
    EXPECT_EQ(messageOf("floor_div", {&a, &b}), "C2: division by zero at [0,1] (i32)");
    EXPECT_EQ(messageOf("floor_mod", {&a, &b}), "C2: division by zero at [0,1] (i32)");
}

TEST(Arithmetic, int8SumRequantizesAndSaturates)
{
    const auto a = tensorOf<int8_t>({4}, {2, -128, 127, 0}).quantized(0.5F, 0);
    const auto b = tensorOf<int8_t>({4}, {4, -4, 8, 2}).quantized(0.25F, 0);
    RunOptions options;
    options.results = {declared(DType::i8, 0.5F, 0)};
    // 1+1, −64−1, 63.5+2, 0+0.5 in units of 0.5
    EXPECT_EQ(valuesOf<int8_t>("add", {&a, &b}, options), (std::vector<int8_t>{4, -128, 127, 1}));
}

TEST(Arithmetic, int8WithoutQuantizationIsPlain)
{
    const auto a = tensorOf<int8_t>({2}, {100, -3});
    EXPECT_EQ(valuesOf<int8_t>("add", {&a, &a}), (std::vector<int8_t>{-56, -6}));
}

TEST(Arithmetic, floorDivisionAndRemainderTakeTheDivisorsSign)
{
    const auto a = tensorOf<int32_t>({5}, {7, -7, 7, -7, INT32_MIN});
    const auto b = tensorOf<int32_t>({5}, {2, 2, -2, -2, -1});
    EXPECT_EQ(valuesOf<int32_t>("floor_div", {&a, &b}), (std::vector<int32_t>{3, -4, -4, 3, INT32_MIN}));
    EXPECT_EQ(valuesOf<int32_t>("floor_mod", {&a, &b}), (std::vector<int32_t>{1, 1, -1, -1, 0}));
}

TEST(Comparison, quantizedOperandsMeetAtOneScale)
{
    const auto a = tensorOf<int8_t>({3}, {2, 3, -4}).quantized(0.5F, 0);
    const auto b = tensorOf<int8_t>({3}, {4, 5, 0}).quantized(0.25F, 0);
    EXPECT_EQ(valuesOf<uint8_t>("equal", {&a, &b}), (std::vector<uint8_t>{1, 0, 0}));
    EXPECT_EQ(valuesOf<uint8_t>("less", {&a, &b}), (std::vector<uint8_t>{0, 0, 1}));
}

TEST(Comparison, mixedDtypesAreRefused)
{
    const auto a = tensorOf<int32_t>({1}, {1});
    const auto b = tensorOf<int64_t>({1}, {1});
    EXPECT_EQ(messageOf("less", {&a, &b}), "C1: input 1 is i64, input 0 is i32; they must have one dtype");
}

} // namespace
} // namespace loopscope
