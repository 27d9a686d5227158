// Elements by the indices that people type.
#include "engine/tensor/element_index.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

std::string indexOf(const Shape& shape, std::string_view text)
{
    const Result<int64_t> flat = flatIndex(shape, text);
    return flat.ok() ? std::to_string(*flat) : flat.error().message();
}

TEST(FlatIndex, countsRowMajorAndFromTheEnd)
{
    EXPECT_EQ(indexOf(Shape{2, 3}, "1,2"), "5");
    EXPECT_EQ(indexOf(Shape{2, 3}, " 0 , -1 "), "2");
    EXPECT_EQ(indexOf(Shape{4}, "-4"), "0");
    EXPECT_EQ(indexOf(Shape{}, ""), "0");
}

TEST(FlatIndex, saysWhatIsWrong)
{
    EXPECT_EQ(indexOf(Shape{2, 3}, "0,3"), "index 3 out of range for dimension 1 of size 3");
    EXPECT_EQ(indexOf(Shape{2, 3}, "-3,0"), "index -3 out of range for dimension 0 of size 2");
    EXPECT_EQ(indexOf(Shape{2}, "x"), "index 'x' is not a list of integers");
    EXPECT_EQ(indexOf(Shape{2}, "0,0"), "[0,0] has a wrong number of indices, found 2, expected 1");
    EXPECT_EQ(indexOf(Shape{2, 2}, "0"), "[0] has a wrong number of indices, found 1, expected 2");
    EXPECT_EQ(indexOf(Shape{2}, ""), "[] has a wrong number of indices, found 0, expected 1");
    EXPECT_EQ(indexOf(Shape{0}, "0"), "index 0 out of range for dimension 0 of size 0");
}

} // namespace
} // namespace loopscope
