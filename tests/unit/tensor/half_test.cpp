#include "engine/tensor/half.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>

namespace loopscope {
namespace {

// Independent of the implementation: nearest representable value by search, ties to the even code.
template <typename Code, typename Widen> Code nearestCode(float value, Widen widen, uint32_t codes)
{
    Code best = 0;
    double bestDistance = INFINITY;
    for (uint32_t c = 0; c < codes; ++c) {
        const float candidate = widen(static_cast<Code>(c));
        if (!std::isfinite(candidate) || std::signbit(candidate) != std::signbit(value)) continue;
        const double distance = std::fabs(static_cast<double>(candidate) - value);
        if (distance < bestDistance || (distance == bestDistance && c % 2 == 0)) {
            bestDistance = distance;
            best = static_cast<Code>(c);
        }
    }
    return best;
}

TEST(Half, everyF16SurvivesTheWayToFloatAndBack)
{
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float wide = f16ToFloat(static_cast<uint16_t>(bits));
        if (std::isnan(wide)) {
            EXPECT_TRUE(std::isnan(f16ToFloat(floatToF16(wide))));
        } else {
            EXPECT_EQ(floatToF16(wide), bits) << bits;
        }
    }
}

TEST(Half, f16RoundsToNearestEven)
{
    EXPECT_EQ(floatToF16(1.0F + 0x1p-11F), 0x3c00);     // tie to even
    EXPECT_EQ(floatToF16(1.0F + 3 * 0x1p-11F), 0x3c02); // tie to even, upwards
    EXPECT_EQ(floatToF16(65519.0F), 0x7bff);
    EXPECT_EQ(floatToF16(65520.0F), 0x7c00); // rounds to infinity
    EXPECT_EQ(floatToF16(0x1p-25F), 0x0000); // half the smallest: tie to zero
    EXPECT_EQ(floatToF16(0x1.8p-25F), 0x0001);
    EXPECT_EQ(f16ToFloat(0x3555), 0.333251953125F);
}

TEST(Half, eightBitFloatsAreNearest)
{
    for (int i = -4000; i <= 4000; ++i) {
        const float value = static_cast<float>(i) * 0.11F;
        if (std::fabs(value) <= 448) {
            EXPECT_EQ(floatToF8e4m3fn(value), nearestCode<uint8_t>(value, f8e4m3fnToFloat, 256)) << value;
        }
        EXPECT_EQ(floatToF8e5m2(value), nearestCode<uint8_t>(value, f8e5m2ToFloat, 256)) << value;
    }
    EXPECT_TRUE(std::isnan(f8e4m3fnToFloat(floatToF8e4m3fn(500))));
    EXPECT_TRUE(std::isinf(f8e5m2ToFloat(floatToF8e5m2(1e6F))));
    EXPECT_EQ(f8e4m3fnToFloat(0x7e), 448.0F);
}

TEST(Half, bf16RoundsToNearestEven)
{
    EXPECT_EQ(floatToBf16(1.0F), 0x3f80);
    EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f808000U)), 0x3f80);
    EXPECT_EQ(floatToBf16(std::bit_cast<float>(0x3f818000U)), 0x3f82);
    EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(NAN))));
}

} // namespace
} // namespace loopscope
