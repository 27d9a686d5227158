#include "engine/tensor/huffman.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace loopscope {
namespace {

/// The stored form of a tree and data that are written as '0' and '1'.
std::vector<std::byte> stored(const std::string& tree, const std::string& data)
{
    std::vector<std::byte> out;
    for (const size_t bits : {tree.size(), data.size()})
        for (int i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(bits >> (8 * i)));
    std::string all = tree + data;
    all.resize((all.size() + 7) / 8 * 8, '0');
    for (size_t i = 0; i < all.size(); i += 8) out.push_back(static_cast<std::byte>(std::stoi(all.substr(i, 8), nullptr, 2)));
    return out;
}

std::vector<int> decoded(const std::vector<std::byte>& bytes, uint64_t count)
{
    const Result<Bytes> result = decodeHuffman(bytes, count);
    if (!result.ok()) return {};
    std::vector<int> values;
    for (const std::byte b : result->view()) values.push_back(static_cast<int8_t>(b));
    return values;
}

std::string messageOf(const std::vector<std::byte>& bytes, uint64_t count)
{
    const Result<Bytes> result = decodeHuffman(bytes, count);
    return result.ok() ? "" : result.error().message();
}

// 0 → 5, 10 → −1, 11 → 2
const std::string kTree = "1"
                          "0"
                          "00000101"
                          "1"
                          "0"
                          "11111111"
                          "0"
                          "00000010";

TEST(Huffman, threeBytes)
{
    EXPECT_EQ(decoded(stored(kTree, "0"
                                    "10"
                                    "11"
                                    "0"
                                    "10"),
                      5),
              (std::vector<int>{5, -1, 2, 5, -1}));
}

TEST(Huffman, oneByteHasAnEmptyCode)
{
    EXPECT_EQ(decoded(stored("0"
                             "00000111",
                             ""),
                      4),
              (std::vector<int>{7, 7, 7, 7}));
    EXPECT_EQ(decoded(stored("0"
                             "00000111",
                             ""),
                      0),
              (std::vector<int>{}));
}

TEST(Huffman, codesAcrossBytes)
{
    std::string data;
    std::vector<int> want;
    for (int i = 0; i < 100; ++i) {
        data += i % 3 == 0 ? "0" : i % 3 == 1 ? "10" : "11";
        want.push_back(i % 3 == 0 ? 5 : i % 3 == 1 ? -1 : 2);
    }
    EXPECT_EQ(decoded(stored(kTree, data), 100), want);
}

TEST(Huffman, damageIsNamed)
{
    EXPECT_EQ(messageOf({std::byte{1}}, 1), "compressed constant: found 1 bytes, expected at least 16");
    EXPECT_EQ(messageOf(stored("1"
                               "0"
                               "00000101",
                               ""),
                        1),
              "compressed constant: the tree is cut off");
    EXPECT_EQ(messageOf(stored("0"
                               "000001",
                               ""),
                        1),
              "compressed constant: the tree is cut off");
    EXPECT_EQ(messageOf(stored(kTree + "1", ""), 0), "compressed constant: the tree is followed by 1 other bits");
    EXPECT_EQ(messageOf(stored(kTree, "1"), 1), "compressed constant: the data is cut off");
    EXPECT_EQ(messageOf(stored(kTree, "00"), 1), "compressed constant: 1 bits are left over");
    EXPECT_EQ(messageOf(stored(kTree, "00"), 3), "compressed constant: 2 bits cannot hold 3 codes");
    std::vector<std::byte> cut = stored(kTree, "00");
    cut.pop_back();
    EXPECT_EQ(messageOf(cut, 2), "compressed constant: tree and data have 29 and 2 bits, the file holds 24");
    EXPECT_EQ(messageOf(stored(std::string(600, '1'), ""), 1), "compressed constant: the tree has more than 256 leaves");
}

} // namespace
} // namespace loopscope
