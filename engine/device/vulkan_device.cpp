#include "engine/device/vulkan_device.h"

#include "engine/base/clock.h"
#include "engine/base/memory_shares.h"
#include "engine/device/vulkan_handles.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

namespace loopscope {

namespace {

constexpr uint64_t kBlockBytes = uint64_t{64} << 20;
/// A fence is polled for so long before the thread sleeps: waking up costs more than a small dispatch.
constexpr int64_t kPollNs = 60'000;
constexpr std::string_view kOutOfMemory = "out of device memory";

/// What the specification calls it, in words.
std::string resultText(VkResult result)
{
    switch (result) {
    case VK_ERROR_DEVICE_LOST: return "the device was lost";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return std::string(kOutOfMemory);
    case VK_ERROR_INITIALIZATION_FAILED: return "the driver could not initialise it";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "a feature is missing";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "an extension is missing";
    case VK_ERROR_TOO_MANY_OBJECTS: return "the driver makes no more of them";
    case VK_ERROR_INVALID_SHADER_NV: return "the driver refuses the shader";
    default: return "Vulkan error " + std::to_string(result);
    }
}

struct Opening {
    std::mutex mutex;
    DeviceChoice choice;
    std::shared_ptr<VulkanDevice> device;
    std::optional<Error> failure;
};

/// Never destroyed: drivers end before what was made before them, and nothing of theirs may be touched then.
Opening& opening()
{
    static Opening& one = *new Opening; // NOLINT(cppcoreguidelines-owning-memory)
    return one;
}

void keepPipelines()
{
    if (const std::shared_ptr<VulkanDevice>& device = opening().device) device->keepPipelines();
}

} // namespace

VulkanDevice::VulkanDevice() : m_handles(std::make_unique<VulkanHandles>()) {}

void VulkanDevice::choose(DeviceChoice choice)
{
    Opening& one = opening();
    const std::lock_guard lock(one.mutex);
    one.choice = std::move(choice);
}

Result<std::shared_ptr<VulkanDevice>> VulkanDevice::opened()
{
    Opening& one = opening();
    const std::lock_guard lock(one.mutex);
    if (one.device) return one.device;
    if (one.failure) return one.failure->copy();
    Result<std::shared_ptr<VulkanDevice>> made = open(one.choice);
    if (made.ok()) {
        one.device = *made;
        std::atexit(::loopscope::keepPipelines); // before the driver's own, which were registered when it was loaded
    } else {
        one.failure = made.error().copy();
    }
    return made;
}

Result<std::shared_ptr<VulkanDevice>> VulkanDevice::open(const DeviceChoice& choice)
{
    std::shared_ptr<VulkanDevice> made(new VulkanDevice());
    made->m_isOptional = choice.isOptional;
    LS_CHECK_OK(made->openDevice(choice));
    return made;
}

VulkanDevice::~VulkanDevice()
{
    VulkanHandles& h = *m_handles;
    if (h.device) {
        vkDeviceWaitIdle(h.device);
        for (auto& [key, pipeline] : h.pipelines) vkDestroyPipeline(h.device, pipeline->pipeline, nullptr);
        for (const VkPipelineLayout layout : h.layouts) vkDestroyPipelineLayout(h.device, layout, nullptr);
        for (const VkDescriptorSetLayout layout : h.setLayouts) vkDestroyDescriptorSetLayout(h.device, layout, nullptr);
        vkDestroyPipelineCache(h.device, h.cache, nullptr);
        for (const DeviceBlock& block : h.blocks) {
            vkDestroyBuffer(h.device, block.buffer, nullptr);
            vkFreeMemory(h.device, block.memory, nullptr);
            MemoryShares::all().device -= static_cast<int64_t>(block.bytes);
        }
        vkDestroyDevice(h.device, nullptr);
    }
    if (h.messenger) vkDestroyDebugUtilsMessengerEXT(h.instance, h.messenger, nullptr);
    if (h.instance) vkDestroyInstance(h.instance, nullptr);
}

bool VulkanDevice::isLost() const { return m_handles->isLost; }

std::vector<std::string> VulkanDevice::validationMessages() const
{
    const std::lock_guard lock(m_handles->mutex);
    return m_handles->messages;
}

// ---- pipelines ----

const DevicePipeline* VulkanDevice::pipelineLater(const ShaderCode& shader, std::span<const uint32_t> constants)
{
    VulkanHandles& h = *m_handles;
    const std::lock_guard lock(h.mutex);
    std::unique_ptr<DevicePipeline>& slot = h.pipelines[{shader.words.data(), {constants.begin(), constants.end()}}];
    if (slot) return slot.get();
    slot = std::make_unique<DevicePipeline>();
    slot->shader = shader;
    slot->constants.assign(constants.begin(), constants.end());
    return slot.get();
}

Status VulkanDevice::compile(const DevicePipeline& pipeline)
{
    if (pipeline.pipeline) return {};
    VulkanHandles& h = *m_handles;
    const std::lock_guard lock(h.mutex);
    const auto& constants = pipeline.constants;
    DevicePipeline& own = *h.pipelines[{pipeline.shader.words.data(), constants}];
    if (own.pipeline) return {};
    std::vector<VkSpecializationMapEntry> entries;
    for (uint32_t i = 0; i < constants.size(); ++i) entries.push_back({i, i * 4, 4});
    const VkSpecializationInfo special{static_cast<uint32_t>(entries.size()), entries.data(), constants.size() * 4, constants.data()};
    VkShaderModuleCreateInfo moduleInfo{};
    moduleInfo.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    moduleInfo.codeSize = own.shader.words.size_bytes();
    moduleInfo.pCode = own.shader.words.data();
    VkShaderModule module = VK_NULL_HANDLE;
    const std::string what = "shader '" + std::string(own.shader.name) + "'";
    LS_CHECK_OK(h.checked(vkCreateShaderModule(h.device, &moduleInfo, nullptr, &module), what));
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &special;
    info.layout = h.layouts[own.shader.buffers];
    VkPipeline made = VK_NULL_HANDLE;
    const VkResult result = vkCreateComputePipelines(h.device, h.cache, 1, &info, nullptr, &made);
    vkDestroyShaderModule(h.device, module, nullptr);
    LS_CHECK_OK(h.checked(result, what));
    own.pipeline = made;
    return {};
}

Result<const DevicePipeline*> VulkanDevice::pipeline(const ShaderCode& shader, std::span<const uint32_t> constants)
{
    const DevicePipeline* const made = pipelineLater(shader, constants);
    LS_CHECK_OK(compile(*made));
    return made;
}

Result<const DevicePipeline*> VulkanDevice::pipeline(std::string_view name, std::vector<uint32_t> words, uint32_t buffers)
{
    const std::vector<uint32_t>* kept = nullptr;
    {
        const std::lock_guard lock(m_handles->mutex);
        kept = &*m_handles->assembled.insert(std::move(words)).first;
    }
    return pipeline(ShaderCode{name, *kept, buffers}, {});
}

// ---- memory ----

Result<DeviceBuffer> VulkanDevice::allocate(uint64_t bytes)
{
    VulkanHandles& h = *m_handles;
    const std::lock_guard lock(h.mutex);
    const uint64_t wanted = std::max<uint64_t>((bytes + kBufferAlignment - 1) / kBufferAlignment, 1) * kBufferAlignment;
    for (size_t b = 0; b < h.blocks.size(); ++b) {
        DeviceBlock& block = h.blocks[b];
        for (auto at = block.free.begin(); at != block.free.end(); ++at) {
            if (at->second < wanted) continue;
            const auto [offset, size] = *at;
            block.free.erase(at);
            if (size > wanted) block.free[offset + wanted] = size - wanted;
            return DeviceBuffer{static_cast<uint32_t>(b), offset, bytes};
        }
    }
    LS_TRY(DeviceBlock block, h.newBlock(std::max(wanted, kBlockBytes)));
    if (block.bytes > wanted) block.free[wanted] = block.bytes - wanted;
    h.blocks.push_back(std::move(block));
    return DeviceBuffer{static_cast<uint32_t>(h.blocks.size() - 1), 0, bytes};
}

void VulkanDevice::release(const DeviceBuffer& buffer)
{
    const std::lock_guard lock(m_handles->mutex);
    std::map<uint64_t, uint64_t>& free = m_handles->blocks[buffer.block].free;
    uint64_t offset = buffer.offset;
    uint64_t size = std::max<uint64_t>((buffer.bytes + kBufferAlignment - 1) / kBufferAlignment, 1) * kBufferAlignment;
    auto next = free.lower_bound(offset);
    if (next != free.end() && next->first == offset + size) {
        size += next->second;
        next = free.erase(next);
    }
    if (next != free.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == offset) {
            before->second += size;
            return;
        }
    }
    free[offset] = size;
}

