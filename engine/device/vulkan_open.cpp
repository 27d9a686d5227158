// Finding drivers and devices, choosing one, and the cache of pipelines on disk.
#include "engine/base/bytes.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/device/vulkan_device.h"
#include "engine/device/vulkan_handles.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

namespace loopscope {

namespace {

Error noDevice(const std::string& why) { return Error(ErrorCode::device, "no device (" + why + ")"); }

VKAPI_ATTR VkBool32 VKAPI_CALL keepMessage(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                           const VkDebugUtilsMessengerCallbackDataEXT* data, void* handles)
{
    constexpr size_t kMost = 100;                                    // a fault in a loop says the same again and again
    auto& messages = static_cast<VulkanHandles*>(handles)->messages; // called while the thread calls Vulkan: its lock, if any, is held
    if (messages.size() < kMost) messages.emplace_back(data->pMessage);
    return VK_FALSE;
}

VkDebugUtilsMessengerCreateInfoEXT messengerInfo(VulkanHandles& handles)
{
    VkDebugUtilsMessengerCreateInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    info.pfnUserCallback = keepMessage;
    info.pUserData = &handles;
    return info;
}

Status openInstance(VulkanHandles& h, bool validates)
{
    if (volkInitialize() != VK_SUCCESS) return noDevice("no Vulkan loader found");
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "loopscope";
    application.apiVersion = VK_API_VERSION_1_2;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    const char* const layer = "VK_LAYER_KHRONOS_validation";
    const char* const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    const VkValidationFeatureEnableEXT synchronisation = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkValidationFeaturesEXT features{};
    const VkDebugUtilsMessengerCreateInfoEXT messenger = messengerInfo(h);
    if (validates) {
        features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
        features.enabledValidationFeatureCount = 1;
        features.pEnabledValidationFeatures = &synchronisation;
        features.pNext = &messenger;
        info.pNext = &features;
        info.enabledLayerCount = 1;
        info.ppEnabledLayerNames = &layer;
        info.enabledExtensionCount = 2;
        info.ppEnabledExtensionNames = extensions;
    }
    const VkResult result = vkCreateInstance(&info, nullptr, &h.instance);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) return noDevice("driver not found");
    if (result == VK_ERROR_LAYER_NOT_PRESENT) return noDevice("the validation layer is not installed");
    if (result != VK_SUCCESS) return noDevice("Vulkan error " + std::to_string(result));
    volkLoadInstance(h.instance);
    if (validates && vkCreateDebugUtilsMessengerEXT)
        LS_CHECK_OK(h.checked(vkCreateDebugUtilsMessengerEXT(h.instance, &messenger, nullptr, &h.messenger), "validation"));
    return {};
}

std::string versionText(uint32_t version)
{
    return std::to_string(VK_API_VERSION_MAJOR(version)) + "." + std::to_string(VK_API_VERSION_MINOR(version)) + "." +
           std::to_string(VK_API_VERSION_PATCH(version));
}

std::string_view typeName(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
    default: return "other";
    }
}

/// What the kernels are written for, as the device has it or as it is asked for.
struct Features {
    VkPhysicalDeviceFeatures2 core = {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, {}};
    VkPhysicalDeviceVulkan11Features one = {};
    VkPhysicalDeviceVulkan12Features two = {};
    VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR shared = {}; ///< in the chain only where the device has them
    VkPhysicalDeviceShaderIntegerDotProductFeaturesKHR packed = {};

    Features(bool hasSharedBlocks, bool hasPackedProducts)
    {
        one.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
        two.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
        core.pNext = &one;
        one.pNext = &two;
        shared.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR;
        packed.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES_KHR;
        if (hasSharedBlocks) shared.pNext = std::exchange(core.pNext, &shared);
        if (hasPackedProducts) packed.pNext = std::exchange(core.pNext, &packed);
    }
    Features(const Features&) = delete;
    Features& operator=(const Features&) = delete;

