// Bounds of float results: how they are printed, and what a comparison overlooks under them.
#include "engine/tensor/error_bound.h"

#include <cmath>
#include <gtest/gtest.h>

namespace loopscope {
namespace {

Tensor over(std::vector<float>& values)
{
    Tensor tensor;
    tensor.dtype = DType::f32;
    tensor.shape = Shape({static_cast<int64_t>(values.size())});
    tensor.data = reinterpret_cast<std::byte*>(values.data());
    tensor.bytes = values.size() * sizeof(float);
    return tensor;
}

TEST(ErrorBound, isPrinted)
{
    EXPECT_EQ(ErrorBounds(kExact).text(), "exact");
    EXPECT_EQ(ErrorBounds(withinUlp(2)).text(), "2 ulp");
    EXPECT_EQ(ErrorBounds(withinRelative(1e-6)).because("why").text(), "1e-6 relative (why)");
    EXPECT_EQ(ErrorBounds(withinUlp(2)).withF64(withinRelative(1e-11)).text(), "f32 2 ulp; f64 1e-11 relative");
    EXPECT_EQ(ErrorBounds(kExact).withF64(withinOfLargest(0.5)).text(), "f32 exact; f64 0.5 of the largest result");
    EXPECT_EQ(noReference().text(), "no reference");
}

TEST(ErrorBound, dependsOnTheDtype)
{
    const ErrorBounds bounds = ErrorBounds(withinUlp(2)).withF64(kExact);
    EXPECT_EQ(bounds.of(DType::f32), withinUlp(2));
    EXPECT_EQ(bounds.of(DType::f16), withinUlp(2));
    EXPECT_EQ(bounds.of(DType::f64), kExact);
    EXPECT_EQ(ErrorBounds(withinUlp(2)).of(DType::f64), withinUlp(2));
    EXPECT_EQ(ErrorBounds(withinUlp(2)).of(DType::i32), kExact) << "integers never differ";
}

TEST(ErrorBound, widensATolerance)
{
    std::vector<float> want = {1.0F, -1000.0F}, near = {1.0F, -1000.0F}, far = {1.0009F, -1000.0F}, farther = {1.0011F, -1000.0F};
    near[0] = std::nextafter(near[0], 2.0F);
    const auto equal = [&](std::vector<float>& got, const ErrorBound& bound, const Tolerance& own = {}) {
        return compareTensors(over(got), over(want), widenedTo(own, bound, over(want))).equal;
    };
    EXPECT_FALSE(equal(near, kExact));
    EXPECT_TRUE(equal(near, withinUlp(1)));
    EXPECT_TRUE(equal(near, withinRelative(1e-6)));
    EXPECT_FALSE(equal(far, withinRelative(1e-6)));
    EXPECT_TRUE(equal(far, withinOfLargest(1e-6))) << "0.0009 is less than 1e-6 of 1000";
    EXPECT_FALSE(equal(farther, withinOfLargest(1e-6))) << "0.0011 is more";
    Tolerance wide;
    wide.close = Tolerance::Close{1e-2, 0};
    EXPECT_TRUE(equal(far, kExact, wide));
    EXPECT_TRUE(equal(far, withinUlp(1), wide)) << "never narrower than the test's own";
    EXPECT_EQ(widest(withinUlp(1), withinRelative(1e-6)), (ErrorBound{1, 1e-6, 0}));
}

} // namespace
} // namespace loopscope
