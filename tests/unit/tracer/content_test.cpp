#include "tracer/record/content.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

ContentKey keyOf(DType dtype, const Shape& shape, const std::vector<uint8_t>& bytes)
{
    return contentKey(dtype, shape, std::as_bytes(std::span(bytes)));
}

TEST(ContentKey, tellsDtypeShapeAndBytesApart)
{
    const std::vector<uint8_t> bytes = {1, 2, 3, 4};
    const ContentKey key = keyOf(DType::i8, Shape{4}, bytes);
    EXPECT_EQ(key, keyOf(DType::i8, Shape{4}, bytes));
    EXPECT_NE(key.key, keyOf(DType::u8, Shape{4}, bytes).key);
    EXPECT_NE(key.key, keyOf(DType::i8, (Shape{2, 2}), bytes).key);
    EXPECT_NE(key.key, keyOf(DType::i8, Shape{4}, {1, 2, 3, 5}).key);
    Shape deep;
    for (int i = 0; i < 60; ++i) deep.append(1);
    Shape deeper = deep;
    deeper.append(1);
    EXPECT_NE(keyOf(DType::i8, deep, bytes).key, keyOf(DType::i8, deeper, bytes).key);
}

TEST(ContentSet, knowsWhatWasInserted)
{
    ContentSet set;
    EXPECT_FALSE(set.has({1, 2}));
    for (int64_t i = 1; i <= 10000; ++i) EXPECT_EQ(set.insert({i * 1024, i}), ContentSet::Answer::added) << "all fall on few places";
    for (int64_t i = 1; i <= 10000; ++i) EXPECT_EQ(set.insert({i * 1024, i}), ContentSet::Answer::known);
    EXPECT_EQ(set.size(), 10000U);
    EXPECT_EQ(set.insert({1024, 7}), ContentSet::Answer::clash);
    EXPECT_TRUE(set.has({2048, 2}));
    EXPECT_FALSE(set.has({2048, 3}));
    EXPECT_EQ(set.insert({0, 0}), ContentSet::Answer::full) << "the key that marks empty places";
}

} // namespace
} // namespace loopscope
