// The level of vector instructions, and that a test can ask for a lesser one.
#include "engine/base/cpu_level.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <optional>

using namespace loopscope;

TEST(CpuLevels, areFoundByTheirNames)
{
    for (const CpuLevel level : {CpuLevel::baseline, CpuLevel::avx2, CpuLevel::avx512, CpuLevel::avx512vnni})
        EXPECT_EQ(cpuLevelFromName(cpuLevelName(level)), level);
    EXPECT_EQ(cpuLevelFromName("sse"), std::nullopt);
    EXPECT_EQ(cpuLevelFromName(""), std::nullopt);
}

/// ctest runs these tests for each level.
TEST(CpuLevels, areCappedByTheEnvironment)
{
    const char* const wanted = std::getenv(kCpuLevelVariable);
    if (!wanted) GTEST_SKIP() << kCpuLevelVariable << " is not set";
    ASSERT_TRUE(cpuLevelFromName(wanted));
    EXPECT_LE(cpuLevel(), *cpuLevelFromName(wanted));
    EXPECT_EQ(cpuHas(CpuLevel::avx512vnni), cpuLevel() == CpuLevel::avx512vnni);
}
