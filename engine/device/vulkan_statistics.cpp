// Statistics of values that the device alone has: it reduces blocks of them, and the host joins what comes back.
#include "engine/device/vulkan_handles.h"
#include "engine/device/vulkan_memory.h"
#include "statistics_spirv.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr ShaderCode kStatistics = {"statistics", statisticsWords, 2};
constexpr int64_t kLeastElements = 4096; ///< fewer come back as quickly as what is told of them
constexpr uint32_t kInvocations = 64, kMostGroups = 32768;

} // namespace

bool VulkanMemory::describes(const Tensor& tensor) const
{
    return tensor.dtype == DType::f32 && !tensor.quantization && m_device->info().hasDoubles &&
           tensor.bytes >= static_cast<uint64_t>(kLeastElements) * sizeof(float) && placementOf(tensor) == Placement::device &&
           m_buffers.contains(tensor.data) && m_buffers.at(tensor.data).bytes >= tensor.bytes;
}

std::optional<TensorStatistics> VulkanMemory::describe(const Tensor& tensor)
{
    if (!describes(tensor) || !check().ok()) return std::nullopt;
    const int64_t elements = tensor.elementCount();
    std::vector<StatisticsBlock> blocks(static_cast<size_t>((elements + StatisticsBlock::kElements - 1) / StatisticsBlock::kElements));
    const auto reduce = [&]() -> Status {
        LS_TRY(const DevicePipeline* const pipeline, m_device->pipeline(kStatistics, {}));
        LS_TRY(const DeviceBuffer room, scratch(blocks.size() * sizeof(StatisticsBlock)));
        const DeviceBuffer buffers[] = {m_buffers.at(tensor.data), room};
        const auto count = static_cast<uint32_t>(elements);
        const auto groups = static_cast<uint32_t>((blocks.size() + kInvocations - 1) / kInvocations), along = std::min(groups, kMostGroups);
        Launch launch{pipeline, buffers, std::span(&count, 1), {along, (groups + along - 1) / along, 1}};
        launch.writes = 0b10;
        LS_CHECK_OK(this->launch(launch));
        return read(room, std::as_writable_bytes(std::span(blocks)));
    };
    const Status status = reduce(); // whoever wants the bytes now is told why they do not come
    endOperator();
    if (!status.ok()) return std::nullopt;
    m_traffic.readBack += blocks.size() * sizeof(StatisticsBlock);
    return joinStatistics(elements, blocks);
}

} // namespace loopscope
