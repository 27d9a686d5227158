// A Vulkan layer that makes a device fail, for tests: VK_INSTANCE_LAYERS=VK_LAYER_LOOPSCOPE_fault and a list of faults in LOOPSCOPE_FAULT.
//
//     lost@N       the N-th submission, and whatever is asked of the queue behind it, finds the device lost
//     full@N       the N-th allocation of memory, and each behind it, finds none left
//     room=B       there are B bytes of memory, staging included
//     pipeline@N   the N-th pipeline, and each behind it, is refused
//     opening      the device does not open
//     lacks        it has no 8-bit integers
//     largest=B    no buffer may have more than B bytes
//
// It stands between the program and whatever driver there is, as its user's driver would answer; the program knows nothing of it.
// Interface: "Vulkan Loader and Layer Interface" (version 2), Khronos.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vulkan/vk_layer.h>

namespace {

/// What stands behind `name` and one of @ and =; −1: no such fault was asked for.
int64_t fault(std::string_view name)
{
    const char* const text = std::getenv("LOOPSCOPE_FAULT");
    std::string_view rest = text ? text : "";
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        if (!one.starts_with(name)) continue;
        const std::string number(one.substr(std::min(one.size(), name.size() + 1)));
        return number.empty() ? 0 : std::strtoll(number.c_str(), nullptr, 10);
    }
    return -1;
}

/// True from the call on that the fault names, if it was asked for.
bool fails(std::string_view name, std::atomic<int64_t>& calls)
{
    const int64_t first = fault(name);
    return first >= 0 && ++calls >= first;
}

/// What the layer hands on to. Asked for while instance and device are made: later the loader answers with the layer's own.
struct Next {
    PFN_vkGetInstanceProcAddr ofInstance = nullptr;
    PFN_vkGetDeviceProcAddr ofDevice = nullptr;
    PFN_vkCreateDevice createDevice = nullptr;
    PFN_vkGetPhysicalDeviceProperties properties = nullptr;
    PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
    PFN_vkGetPhysicalDeviceFeatures2 features2 = nullptr;
    PFN_vkQueueSubmit submit = nullptr;
    PFN_vkQueueWaitIdle waitIdle = nullptr;
    PFN_vkAllocateMemory allocate = nullptr;
    PFN_vkFreeMemory release = nullptr;
    PFN_vkCreateComputePipelines createPipelines = nullptr;
};

Next next; ///< the program opens one device
std::atomic<int64_t> submissions = 0, allocations = 0, pipelines = 0;
std::atomic<bool> isLost = false;

struct Held {
    std::mutex mutex;
    int64_t bytes = 0;
    std::map<VkDeviceMemory, int64_t> sizes;
};
Held held; ///< memory that was allocated and not freed

template <class Function> void find(Function& function, VkInstance instance, const char* name)
{
    function = reinterpret_cast<Function>(next.ofInstance(instance, name));
}

template <class Function> void find(Function& function, VkDevice device, const char* name)
{
    function = reinterpret_cast<Function>(next.ofDevice(device, name));
}

/// The loader's link for the layer that is being made, in the chain behind `info`.
template <class Link, class Info> Link* linkOf(const Info* info, VkStructureType type)
{
    auto* link = static_cast<Link*>(const_cast<void*>(info->pNext)); // the loader's to be advanced
    while (link && (link->sType != type || link->function != VK_LAYER_LINK_INFO)) link = static_cast<Link*>(const_cast<void*>(link->pNext));
    return link;
}

VKAPI_ATTR VkResult VKAPI_CALL createInstance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* memory, VkInstance* made)
{
    auto* const link = linkOf<VkLayerInstanceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    next.ofInstance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateInstance create = nullptr;
    find(create, VkInstance(VK_NULL_HANDLE), "vkCreateInstance");
    if (const VkResult result = create(info, memory, made); result != VK_SUCCESS) return result;
    find(next.createDevice, *made, "vkCreateDevice");
    find(next.properties, *made, "vkGetPhysicalDeviceProperties");
    find(next.properties2, *made, "vkGetPhysicalDeviceProperties2");
    find(next.features2, *made, "vkGetPhysicalDeviceFeatures2");
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL createDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info, const VkAllocationCallbacks* memory,
                                            VkDevice* made)
{
    auto* const link = linkOf<VkLayerDeviceCreateInfo>(info, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    if (!link || fault("opening") >= 0) return VK_ERROR_INITIALIZATION_FAILED;
    next.ofDevice = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    if (const VkResult result = next.createDevice(physical, info, memory, made); result != VK_SUCCESS) return result;
    find(next.submit, *made, "vkQueueSubmit");
    find(next.waitIdle, *made, "vkQueueWaitIdle");
    find(next.allocate, *made, "vkAllocateMemory");
    find(next.release, *made, "vkFreeMemory");
    find(next.createPipelines, *made, "vkCreateComputePipelines");
    isLost = false; // another device is not
    return VK_SUCCESS;
}

void limit(VkPhysicalDeviceLimits& limits)
{
    if (const int64_t largest = fault("largest"); largest >= 0) limits.maxStorageBufferRange = static_cast<uint32_t>(largest);
}

VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* found)
{
    next.properties(device, found);
    limit(found->limits);
}

VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* found)
{
    next.properties2(device, found);
    limit(found->properties.limits);
}

VKAPI_ATTR void VKAPI_CALL features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* found)
{
    next.features2(device, found);
    if (fault("lacks") < 0) return;
    for (auto* one = static_cast<VkBaseOutStructure*>(found->pNext); one; one = one->pNext)
        if (one->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
            reinterpret_cast<VkPhysicalDeviceVulkan12Features*>(one)->shaderInt8 = VK_FALSE;
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence)
{
    if (isLost || fails("lost", submissions)) {
        isLost = true;
        return VK_ERROR_DEVICE_LOST;
    }
    return next.submit(queue, count, infos, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL waitIdle(VkQueue queue) { return isLost ? VK_ERROR_DEVICE_LOST : next.waitIdle(queue); }

VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* memory,
                                        VkDeviceMemory* made)
{
    if (fails("full", allocations)) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const std::lock_guard lock(held.mutex);
    const int64_t room = fault("room");
    const auto wanted = static_cast<int64_t>(info->allocationSize);
    if (room >= 0 && held.bytes + wanted > room) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    const VkResult result = next.allocate(device, info, memory, made);
    if (result == VK_SUCCESS) held.bytes += held.sizes[*made] = wanted;
    return result;
}

VKAPI_ATTR void VKAPI_CALL release(VkDevice device, VkDeviceMemory one, const VkAllocationCallbacks* memory)
{
    {
        const std::lock_guard lock(held.mutex);
        if (const auto known = held.sizes.find(one); known != held.sizes.end()) {
            held.bytes -= known->second;
            held.sizes.erase(known);
        }
    }
    next.release(device, one, memory);
}

VKAPI_ATTR VkResult VKAPI_CALL createPipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                               const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* memory,
                                               VkPipeline* made)
{
    if (fails("pipeline", pipelines)) return VK_ERROR_OUT_OF_HOST_MEMORY;
    return next.createPipelines(device, cache, count, infos, memory, made);
}

struct Named {
    std::string_view name;
    PFN_vkVoidFunction function;
};

template <class Function> PFN_vkVoidFunction plain(Function* function) { return reinterpret_cast<PFN_vkVoidFunction>(function); }

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL deviceFunction(VkDevice device, const char* name)
{
    static const Named kOurs[] = {{"vkQueueSubmit", plain(submit)},
                                  {"vkQueueWaitIdle", plain(waitIdle)},
                                  {"vkAllocateMemory", plain(allocate)},
                                  {"vkFreeMemory", plain(release)},
                                  {"vkCreateComputePipelines", plain(createPipelines)},
                                  {"vkGetDeviceProcAddr", plain(deviceFunction)}};
    for (const Named& one : kOurs)
        if (one.name == name) return one.function;
    return next.ofDevice ? next.ofDevice(device, name) : nullptr;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instanceFunction(VkInstance instance, const char* name)
{
    static const Named kOurs[] = {
        {"vkCreateInstance", plain(createInstance)},          {"vkCreateDevice", plain(createDevice)},
        {"vkGetPhysicalDeviceProperties", plain(properties)}, {"vkGetPhysicalDeviceProperties2", plain(properties2)},
        {"vkGetPhysicalDeviceFeatures2", plain(features2)},   {"vkGetInstanceProcAddr", plain(instanceFunction)},
        {"vkGetDeviceProcAddr", plain(deviceFunction)}};
    for (const Named& one : kOurs)
        if (one.name == name) return one.function;
    return next.ofInstance ? next.ofInstance(instance, name) : nullptr;
}

} // namespace

extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* offered)
{
    offered->loaderLayerInterfaceVersion = 2;
    offered->pfnGetInstanceProcAddr = instanceFunction;
    offered->pfnGetDeviceProcAddr = deviceFunction;
    offered->pfnGetPhysicalDeviceProcAddr = nullptr;
    return VK_SUCCESS;
}
