// Vulkan's objects behind VulkanDevice and VulkanMemory: the only header that names them, for the sources of this folder alone.
#pragma once

#include "engine/base/result.h"
#include "engine/device/vulkan_device.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <volk.h>

namespace loopscope {

inline constexpr uint32_t kMostBuffers = 8; ///< of one shader
inline constexpr uint32_t kPushBytes = 128; ///< what every device has
inline constexpr uint64_t kBufferAlignment = 256;

class DevicePipeline {
public:
    std::atomic<VkPipeline> pipeline = VK_NULL_HANDLE; ///< null: not compiled yet
    ShaderCode shader;
    std::vector<uint32_t> constants;
};

/// A large buffer that is handed out in pieces.
struct DeviceBlock {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    uint64_t bytes = 0;
    std::map<uint64_t, uint64_t> free; ///< offset → bytes; no two touch
};

/// A buffer that the host sees, mapped as long as it lives.
struct HostBuffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::byte* data = nullptr;
    uint64_t bytes = 0;
};

struct VulkanHandles {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
    VkPhysicalDeviceMemoryProperties memory = {};
    VkPipelineCache cache = VK_NULL_HANDLE;
    std::string cacheFile; ///< empty: pipelines are not kept
    uint32_t queueFamily = 0;
    float nsPerTick = 0; ///< of timestamps; 0: there are none
    std::array<VkDescriptorSetLayout, kMostBuffers + 1> setLayouts = {};
    std::array<VkPipelineLayout, kMostBuffers + 1> layouts = {}; ///< by number of buffers

    mutable std::mutex mutex; ///< of everything below, and of submitting
    std::vector<DeviceBlock> blocks;
    std::map<std::pair<const uint32_t*, std::vector<uint32_t>>, std::unique_ptr<DevicePipeline>> pipelines;
    std::set<std::vector<uint32_t>> assembled; ///< shaders that the program put together; pipelines are known by where their words are
    std::vector<std::string> messages;
    std::atomic<bool> isLost = false;

    /// An error of what was tried, or ok.
    Status checked(VkResult result, std::string_view what);
    Result<HostBuffer> hostBuffer(uint64_t bytes, bool isRead);
    void release(HostBuffer& buffer) const;
    Result<DeviceBlock> newBlock(uint64_t bytes);
    Status submit(std::span<const VkCommandBuffer> commands, VkFence fence);
    /// Everything that was submitted is done.
    void settle();
    /// Polls for as long as that is quicker than sleeping, then sleeps.
    Status await(VkFence fence);

private:
    Status bind(VkBuffer& buffer, VkDeviceMemory& memory, uint64_t bytes, VkBufferUsageFlags usage, VkMemoryPropertyFlags wanted,
                VkMemoryPropertyFlags liked);
};

} // namespace loopscope
