// .npy files byte by byte: what NumPy writes is read, what is written NumPy reads, and damaged headers end in errors.
#include "engine/tensor/npy.h"

#include "engine/tensor/strings.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope {
namespace {

std::vector<std::byte> npyFile(const std::string& header, const std::string& data)
{
    std::string text = "\x93NUMPY";
    text += '\x01';
    text += '\x00';
    text += static_cast<char>(header.size() & 0xff);
    text += static_cast<char>(header.size() >> 8);
    text += header + data;
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

template <typename T> std::vector<T> elements(const Array& array)
{
    std::vector<T> values(array.bytes.size() / sizeof(T));
    std::memcpy(values.data(), array.bytes.data(), values.size() * sizeof(T));
    return values;
}

template <typename T> std::string raw(std::initializer_list<T> values)
{
    return {reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(T)};
}

TEST(Npy, reads_what_numpy_writes)
{
    const auto array = readNpy(npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", raw<float>({1, 2, 3, 4, 5, 6})));
    ASSERT_TRUE(array.ok()) << array.error().message();
    EXPECT_EQ(array->dtype, DType::f32);
    EXPECT_EQ(array->shape, (Shape{2, 3}));
    EXPECT_THAT(elements<float>(*array), testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Npy, reads_fortran_order_and_big_endian)
{
    // Column-major [[1, 2, 3], [4, 5, 6]] as big-endian int16.
    const std::string data("\0\1\0\4\0\2\0\5\0\3\0\6", 12);
    const auto array = readNpy(npyFile("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3)}", data));
    ASSERT_TRUE(array.ok()) << array.error().message();
    EXPECT_THAT(elements<int16_t>(*array), testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Npy, reads_scalars_empty_arrays_and_any_key_order)
{
    const auto scalar = readNpy(npyFile("{'shape': (), 'fortran_order': False, 'descr': '<i8'}", raw<int64_t>({-7})));
    ASSERT_TRUE(scalar.ok()) << scalar.error().message();
    EXPECT_EQ(scalar->shape.rank(), 0);
    EXPECT_THAT(elements<int64_t>(*scalar), testing::ElementsAre(-7));
    const auto empty = readNpy(npyFile("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4)}", ""));
    ASSERT_TRUE(empty.ok()) << empty.error().message();
    EXPECT_EQ(empty->shape, (Shape{0, 4}));
}

TEST(Npy, reads_byte_and_unicode_strings)
{
    const auto bytes = readNpy(npyFile("{'descr': '|S3', 'fortran_order': False, 'shape': (2,)}", std::string("ab\0xyz", 6)));
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    const auto strings = unpackStrings(bytes->bytes);
    ASSERT_TRUE(strings.ok());
    EXPECT_THAT(*strings, testing::ElementsAre("ab", "xyz"));
    const auto unicode = readNpy(npyFile("{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}", raw<uint32_t>({0xe4, 0})));
    ASSERT_TRUE(unicode.ok()) << unicode.error().message();
    const auto text = unpackStrings(unicode->bytes);
    ASSERT_TRUE(text.ok());
    EXPECT_THAT(*text, testing::ElementsAre("\xc3\xa4"));
}

TEST(Npy, what_is_written_reads_back)
{
    const std::vector<std::string> words = {"", "a longer one", "b"};
    const Array array{DType::string, Shape{3, 1}, packStrings(words)};
    const auto written = writeNpy(array.view());
    ASSERT_TRUE(written.ok());
    const auto again = readNpy(*written);
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(again->shape, array.shape);
    EXPECT_EQ(again->bytes, array.bytes);
    // The data begins at a multiple of 64 bytes, as the format asks for.
    EXPECT_EQ((written->size() - 3 * std::strlen("a longer one")) % 64, 0U);
}

TEST(Npy, dtypes_that_numpy_lacks_keep_their_bits)
{
    // i4: 1, -1, 7 in two bytes, low nibble first.
    Array packed{DType::i4, Shape{3}, {std::byte{0xf1}, std::byte{0x07}}};
    const auto written = writeNpy(packed.view());
    ASSERT_TRUE(written.ok());
    const auto stored = readNpy(*written);
    ASSERT_TRUE(stored.ok());
    EXPECT_EQ(stored->dtype, DType::i8);
    EXPECT_THAT(elements<int8_t>(*stored), testing::ElementsAre(1, -1, 7));
    const auto back = fromNpyStorage(*stored, DType::i4);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->bytes, packed.bytes);
    EXPECT_EQ(npyStorageType(DType::bf16), DType::u16);
    EXPECT_FALSE(fromNpyStorage(Array{DType::i8, Shape{1}, {std::byte{8}}}, DType::i4).ok());
    EXPECT_FALSE(fromNpyStorage(Array{DType::f32, Shape{}, std::vector<std::byte>(4)}, DType::i4).ok());
}

TEST(Npy, damaged_files_are_errors)
{
    const auto message = [](const std::string& header, const std::string& data) {
        const auto array = readNpy(npyFile(header, data));
        return array.ok() ? "" : array.error().message();
    };
    EXPECT_FALSE(readNpy({}).ok());
    EXPECT_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "1234567"),
                testing::HasSubstr("needs 8 bytes, found 7"));
    EXPECT_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}", ""),
                testing::HasSubstr("too large"));
    EXPECT_THAT(message("{'descr': '|S0', 'fortran_order': False, 'shape': (99999999999,)}", ""), testing::HasSubstr("too large"));
    EXPECT_THAT(message("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "12345678"), testing::HasSubstr("tuple of sizes"));
    EXPECT_THAT(message("{'descr': '|O', 'fortran_order': False, 'shape': ()}", ""), testing::HasSubstr("dtype '|O'"));
    EXPECT_THAT(message("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", ""), testing::HasSubstr("record arrays"));
    EXPECT_THAT(message("{'descr': '<f4', 'shape': ()}", "1234"), testing::HasSubstr("fortran_order"));
    EXPECT_THAT(message("{'descr': '<f4", ""), testing::HasSubstr("header, column"));
    auto cut = npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "1234");
    cut.resize(20);
    EXPECT_FALSE(readNpy(cut).ok());
}

} // namespace
} // namespace loopscope
