#include "engine/tensor/shape.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

TEST(Shape, holdsMoreThanEightDimensions)
{
    Shape s;
    for (int i = 0; i < 20; ++i) s.append(i);
    EXPECT_EQ(s.rank(), 20);
    EXPECT_EQ(s[7], 7);
    EXPECT_EQ(s[19], 19);
    s.resize(3, 0);
    EXPECT_EQ(s, (Shape{0, 1, 2}));
}

TEST(Shape, printsUnknowns)
{
    EXPECT_EQ(toString(Shape{}), "[]");
    EXPECT_EQ(toString(Shape{1, kUnknownDim, 4}), "[1,?,4]");
    EXPECT_EQ(toString(Shape::unknownRank()), "");
}

TEST(Shape, elementCountRefusesOverflow)
{
    EXPECT_EQ(checkedElementCount(Shape{2, 3}), 6);
    EXPECT_EQ(checkedElementCount(Shape{}), 1);
    EXPECT_EQ(checkedElementCount(Shape{0, 5}), 0);
    EXPECT_EQ(checkedElementCount(Shape{kUnknownDim}), std::nullopt);
    EXPECT_EQ(checkedElementCount(Shape{int64_t{1} << 40, int64_t{1} << 40}), std::nullopt);
    EXPECT_EQ(checkedElementCount(Shape{0, int64_t{1} << 40, int64_t{1} << 40}), std::nullopt);
}

TEST(Shape, broadcastsLikeNumPy)
{
    EXPECT_EQ(broadcastShapes(Shape{2, 1, 3}, Shape{4, 1}), (Shape{2, 4, 3}));
    EXPECT_EQ(broadcastShapes(Shape{2}, Shape{3}), std::nullopt);
    EXPECT_EQ(broadcastShapes(Shape{kUnknownDim}, Shape{3}), (Shape{3}));
    EXPECT_EQ(broadcastShapes(Shape{kUnknownDim}, Shape{1}), (Shape{kUnknownDim}));
    EXPECT_EQ(broadcastShapes(Shape{}, Shape::unknownRank()), Shape::unknownRank());
}

TEST(Shape, joinKeepsWhatAgrees)
{
    EXPECT_EQ(joinShapes(Shape{2, 3}, Shape{2, 4}), (Shape{2, kUnknownDim}));
    EXPECT_EQ(joinShapes(Shape{2}, Shape{2, 4}), Shape::unknownRank());
}

} // namespace
} // namespace loopscope