Status VulkanHandles::checked(VkResult result, std::string_view what)
{
    if (result == VK_SUCCESS) return {};
    if (result == VK_ERROR_DEVICE_LOST) isLost = true;
    const bool isFull = result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY;
    return Error(isFull ? ErrorCode::execution : ErrorCode::device, resultText(result)).at(what);
}

bool isOutOfDeviceMemory(const ErrorDetail& error) { return error.what == kOutOfMemory; }

Status VulkanHandles::bind(VkBuffer& buffer, VkDeviceMemory& place, uint64_t bytes, VkBufferUsageFlags usage, VkMemoryPropertyFlags wanted,
                           VkMemoryPropertyFlags liked)
{
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = bytes;
    info.usage = usage;
    LS_CHECK_OK(checked(vkCreateBuffer(device, &info, nullptr, &buffer), "a buffer of " + std::to_string(bytes) + " bytes"));
    VkMemoryRequirements needs{};
    vkGetBufferMemoryRequirements(device, buffer, &needs);
    int best = -1;
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
        if ((needs.memoryTypeBits >> i & 1) == 0 || (flags & wanted) != wanted) continue;
        if (best < 0) best = static_cast<int>(i);
        if ((flags & liked) == liked) {
            best = static_cast<int>(i);
            break;
        }
    }
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.allocationSize = needs.size;
    allocation.memoryTypeIndex = static_cast<uint32_t>(std::max(best, 0));
    VkResult result = best < 0 ? VK_ERROR_OUT_OF_DEVICE_MEMORY : vkAllocateMemory(device, &allocation, nullptr, &place);
    if (result == VK_SUCCESS) result = vkBindBufferMemory(device, buffer, place, 0);
    if (result == VK_SUCCESS) return {};
    vkDestroyBuffer(device, buffer, nullptr);
    vkFreeMemory(device, place, nullptr);
    buffer = VK_NULL_HANDLE;
    place = VK_NULL_HANDLE;
    return checked(result, "a block of " + std::to_string(bytes) + " bytes");
}

