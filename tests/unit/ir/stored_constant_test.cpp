#include "engine/ir/stored_constant.h"

#include "engine/ir/text/parser.h"
#include "engine/ir/text/printer.h"

#include <gtest/gtest.h>

#include <cstring>

namespace loopscope {
namespace {

Value packed(DType dtype, Shape shape, const std::vector<uint8_t>& bytes, Attribute form)
{
    Value value;
    value.role = ValueRole::constant;
    value.id = "w";
    value.type.dtype = dtype;
    value.type.shape = std::move(shape);
    value.constant = std::make_shared<Constant>(Bytes::copyOf(bytes.data(), bytes.size()));
    setAttribute(value.attributes, "compression_type", std::move(form));
    return value;
}

/// Tree 1 0·5 0·−1 (19 bits), then codes 0 1 1 0.
const std::vector<uint8_t> kStored = {19, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0b10000001, 0b01011111, 0b11101100};

TEST(StoredConstant, huffman)
{
    const Value value = packed(DType::i8, {2, 2}, kStored, Word{"HUFFMAN"});
    EXPECT_TRUE(isPacked(value));
    const Result<Bytes> bytes = unpackConstant(value);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message();
    const std::vector<int8_t> want = {5, -1, -1, 5};
    ASSERT_EQ(bytes->size(), want.size());
    EXPECT_EQ(std::memcmp(bytes->data(), want.data(), want.size()), 0);
}

TEST(StoredConstant, formsThatAreNotKnown)
{
    EXPECT_EQ(unpackConstant(packed(DType::i8, {4}, kStored, int64_t{2})).error().message(),
              "a constant with another compression_type than HUFFMAN");
    EXPECT_EQ(unpackConstant(packed(DType::f32, {1}, kStored, Word{"HUFFMAN"})).error().message(),
              "compressed constant of dtype f32, expected i8 or u8, not sparse");
    EXPECT_FALSE(unpackConstant(packed(DType::u8, {5}, kStored, Word{"HUFFMAN"})).ok());
}

TEST(StoredConstant, externalData)
{
    constexpr std::string_view kText = "lsir 1\nmodel tfl\n\nexternal 3 group=\"w.bin\" length=4 offset=8\n\n"
                                       "graph main(x: i8[4]) {\n  w = const i8[4] external 3\n\n  y = add(x, w) : i8[4]\n  return y\n}\n";
    auto model = parseModel(kText, "m");
    ASSERT_TRUE(model.ok()) << model.error().message();
    const auto w = [&]() -> const Value& { return model->graphs[0].value(model->graphs[0].findValue("w")); };
    EXPECT_EQ(externalData(*model, w()).error().message(),
              "the data of constant 'w' lies in external buffer 3, 4 bytes at 8 of the file 'w.bin', "
              "expected that file beside the model, and 4 bytes for its type");
    const std::string before = printModel(*model);
    const Model without = *model;
    setFoundData(model->externalBuffers[0], Bytes::copyOf("abc", 3)); // not what the type needs
    EXPECT_FALSE(externalData(*model, w()).ok());
    setFoundData(model->externalBuffers[0], Bytes::copyOf("abcd", 4));
    const Result<Bytes> found = externalData(*model, w());
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(std::memcmp(found->data(), "abcd", 4), 0);
    // What was found is no part of the model.
    EXPECT_EQ(printModel(*model), before);
    EXPECT_EQ(firstDifference(*model, without), "");
}

} // namespace
} // namespace loopscope
