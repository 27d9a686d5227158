#include "engine/plan/memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace loopscope {
namespace {

/// Every pair that lives at the same time lies apart, and all lie within the arena.
void expectSound(const std::vector<BufferLifetime>& buffers, const MemoryLayout& layout)
{
    ASSERT_EQ(layout.offsets.size(), buffers.size());
    EXPECT_GE(layout.bytes, layout.lowerBound);
    for (size_t a = 0; a < buffers.size(); ++a) {
        EXPECT_EQ(layout.offsets[a] % kArenaAlignment, 0U);
        EXPECT_LE(layout.offsets[a] + buffers[a].bytes, layout.bytes);
        for (size_t b = 0; b < a; ++b) {
            if (buffers[a].first > buffers[b].last || buffers[b].first > buffers[a].last) continue;
            if (buffers[a].bytes == 0 || buffers[b].bytes == 0) continue;
            EXPECT_TRUE(layout.offsets[a] + buffers[a].bytes <= layout.offsets[b] ||
                        layout.offsets[b] + buffers[b].bytes <= layout.offsets[a])
                << a << " and " << b;
        }
    }
}

TEST(MemoryPlanner, needsNothingForNothing)
{
    EXPECT_EQ(planMemory({}).bytes, 0U);
    const std::vector<BufferLifetime> empty = {{0, 0, 3}, {0, 1, 2}};
    EXPECT_EQ(planMemory(empty).bytes, 0U);
    EXPECT_EQ(liveBytesBound(empty), 0U);
}

TEST(MemoryPlanner, sharesTheMemoryOfAChain)
{
    const std::vector<BufferLifetime> chain = {{100, 0, 1}, {640, 1, 2}, {64, 2, 3}, {640, 3, 4}};
    const MemoryLayout layout = planMemory(chain);
    expectSound(chain, layout);
    EXPECT_EQ(layout.lowerBound, 128U + 640U);
    EXPECT_EQ(layout.bytes, layout.lowerBound);
}

TEST(MemoryPlanner, isSoundAndCloseToTheBoundOnRandomLifetimes)
{
    std::mt19937 random(11);
    std::vector<double> ratios;
    for (int set = 0; set < 40; ++set) {
        const auto count = static_cast<int32_t>(50 + random() % 151);
        std::vector<BufferLifetime> buffers;
        for (int32_t i = 0; i < count; ++i) {
            const auto first = static_cast<int32_t>(random() % static_cast<uint32_t>(count));
            const auto last = std::min(count, first + static_cast<int32_t>(random() % 25));
            buffers.push_back({random() % 5 == 0 ? 0 : random() % 100'000, first, last});
        }
        const MemoryLayout layout = planMemory(buffers);
        expectSound(buffers, layout);
        EXPECT_EQ(layout.lowerBound, liveBytesBound(buffers));
        ratios.push_back(static_cast<double>(layout.bytes) / static_cast<double>(layout.lowerBound));
    }
    std::ranges::sort(ratios);
    EXPECT_LE(ratios[35], 1.10);
}

TEST(MemoryPlanner, answersTheSameEveryTime)
{
    std::mt19937 random(5);
    std::vector<BufferLifetime> buffers;
    for (int32_t i = 0; i < 120; ++i) buffers.push_back({random() % 5000, i, i + static_cast<int32_t>(random() % 30)});
    EXPECT_EQ(planMemory(buffers).offsets, planMemory(buffers).offsets);
}

} // namespace
} // namespace loopscope
