// The values of one executor on the GPU: where each tensor's bytes are there, what is recorded for the device and not yet done, and how
// they come back.
#pragma once

#include "engine/base/bytes.h"
#include "engine/device/vulkan_device.h"
#include "engine/tensor/device_memory.h"
#include "engine/tensor/tensor.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace loopscope {

/// One dispatch of a shader.
struct Launch {
    const DevicePipeline* pipeline = nullptr;
    std::span<const DeviceBuffer> buffers;
    std::span<const uint32_t> push;
    std::array<uint32_t, 3> groups = {1, 1, 1};
    const DeviceBuffer* groupsFrom = nullptr; ///< not null: the device reads them there when it comes to it
    uint64_t groupsAt = 0;                    ///< in that buffer
    bool groupsAreNew = true;                 ///< they were written since the last launch that read groups
    uint32_t writes = ~0U;                    ///< which of the buffers, a bit each
};

/// What was moved and run since the memory was made.
struct DeviceTraffic {
    uint64_t uploaded = 0, readBack = 0; ///< bytes
    uint64_t launches = 0, submissions = 0;
    uint64_t deviceNs = 0; ///< of launches, while they are timed
    uint64_t spills = 0;   ///< times that the device was full and gave everything back
    uint64_t onHost = 0;   ///< operators that ran on the CPU since it was full all the same
};

struct HostBuffer;

class VulkanMemory final : public DeviceMemory {
public:
    explicit VulkanMemory(std::shared_ptr<VulkanDevice> device);
    ~VulkanMemory() override;
    VulkanMemory(const VulkanMemory&) = delete;
    VulkanMemory& operator=(const VulkanMemory&) = delete;

    VulkanDevice& device() { return *m_device; }
    const DeviceTraffic& traffic() const { return m_traffic; }
    void countOnHost() { ++m_traffic.onHost; }
    /// Timestamps around every launch from now on. Errors: device, it has none.
    Status timeLaunches(bool areTimed);
    bool areLaunchesTimed() const;

    /// The tensor's bytes on the device, copied there if only the host has them. Valid until endOperator().
    Result<DeviceBuffer> operand(const Tensor& tensor);
    /// Room for a result; its content is anything. It takes the place of what was there, operands included: place() once all there is to
    /// allocate is allocated, and computed() once it is launched. Else it goes with endOperator().
    Result<DeviceBuffer> room(const Tensor& tensor) { return scratch(tensor.bytes); }
    void place(const Tensor& tensor, const DeviceBuffer& room);
    /// Both at once.
    Result<DeviceBuffer> result(const Tensor& tensor);
    /// Bytes that never change and lie where they lie as long as this memory lives: copied once.
    Result<DeviceBuffer> constant(const Bytes& bytes);
    /// Room until endOperator().
    Result<DeviceBuffer> scratch(uint64_t bytes);
    /// Bytes of one buffer go to another, in the order of launches.
    Status copy(const DeviceBuffer& from, const DeviceBuffer& to, uint64_t toOffset, uint64_t bytes, uint64_t fromOffset = 0);
    /// Waits for everything that was recorded, and copies the beginning of a buffer to the host.
    Status read(const DeviceBuffer& from, std::span<std::byte> to);
    /// Recorded in order: each launch sees what those before it wrote.
    Status launch(const Launch& launch);
    /// Launches from here to endRepeated() are recorded once, to be run by repeat(); their buffers have to be there until then. Errors:
    /// device; unsupported while launches are timed.
    Status beginRepeated();
    Status endRepeated();
    /// Has them run so many times, one after the other, before what is recorded next.
    Status repeat(uint32_t times);
    void endOperator();
    bool describes(const Tensor& tensor) const override;
    std::optional<TensorStatistics> describe(const Tensor& tensor) override;
    /// What the device alone has comes to the host, and all of the device's room is given back, whatever was asked of this operator so far:
    /// what is asked for next is copied there again. For a device that is full.
    Status spill();
    /// Everything that was recorded is done.
    Status finish();
    /// The same with nothing recorded, to measure what a submission costs.
    Status submitNothing();

protected:
    Status readBack(std::byte* place, size_t bytes) override;

private:
    struct Recorder;
    Status begin();
    Status handOver();
    Status fetch(const DeviceBuffer& from, uint64_t bytes);
    Status grow(HostBuffer& buffer, uint64_t wanted, bool isRead);
    Status upload(std::span<const std::byte> bytes, const DeviceBuffer& to);

    std::shared_ptr<VulkanDevice> m_device;
    std::unique_ptr<Recorder> m_recorder;
    std::map<const std::byte*, DeviceBuffer> m_buffers; ///< by place on the host; no two overlap
    std::map<const std::byte*, std::pair<Bytes, DeviceBuffer>> m_constants;
    std::vector<DeviceBuffer> m_retired; ///< given back when the operator ends
    DeviceTraffic m_traffic;
    bool m_isCopying = false; ///< readBack() is called to note that the host has the bytes already
};

} // namespace loopscope
