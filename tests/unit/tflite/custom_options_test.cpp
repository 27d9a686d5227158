// FlexBuffers as attributes: decoded only if encoding gives the same bytes; hostile bytes stay bytes.
#include "converters/tflite/custom_options.h"

#include <flatbuffers/flexbuffers.h>
#include <gtest/gtest.h>

namespace loopscope {
namespace {

std::span<const std::byte> bytesOf(const flexbuffers::Builder& builder) { return std::as_bytes(std::span(builder.GetBuffer())); }

TEST(CustomOptions, decodesMapsInTheOrderTheyWereWritten)
{
    flexbuffers::Builder fbb;
    fbb.Map([&] {
        fbb.Float("nms_iou_threshold", 0.6F);
        fbb.Int("max_detections", -300);
        fbb.Bool("use_regular_nms", true);
        fbb.Map("inner", [&] { fbb.Double("exact", 0.1234567890123); });
    });
    fbb.Finish();
    const Attribute decoded = decodeCustomOptions(bytesOf(fbb));
    const auto* map = decoded.as<AttributeMap>();
    ASSERT_NE(map, nullptr);
    ASSERT_EQ(map->size(), 4U);
    EXPECT_EQ((*map)[0].first, "nms_iou_threshold");
    EXPECT_EQ((*map)[0].second, Attribute(0.6)); // the double with the float's digits
    EXPECT_EQ((*map)[1].second, Attribute(int64_t{-300}));
    EXPECT_EQ((*map)[2].second, Attribute(true));
    const auto encoded = encodeCustomOptions(decoded);
    ASSERT_TRUE(encoded);
    EXPECT_TRUE(std::ranges::equal(*encoded, bytesOf(fbb)));
}

TEST(CustomOptions, decodesListsOfOneType)
{
    flexbuffers::Builder fbb;
    fbb.Map([&] {
        fbb.TypedVector("places", [&] {
            for (const int place : {61, -2, 300}) fbb.Int(place);
        });
        fbb.TypedVector("none", [&] {});
    });
    fbb.Finish();
    const Attribute decoded = decodeCustomOptions(bytesOf(fbb));
    const auto* map = decoded.as<AttributeMap>();
    // A list of nothing has no type that could be told: all of it stays bytes.
    EXPECT_EQ(map, nullptr);
    flexbuffers::Builder one;
    one.Map([&] {
        one.TypedVector("places", [&] {
            for (const int place : {61, -2, 300}) one.Int(place);
        });
    });
    one.Finish();
    const Attribute list = decodeCustomOptions(bytesOf(one));
    ASSERT_NE(list.as<AttributeMap>(), nullptr);
    const auto* tensor = (*list.as<AttributeMap>())[0].second.as<TensorAttribute>();
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->type, TensorType(DType::i64, Shape({3})));
    EXPECT_EQ(tensor->data->bytes().as<int64_t>()[1], -2);
    EXPECT_TRUE(std::ranges::equal(*encodeCustomOptions(list), bytesOf(one)));
}

TEST(CustomOptions, decodesListsOfStringsAlone)
{
    flexbuffers::Builder fbb;
    fbb.Map([&] {
        fbb.TypedVector("kinds", [&] {
            fbb.String("ROW_SPLITS");
            fbb.String("");
        });
    });
    fbb.Finish();
    const Attribute decoded = decodeCustomOptions(bytesOf(fbb));
    ASSERT_NE(decoded.as<AttributeMap>(), nullptr);
    const auto* tensor = (*decoded.as<AttributeMap>())[0].second.as<TensorAttribute>();
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->type, TensorType(DType::string, Shape({2})));
    EXPECT_TRUE(std::ranges::equal(*encodeCustomOptions(decoded), bytesOf(fbb)));
}

TEST(CustomOptions, keepsOtherEncodingsAsBytes)
{
    flexbuffers::Builder unsignedValue;
    unsignedValue.Map([&] { unsignedValue.UInt("n", 3); });
    unsignedValue.Finish();
    EXPECT_NE(decodeCustomOptions(bytesOf(unsignedValue)).as<HexBytes>(), nullptr);
    flexbuffers::Builder vector;
    vector.Vector([&] { vector.Int(3); });
    vector.Finish();
    EXPECT_NE(decodeCustomOptions(bytesOf(vector)).as<HexBytes>(), nullptr);
    EXPECT_NE(decodeCustomOptions({}).as<HexBytes>(), nullptr);
}

TEST(CustomOptions, refusesWhatFlexBuffersCannotSay)
{
    EXPECT_FALSE(encodeCustomOptions(Attribute(int64_t{3})));
    EXPECT_FALSE(encodeCustomOptions(AttributeMap{{"w", Word{"SAME"}}}));
    EXPECT_FALSE(encodeCustomOptions(AttributeMap{{std::string("a\0b", 3), true}}));
}

// Every byte of a small map set to every value: whatever comes out encodes back to the same bytes.
TEST(CustomOptions, survivesEveryByte)
{
    flexbuffers::Builder fbb;
    fbb.Map([&] {
        fbb.String("name", "value");
        fbb.Vector("list", [&] {
            fbb.Int(1);
            fbb.Float(2.5F);
        });
    });
    fbb.Finish();
    std::vector<uint8_t> bytes = fbb.GetBuffer();
    for (uint8_t& byte : bytes) {
        const uint8_t original = byte;
        for (int value = 0; value < 256; ++value) {
            byte = static_cast<uint8_t>(value);
            const auto span = std::as_bytes(std::span(bytes));
            const auto encoded = encodeCustomOptions(decodeCustomOptions(span));
            ASSERT_TRUE(encoded);
            EXPECT_TRUE(std::ranges::equal(*encoded, span));
        }
        byte = original;
    }
}

} // namespace
} // namespace loopscope