    struct Needed {
        VkBool32& flag;
        std::string_view name;
    };
    std::vector<Needed> needed()
    {
        return {{core.features.shaderInt64, "64-bit integers"},
                {core.features.shaderInt16, "16-bit integers"},
                {one.storageBuffer16BitAccess, "16-bit storage"},
                {two.storageBuffer8BitAccess, "8-bit storage"},
                {two.shaderInt8, "8-bit integers"},
                {two.shaderFloat16, "16-bit floats"}};
    }
};

bool hasExtension(VkPhysicalDevice device, std::string_view name)
{
    uint32_t count = 0;
    vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> all(count);
    vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
    return std::ranges::any_of(all, [&](const VkExtensionProperties& one) { return name == std::string_view(one.extensionName); });
}

DeviceInfo describe(VkPhysicalDevice device)
{
    DeviceInfo info;
    VkPhysicalDeviceSubgroupProperties subgroup{};
    subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    VkPhysicalDeviceFloatControlsProperties floats{};
    floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    vkGetPhysicalDeviceProperties(device, &properties.properties);
    const bool isOld = properties.properties.apiVersion < VK_API_VERSION_1_2;
    if (!isOld) {
        properties.pNext = &subgroup;
        subgroup.pNext = &driver;
        driver.pNext = &floats;
        vkGetPhysicalDeviceProperties2(device, &properties);
    }
    const VkPhysicalDeviceLimits& limits = properties.properties.limits;
    info.name = properties.properties.deviceName;
    info.type = typeName(properties.properties.deviceType);
    info.driver = std::string(driver.driverName) + (driver.driverInfo[0] ? " " + std::string(driver.driverInfo) : "");
    info.api = versionText(properties.properties.apiVersion);
    VkPhysicalDeviceMemoryProperties memory{};
    vkGetPhysicalDeviceMemoryProperties(device, &memory);
    for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
        if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
            info.memoryBytes = std::max<uint64_t>(info.memoryBytes, memory.memoryHeaps[i].size);
    info.largestBuffer = limits.maxStorageBufferRange;
    info.largestWorkgroup = limits.maxComputeWorkGroupInvocations;
    info.sharedBytes = limits.maxComputeSharedMemorySize;
    info.subgroup = subgroup.subgroupSize;
    if (isOld) {
        info.lacks.emplace_back("Vulkan 1.2");
        return info;
    }
    Features features(hasExtension(device, VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME),
                      hasExtension(device, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME));
    vkGetPhysicalDeviceFeatures2(device, &features.core);
    for (const auto& [flag, name] : features.needed())
        if (!flag) info.lacks.emplace_back(name);
    info.hasDoubles = features.core.features.shaderFloat64 == VK_TRUE;
    info.hasPackedProducts = features.packed.shaderIntegerDotProduct == VK_TRUE;
    info.hasSharedBlocks = features.shared.workgroupMemoryExplicitLayout && features.shared.workgroupMemoryExplicitLayout8BitAccess &&
                           features.shared.workgroupMemoryExplicitLayout16BitAccess;
    if (!floats.shaderSignedZeroInfNanPreserveFloat32) info.lacks.emplace_back("infinities and not-numbers");
    if (!hasExtension(device, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) info.lacks.emplace_back("push descriptors");
    if (limits.maxComputeWorkGroupInvocations < 256) info.lacks.emplace_back("workgroups of 256");
    return info;
}

std::vector<VkPhysicalDevice> physicalDevices(const VulkanHandles& h)
{
    uint32_t count = 0;
    vkEnumeratePhysicalDevices(h.instance, &count, nullptr);
    std::vector<VkPhysicalDevice> devices(count);
    vkEnumeratePhysicalDevices(h.instance, &count, devices.data());
    devices.resize(count);
    return devices;
}

/// −1: no such device.
int chosenIndex(const std::vector<DeviceInfo>& devices, const std::string& wanted)
{
    const auto lower = [](std::string text) {
        for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        return text;
    };
    int index = -1;
    if (wanted.empty()) {
        const auto rank = [&](const DeviceInfo& d) { return !d.isUsable() ? 0 : d.isSoftware() ? 1 : d.type == "discrete" ? 3 : 2; };
        for (size_t i = 0; i < devices.size(); ++i)
            if (index < 0 || rank(devices[i]) > rank(devices[static_cast<size_t>(index)])) index = static_cast<int>(i);
        return index;
    }
    if (const auto [end, error] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), index);
        error == std::errc() && end == wanted.data() + wanted.size())
        return index >= 0 && static_cast<size_t>(index) < devices.size() ? index : -1;
    for (size_t i = 0; i < devices.size(); ++i)
        if (devices[i].type == lower(wanted) || lower(devices[i].name).find(lower(wanted)) != std::string::npos) return static_cast<int>(i);
    return -1;
}

