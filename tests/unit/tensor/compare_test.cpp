// Comparison of tensors: every tolerance, NaN and signed zero, and the places it names.
#include "engine/tensor/compare.h"

#include "engine/tensor/npy.h"
#include "engine/tensor/strings.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace loopscope {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T> Array arrayOf(Shape shape, std::vector<T> values)
{
    Array array{dtypeOf<T>(), std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
    std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    return array;
}

Comparison compareFloats(std::vector<float> got, std::vector<float> want, const Tolerance& tolerance = {})
{
    const auto count = static_cast<int64_t>(got.size());
    const Array a = arrayOf(Shape{count}, std::move(got)), b = arrayOf(Shape{count}, std::move(want));
    return compareTensors(a.view(), b.view(), tolerance);
}

Tolerance close(double rtol, double atol)
{
    Tolerance t;
    t.close = Tolerance::Close{rtol, atol};
    return t;
}

TEST(Compare, equal_tensors_are_equal)
{
    const Comparison c = compareFloats({1, -2, kNan, kInf}, {1, -2, kNan, kInf});
    EXPECT_TRUE(c.equal);
    EXPECT_EQ(c.worst, -1);
    EXPECT_EQ(c.maxAbs, 0);
}

TEST(Compare, names_first_and_worst_element)
{
    const Array a = arrayOf<float>({2, 2}, {1, 2, 3, 4}), b = arrayOf<float>({2, 2}, {1, 2.5F, 1, 4});
    const Comparison c = compareTensors(a.view(), b.view(), {});
    EXPECT_FALSE(c.equal);
    EXPECT_EQ(c.beyond, 2);
    EXPECT_EQ(elementIndexText(a.shape, c.first), "[0,1]");
    EXPECT_EQ(elementIndexText(a.shape, c.worst), "[1,0]");
    EXPECT_EQ(c.maxAbs, 2);
    EXPECT_EQ(c.maxRel, 2); // |3 - 1| / |1|
    EXPECT_EQ(c.got, 3);
    EXPECT_EQ(c.want, 1);
    EXPECT_EQ(elementIndexText(Shape{}, 0), "[]");
}

TEST(Compare, exact_tells_signed_zeros_apart_and_tolerances_do_not)
{
    EXPECT_FALSE(compareFloats({0.0F}, {-0.0F}).equal);
    EXPECT_TRUE(compareFloats({0.0F}, {-0.0F}, close(0, 0)).equal);
}

TEST(Compare, close_follows_atol_plus_rtol_times_want)
{
    EXPECT_TRUE(compareFloats({110}, {100}, close(0.1, 0)).equal);
    EXPECT_FALSE(compareFloats({100}, {110.5F}, close(0.09, 0.5)).equal); // 10.5 > 0.5 + 9.945
    EXPECT_TRUE(compareFloats({100}, {110.5F}, close(0.09, 0.6)).equal);
    EXPECT_FALSE(compareFloats({kNan}, {1}, close(1, 1)).equal);
    EXPECT_FALSE(compareFloats({kInf}, {1e30F}, close(1, 1)).equal);
    EXPECT_FALSE(compareFloats({kInf}, {-kInf}, close(1, 1)).equal);
}

TEST(Compare, ulp_counts_representable_values)
{
    Tolerance ulp;
    ulp.ulp = 1;
    const float next = std::nextafter(1.0F, 2.0F);
    EXPECT_TRUE(compareFloats({1}, {next}, ulp).equal);
    EXPECT_FALSE(compareFloats({1}, {std::nextafter(next, 2.0F)}, ulp).equal);
    EXPECT_EQ(compareFloats({1}, {std::nextafter(next, 2.0F)}, ulp).maxUlp, 2);
    // Across zero: the smallest negative and positive denormals, with two zeros between them.
    const float tiny = std::numeric_limits<float>::denorm_min();
    EXPECT_EQ(compareFloats({tiny}, {-tiny}, ulp).maxUlp, 3);
    const Array one = arrayOf<int32_t>({1}, {1}), two = arrayOf<int32_t>({1}, {2});
    EXPECT_FALSE(compareTensors(one.view(), two.view(), ulp).equal); // integers compare exactly
}

TEST(Compare, cosine_is_of_the_whole_tensors)
{
    Tolerance cosine;
    cosine.cosine = 0.9;
    const Comparison same = compareFloats({1, 2}, {2, 4}, cosine);
    EXPECT_TRUE(same.equal);
    EXPECT_NEAR(same.cosine, 1, 1e-12);
    const Comparison right = compareFloats({1, 0}, {0, 1}, cosine);
    EXPECT_FALSE(right.equal);
    EXPECT_EQ(right.cosine, 0);
    EXPECT_EQ(right.first, 0);
}

TEST(Compare, integers_beyond_doubles_are_told_apart)
{
    const Array a = arrayOf<int64_t>({1}, {(int64_t{1} << 60) + 1}), b = arrayOf<int64_t>({1}, {int64_t{1} << 60});
    EXPECT_FALSE(compareTensors(a.view(), b.view(), {}).equal);
}

TEST(Compare, shapes_and_dtypes_must_agree)
{
    const Array a = arrayOf<float>({2}, {1, 2}), b = arrayOf<float>({1, 2}, {1, 2}), c = arrayOf<int32_t>({2}, {1, 2});
    EXPECT_EQ(compareTensors(a.view(), b.view(), {}).mismatch, "shape [2], want [1,2]");
    EXPECT_EQ(compareTensors(a.view(), c.view(), {}).mismatch, "dtype f32, want i32");
    EXPECT_TRUE(compareTensors(a.view(), c.view(), close(0, 0), true).equal);
}

TEST(Compare, quantized_tensors_compare_in_real_units)
{
    const Array a = arrayOf<int8_t>({1}, {4}), b = arrayOf<int8_t>({1}, {2});
    const Quantization half = Quantization::perTensor(0.5F, 0), one = Quantization::perTensor(1.0F, 0);
    Tensor x = a.view(), y = b.view();
    x.quantization = &half;
    y.quantization = &one;
    EXPECT_TRUE(compareTensors(x, y, close(0, 0)).equal); // 4 · 0.5 = 2 · 1
    EXPECT_FALSE(compareTensors(a.view(), b.view(), close(0, 0)).equal);
}

TEST(Compare, strings_name_the_first_that_differs)
{
    const std::vector<std::string> left = {"a", "b", "c"}, right = {"a", "x", "y"};
    const Array a{DType::string, Shape{3}, packStrings(left)}, b{DType::string, Shape{3}, packStrings(right)};
    const Comparison c = compareTensors(a.view(), b.view(), {});
    EXPECT_FALSE(c.equal);
    EXPECT_EQ(c.first, 1);
    EXPECT_EQ(c.beyond, 2);
}

} // namespace
} // namespace loopscope
