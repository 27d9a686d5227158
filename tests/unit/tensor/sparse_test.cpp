#include "engine/tensor/sparse.h"

#include <gtest/gtest.h>

#include <cstring>

namespace loopscope {
namespace {

SparseDimension dense(int32_t size) { return {false, size, {}, {}}; }

SparseDimension compressed(std::vector<int32_t> segments, std::vector<int32_t> indices)
{
    return {true, 0, std::move(segments), std::move(indices)};
}

Result<std::vector<float>> densified(Sparsity sparsity, std::vector<float> stored, const Shape& shape)
{
    Constant constant(Bytes::copyOf(stored.data(), stored.size() * 4));
    constant.sparsity = std::move(sparsity);
    LS_TRY(const Bytes bytes, densify(constant, DType::f32, shape));
    std::vector<float> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

TEST(Sparse, rowsOfIndices)
{
    const Result<std::vector<float>> values =
        densified({{0, 1}, {}, {dense(3), compressed({0, 1, 1, 3}, {3, 0, 2})}}, {5, 6, 7}, Shape{3, 4});
    ASSERT_TRUE(values.ok()) << values.error().message();
    EXPECT_EQ(*values, (std::vector<float>{0, 0, 0, 5, 0, 0, 0, 0, 6, 0, 7, 0}));
}

TEST(Sparse, columnsFirst)
{
    const Result<std::vector<float>> values = densified({{1, 0}, {}, {dense(2), compressed({0, 1, 3}, {1, 0, 2})}}, {5, 6, 7}, Shape{3, 2});
    ASSERT_TRUE(values.ok()) << values.error().message();
    EXPECT_EQ(*values, (std::vector<float>{0, 6, 5, 0, 0, 7}));
}

/// 4 by 4 in blocks of 2 by 2: blocks (0, 1) and (1, 0) are stored.
TEST(Sparse, blocks)
{
    const Result<std::vector<float>> values = densified(
        {{0, 1, 2, 3}, {0, 1}, {dense(2), compressed({0, 1, 2}, {1, 0}), dense(2), dense(2)}}, {1, 2, 3, 4, 5, 6, 7, 8}, Shape{4, 4});
    ASSERT_TRUE(values.ok()) << values.error().message();
    EXPECT_EQ(*values, (std::vector<float>{0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0}));
}

TEST(Sparse, layoutsThatDoNotFitAreErrors)
{
    const auto refused = [](Sparsity sparsity, std::vector<float> stored) {
        return !densified(std::move(sparsity), std::move(stored), Shape{3, 4}).ok();
    };
    EXPECT_TRUE(refused({{0, 1}, {}, {dense(3), compressed({0, 1, 1, 3}, {3, 0, 4})}}, {5, 6, 7})) << "an index beyond the shape";
    EXPECT_TRUE(refused({{0, 1}, {}, {dense(3), compressed({0, 1, 1, 9}, {3, 0, 2})}}, {5, 6, 7})) << "a segment beyond the indices";
    EXPECT_TRUE(refused({{0, 1}, {}, {dense(3), compressed({0, 1}, {3})}}, {5})) << "too few segments";
    EXPECT_TRUE(refused({{0, 1}, {}, {dense(3), compressed({0, 1, 1, 3}, {3, 0, 2})}}, {5, 6})) << "too few elements";
    EXPECT_TRUE(refused({{0, 1}, {}, {dense(3), compressed({0, 1, 1, 2}, {3, 0})}}, {5, 6, 7})) << "too many elements";
    EXPECT_TRUE(refused({{0, 0}, {}, {dense(3), dense(4)}}, std::vector<float>(12))) << "a dimension twice";
    EXPECT_TRUE(refused({{0, 1}, {}, {dense(2147483647), compressed({0, 0}, {})}}, {})) << "a walk without end";
    EXPECT_TRUE(refused({{0, 1, 2}, {7}, {dense(3), dense(4), dense(1)}}, std::vector<float>(12))) << "a block of no dimension";
}

} // namespace
} // namespace loopscope
