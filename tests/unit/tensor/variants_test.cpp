// Lists as bytes: what refers to elements elsewhere finds them as long as they are there, and lists of before can still be read.
#include "engine/base/swapped_bytes.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/variant_format.h"
#include "engine/tensor/variants.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <string>
#include <vector>

namespace loopscope::testing {
namespace {

constexpr int64_t kCount = 1000;

std::vector<float> numbers(float from)
{
    std::vector<float> all(kCount);
    std::iota(all.begin(), all.end(), from);
    return all;
}

Tensor scalarVariant(const std::vector<std::byte>& block)
{
    Tensor tensor;
    tensor.dtype = DType::variant;
    tensor.shape = Shape();
    tensor.data = const_cast<std::byte*>(block.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
    tensor.bytes = block.size();
    return tensor;
}

/// A list of two elements, of which the second one lies elsewhere, in a list of one element.
std::vector<std::byte> nested(const std::vector<float>& here, const ElementHandle& elsewhere)
{
    VariantValue list;
    list.kind = VariantKind::list;
    list.elementType = DType::f32;
    list.tensors.push_back(
        {DType::f32, Shape{kCount}, {reinterpret_cast<const char*>(here.data()), here.size() * sizeof(float)}, -1, nullptr});
    list.tensors.push_back({DType::f32, Shape{kCount}, {}, 7, elsewhere});
    const std::vector<std::byte> inner = packStrings(std::vector<std::string>{encodeVariant(list)});
    VariantValue outer;
    outer.kind = VariantKind::list;
    outer.elementType = DType::variant;
    outer.tensors.push_back({DType::variant, Shape(), {reinterpret_cast<const char*>(inner.data()), inner.size()}, -1, nullptr});
    return packStrings(std::vector<std::string>{encodeVariant(outer)});
}

Result<VariantValue> innerList(const std::vector<std::byte>& block, std::vector<std::byte>& room)
{
    LS_TRY(const auto outer, unpackStrings(block));
    LS_TRY(const VariantValue list, decodeVariant(outer.at(0)));
    room.assign(list.tensors.at(0).view().view().begin(), list.tensors.at(0).view().view().end());
    LS_TRY(const auto inner, unpackStrings(room));
    return decodeVariant(inner.at(0));
}

TEST(Variants, find_elements_elsewhere_as_long_as_somebody_holds_them)
{
    const std::vector<float> here = numbers(0), there = numbers(5);
    Result<ElementHandle> element = shareElement(std::as_bytes(std::span(there)));
    ASSERT_TRUE(element.ok());
    Result<ElementHandle> again = shareElement(std::as_bytes(std::span(there)));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*element, *again) << "equal elements are there once";
    again = ElementHandle();
    const std::vector<std::byte> block = nested(here, *element);
    EXPECT_LT(block.size(), 1.5 * sizeof(float) * kCount);
    int64_t found = 0;
    visitElements(scalarVariant(block), [&](const ElementKey& key) { found += key == (*element)->key ? 1 : 0; });
    EXPECT_EQ(found, 1);
    const auto whole = std::make_unique<WholeVariant>(scalarVariant(block));
    std::vector<std::byte> room;
    {
        const Result<VariantValue> list = innerList(block, room);
        ASSERT_TRUE(list.ok()) << list.error().message();
        ASSERT_EQ(list->tensors.size(), 2U);
        EXPECT_EQ(list->tensors[1].byteCount(), sizeof(float) * kCount);
        EXPECT_EQ(list->tensors[1].origin, 7);
        EXPECT_EQ(std::memcmp(list->tensors[1].view().data, there.data(), sizeof(float) * kCount), 0);
    }

    element = ElementHandle();
    const Result<VariantValue> gone = innerList(block, room);
    ASSERT_FALSE(gone.ok());
    EXPECT_NE(gone.error().message().find("not there any more"), std::string::npos) << gone.error().message();
    const Tensor kept = whole->tensor();
    const Result<VariantValue> list = innerList({kept.data, kept.data + kept.bytes}, room);
    ASSERT_TRUE(list.ok()) << list.error().message();
    EXPECT_EQ(std::memcmp(list->tensors.at(1).view().data, there.data(), sizeof(float) * kCount), 0);
    EXPECT_EQ(list->tensors[1].origin, 7);
}

TEST(Variants, without_elements_elsewhere_are_whole_themselves)
{
    VariantValue list;
    list.kind = VariantKind::list;
    list.elementType = DType::f32;
    const std::vector<std::byte> block = packStrings(std::vector<std::string>{encodeVariant(list)});
    EXPECT_EQ(WholeVariant(scalarVariant(block)).tensor().data, block.data());
}

TEST(Variants, of_recordings_of_before_are_read)
{
    // An element without a hash: dtype, rank, dimensions, origin, number of bytes, bytes.
    std::string old;
    const auto put = [&](int64_t number) { old.append(reinterpret_cast<const char*>(&number), sizeof number); };
    for (const int64_t head : {kVariantMagic, int64_t{static_cast<int64_t>(VariantKind::list)}, static_cast<int64_t>(DType::f32),
                               int64_t{-1}, int64_t{-1}, int64_t{2}, int64_t{48}, int64_t{12345}})
        put(head);
    for (const float number : {2.5F, -1.0F}) {
        for (const int64_t head : {static_cast<int64_t>(DType::f32), int64_t{1}, int64_t{1}, int64_t{3}, int64_t{4}}) put(head);
        old.append(reinterpret_cast<const char*>(&number), sizeof number);
        old.append(4, '\0');
    }
    const Result<VariantValue> list = decodeVariant(old);
    ASSERT_TRUE(list.ok()) << list.error().message();
    ASSERT_EQ(list->tensors.size(), 2U);
    EXPECT_EQ(list->tensors[0].shape, Shape{1});
    EXPECT_EQ(list->tensors[0].origin, 3);
    EXPECT_EQ(*list->tensors[0].view().as<float>(), 2.5F);
    EXPECT_EQ(*list->tensors[1].view().as<float>(), -1.0F);
    old.resize(old.size() - 8);
    EXPECT_FALSE(decodeVariant(old).ok());
}

} // namespace
} // namespace loopscope::testing
