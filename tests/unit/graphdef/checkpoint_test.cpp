// Checkpoints: the checksum against known values, tensors read back, and every way in which files can be damaged.
#include "converters/savedmodel/checkpoint.h"
#include "converters/savedmodel/snappy.h"
#include "engine/base/memory_budget.h"
#include "engine/tensor/strings.h"
#include "tests/scratch.h"
#include "tests/unit/graphdef/bundle_writer.h"
#include "tests/unit/graphdef/small_graph.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

using savedmodel::Checkpoint;
using ::testing::HasSubstr;

class CheckpointTest : public ::testing::Test {
protected:
    std::string prefix() const { return m_folder.path("variables"); }

    std::string problemOf(const std::string& key)
    {
        auto checkpoint = Checkpoint::open(prefix());
        if (!checkpoint.ok()) return checkpoint.error().message();
        const auto value = checkpoint->read(key);
        return value.ok() ? "reads" : value.error().message();
    }

    ScratchFolder m_folder;
};

TEST(Crc32c, has_the_published_values)
{
    const std::string digits = "123456789";
    EXPECT_EQ(savedmodel::crc32c(std::as_bytes(std::span(digits))), 0xe3069283U);
    const std::string zeros(32, '\0');
    EXPECT_EQ(savedmodel::crc32c(std::as_bytes(std::span(zeros))), 0x8a9136aaU);
    const uint32_t first = savedmodel::crc32c(std::as_bytes(std::span(digits)).first(4));
    EXPECT_EQ(savedmodel::crc32c(std::as_bytes(std::span(digits)).subspan(4), first), 0xe3069283U) << "in parts";
}

TEST_F(CheckpointTest, reads_what_was_written)
{
    BundleWriter writer;
    const float w[] = {1.5F, -2.0F};
    writer.add("odd", tfpb::DT_INT8, {1}, "\x07");
    writer.add("w", tfpb::DT_FLOAT, {2}, std::string(reinterpret_cast<const char*>(w), 8));
    writer.write(prefix());
    auto checkpoint = Checkpoint::open(prefix());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
    EXPECT_EQ(checkpoint->entries().size(), 2U);
    const auto value = checkpoint->read("w");
    ASSERT_TRUE(value.ok()) << value.error().message();
    EXPECT_EQ(value->type, TensorType(DType::f32, Shape{2}));
    EXPECT_EQ(std::memcmp(value->data->bytes().data(), w, 8), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(value->data->bytes().data()) % 16, 0U) << "aligned for kernels, wherever it lies";
}

TEST(Snappy, unpacks_literals_and_copies)
{
    // "abcabcabcabc-x": a literal, an overlapping copy of 9 from 3 back, a literal with its length in a byte of its own.
    const std::string packed = std::string("\x0e", 1) +
                               "\x08"
                               "abc" +
                               std::string("\x15\x03", 2) + std::string("\xf0\x01", 2) + "-x";
    const auto plain = savedmodel::unpackSnappy(packed, 100);
    ASSERT_TRUE(plain.ok()) << plain.error().message();
    EXPECT_EQ(*plain, "abcabcabcabc-x");
    const std::string far = std::string("\x06", 1) +
                            "\x04"
                            "ab" +
                            std::string("\x0e\x02\x00", 3); // a copy of 4 with two bytes of offset
    EXPECT_EQ(*savedmodel::unpackSnappy(far, 100), "ababab");
    for (const std::string& broken :
         {packed.substr(0, packed.size() - 1), std::string("\x0e\x15\x03", 3), std::string("\x01\x08", 2) + "abc", std::string("\xff", 1)})
        EXPECT_FALSE(savedmodel::unpackSnappy(broken, 100).ok());
    EXPECT_FALSE(savedmodel::unpackSnappy(packed, 13).ok());
}

TEST(Snappy, refuses_what_unpacks_to_more_than_the_limit)
{
    // A byte and copies of 64 bytes from one back: three bytes each become 64.
    constexpr uint64_t kPlain = uint64_t{256} << 20;
    std::string packed;
    for (uint64_t left = kPlain; left > 0; left >>= 7) packed += static_cast<char>((left & 0x7F) | (left > 0x7F ? 0x80 : 0));
    packed += std::string("\x00x", 2);
    for (int i = 0; i < 1000; ++i) packed += std::string("\xfe\x01\x00", 3);
    setMemoryLimit(memoryInUse() + (64U << 20U));
    const auto plain = savedmodel::unpackSnappy(packed, kPlain);
    setMemoryLimit(0);
    ASSERT_FALSE(plain.ok());
    EXPECT_THAT(plain.error().message(), testing::HasSubstr("needs more memory than the limit of"));
}

