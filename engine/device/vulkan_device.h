// The GPU of the program: which ones there are, the one that was chosen, its memory and its compiled shaders. No Vulkan header is needed to
// use it, and no Vulkan library to link: the loader is looked for when somebody asks, and where there is none an error says so.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// What a device is and how large its things may be.
struct DeviceInfo {
    std::string name;   ///< "NVIDIA H100 80GB HBM3"
    std::string type;   ///< "discrete", "integrated", "virtual", "cpu", "other"
    std::string driver; ///< "NVIDIA 580.159.04"
    std::string api;    ///< "1.3.230"
    uint64_t memoryBytes = 0;
    uint64_t largestBuffer = 0;     ///< bytes that one tensor may have
    uint32_t largestWorkgroup = 0;  ///< invocations
    uint32_t sharedBytes = 0;       ///< of a workgroup
    uint32_t subgroup = 0;          ///< invocations
    bool hasDoubles = false;        ///< 64-bit floats
    bool hasPackedProducts = false; ///< four 8-bit integers of a word are multiplied at once
    bool hasSharedBlocks = false;   ///< a workgroup's memory can be seen as words of any width
    std::vector<std::string> lacks; ///< what kernels need and it does not have: "8-bit storage"
    bool isUsable() const { return lacks.empty(); }
    bool isSoftware() const { return type == "cpu"; }
};

/// All devices that drivers offer, in the loader's order. Errors: device, "no device (…)".
Result<std::vector<DeviceInfo>> vulkanDevices();

struct DeviceChoice {
    std::string wanted;      ///< a part of the name, an index or a type; empty: the first real GPU, else what there is
    std::string cacheFolder; ///< where compiled pipelines are kept; empty: nowhere
    bool validates = false;  ///< with Khronos' validation layer, core and synchronisation
    bool isOptional = false; ///< the CPU does what the device has no memory or no pipeline for
};

/// A piece of the device's memory.
struct DeviceBuffer {
    uint32_t block = 0;
    uint64_t offset = 0, bytes = 0; ///< bytes in use; the piece ends at a multiple of 16 or behind
};

/// A shader as it was compiled at build time: buffers 0 … count − 1, at most 128 bytes of push constants, specialisation constants 0, 1, ….
struct ShaderCode {
    std::string_view name;
    std::span<const uint32_t> words;
    uint32_t buffers = 0;
};

class DevicePipeline;
struct VulkanHandles;

/// Whether an error of these functions says that the device's memory is full.
bool isOutOfDeviceMemory(const ErrorDetail& error);

/// Thread-safe. One a program: kernels are prepared for it.
class VulkanDevice {
public:
    ~VulkanDevice();
    VulkanDevice(const VulkanDevice&) = delete;
    VulkanDevice& operator=(const VulkanDevice&) = delete;

    /// Before the first opened(): which one it will be.
    static void choose(DeviceChoice choice);
    /// Opens it when it is first asked for. Errors: device, "no device (no Vulkan loader found)", "no device 'x'", "device 'x' lacks …".
    static Result<std::shared_ptr<VulkanDevice>> opened();

    const DeviceInfo& info() const { return m_info; }
    /// DeviceChoice::isOptional.
    bool isOptional() const { return m_isOptional; }
    bool isLost() const;
    /// One for each set of specialisation constants; compiled by whoever launches it first.
    const DevicePipeline* pipelineLater(const ShaderCode& shader, std::span<const uint32_t> constants);
    /// Compiles it, unless it is. Errors: device.
    Status compile(const DevicePipeline& pipeline);
    /// Both at once.
    Result<const DevicePipeline*> pipeline(const ShaderCode& shader, std::span<const uint32_t> constants);
    /// The same of a shader that was put together while the program runs. Equal words are one shader.
    Result<const DevicePipeline*> pipeline(std::string_view name, std::vector<uint32_t> words, uint32_t buffers);
    /// Errors: execution, out of device memory; device, lost.
    Result<DeviceBuffer> allocate(uint64_t bytes);
    void release(const DeviceBuffer& buffer);
    /// What the validation layer had to say since the start.
    std::vector<std::string> validationMessages() const;

    /// Writes compiled pipelines to the cache folder, if there are new ones.
    void keepPipelines() const;

    VulkanHandles& handles() { return *m_handles; }

private:
    VulkanDevice();
    static Result<std::shared_ptr<VulkanDevice>> open(const DeviceChoice& choice);
    Status openDevice(const DeviceChoice& choice);
    void loadCache(const std::string& folder);

    DeviceInfo m_info;
    bool m_isOptional = false;
    std::unique_ptr<VulkanHandles> m_handles;
};

} // namespace loopscope