Status makeLayouts(VulkanHandles& h)
{
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (uint32_t n = 1; n <= kMostBuffers; ++n) {
        bindings.push_back({n - 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
        VkDescriptorSetLayoutCreateInfo set{};
        set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        set.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
        set.bindingCount = n;
        set.pBindings = bindings.data();
        LS_CHECK_OK(h.checked(vkCreateDescriptorSetLayout(h.device, &set, nullptr, &h.setLayouts[n]), "a layout"));
        const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes};
        VkPipelineLayoutCreateInfo layout{};
        layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
        layout.setLayoutCount = 1;
        layout.pSetLayouts = &h.setLayouts[n];
        layout.pushConstantRangeCount = 1;
        layout.pPushConstantRanges = &push;
        LS_CHECK_OK(h.checked(vkCreatePipelineLayout(h.device, &layout, nullptr, &h.layouts[n]), "a layout"));
    }
    return {};
}

} // namespace

Result<std::vector<DeviceInfo>> vulkanDevices()
{
    VulkanHandles handles;
    LS_CHECK_OK(openInstance(handles, false));
    std::vector<DeviceInfo> devices;
    for (const VkPhysicalDevice device : physicalDevices(handles)) devices.push_back(describe(device));
    vkDestroyInstance(handles.instance, nullptr);
    if (devices.empty()) return noDevice("driver not found");
    return devices;
}

