// Whoever wants nothing but statistics of results is told them by the device, equal to those of the bytes, which stay there.
#include "converters/lsir/lsir.h"
#include "engine/exec/interpreter.h"
#include "tests/unit/exec/device_fixture.h"
#include "tests/unit/exec/model_builder.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace loopscope::testing {
namespace {

constexpr const char* kModel = R"(
graph main(x: f32[3, 3001]) {
  axis = const i32[1] [1]
  a = neg(x) : f32[3, 3001]
  b = sqrt(x) : f32[3, 3001]
  c = mul(b, a) : f32[3, 3001]
  d = zeros_like(x) : f32[3, 3001]
  e = mean(a, axis) : f32[3]
  return e
}
)";

/// Asks for statistics, and afterwards, if it `compares`, for the bytes.
class Listener final : public ExecutionObserver {
public:
    explicit Listener(bool compares) : m_compares(compares) {}
    bool wantsElements() const override { return false; }
    void operatorExecuted(const OperatorEvent& e) override
    {
        const Tensor& result = *e.results[0];
        if (!e.device->describes(result)) return;
        const std::optional<TensorStatistics> there = e.device->describe(result);
        ASSERT_TRUE(there);
        ++described;
        if (!m_compares) return;
        e.device->hostBytes(result);
        const TensorStatistics here = computeStatistics(result);
        const auto same = [](double a, double b) { EXPECT_EQ(std::bit_cast<uint64_t>(a), std::bit_cast<uint64_t>(b)) << a << " " << b; };
        same(there->min, here.min);
        same(there->max, here.max);
        same(there->mean, here.mean);
        same(there->std, here.std);
        EXPECT_EQ(there->elements, here.elements);
        EXPECT_EQ(there->finite, here.finite);
        EXPECT_EQ(there->zeros, here.zeros);
        EXPECT_EQ(there->nan, here.nan);
        EXPECT_EQ(there->positiveInf, here.positiveInf);
        EXPECT_EQ(there->negativeInf, here.negativeInf);
        EXPECT_EQ(there->denormal, here.denormal);
        EXPECT_EQ(there->saturated, here.saturated);
        EXPECT_EQ(there->firstAbnormal, here.firstAbnormal);
    }
    int described = 0;

private:
    const bool m_compares;
};

class DeviceStatisticsTest : public DeviceFixture {
protected:
    void SetUp() override
    {
        DeviceFixture::SetUp();
        if (m_memory && !m_memory->device().info().hasDoubles) GTEST_SKIP() << "no 64-bit floats";
    }
    void run(ExecutionObserver& observer, std::vector<float>& values)
    {
        const Result<Model> model = importLsir("test", Bytes::copyOf(kModel, std::strlen(kModel)));
        ASSERT_TRUE(model.ok()) << model.error().message();
        ExecutionOptions options;
        options.profile = Profile::vulkan;
        options.device = m_memory.get();
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(*model, GraphId(0), options);
        ASSERT_TRUE(made.ok());
        (*made)->setObserver(&observer);
        ASSERT_TRUE((*made)->setInput(0, tensorOver(values, Shape({3, 3001}))).ok());
        ASSERT_TRUE((*made)->start().ok());
        ASSERT_TRUE((*made)->run().ok());
    }
    static std::vector<float> randomValues(uint64_t seed)
    {
        std::vector<float> values(3 * 3001);
        std::mt19937_64 random(seed);
        std::normal_distribution<float> normal(seed % 2 == 0 ? 1e6F : 0.0F, 3.0F);
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        const float specials[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 0.0F, -0.0F, 1e-40F, -3e-45F,
                                  3e38F,     -3e38F};
        for (float& value : values) value = normal(random);
        for (size_t i = 0; i < values.size() && seed > 2; i += 1 + random() % (seed * 7))
            values[i] = specials[random() % std::size(specials)];
        for (size_t i = 600; i < 2000 && seed > 4; ++i) values[i] = specials[random() % 3]; // blocks without any number
        return values;
    }
};

TEST_F(DeviceStatisticsTest, areThoseOfTheBytes)
{
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE(seed);
        std::vector<float> values = randomValues(seed);
        Listener listener(true);
        run(listener, values);
        EXPECT_EQ(listener.described, 4);
    }
}

TEST_F(DeviceStatisticsTest, bringFewerBytesToTheHost)
{
    std::vector<float> values = randomValues(1);
    Listener listener(false);
    run(listener, values);
    EXPECT_EQ(listener.described, 4);
    const uint64_t blocks = (3 * 3001 + 511) / 512;
    EXPECT_EQ(m_memory->traffic().readBack, 4 * blocks * sizeof(StatisticsBlock) + 3 * sizeof(float));
}

TEST_F(DeviceStatisticsTest, validationHasNothingToSay)
{
    for (const std::string& message : m_memory->device().validationMessages()) ADD_FAILURE() << message;
}

} // namespace
} // namespace loopscope::testing
