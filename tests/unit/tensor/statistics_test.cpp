#include "engine/tensor/statistics.h"

#include "engine/tensor/half.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

namespace loopscope {
namespace {

template <typename T> Tensor view(std::vector<T>& data, DType dtype, Shape shape, const Quantization* q = nullptr)
{
    Tensor t;
    t.data = reinterpret_cast<std::byte*>(data.data());
    t.bytes = data.size() * sizeof(T);
    t.dtype = dtype;
    t.shape = std::move(shape);
    t.quantization = q;
    return t;
}

template <typename T> Tensor vectorOf(std::vector<T>& data, DType dtype, const Quantization* q = nullptr)
{
    return view(data, dtype, Shape{static_cast<int64_t>(data.size())}, q);
}

TEST(Statistics, ofFloatsAgreeWithTheDefinition)
{
    std::mt19937 random(5);
    std::normal_distribution<float> normal(1000.0F, 0.5F);
    for (const size_t size : {1, 2, 3, 5, 511, 512, 513, 5000}) {
        std::vector<float> data(size);
        for (float& v : data) v = normal(random);
        long double sum = 0, squares = 0;
        for (const float v : data) sum += static_cast<long double>(v);
        const long double mean = sum / static_cast<long double>(size);
        for (const float v : data) squares += (static_cast<long double>(v) - mean) * (static_cast<long double>(v) - mean);
        const TensorStatistics s = computeStatistics(vectorOf(data, DType::f32));
        EXPECT_EQ(s.elements, static_cast<int64_t>(size));
        EXPECT_EQ(s.finite, static_cast<int64_t>(size));
        EXPECT_EQ(s.min, static_cast<double>(*std::min_element(data.begin(), data.end())));
        EXPECT_EQ(s.max, static_cast<double>(*std::max_element(data.begin(), data.end())));
        EXPECT_NEAR(s.mean, static_cast<double>(mean), 1e-10);
        EXPECT_NEAR(s.std, static_cast<double>(std::sqrt(squares / static_cast<long double>(size))), 1e-10) << size;
    }
}

TEST(Statistics, countWhatIsNotFinite)
{
    const float inf = std::numeric_limits<float>::infinity();
    std::vector<float> data = {0, -0.0F, 1e-40F, 2, NAN, inf, -inf, -NAN, 4};
    const TensorStatistics s = computeStatistics(vectorOf(data, DType::f32));
    EXPECT_EQ(s.nan, 2);
    EXPECT_EQ(s.positiveInf, 1);
    EXPECT_EQ(s.negativeInf, 1);
    EXPECT_EQ(s.denormal, 1);
    EXPECT_EQ(s.zeros, 2);
    EXPECT_EQ(s.finite, 5);
    EXPECT_EQ(s.firstAbnormal, 4);
    EXPECT_EQ(s.min, 0);
    EXPECT_EQ(s.max, 4);

    std::vector<double> wide = {inf, 1, NAN};
    const TensorStatistics d = computeStatistics(vectorOf(wide, DType::f64));
    EXPECT_EQ(d.positiveInf, 1);
    EXPECT_EQ(d.nan, 1);
    EXPECT_EQ(d.firstAbnormal, 0);
    EXPECT_EQ(d.mean, 1);
}

TEST(Statistics, findTheFirstAbnormalBeyondABlock)
{
    std::vector<float> data(2000, 1.0F);
    data[1700] = NAN;
    data[1900] = std::numeric_limits<float>::infinity();
    const TensorStatistics s = computeStatistics(vectorOf(data, DType::f32));
    EXPECT_EQ(s.firstAbnormal, 1700);
    EXPECT_EQ(s.finite, 1998);
    EXPECT_EQ(s.std, 0);
}

TEST(Statistics, ofOnlyNaNHaveNoFiniteElement)
{
    std::vector<float> data = {NAN, NAN};
    const TensorStatistics s = computeStatistics(vectorOf(data, DType::f32));
    EXPECT_EQ(s.finite, 0);
    EXPECT_EQ(s.nan, 2);
}

TEST(Statistics, ofQuantizedAreInRealUnits)
{
    const Quantization q = Quantization::perTensor(0.5F, -1);
    std::vector<int8_t> data = {-128, -1, 3, 127};
    const TensorStatistics s = computeStatistics(vectorOf(data, DType::i8, &q));
    EXPECT_EQ(s.min, -63.5);
    EXPECT_EQ(s.max, 64);
    EXPECT_EQ(s.zeros, 1);
    EXPECT_EQ(s.saturated, 2);
    EXPECT_DOUBLE_EQ(s.mean, (-63.5 + 0 + 2 + 64) / 4);
    Tensor t = vectorOf(data, DType::i8, &q);
    EXPECT_EQ(elementAsReal(t, 2), 2);
    EXPECT_EQ(elementAsInteger(t, 2), 3);
}

TEST(Statistics, ofPerChannelUseEachChannelsScale)
{
    Quantization q = Quantization::perTensor(1, 0);
    q.scales = {1, 10};
    q.zeroPoints = {0, 0};
    q.perChannel = true;
    q.axis = 1;
    std::vector<int32_t> data = {1, 2, 3, 4}; // [[1, 20], [3, 40]]
    const TensorStatistics s = computeStatistics(view(data, DType::i32, Shape{2, 2}, &q));
    EXPECT_EQ(s.min, 1);
    EXPECT_EQ(s.max, 40);
    EXPECT_DOUBLE_EQ(s.mean, 16);
}

TEST(Statistics, surviveAnAxisThatDoesNotFit)
{
    Quantization q = Quantization::perTensor(2, 0);
    q.scales = {2, 3, 4};
    q.axis = 7;
    std::vector<int8_t> data = {1, 2};
    EXPECT_EQ(computeStatistics(vectorOf(data, DType::i8, &q)).max, 4);
}

TEST(Statistics, readPackedFromTheLowestBits)
{
    std::vector<uint8_t> data = {0xf7, 0x08};
    Tensor t = view(data, DType::i4, Shape{3});
    EXPECT_EQ(elementAsInteger(t, 0), 7);
    EXPECT_EQ(elementAsInteger(t, 1), -1);
    EXPECT_EQ(elementAsInteger(t, 2), -8);
    EXPECT_EQ(computeStatistics(t).min, -8);
    t.dtype = DType::i2;
    t.shape = Shape{4};
    EXPECT_EQ(elementAsInteger(t, 0), -1);
    EXPECT_EQ(elementAsInteger(t, 1), 1);
}

TEST(Statistics, ofOtherTypes)
{
    std::vector<uint8_t> flags = {1, 0, 1, 1};
    EXPECT_EQ(computeStatistics(vectorOf(flags, DType::boolean)).mean, 0.75);
    std::vector<uint16_t> halves = {floatToF16(1.5F), floatToF16(-2.0F)};
    EXPECT_EQ(computeStatistics(vectorOf(halves, DType::f16)).min, -2);
    std::vector<float> complex = {3, 4, 0, 0};
    const TensorStatistics c = computeStatistics(view(complex, DType::c64, Shape{2}));
    EXPECT_EQ(c.max, 5);
    EXPECT_EQ(c.zeros, 1);
    std::vector<uint64_t> wide = {~uint64_t{0}};
    EXPECT_EQ(computeStatistics(vectorOf(wide, DType::u64)).max, 18446744073709551615.0);
    std::vector<int32_t> text = {0, 8};
    const TensorStatistics s = computeStatistics(view(text, DType::string, Shape{3}));
    EXPECT_EQ(s.elements, 3);
    EXPECT_EQ(s.finite, 0);
}

TEST(Statistics, ofEmptyAndShortTensorsAreEmpty)
{
    std::vector<float> none;
    EXPECT_EQ(computeStatistics(vectorOf(none, DType::f32)).finite, 0);
    std::vector<float> two = {1, 2};
    EXPECT_EQ(computeStatistics(view(two, DType::f32, Shape{3})).finite, 0) << "fewer bytes than the shape needs";
}

TEST(Statistics, ofHugeNumbersDoNotOverflow)
{
    const double huge = std::numeric_limits<double>::max();
    std::vector<double> data = {huge, huge, -huge, huge};
    const TensorStatistics s = computeStatistics(vectorOf(data, DType::f64));
    EXPECT_EQ(s.max, huge);
    EXPECT_TRUE(std::isfinite(s.mean));
}

} // namespace
} // namespace loopscope
