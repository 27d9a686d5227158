// Values as people read them (docs/commands.md, "Values").
#include "engine/tensor/value_text.h"

#include "app/output/progress.h"
#include "app/output/table.h"
#include "engine/api/inputs/literal.h"

#include <gtest/gtest.h>

namespace loopscope::app {
namespace {

std::string shown(std::string_view literal, DType dtype, const Shape& shape, const Quantization* q = nullptr)
{
    const auto array = parseLiteral(literal, dtype, shape, ScalarMeans::fill);
    if (!array.ok()) return "error: " + array.error().message();
    Tensor view = array->view();
    view.quantization = q;
    return valueText(view, 4);
}

TEST(ValueText, numbers_have_as_many_digits_as_they_need)
{
    EXPECT_EQ(realText(0.1F, 7), "0.1");
    EXPECT_EQ(realText(1.0 / 3, 7), "0.3333333");
    EXPECT_EQ(realText(1.0 / 3, 16), "0.3333333333333333");
    EXPECT_EQ(realText(100, 7), "100");
    EXPECT_EQ(realText(1234567, 7), "1234567");
    EXPECT_EQ(realText(1e7, 7), "1e+07");
    EXPECT_EQ(realText(0.0001, 7), "0.0001");
    EXPECT_EQ(realText(0.00001, 7), "1e-05");
    EXPECT_EQ(realText(-0.0, 7), "-0");
    EXPECT_EQ(realText(9999999.9, 7), "1e+07");
}

TEST(ValueText, small_tensors_are_shown_whole)
{
    EXPECT_EQ(shown("1", DType::i32, Shape{}), "i32[] = 1");
    EXPECT_EQ(shown("[1, 2]", DType::i32, Shape{2}), "i32[2]  [1 2]");
    EXPECT_EQ(shown("[1, 2, 3, 4]", DType::i32, Shape{2, 2}), "i32[2,2]  [[1 2]\n               [3 4]]");
    EXPECT_EQ(shown("[1.0, nan]", DType::f32, Shape{2}), "f32[2]  [1 nan]  nan 1 inf 0, first [1]");
    EXPECT_EQ(shown("[\"a\\n\"]", DType::string, Shape{1}), "str[1]  [\"a\\n\"]");
}

TEST(ValueText, large_tensors_show_statistics_and_edges)
{
    EXPECT_EQ(shown("2.0", DType::f32, Shape{20}), "f32[20]  min 2  max 2  mean 2  std 0  zeros 0\n    [2 2 2 … 2 2 2]");
    EXPECT_EQ(shown("0", DType::i8, Shape{2, 10}),
              "i8[2,10]  min 0  max 0  mean 0  std 0  zeros 20\n    [[0 0 0 … 0 0 0]\n     [0 0 0 … 0 0 0]]");
}

TEST(ValueText, a_tensor_without_elements_shows_few_of_its_rows)
{
    EXPECT_EQ(shown("0", DType::i8, Shape{2, 0}), "i8[2,0]  [[]\n              []]");
    const std::string next = "\n" + std::string(23, ' ');
    EXPECT_EQ(shown("0", DType::i8, Shape{2147483647, 0}),
              "i8[2147483647,0]  [[]" + next + "[]" + next + "[]" + next + "…" + next + "[]" + next + "[]" + next + "[]]");
}

TEST(ValueText, quantized_values_show_both_numbers)
{
    const Quantization q = Quantization::perTensor(0.5F, -1);
    EXPECT_EQ(shown("[3, -1]", DType::i8, Shape{2}, &q), "i8[2] q(0.5, -1)  [2(3) 0(-1)]");
}

TEST(ValueText, long_strings_are_cut_and_say_their_length)
{
    EXPECT_EQ(quotedText(std::string(100, 'x'), 3), "\"xxx\"…100");
    EXPECT_EQ(quotedText("a\"b\\\x01"), "\"a\\\"b\\\\\\x01\"");
}

TEST(ValueText, bytes_that_are_no_characters_are_escaped)
{
    EXPECT_EQ(quotedText("\xff\xc3\xa9"), "\"\\xff\xc3\xa9\"");
    EXPECT_EQ(quotedText("ab\xc3\xa9", 3), "\"ab\"…4") << "not cut inside of a character";
}

TEST(ValueText, exact_digits_read_back_as_the_same_element)
{
    EXPECT_EQ(exactText(static_cast<double>(0.1F), DType::f32), "0.1");
    EXPECT_EQ(exactText(0.1, DType::f64), "0.1");
    EXPECT_EQ(exactText(static_cast<double>(16777218.0F), DType::f32), "1.6777218e+07");
    EXPECT_EQ(exactText(0.0999755859375, DType::f16), "0.1");
    EXPECT_EQ(exactText(0.10009765625, DType::bf16), "0.1");
    EXPECT_EQ(exactText(0.1015625, DType::f8e4m3fn), "0.1");
    EXPECT_EQ(exactText(-0.0, DType::f32), "-0");
    EXPECT_EQ(integerText(0xffffffffffffffff, true, false), "18446744073709551615");
    EXPECT_EQ(integerText(static_cast<uint64_t>(-31), false, true), "-0x1f");
}

TEST(Table, columns_align)
{
    Table table({"op", "n", "mean"});
    table.align(1, Align::right);
    table.align(2, Align::decimal);
    table.add({"add", "1", "0.5"});
    table.add({"µ", "100", "12"});
    EXPECT_EQ(table.text(), "op     n  mean\n"
                            "add    1   0.5\n"
                            "µ    100  12\n");
}

TEST(Progress, places_and_rates)
{
    EXPECT_EQ(loopPlace("main/while#0@37102:body/add#3"), "main/while#0@37102 of ?");
    EXPECT_EQ(loopPlace("main/while#0@3:body/while#1@12:cond/less#0"), "main/while#0@3:body/while#1@12 of ?");
    EXPECT_EQ(loopPlace("main/conv_2d#3"), "main/conv_2d#3");
    EXPECT_EQ(rateText(1.214e6), "1.21 M");
    EXPECT_EQ(rateText(93512), "94 k");
    EXPECT_EQ(rateText(12), "12");
}

} // namespace
} // namespace loopscope::app
