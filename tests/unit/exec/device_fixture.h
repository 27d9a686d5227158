// A test of what a Vulkan device does: opens one, or says why there is none and skips.
#pragma once

#include "engine/device/vulkan_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace loopscope::testing {

class DeviceFixture : public ::testing::Test {
protected:
    /// With LOOPSCOPE_VALIDATE=1 under the validation layers. Lavapipe runs in this thread, unless LP_NUM_THREADS says otherwise.
    void SetUp() override
    {
        setenv("LP_NUM_THREADS", "0", 0);
        const char* const asked = std::getenv("LOOPSCOPE_VALIDATE");
        VulkanDevice::choose({"", "", asked && *asked == '1'});
        Result<std::shared_ptr<VulkanDevice>> opened = VulkanDevice::opened();
        if (!opened.ok()) GTEST_SKIP() << opened.error().message();
        m_memory = std::make_unique<VulkanMemory>(*opened);
    }

    std::unique_ptr<VulkanMemory> m_memory; ///< null where the test was skipped
};

} // namespace loopscope::testing
