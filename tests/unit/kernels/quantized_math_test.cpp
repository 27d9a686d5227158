#include "engine/kernels/cpu/fixed_point.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

TEST(QuantizedMath, highMulRoundsHalvesUpwardsAndSaturates)
{
    EXPECT_EQ(saturatingRoundingDoublingHighMul(INT32_MIN, INT32_MIN), INT32_MAX);
    EXPECT_EQ(saturatingRoundingDoublingHighMul(1 << 30, 3), 2);   // 1.5
    EXPECT_EQ(saturatingRoundingDoublingHighMul(1 << 30, -3), -1); // −1.5
    EXPECT_EQ(saturatingRoundingDoublingHighMul(1 << 30, 100), 50);
}

TEST(QuantizedMath, powerOfTwoDivisionRoundsHalvesAwayFromZero)
{
    EXPECT_EQ(roundingDivideByPowerOfTwo(5, 1), 3);
    EXPECT_EQ(roundingDivideByPowerOfTwo(-5, 1), -3);
    EXPECT_EQ(roundingDivideByPowerOfTwo(6, 2), 2);
    EXPECT_EQ(roundingDivideByPowerOfTwo(-6, 2), -2);
    EXPECT_EQ(roundingDivideByPowerOfTwo(-7, 0), -7);
    EXPECT_EQ(roundingDivideByPowerOfTwo(INT32_MAX, 31), 1);
}

TEST(QuantizedMath, multiplierIsFractionAndShift)
{
    const auto half = quantizeMultiplier(0.5);
    EXPECT_EQ(half.multiplier, 1 << 30);
    EXPECT_EQ(half.shift, 0);
    const auto three = quantizeMultiplier(3.0);
    EXPECT_EQ(three.multiplier, 1610612736); // 0.75·2³¹
    EXPECT_EQ(three.shift, 2);
    EXPECT_EQ(quantizeMultiplier(0.0).multiplier, 0);
    EXPECT_EQ(quantizeMultiplier(1e-30).multiplier, 0);
    const auto almostOne = quantizeMultiplier(1.0 - 1e-12); // rounds up to 1: kept as ½·2
    EXPECT_EQ(almostOne.multiplier, 1 << 30);
    EXPECT_EQ(almostOne.shift, 1);
    EXPECT_EQ(multiplyByQuantizedMultiplier(100, three), 300);
    EXPECT_EQ(multiplyByQuantizedMultiplier(-7, quantizeMultiplier(0.5)), -3); // -3.5: halves go up
    EXPECT_EQ(multiplyByQuantizedMultiplier64(int64_t{1} << 40, quantizeMultiplier(0.0009765625)), 1 << 30);
}

TEST(QuantizedMath, expOfNegativesIsWithinItsLastBits)
{
    for (int i = 0; i <= 512; ++i) {
        const double x = -31.0 * i / 512;
        const auto raw = static_cast<int32_t>(std::lround(x * (1 << 26))); // 5 integer bits
        const double got = expOnNegative(Fixed<5>{raw}).raw / 2147483648.0;
        EXPECT_NEAR(got, std::exp(raw / 67108864.0), 3e-7) << x;
    }
    EXPECT_EQ(expOnNegative(Fixed<5>{0}).raw, INT32_MAX);
}

TEST(QuantizedMath, reciprocal)
{
    for (int i = 0; i <= 64; ++i) {
        const double x = i / 64.0;
        const auto raw = static_cast<int32_t>(std::min(x * 2147483648.0, 2147483647.0));
        EXPECT_NEAR(oneOverOnePlus({raw}).raw / 2147483648.0, 1 / (1 + x), 2e-8) << x;
        EXPECT_NEAR(oneMinusOverOnePlus({raw}).raw / 2147483648.0, (1 - x) / (1 + x), 4e-8) << x;
    }
    int bits = 0;
    const double reciprocal = fixedReciprocal(20, 31, bits) / 2147483648.0 * std::exp2(-bits);
    EXPECT_NEAR(reciprocal, 0.05, 1e-9);
}

} // namespace
} // namespace loopscope
