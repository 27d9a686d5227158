// Literals as people type them: every dtype, nesting, filling, and messages with columns.
#include "engine/api/inputs/literal.h"

#include "engine/tensor/strings.h"
#include "engine/tensor/value_text.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope::app {
namespace {

std::string shown(std::string_view text, DType dtype, const Shape& shape, ScalarMeans scalar = ScalarMeans::oneElement)
{
    const auto array = parseLiteral(text, dtype, shape, scalar);
    if (!array.ok()) return "error: " + array.error().message();
    return shortType(array->view()) + " " + elementsText(array->view());
}

TEST(Literal, scalars_and_lists)
{
    EXPECT_EQ(shown("27", DType::i32, Shape{}), "i32[] 27");
    EXPECT_EQ(shown("-1.5", DType::f32, Shape{}), "f32[] -1.5");
    EXPECT_EQ(shown("[1, 2,3]", DType::i64, Shape{3}), "i64[3] [1 2 3]");
    EXPECT_EQ(shown("[1, 2, 3, 4]", DType::f32, Shape{2, 2}), "f32[2,2] [[1 2]\n [3 4]]");
    EXPECT_EQ(shown("[[1, 2], [3, 4], [5, 6]]", DType::i8, Shape{kUnknownDim, 2}), "i8[3,2] [[1 2]\n [3 4]\n [5 6]]");
    EXPECT_EQ(shown("[true, false]", DType::boolean, Shape{2}), "bool[2] [true false]");
    EXPECT_EQ(shown("[\"a\\n\", \"\\x41\"]", DType::string, Shape{2}), "str[2] [\"a\\n\" \"A\"]");
    EXPECT_EQ(shown("[]", DType::f32, Shape{0}), "f32[0] []");
    EXPECT_EQ(shown("(1.0, -2.0)", DType::c64, Shape{}), "c64[] (1, -2)");
    EXPECT_EQ(shown("[1, -8, 7]", DType::i4, Shape{3}), "i4[3] [1 -8 7]");
}

TEST(Literal, a_scalar_fills_or_is_one_element)
{
    EXPECT_EQ(shown("0.5", DType::f32, Shape{2, 2}, ScalarMeans::fill), "f32[2,2] [[0.5 0.5]\n [0.5 0.5]]");
    EXPECT_EQ(shown("0.5", DType::f32, Shape{1, 1}), "f32[1,1] [[0.5]]");
    EXPECT_THAT(shown("0.5", DType::f32, Shape{2}), testing::HasSubstr("expected shape [2]"));
}

TEST(Literal, a_scalar_fills_no_shape_that_is_too_large)
{
    // The product of the second shape is 0 in 64 bits.
    EXPECT_EQ(shown("0", DType::i8, Shape{4, 3037000500}, ScalarMeans::fill), "error: shape [4,3037000500] is too large");
    EXPECT_EQ(shown("0", DType::i8, Shape{int64_t{1} << 32, int64_t{1} << 32}, ScalarMeans::fill),
              "error: shape [4294967296,4294967296] is too large");
    EXPECT_EQ(shown("0", DType::i8, Shape{int64_t{1} << 32, kUnknownDim}, ScalarMeans::fill), "error: shape [4294967296,1] is too large");
}

TEST(Literal, unknown_dimensions_follow_from_the_count)
{
    EXPECT_EQ(shown("[1, 2, 3, 4, 5, 6]", DType::i32, Shape{kUnknownDim, 3}), "i32[2,3] [[1 2 3]\n [4 5 6]]");
    EXPECT_THAT(shown("[1, 2, 3, 4]", DType::i32, Shape{kUnknownDim, 3}), testing::HasSubstr("found 4 elements, expected shape [?,3]"));
}

TEST(Literal, special_floats_keep_their_bits)
{
    EXPECT_EQ(shown("[nan, inf, -inf, -0.0]", DType::f32, Shape{4}), "f32[4] [nan inf -inf -0]");
    const auto bits = parseLiteral("nan(0x7fc00001)", DType::f32, Shape{}, ScalarMeans::oneElement);
    ASSERT_TRUE(bits.ok());
    uint32_t word = 0;
    std::memcpy(&word, bits->bytes.data(), 4);
    EXPECT_EQ(word, 0x7fc00001U);
    EXPECT_EQ(shown("1e-50", DType::f32, Shape{}), "f32[] 0");
    EXPECT_EQ(shown("1e50", DType::f32, Shape{}), "f32[] inf");
}

TEST(Literal, mistakes_are_named_with_their_column)
{
    EXPECT_THAT(shown("300", DType::i8, Shape{}), testing::HasSubstr("300 does not fit i8 (-128 to 127)"));
    EXPECT_THAT(shown("-1", DType::u8, Shape{}), testing::HasSubstr("does not fit u8"));
    EXPECT_THAT(shown("1.5", DType::i32, Shape{}), testing::HasSubstr("found '1.5', expected i32"));
    EXPECT_THAT(shown("[1, 2", DType::i32, Shape{2}), testing::HasSubstr("expected ',' or ']'"));
    EXPECT_THAT(shown("[[1], [2, 3]]", DType::i32, Shape{2, 2}), testing::HasSubstr("lists differ in length"));
    EXPECT_THAT(shown("[1, [2]]", DType::i32, Shape{2}), testing::HasSubstr("not nested equally deep"));
    EXPECT_THAT(shown("[1] 2", DType::i32, Shape{1}), testing::HasSubstr("unexpected '2'"));
    EXPECT_THAT(shown("\"open", DType::string, Shape{}), testing::HasSubstr("string does not end"));
    EXPECT_THAT(shown("text", DType::string, Shape{}), testing::HasSubstr("a string in quotes"));
    EXPECT_THAT(shown(std::string(100, '['), DType::i32, Shape{}), testing::HasSubstr("nested too deep"));
    EXPECT_THAT(shown("9223372036854775808", DType::i64, Shape{}), testing::HasSubstr("does not fit i64"));
}

TEST(Literal, dtype_follows_from_the_text)
{
    EXPECT_EQ(literalDtype("[1, 2]"), DType::i32);
    EXPECT_EQ(literalDtype("3000000000"), DType::i64);
    EXPECT_EQ(literalDtype("[1, 2.5]"), DType::f32);
    EXPECT_EQ(literalDtype("nan"), DType::f32);
    EXPECT_EQ(literalDtype("true"), DType::boolean);
    EXPECT_EQ(literalDtype("[\"a\"]"), DType::string);
}

TEST(Literal, elements_can_be_replaced)
{
    auto array = parseLiteral("[1, 2, 3]", DType::i4, Shape{3}, ScalarMeans::oneElement);
    ASSERT_TRUE(array.ok());
    ASSERT_TRUE(setElement(*array, 1, "-7").ok());
    EXPECT_EQ(elementsText(array->view()), "[1 -7 3]");
    EXPECT_FALSE(setElement(*array, 1, "9").ok());
    auto words = parseLiteral("[\"a\", \"b\"]", DType::string, Shape{2}, ScalarMeans::oneElement);
    ASSERT_TRUE(setElement(*words, 0, "\"longer\"").ok());
    EXPECT_EQ(elementsText(words->view()), "[\"longer\" \"b\"]");
}

} // namespace
} // namespace loopscope::app
