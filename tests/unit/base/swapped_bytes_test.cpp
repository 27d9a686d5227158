// What is kept beyond the bound of memory comes back as it was, in the order in which gradients ask for it; a file without room is an
// error.
#include "engine/base/swapped_bytes.h"

#include <gtest/gtest.h>
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
    std::vector<Bytes> kept;
    constexpr size_t kCount = 120; // 120 MiB
    for (size_t k = 0; k < kCount; ++k) {
        Result<Bytes> bytes = keptCopy(content(k, kMiB));
        ASSERT_TRUE(bytes.ok()) << bytes.error().message();
        kept.push_back(std::move(bytes).value());
    }
    EXPECT_LE(swapShares().inMemory, 32 * kMiB);
    EXPECT_GE(swapShares().onDisk, 80 * kMiB);
    const Bytes shared = kept[3]; // as a snapshot does
    for (size_t k = kCount; k-- > 0;) {
        const std::vector<std::byte> want = content(k, kMiB);
        EXPECT_TRUE(std::equal(want.begin(), want.end(), kept.back().view().begin(), kept.back().view().end())) << k;
        kept.pop_back();
    }
    EXPECT_EQ(shared.view()[0], content(3, 1)[0]);
    EXPECT_LE(swapShares().inMemory + swapShares().onDisk, 16 * kMiB); // what is shared keeps its piece
    setSwapping(0, "");
}

TEST(SwappedBytes, without_a_place_for_the_file_are_an_error_and_not_a_fault)
{
    setSwapping(kMiB, "/nowhere/at/all");
    Result<Bytes> large = keptCopy(content(1, kMiB));
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().code(), ErrorCode::cannotWrite);
    const Result<Bytes> small = keptCopy(content(1, 100)); // stays in the heap
    EXPECT_TRUE(small.ok());
    setSwapping(0, "");
    const Result<Bytes> heap = keptCopy(content(2, kMiB));
    ASSERT_TRUE(heap.ok());
    EXPECT_EQ(heap.value().view()[5], content(2, 6)[5]);
}

} // namespace
} // namespace loopscope::testing
