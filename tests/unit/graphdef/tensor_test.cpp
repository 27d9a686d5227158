// TensorProto: every encoding of elements gives the same constant, and what a constant becomes again.
#include "converters/graphdef/convert_values.h"
#include "engine/tensor/strings.h"
#include "tests/unit/graphdef/small_graph.h"

#include <cstring>

namespace loopscope {
namespace {

template <typename T> std::vector<T> elementsOf(const std::string& text)
{
    auto message = messageOf<tfpb::TensorProto>(text);
    graphdef::ValueReader reader(nullptr);
    const auto tensor = reader.tensor(message);
    EXPECT_TRUE(tensor.ok() && *tensor) << text;
    if (!tensor.ok() || !*tensor) return {};
    const auto bytes = (*tensor)->data->bytes().view();
    std::vector<T> elements(bytes.size() / sizeof(T));
    std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
}

std::string problemOf(const std::string& text)
{
    auto message = messageOf<tfpb::TensorProto>(text);
    graphdef::ValueReader reader(nullptr);
    const auto tensor = reader.tensor(message);
    return tensor.ok() ? (*tensor ? "a tensor" : "no form") : tensor.error().message();
}

TEST(TensorProto, repeats_the_last_value)
{
    EXPECT_EQ(elementsOf<float>("dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: 1 float_val: 2"),
              (std::vector<float>{1, 2, 2, 2}));
    EXPECT_EQ(elementsOf<int8_t>("dtype: DT_INT8 tensor_shape { dim { size: 2 } } int_val: -7"), (std::vector<int8_t>{-7, -7}));
    EXPECT_EQ(elementsOf<double>("dtype: DT_COMPLEX128 tensor_shape { dim { size: 2 } } dcomplex_val: 1 dcomplex_val: -2"),
              (std::vector<double>{1, -2, 1, -2}));
    EXPECT_EQ(elementsOf<uint16_t>("dtype: DT_HALF tensor_shape { dim { size: 2 } } half_val: 15360"),
              (std::vector<uint16_t>{15360, 15360}));
}

TEST(TensorProto, without_values_is_zero)
{
    EXPECT_EQ(elementsOf<int64_t>("dtype: DT_INT64 tensor_shape { dim { size: 2 } }"), (std::vector<int64_t>{0, 0}));
    EXPECT_EQ(elementsOf<float>("dtype: DT_FLOAT tensor_shape { dim { size: 0 } }"), std::vector<float>());
}

TEST(TensorProto, takes_raw_content)
{
    EXPECT_EQ(
        elementsOf<int32_t>("dtype: DT_INT32 tensor_shape { dim { size: 2 } } tensor_content: '\\001\\000\\000\\000\\377\\377\\377\\377'"),
        (std::vector<int32_t>{1, -1}));
    EXPECT_EQ(elementsOf<uint8_t>("dtype: DT_BOOL tensor_shape { dim { size: 3 } } tensor_content: '\\000\\001\\377'"),
              (std::vector<uint8_t>{0, 1, 1}))
        << "a bool is 0 or 1";
}

TEST(TensorProto, packs_int4)
{
    EXPECT_EQ(elementsOf<uint8_t>("dtype: DT_INT4 tensor_shape { dim { size: 3 } } int_val: 1 int_val: -1 int_val: 2"),
              (std::vector<uint8_t>{0xF1, 0x02}));
    EXPECT_EQ(elementsOf<uint8_t>("dtype: DT_UINT4 tensor_shape { dim { size: 2 } } tensor_content: '\\003\\016'"),
              (std::vector<uint8_t>{0xE3}));
}

TEST(TensorProto, reads_strings_in_both_encodings)
{
    for (const char* text : {"dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: 'ab' string_val: 'c'",
                             "dtype: DT_STRING tensor_shape { dim { size: 3 } } tensor_content: '\\002\\001\\001abcc'"}) {
        const auto block = elementsOf<std::byte>(text);
        const auto strings = unpackStrings(block);
        ASSERT_TRUE(strings.ok()) << text;
        EXPECT_EQ(*strings, (std::vector<std::string_view>{"ab", "c", "c"})) << text;
    }
}

TEST(TensorProto, refuses_what_contradicts_itself)
{
    EXPECT_EQ(problemOf("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'abcd'"),
              "the data of a f32[2] tensor has another size, found 4 bytes, expected 8");
    EXPECT_EQ(problemOf("dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: '\\011\\001ab'"),
              "a string reaches beyond the end, found 2 bytes, expected 9");
    EXPECT_EQ(problemOf("dtype: DT_STRING tensor_shape { dim { size: 9 } } tensor_content: '\\001'"),
              "the lengths of its strings end early, found 1 bytes");
    EXPECT_EQ(problemOf("dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } } float_val: 1"),
              "a tensor of shape [4611686018427387904] is too large");
    EXPECT_EQ(problemOf("dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } } float_val: 1"),
              "the tensors of this file grow beyond 2147483648 bytes");
    EXPECT_EQ(problemOf("dtype: DT_STRING tensor_shape { dim { size: 1099511627776 } } string_val: 'x'"),
              "the tensors of this file grow beyond 2147483648 bytes");
}

TEST(TensorProto, has_no_form_for_handles_and_open_shapes)
{
    EXPECT_EQ(problemOf("dtype: DT_RESOURCE tensor_shape { } resource_handle_val { name: 'r' }"), "no form");
    EXPECT_EQ(problemOf("dtype: DT_VARIANT tensor_shape { } variant_val { }"), "no form");
    EXPECT_EQ(problemOf("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }"), "no form");
    EXPECT_EQ(problemOf("dtype: DT_FLOAT_REF tensor_shape { }"), "no form");
    EXPECT_EQ(problemOf("dtype: DT_FLOAT tensor_shape { unknown_rank: true }"), "no form");
}

TEST(TensorProto, is_written_short_where_all_elements_are_equal)
{
    const auto written = [](const std::string& text) {
        auto message = messageOf<tfpb::TensorProto>(text);
        graphdef::ValueReader reader(nullptr);
        const auto tensor = reader.tensor(message);
        tfpb::TensorProto out;
        EXPECT_TRUE(graphdef::writeTensor(**tensor, out).ok());
        return out.ShortDebugString();
    };
    EXPECT_EQ(written("dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 2"),
              "dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 2");
    EXPECT_EQ(written("dtype: DT_INT8 tensor_shape { dim { size: 2 } } int_val: 1 int_val: 2"),
              "dtype: DT_INT8 tensor_shape { dim { size: 2 } } tensor_content: \"\\001\\002\"");
    EXPECT_EQ(written("dtype: DT_STRING tensor_shape { } string_val: 'a'"), "dtype: DT_STRING tensor_shape { } string_val: \"a\"");
    EXPECT_EQ(written("dtype: DT_INT4 tensor_shape { dim { size: 2 } } int_val: 1 int_val: -1"),
              "dtype: DT_INT4 tensor_shape { dim { size: 2 } } int_val: 1 int_val: -1");
}

} // namespace
} // namespace loopscope
