// Rows of the output stage against the rule for one number, over the whole range of sums, factors and channels counts.
#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/nn_common.h"

#include <gtest/gtest.h>

#include <random>

using namespace loopscope;

namespace {

OutputStage stageOf(const std::vector<double>& factors, int32_t zero, int32_t min, int32_t max)
{
    OutputStage stage;
    stage.zero = zero;
    stage.min = min;
    stage.max = max;
    stage.factors = factors;
    for (const double factor : factors) {
        const QuantizedMultiplier multiplier = quantizeMultiplier(factor);
        stage.multipliers.push_back(multiplier);
        stage.fixed.push_back(multiplier.multiplier);
        stage.left.push_back(std::max(multiplier.shift, 0) & 31);
        stage.right.push_back(std::max(-multiplier.shift, 0));
    }
    return stage;
}

template <typename T> void compareRows(int32_t zero, int32_t min, int32_t max)
{
    std::mt19937_64 random(7);
    for (int round = 0; round < 2000; ++round) {
        const auto channels = static_cast<int64_t>(1 + random() % 37);
        std::vector<double> factors;
        std::vector<int32_t> sums;
        std::vector<int32_t> bias;
        for (int64_t c = 0; c < channels; ++c) {
            factors.push_back(std::ldexp(0.5 + static_cast<double>(random() % 1000) / 2000.0, static_cast<int>(random() % 44) - 34));
            const auto wide = static_cast<int32_t>(random());
            const int32_t extremes[] = {INT32_MIN, INT32_MAX, 0, -1, 1, INT32_MIN + 1};
            sums.push_back(random() % 8 == 0 ? extremes[random() % 6] : wide >> (random() % 31));
            bias.push_back(static_cast<int32_t>(random()) >> (random() % 31));
        }
        const OutputStage stage = stageOf(factors, zero, min, max);
        const bool hasBias = random() % 2 == 0;
        const auto first = static_cast<int64_t>(random() % static_cast<uint64_t>(channels));
        std::vector<T> row(static_cast<size_t>(channels - first));
        stage.applyRow(sums.data() + first, hasBias ? bias.data() + first : nullptr, first, channels - first, row.data());
        for (int64_t c = first; c < channels; ++c) {
            const auto at = static_cast<size_t>(c);
            const uint32_t total = static_cast<uint32_t>(sums[at]) + (hasBias ? static_cast<uint32_t>(bias[at]) : 0U);
            ASSERT_EQ(row[at - static_cast<size_t>(first)], static_cast<T>(stage.apply(static_cast<int32_t>(total), c)))
                << "round " << round << " channel " << c << " sum " << sums[at] << " factor " << factors[at];
        }
    }
}

} // namespace

TEST(OutputStage, RowsEqualSingleNumbers)
{
    compareRows<int8_t>(-5, -128, 127);
    compareRows<uint8_t>(130, 10, 255);
    compareRows<int8_t>(127, 0, 6);
}

TEST(Gemm, MultiplyAddEqualsThePlainSum)
{
    std::mt19937 random(3);
    for (int64_t count = 0; count < 40; ++count) {
        std::vector<int16_t> x;
        std::vector<int16_t> w;
        std::vector<uint32_t> sums;
        for (int64_t i = 0; i < count; ++i) {
            x.push_back(static_cast<int16_t>(random()));
            w.push_back(static_cast<int16_t>(random()));
            sums.push_back(static_cast<uint32_t>(random()));
        }
        std::vector<uint32_t> expected = sums;
        for (size_t i = 0; i < x.size(); ++i) expected[i] += static_cast<uint32_t>(int32_t{x[i]} * int32_t{w[i]});
        multiplyAdd(x.data(), w.data(), count, sums.data());
        EXPECT_EQ(sums, expected);
    }
}