TEST_F(CheckpointTest, reads_compressed_blocks)
{
    BundleWriter writer;
    writer.isCompressed = true;
    writer.add("w", tfpb::DT_INT32, {2}, std::string("\x01\0\0\0\x02\0\0\0", 8));
    writer.add("wide/name/of/another/tensor", tfpb::DT_INT8, {1}, "\x07");
    writer.write(prefix());
    auto checkpoint = Checkpoint::open(prefix());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
    EXPECT_EQ(checkpoint->entries().size(), 2U);
    const auto value = checkpoint->read("w");
    ASSERT_TRUE(value.ok()) << value.error().message();
    EXPECT_EQ(static_cast<int>(value->data->bytes().data()[4]), 2);
}

TEST_F(CheckpointTest, reads_big_endian_tensors)
{
    BundleWriter writer;
    writer.isBigEndian = true;
    writer.add("i", tfpb::DT_INT32, {2}, std::string("\0\0\0\x01\x01\x02\x03\x04", 8));
    writer.add("c", tfpb::DT_COMPLEX64, {1}, std::string("\x3f\x80\0\0\x40\0\0\0", 8));
    writer.add("b", tfpb::DT_INT8, {1}, "\x07");
    writer.write(prefix());
    auto checkpoint = Checkpoint::open(prefix());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
    const int32_t numbers[] = {1, 0x01020304};
    EXPECT_EQ(std::memcmp(checkpoint->read("i")->data->bytes().data(), numbers, 8), 0);
    const float parts[] = {1.0F, 2.0F};
    EXPECT_EQ(std::memcmp(checkpoint->read("c")->data->bytes().data(), parts, 8), 0);
    EXPECT_EQ(static_cast<int>(checkpoint->read("b")->data->bytes().data()[0]), 7);
}

TEST_F(CheckpointTest, reads_strings)
{
    BundleWriter writer;
    const uint32_t lengths[] = {2, 0};
    uint32_t crc = savedmodel::crc32c(std::as_bytes(std::span(lengths)));
    const uint32_t masked = savedmodel::maskedCrc(crc);
    const std::string bytes = std::string("\x02\x00", 2) + std::string(reinterpret_cast<const char*>(&masked), 4) + "hi";
    writer.add("s", tfpb::DT_STRING, {2}, bytes);
    crc = savedmodel::crc32c(std::as_bytes(std::span(bytes)).subspan(2), crc);
    writer.entries["s"].set_crc32c(savedmodel::maskedCrc(crc));
    writer.write(prefix());
    auto checkpoint = Checkpoint::open(prefix());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
    const auto value = checkpoint->read("s");
    ASSERT_TRUE(value.ok()) << value.error().message();
    EXPECT_EQ(*unpackStrings(value->data->bytes().view()), (std::vector<std::string_view>{"hi", ""}));
}

/// The place and length of a part along each dimension; length −1: all of it.
void addSlice(BundleWriter& writer, const std::string& key, std::initializer_list<std::pair<int64_t, int64_t>> extents)
{
    auto* slice = writer.entries[key].add_slices();
    for (const auto& [start, length] : extents) {
        auto* extent = slice->add_extent();
        extent->set_start(start);
        if (length >= 0) extent->set_length(length);
    }
}

// Keys as TensorFlow 2.21 wrote them for a variable [7,130] with parts of 44, 43 and 43 columns.
TEST_F(CheckpointTest, reads_tensors_in_parts_and_parts_of_tensors)
{
    using namespace std::string_literals;
    BundleWriter writer;
    writer.add("m/w", tfpb::DT_INT8, {2, 130}, "");
    std::string row0, row1, parts[3];
    for (int i = 0; i < 130; ++i) row0.push_back(static_cast<char>(i - 100)), row1.push_back(static_cast<char>(100 - i));
    const std::string keys[] = {"\0m/w\0\1\1\2\x80\x87\x80\xac"s, "\0m/w\0\1\1\2\x80\x87\xac\xab"s, "\0m/w\0\1\1\2\x80\x87\xc0W\xab"s};
    const int64_t starts[] = {0, 44, 87}, lengths[] = {44, 43, 43};
    for (size_t k = 0; k < 3; ++k) {
        std::string key = keys[k];
        key[key.find('\x87')] = '\x82'; // two rows instead of seven
        writer.add(key, tfpb::DT_INT8, {2, lengths[k]},
                   row0.substr(static_cast<size_t>(starts[k]), static_cast<size_t>(lengths[k])) +
                       row1.substr(static_cast<size_t>(starts[k]), static_cast<size_t>(lengths[k])));
        addSlice(writer, "m/w", {{0, 2}, {starts[k], lengths[k]}});
    }
    writer.write(prefix());
    auto checkpoint = Checkpoint::open(prefix());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
    const auto whole = checkpoint->read("m/w");
    ASSERT_TRUE(whole.ok()) << whole.error().message();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(whole->data->bytes().data()), 260), row0 + row1);
    const auto part = checkpoint->readSlice("m/w", "2 130 -:85,4");
    ASSERT_TRUE(part.ok()) << part.error().message();
    EXPECT_EQ(part->type.shape, Shape({2, 4}));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(part->data->bytes().data()), 8), row0.substr(85, 4) + row1.substr(85, 4));
    const auto beyond = checkpoint->readSlice("m/w", "2 130 -:128,4");
    ASSERT_FALSE(beyond.ok());
    EXPECT_THAT(beyond.error().message(), HasSubstr("a part reaches from 128 over 4"));
    EXPECT_FALSE(checkpoint->readSlice("m/w", "2 130 -:x").ok());
}

