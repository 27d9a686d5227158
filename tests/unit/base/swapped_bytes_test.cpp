// What is kept beyond the bound of memory comes back as it was, in the order in which gradients ask for it; a file without room is an
// error.
#include "engine/base/swapped_bytes.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace loopscope::testing {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

std::vector<std::byte> content(size_t number, size_t size)
{
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 31 + number * 7) & 255);
    return bytes;
}

TEST(SwappedBytes, come_back_in_reverse_order_with_most_of_them_on_disk)
{
    setSwapping(24 * kMiB, "/var/tmp");
    std::vector<KeptBytes> kept;
    constexpr size_t kCount = 120; // 120 MiB
    for (size_t k = 0; k < kCount; ++k) {
        Result<KeptBytes> bytes = keptCopy(content(k, kMiB));
        ASSERT_TRUE(bytes.ok()) << bytes.error().message();
        kept.push_back(std::move(bytes).value());
    }
    EXPECT_LE(swapShares().inMemory, 32 * kMiB);
    EXPECT_GE(swapShares().onDisk, 80 * kMiB);
    const KeptBytes shared = kept[3]; // as a snapshot does
    for (size_t k = kCount; k-- > 0;) {
        const std::vector<std::byte> want = content(k, kMiB);
        EXPECT_TRUE(std::ranges::equal(want, kept.back().pinned().view())) << k;
        kept.pop_back();
    }
    EXPECT_EQ(shared.pinned().view()[0], content(3, 1)[0]);
    EXPECT_LE(swapShares().inMemory + swapShares().onDisk, 16 * kMiB); // what is shared keeps its piece
    setSwapping(0, "");
}

TEST(SwappedBytes, that_go_unread_are_not_brought_back)
{
    setSwapping(24 * kMiB, "/var/tmp");
    std::vector<KeptBytes> kept;
    for (size_t k = 0; k < 160; ++k) {
        Result<KeptBytes> bytes = keptCopy(content(k, kMiB));
        ASSERT_TRUE(bytes.ok()) << bytes.error().message();
        kept.push_back(std::move(bytes).value());
    }
    std::erase_if(kept, [at = 0](const KeptBytes&) mutable { return ++at % 8 != 0; }); // about one of each piece stays
    std::this_thread::sleep_for(std::chrono::milliseconds(300));                       // for what would be read
    EXPECT_LE(swapShares().inMemory, 40 * kMiB);
    kept.clear();
    setSwapping(0, "");
}

TEST(SwappedBytes, take_less_room_on_disk_where_they_can_be_compressed)
{
    setSwapping(1, "/var/tmp"); // as much as has to be
    std::vector<KeptBytes> regular, random;
    uint64_t state = 1;
    const auto keep = [](std::vector<KeptBytes>& into, const std::vector<std::byte>& bytes) {
        Result<KeptBytes> kept = keptCopy(bytes);
        ASSERT_TRUE(kept.ok()) << kept.error().message();
        into.push_back(std::move(kept).value());
    };
    for (size_t k = 0; k < 64; ++k) keep(regular, content(k, kMiB));
    const uint64_t ofRegular = swapShares().written;
    EXPECT_GE(swapShares().onDisk, 24 * kMiB);
    EXPECT_LE(ofRegular, swapShares().onDisk / 4);
    const auto noise = [&] {
        std::vector<std::byte> bytes(kMiB);
        for (std::byte& byte : bytes) byte = static_cast<std::byte>((state = state * 6364136223846793005U + 1442695040888963407U) >> 56U);
        return bytes;
    };
    std::vector<std::vector<std::byte>> want;
    for (size_t k = 0; k < 64; ++k) {
        want.push_back(noise());
        keep(random, want.back());
    }
    EXPECT_GE(swapShares().written, ofRegular + 24 * kMiB);
    EXPECT_TRUE(regular.front().isOnDisk());
    for (size_t k = 0; k < 64; ++k) { // from the front, too
        EXPECT_TRUE(std::ranges::equal(want[k], random[k].pinned().view())) << k;
        EXPECT_TRUE(std::ranges::equal(content(k, kMiB), regular[k].pinned().view())) << k;
    }
    EXPECT_LE(swapShares().inMemory, 48 * kMiB); // what was looked at has left again
    const Bytes held = regular[5].pinned();
    for (size_t k = 0; k < 64; ++k) keep(regular, content(k, kMiB));
    EXPECT_FALSE(regular[5].isOnDisk()); // as long as somebody looks
    EXPECT_TRUE(std::ranges::equal(content(5, kMiB), held.view()));
    EXPECT_TRUE(swapFailure().ok());
    regular.clear();
    random.clear();
    setSwapping(0, "");
}

TEST(SwappedBytes, without_a_place_for_the_file_are_an_error_and_not_a_fault)
{
    setSwapping(kMiB, "/nowhere/at/all");
    Result<KeptBytes> large = keptCopy(content(1, kMiB));
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().code(), ErrorCode::cannotWrite);
    const Result<KeptBytes> small = keptCopy(content(1, 100)); // stays in the heap
    EXPECT_TRUE(small.ok());
    setSwapping(0, "");
    const Result<KeptBytes> heap = keptCopy(content(2, kMiB));
    ASSERT_TRUE(heap.ok());
    EXPECT_EQ(heap.value().pinned().view()[5], content(2, 6)[5]);
}

} // namespace
} // namespace loopscope::testing