Status VulkanDevice::openDevice(const DeviceChoice& choice)
{
    VulkanHandles& h = *m_handles;
    LS_CHECK_OK(openInstance(h, choice.validates));
    const std::vector<VkPhysicalDevice> physical = physicalDevices(h);
    std::vector<DeviceInfo> devices;
    for (const VkPhysicalDevice device : physical) devices.push_back(describe(device));
    if (devices.empty()) return noDevice("driver not found");
    const int index = chosenIndex(devices, choice.wanted);
    if (index < 0) {
        std::string names;
        for (size_t i = 0; i < devices.size(); ++i) names += (i ? ", " : "") + std::to_string(i) + " " + devices[i].name;
        return Error(ErrorCode::device, "no device '" + choice.wanted + "'").expected("an index, a type or a part of a name: " + names);
    }
    m_info = devices[static_cast<size_t>(index)];
    h.physical = physical[static_cast<size_t>(index)];
    if (!m_info.isUsable()) {
        std::string all;
        for (const std::string& name : m_info.lacks) all += (all.empty() ? "" : ", ") + name;
        return Error(ErrorCode::device, "device '" + m_info.name + "' lacks " + all);
    }
    uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(h.physical, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(h.physical, &count, families.data());
    const auto computes = std::ranges::find_if(families, [](const auto& f) { return (f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; });
    if (computes == families.end()) return Error(ErrorCode::device, "device '" + m_info.name + "' computes nothing");
    h.queueFamily = static_cast<uint32_t>(computes - families.begin());
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(h.physical, &properties);
    h.nsPerTick = computes->timestampValidBits > 0 ? properties.limits.timestampPeriod : 0;
    vkGetPhysicalDeviceMemoryProperties(h.physical, &h.memory);

    Features features(m_info.hasSharedBlocks, m_info.hasPackedProducts);
    for (const auto& [flag, name] : features.needed()) flag = VK_TRUE;
    features.core.features.shaderFloat64 = m_info.hasDoubles ? VK_TRUE : VK_FALSE;
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = h.queueFamily;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    std::vector<const char*> extensions = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME};
    if (m_info.hasSharedBlocks) {
        extensions.push_back(VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME);
        features.shared.workgroupMemoryExplicitLayout = VK_TRUE;
        features.shared.workgroupMemoryExplicitLayout8BitAccess = VK_TRUE;
        features.shared.workgroupMemoryExplicitLayout16BitAccess = VK_TRUE;
    }
    if (m_info.hasPackedProducts) {
        extensions.push_back(VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
        features.packed.shaderIntegerDotProduct = VK_TRUE;
    }
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &features.core;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    LS_CHECK_OK(h.checked(vkCreateDevice(h.physical, &info, nullptr, &h.device), "device '" + m_info.name + "'"));
    volkLoadDevice(h.device);
    vkGetDeviceQueue(h.device, h.queueFamily, 0, &h.queue);
    LS_CHECK_OK(makeLayouts(h));
    loadCache(choice.cacheFolder);
    return {};
}

// ---- the pipeline cache: 32 bytes of hash, then what the driver gave. Drivers check device and version themselves, and so does the name.
// ----

void VulkanDevice::loadCache(const std::string& folder)
{
    VulkanHandles& h = *m_handles;
    std::string kept;
    if (!folder.empty()) {
        VkPhysicalDeviceProperties properties{};
        vkGetPhysicalDeviceProperties(h.physical, &properties);
        const std::string driver = m_info.name + m_info.driver + std::to_string(properties.driverVersion) +
                                   std::string(reinterpret_cast<const char*>(properties.pipelineCacheUUID), VK_UUID_SIZE);
        h.cacheFile = folder + "/pipelines-" + toHex(hashBytes(std::as_bytes(std::span(driver)))) + ".bin";
        if (std::error_code error; std::filesystem::exists(h.cacheFile, error)) {
            if (const Result<Bytes> file = mapFile(h.cacheFile); file.ok())
                kept.assign(reinterpret_cast<const char*>(file->data()), file->size());
        }
    }
    constexpr size_t kHashDigits = 32;
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    if (kept.size() > kHashDigits &&
        toHex(hashBytes(std::as_bytes(std::span(kept).subspan(kHashDigits)))) == std::string_view(kept).substr(0, kHashDigits)) {
        info.initialDataSize = kept.size() - kHashDigits;
        info.pInitialData = kept.data() + kHashDigits;
    } // else there is none, or it was damaged: it is made anew
    if (vkCreatePipelineCache(h.device, &info, nullptr, &h.cache) != VK_SUCCESS) h.cache = VK_NULL_HANDLE;
}

void VulkanDevice::keepPipelines() const
{
    const VulkanHandles& h = *m_handles;
    if (h.cacheFile.empty() || !h.cache || h.pipelines.empty() || h.isLost) return;
    size_t size = 0;
    if (vkGetPipelineCacheData(h.device, h.cache, &size, nullptr) != VK_SUCCESS || size == 0) return;
    std::string data(size, '\0');
    if (vkGetPipelineCacheData(h.device, h.cache, &size, data.data()) != VK_SUCCESS) return;
    data.resize(size);
    const std::string hash = toHex(hashBytes(std::as_bytes(std::span(data))));
    std::error_code error;
    if (std::filesystem::file_size(h.cacheFile, error) == size + hash.size() && !error) return; // nothing new
    std::filesystem::create_directories(std::filesystem::path(h.cacheFile).parent_path(), error);
    (void)writeFile(h.cacheFile, hash + data, true); // the next run compiles again
}

} // namespace loopscope