TEST_F(CheckpointTest, says_which_entry_is_damaged)
{
    BundleWriter writer;
    writer.add("w", tfpb::DT_INT32, {1}, "abcd");
    writer.add("short", tfpb::DT_INT32, {2}, "abcd");
    writer.add("variant", tfpb::DT_VARIANT, {1}, "abcd");
    writer.add("big", tfpb::DT_INT32, {1}, "efgh");
    writer.entries["big"].set_size(400);
    writer.add("far", tfpb::DT_INT32, {1}, "efgh");
    writer.entries["far"].set_shard_id(9);
    writer.add("parts", tfpb::DT_INT32, {2}, "");
    addSlice(writer, "parts", {{0, 1}});
    writer.add("beyond", tfpb::DT_INT32, {2}, "");
    addSlice(writer, "beyond", {{1, 2}});
    writer.data[0] = 'X';
    writer.write(prefix());
    EXPECT_THAT(problemOf("w"), HasSubstr("variables: entry 'w': its checksum does not fit, found "));
    EXPECT_THAT(problemOf("short"), HasSubstr("entry 'short': its data has another size, found 4 bytes, expected 8"));
    EXPECT_THAT(problemOf("big"), HasSubstr("entry 'big': its bytes reach beyond the end of "));
    EXPECT_THAT(problemOf("far"), HasSubstr("entry 'far': shard, found 9, expected 0 to 0"));
    EXPECT_THAT(problemOf("variant"), HasSubstr("type 21 is not read"));
    EXPECT_THAT(problemOf("parts"), AllOf(HasSubstr("entry 'parts': "), HasSubstr("no entry '\\x00parts")));
    EXPECT_THAT(problemOf("beyond"), HasSubstr("a part reaches from 1 over 2, expected inside of [2]"));
    EXPECT_THAT(problemOf("nosuch"), HasSubstr("variables.index: no entry 'nosuch'"));
    std::filesystem::remove(prefix() + ".data-00000-of-00001");
    EXPECT_THAT(problemOf("w"), HasSubstr("variables.data-00000-of-00001: no such file"));
}

TEST_F(CheckpointTest, refuses_a_damaged_index)
{
    BundleWriter writer;
    writer.add("w", tfpb::DT_INT32, {1}, "abcd");
    writer.write(prefix());
    const std::string good = writer.index();
    EXPECT_EQ(problemOf("w"), "reads");
    std::string bad = good;
    bad[5] = static_cast<char>(bad[5] ^ 1);
    BundleWriter::put(prefix() + ".index", bad);
    EXPECT_THAT(problemOf("w"), HasSubstr("variables.index: block at offset 0: its checksum does not fit, found "));
    BundleWriter::put(prefix() + ".index", good.substr(0, good.size() - 1));
    EXPECT_THAT(problemOf("w"), HasSubstr("not the index of a checkpoint, or its end is missing"));
    BundleWriter::put(prefix() + ".index", "");
    EXPECT_THAT(problemOf("w"), HasSubstr("variables.index"));
    // Every single flipped bit is noticed or harmless, and nothing crashes.
    for (size_t at = 0; at < good.size(); ++at) {
        std::string flipped = good;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
        BundleWriter::put(prefix() + ".index", flipped);
        // The footer's first bytes name a second index that nobody reads, its last before the mark are padding.
        const bool isPadding = at >= good.size() - 48 && (at < good.size() - 46 || at >= good.size() - 44) && at < good.size() - 8;
        if (!isPadding) {
            EXPECT_NE(problemOf("w"), "reads") << at << " of " << good.size();
        }
    }
}

} // namespace
} // namespace loopscope