Result<DeviceBlock> VulkanHandles::newBlock(uint64_t bytes)
{
    DeviceBlock block;
    block.bytes = bytes;
    LS_CHECK_OK(bind(block.buffer, block.memory, bytes,
                     VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                         VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                     VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT));
    MemoryShares::all().device += static_cast<int64_t>(bytes);
    return block;
}

Result<HostBuffer> VulkanHandles::hostBuffer(uint64_t bytes, bool isRead)
{
    HostBuffer made;
    made.bytes = bytes;
    const VkMemoryPropertyFlags needs = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    LS_CHECK_OK(bind(made.buffer, made.memory, bytes,
                     VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, needs,
                     isRead ? needs | VK_MEMORY_PROPERTY_HOST_CACHED_BIT : needs));
    void* data = nullptr;
    LS_CHECK_OK(checked(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &data), "mapping memory"));
    made.data = static_cast<std::byte*>(data);
    return made;
}

void VulkanHandles::release(HostBuffer& buffer) const
{
    vkDestroyBuffer(device, buffer.buffer, nullptr);
    vkFreeMemory(device, buffer.memory, nullptr);
    buffer = {};
}

Status VulkanHandles::submit(std::span<const VkCommandBuffer> commands, VkFence fence)
{
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = static_cast<uint32_t>(commands.size());
    info.pCommandBuffers = commands.data();
    const std::lock_guard lock(mutex);
    return checked(vkQueueSubmit(queue, 1, &info, fence), "submitting work");
}

void VulkanHandles::settle()
{
    const std::lock_guard lock(mutex);
    vkQueueWaitIdle(queue);
}

Status VulkanHandles::await(VkFence fence)
{
    const int64_t until = nowNs() + kPollNs;
    VkResult result = vkGetFenceStatus(device, fence);
    while (result == VK_NOT_READY && nowNs() < until) result = vkGetFenceStatus(device, fence);
    if (result == VK_NOT_READY) result = vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX);
    return checked(result, "waiting for the device");
}

} // namespace loopscope
