#include "engine/device/vulkan_memory.h"

#include "engine/device/vulkan_handles.h"
#include "fetch_spirv.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {
constexpr uint64_t kStagingBytes = uint64_t{1} << 20; ///< to begin with
constexpr uint64_t kMostStaging = uint64_t{32} << 20; ///< unless one tensor is larger
/// Work is handed to the device when so much is recorded, so that it begins while the host still records.
constexpr uint64_t kMostRecorded = 4096;
constexpr uint32_t kMostTimed = 256; ///< launches of a submission whose time is taken
/// A GPU gets what is recorded in pieces, each so many times as large as the one before, and works while the host goes on recording.
constexpr uint64_t kFirstPiece = 4, kPieceGrowth = 2;
constexpr size_t kMostAccesses = 32;                  ///< that are compared one by one before launches wait for each other anyway
constexpr uint64_t kMostFetched = uint64_t{64} << 10; ///< that a GPU's shader copies for the host
constexpr ShaderCode kFetch = {"fetch", fetchWords, 2};
} // namespace

/// The command buffer of an executor and the memory that the host shares with it.
struct VulkanMemory::Recorder {
    VulkanHandles& h;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkCommandBuffer repeated = VK_NULL_HANDLE; ///< the other one while isRepeating
    VkFence fence = VK_NULL_HANDLE;
    HostBuffer up, down;
    static constexpr size_t kPieces = 6;
    std::array<VkCommandBuffer, kPieces> pieces = {}; ///< of a submission; the device has those before `commands` already
    size_t piece = 0;                                 ///< the number of `commands` among them
    uint64_t nextPiece = kFirstPiece;                 ///< launches after which the next begins
    uint64_t used = 0;                                ///< of `up`
    uint64_t recorded = 0;                            ///< launches
    uint32_t repeats = 0;                             ///< of `repeated` before `commands` when they are handed over
    uint64_t repeatedLaunches = 0;                    ///< of one repetition
    VkQueryPool queries = VK_NULL_HANDLE;             ///< two timestamps a launch; null: launches are not timed
    bool isOpen = false, isRepeating = false;

    explicit Recorder(VulkanHandles& handles) : h(handles) {}
    ~Recorder()
    {
        if (!pool) return;
        h.release(up);
        h.release(down);
        vkDestroyQueryPool(h.device, queries, nullptr);
        vkDestroyFence(h.device, fence, nullptr);
        vkDestroyCommandPool(h.device, pool, nullptr);
    }
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    Status make()
    {
        VkCommandPoolCreateInfo poolInfo{};
        poolInfo.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
        poolInfo.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
        poolInfo.queueFamilyIndex = h.queueFamily;
        LS_CHECK_OK(h.checked(vkCreateCommandPool(h.device, &poolInfo, nullptr, &pool), "a command pool"));
        VkCommandBufferAllocateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        info.commandPool = pool;
        info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        info.commandBufferCount = kPieces + 1;
        std::array<VkCommandBuffer, kPieces + 1> all = {};
        LS_CHECK_OK(h.checked(vkAllocateCommandBuffers(h.device, &info, all.data()), "a command buffer"));
        repeated = all[kPieces];
        std::copy_n(all.begin(), kPieces, pieces.begin());
        commands = pieces[0];
        VkFenceCreateInfo fenceInfo{};
        fenceInfo.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
        LS_CHECK_OK(h.checked(vkCreateFence(h.device, &fenceInfo, nullptr, &fence), "a fence"));
        LS_TRY(up, h.hostBuffer(kStagingBytes, false));
        LS_TRY(down, h.hostBuffer(kStagingBytes, true));
        return {};
    }

    Status makeQueries()
    {
        VkQueryPoolCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
        info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        info.queryCount = 2 * kMostTimed;
        return h.checked(vkCreateQueryPool(h.device, &info, nullptr, &queries), "timestamps");
    }
    /// Before a launch, once everything before it is done, or after it.
    void stamp(uint32_t after) const
    {
        if (queries)
            vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, 2 * static_cast<uint32_t>(recorded) + after);
    }
    /// What the `count` launches that are done took.
    Result<uint64_t> timed(uint64_t count) const
    {
        if (!queries || count == 0) return uint64_t{0};
        std::vector<uint64_t> ticks(2 * count);
        LS_CHECK_OK(h.checked(vkGetQueryPoolResults(h.device, queries, 0, static_cast<uint32_t>(ticks.size()), ticks.size() * 8,
                                                    ticks.data(), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
                              "timestamps"));
        uint64_t sum = 0;
        for (size_t i = 0; i < ticks.size(); i += 2) sum += ticks[i + 1] > ticks[i] ? ticks[i + 1] - ticks[i] : 0;
        return static_cast<uint64_t>(static_cast<double>(sum) * h.nsPerTick);
    }

    void bind(const DevicePipeline& pipeline, std::span<const VkDescriptorBufferInfo> buffers, std::span<const uint32_t> push) const
    {
        VkPipelineLayout const layout = h.layouts[pipeline.shader.buffers];
        std::array<VkWriteDescriptorSet, kMostBuffers> writes = {};
        for (uint32_t i = 0; i < buffers.size(); ++i) {
            writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
            writes[i].dstBinding = i;
            writes[i].descriptorCount = 1;
            writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            writes[i].pBufferInfo = &buffers[i];
        }
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
        vkCmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, pipeline.shader.buffers, writes.data());
        if (!push.empty())
            vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, static_cast<uint32_t>(push.size_bytes()), push.data());
    }

    /// What was recorded before is done, and seen, when the next command of that stage begins. Each waits for the one before it, which
    /// waited for those before; neighbouring dispatches do not wait for copies, which would cost them more.
    void follow(VkPipelineStageFlags stage, bool isIndirect = false)
    {
        constexpr VkAccessFlags kShader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
        constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
        constexpr VkAccessFlags kTransfer = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
        if (last != 0) {
            VkMemoryBarrier barrier{};
            barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
            barrier.srcAccessMask = kWrites;
            if (last == VK_PIPELINE_STAGE_TRANSFER_BIT) barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
            if (last == VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT) barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
            barrier.dstAccessMask = stage == VK_PIPELINE_STAGE_TRANSFER_BIT ? kTransfer : kShader;
            if (stage == VK_PIPELINE_STAGE_HOST_BIT) barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
            if (isIndirect) barrier.dstAccessMask |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
            const VkPipelineStageFlags to = isIndirect ? stage | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT : stage;
            vkCmdPipelineBarrier(commands, last, to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
        }
        if (stage != VK_PIPELINE_STAGE_HOST_BIT) last = stage;
        accesses.clear();
    }

    /// The same for a launch, unless it has nothing to do with those that were recorded since the last barrier.
    void follow(const Launch& launch)
    {
        bool waits = last != VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT || accesses.size() > kMostAccesses;
        if (launch.groupsFrom) waits = waits || launch.groupsAreNew || isTouched(*launch.groupsFrom, false);
        for (uint32_t i = 0; i < launch.pipeline->shader.buffers && !waits; ++i)
            waits = isTouched(launch.buffers[i], (launch.writes >> i & 1) != 0);
        if (waits) follow(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, launch.groupsFrom && launch.groupsAreNew);
        for (uint32_t i = 0; i < launch.pipeline->shader.buffers; ++i)
            accesses.push_back({launch.buffers[i], (launch.writes >> i & 1) != 0});
        if (launch.groupsFrom) accesses.push_back({*launch.groupsFrom, false});
    }

    /// Nothing is known of what was recorded before.
    void forget() { last = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT; }

    /// What comes next follows everything that was ever handed to the device, read in whatever way.
    void followAll()
    {
        forget();
        VkMemoryBarrier barrier{};
        barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
        barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
        barrier.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
        vkCmdPipelineBarrier(commands, last, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0, 1, &barrier, 0,
                             nullptr, 0, nullptr);
        last = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
        accesses.clear();
    }

private:
    struct Access {
        DeviceBuffer buffer;
        bool isWritten = false;
    };
    bool isTouched(const DeviceBuffer& buffer, bool isWritten) const
    {
        return std::ranges::any_of(accesses, [&](const Access& one) {
            const DeviceBuffer& other = one.buffer;
            return (isWritten || one.isWritten) && buffer.block == other.block && buffer.offset < other.offset + other.bytes &&
                   other.offset < buffer.offset + buffer.bytes;
        });
    }

    VkPipelineStageFlags last = 0; ///< of the command recorded last, whether it was submitted or not
    std::vector<Access> accesses;  ///< of launches since the last barrier
};

VulkanMemory::VulkanMemory(std::shared_ptr<VulkanDevice> device) : m_device(std::move(device)) {}

VulkanMemory::~VulkanMemory()
{
    if (m_recorder && m_recorder->piece > 0) m_device->handles().settle();          // the device has a part of it
    if (m_recorder && m_recorder->isOpen) vkEndCommandBuffer(m_recorder->commands); // nobody wants it any more
    m_recorder.reset();
    endOperator();
    for (const auto& [place, buffer] : m_buffers) m_device->release(buffer);
    for (const auto& [place, constant] : m_constants) m_device->release(constant.second);
}

Status VulkanMemory::begin()
{
    if (!m_recorder) {
        auto recorder = std::make_unique<Recorder>(m_device->handles());
        LS_CHECK_OK(recorder->make());
        m_recorder = std::move(recorder);
    }
    if (m_recorder->isOpen) return {};
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    LS_CHECK_OK(m_recorder->h.checked(vkBeginCommandBuffer(m_recorder->commands, &info), "a command buffer"));
    m_recorder->isOpen = true;
    m_recorder->forget(); // another executor may have used the same memory
    if (m_recorder->queries) vkCmdResetQueryPool(m_recorder->commands, m_recorder->queries, 0, 2 * kMostTimed);
    return {};
}

Status VulkanMemory::timeLaunches(bool areTimed)
{
    LS_CHECK_OK(finish());
    if (areTimed && m_device->handles().nsPerTick <= 0) return Error(ErrorCode::device, "the device has no timestamps");
    LS_CHECK_OK(begin()); // makes the recorder
    LS_CHECK_OK(finish());
    if (areTimed == (m_recorder->queries != VK_NULL_HANDLE)) return {};
    if (areTimed) return m_recorder->makeQueries();
    vkDestroyQueryPool(m_recorder->h.device, m_recorder->queries, nullptr);
    m_recorder->queries = VK_NULL_HANDLE;
    return {};
}

bool VulkanMemory::areLaunchesTimed() const { return m_recorder && m_recorder->queries != VK_NULL_HANDLE; }

/// Whatever is known at the tensor's place goes.
void VulkanMemory::place(const Tensor& tensor, const DeviceBuffer& room)
{
    const std::byte* const end = tensor.data + std::max<size_t>(tensor.bytes, 1);
    auto at = m_buffers.upper_bound(tensor.data);
    if (at != m_buffers.begin() && std::prev(at)->first + std::max<uint64_t>(std::prev(at)->second.bytes, 1) > tensor.data) --at;
    while (at != m_buffers.end() && at->first < end) {
        m_retired.push_back(at->second);
        at = m_buffers.erase(at);
    }
    std::erase_if(m_retired, [&](const DeviceBuffer& one) { return one.block == room.block && one.offset == room.offset; });
    m_buffers[tensor.data] = room;
}

Result<DeviceBuffer> VulkanMemory::operand(const Tensor& tensor)
{
    if (placementOf(tensor) != Placement::host) {
        const auto known = m_buffers.find(tensor.data);
        if (known != m_buffers.end() && known->second.bytes >= tensor.bytes) return known->second;
        hostBytes(tensor); // a piece of a value, or several
        LS_CHECK_OK(check());
    }
    LS_TRY(const DeviceBuffer buffer, result(tensor));
    LS_CHECK_OK(upload(tensor.view(), buffer));
    computed(tensor);
    m_isCopying = true;
    hostBytes(tensor); // the host has it, too
    m_isCopying = false;
    return buffer;
}

Result<DeviceBuffer> VulkanMemory::result(const Tensor& tensor)
{
    LS_TRY(const DeviceBuffer buffer, room(tensor));
    place(tensor, buffer);
    return buffer;
}

Result<DeviceBuffer> VulkanMemory::constant(const Bytes& bytes)
{
    if (const auto known = m_constants.find(bytes.data()); known != m_constants.end() && known->second.first.size() >= bytes.size())
        return known->second.second;
    LS_TRY(const DeviceBuffer buffer, m_device->allocate(bytes.size()));
    const auto [at, isNew] = m_constants.insert_or_assign(bytes.data(), std::pair(bytes, buffer));
    LS_CHECK_OK(upload(bytes.view(), at->second.second));
    return buffer;
}

Result<DeviceBuffer> VulkanMemory::scratch(uint64_t bytes)
{
    LS_TRY(const DeviceBuffer buffer, m_device->allocate(bytes));
    m_retired.push_back(buffer);
    return buffer;
}

void VulkanMemory::endOperator()
{
    for (const DeviceBuffer& buffer : m_retired) m_device->release(buffer);
    m_retired.clear();
}

Status VulkanMemory::spill()
{
    LS_CHECK_OK(finish());
    settle();
    LS_CHECK_OK(check());
    endOperator();
    for (const auto& [place, buffer] : m_buffers) m_device->release(buffer);
    for (const auto& [place, constant] : m_constants) m_device->release(constant.second);
    m_buffers.clear();
    m_constants.clear();
    ++m_traffic.spills;
    return {};
}

/// A larger buffer for copies, if there is room for it; else the one there is goes on, and copies are made in pieces.
Status VulkanMemory::grow(HostBuffer& buffer, uint64_t wanted, bool isRead)
{
    if (wanted <= buffer.bytes) return {};
    Result<HostBuffer> larger = m_recorder->h.hostBuffer(wanted, isRead);
    if (!larger.ok()) return buffer.bytes > 0 && isOutOfDeviceMemory(larger.error().detail()) ? Status() : std::move(larger).takeError();
    m_recorder->h.release(buffer);
    buffer = *larger;
    return {};
}

Status VulkanMemory::upload(std::span<const std::byte> bytes, const DeviceBuffer& to)
{
    if (bytes.empty()) return {};
    LS_CHECK_OK(begin());
    Recorder& r = *m_recorder;
    if (r.used + bytes.size() > r.up.bytes) {
        LS_CHECK_OK(finish());
        LS_CHECK_OK(grow(r.up, std::max<uint64_t>(bytes.size(), std::min(2 * r.up.bytes, kMostStaging)), false));
    }
    for (size_t done = 0; done < bytes.size();) {
        LS_CHECK_OK(begin());
        const uint64_t piece = std::min<uint64_t>(bytes.size() - done, r.up.bytes - r.used);
        std::memcpy(r.up.data + r.used, bytes.data() + done, piece);
        const VkBufferCopy copy{r.used, to.offset + done, piece};
        r.follow(VK_PIPELINE_STAGE_TRANSFER_BIT);
        vkCmdCopyBuffer(r.commands, r.up.buffer, r.h.blocks[to.block].buffer, 1, &copy);
        r.used += (piece + 15) / 16 * 16;
        done += piece;
        if (done < bytes.size()) LS_CHECK_OK(finish());
    }
    m_traffic.uploaded += bytes.size();
    return {};
}

Status VulkanMemory::launch(const Launch& launch)
{
    LS_CHECK_OK(m_device->compile(*launch.pipeline));
    LS_CHECK_OK(begin());
    VulkanHandles& h = m_recorder->h;
    VkCommandBuffer const commands = m_recorder->commands;
    std::array<VkDescriptorBufferInfo, kMostBuffers> infos = {};
    for (uint32_t i = 0; i < launch.pipeline->shader.buffers; ++i) {
        const DeviceBuffer& buffer = launch.buffers[i];
        infos[i] = {h.blocks[buffer.block].buffer, buffer.offset, std::max<uint64_t>((buffer.bytes + 15) / 16, 1) * 16};
    }
    m_recorder->bind(*launch.pipeline, std::span(infos).first(launch.pipeline->shader.buffers), launch.push);
    m_recorder->follow(launch);
    m_recorder->stamp(0);
    if (launch.groupsFrom)
        vkCmdDispatchIndirect(commands, h.blocks[launch.groupsFrom->block].buffer, launch.groupsFrom->offset + launch.groupsAt);
    else vkCmdDispatch(commands, launch.groups[0], launch.groups[1], launch.groups[2]);
    m_recorder->stamp(1);
    if (m_recorder->isRepeating) {
        ++m_recorder->repeatedLaunches;
        return {};
    }
    ++m_traffic.launches;
    if (++m_recorder->recorded >= (m_recorder->queries ? kMostTimed : kMostRecorded)) return finish();
    return m_recorder->recorded >= m_recorder->nextPiece && !m_device->info().isSoftware() ? handOver() : Status();
}

/// The device gets what was recorded, and the host goes on recording. One wait, at the end, is for all pieces.
Status VulkanMemory::handOver()
{
    Recorder& r = *m_recorder;
    if (r.queries || r.piece + 1 >= Recorder::kPieces) return {};
    LS_CHECK_OK(r.h.checked(vkEndCommandBuffer(r.commands), "a command buffer"));
    std::vector<VkCommandBuffer> all(std::exchange(r.repeats, 0), r.repeated);
    all.push_back(r.commands);
    LS_CHECK_OK(r.h.submit(all, VK_NULL_HANDLE));
    r.commands = r.pieces[++r.piece];
    r.nextPiece = r.recorded * (1 + kPieceGrowth);
    r.isOpen = false;
    return begin();
}

Status VulkanMemory::finish()
{
    if (!m_recorder || !m_recorder->isOpen) return {};
    Recorder& r = *m_recorder;
    r.isOpen = false;
    r.used = 0;
    const uint64_t recorded = std::exchange(r.recorded, 0);
    LS_CHECK_OK(r.h.checked(vkEndCommandBuffer(r.commands), "a command buffer"));
    std::vector<VkCommandBuffer> all(std::exchange(r.repeats, 0), r.repeated);
    all.push_back(r.commands);
    LS_CHECK_OK(r.h.submit(all, r.fence));
    ++m_traffic.submissions;
    LS_CHECK_OK(r.h.await(r.fence));
    r.piece = 0;
    r.nextPiece = kFirstPiece;
    r.commands = r.pieces[0];
    LS_TRY(const uint64_t ns, r.timed(recorded));
    m_traffic.deviceNs += ns;
    return r.h.checked(vkResetFences(r.h.device, 1, &r.fence), "a fence");
}

Status VulkanMemory::beginRepeated()
{
    LS_CHECK_OK(begin()); // makes the recorder
    LS_CHECK_OK(finish());
    Recorder& r = *m_recorder;
    if (r.queries) return Error(ErrorCode::unsupported, "repeated launches are not timed");
    std::swap(r.commands, r.repeated);
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    LS_CHECK_OK(r.h.checked(vkBeginCommandBuffer(r.commands, &info), "a command buffer"));
    r.isOpen = r.isRepeating = true;
    r.repeatedLaunches = 0;
    r.followAll();
    return {};
}

Status VulkanMemory::endRepeated()
{
    Recorder& r = *m_recorder;
    const VkResult ended = vkEndCommandBuffer(r.commands);
    std::swap(r.commands, r.repeated);
    r.isOpen = r.isRepeating = false;
    return r.h.checked(ended, "a command buffer");
}

Status VulkanMemory::repeat(uint32_t times)
{
    LS_CHECK_OK(finish());
    m_recorder->repeats = times;
    m_recorder->forget();
    m_traffic.launches += times * m_recorder->repeatedLaunches;
    return begin();
}

Status VulkanMemory::submitNothing()
{
    LS_CHECK_OK(begin());
    return finish();
}

Status VulkanMemory::copy(const DeviceBuffer& from, const DeviceBuffer& to, uint64_t toOffset, uint64_t bytes, uint64_t fromOffset)
{
    if (bytes == 0) return {};
    LS_CHECK_OK(begin());
    const VkBufferCopy copy{from.offset + fromOffset, to.offset + toOffset, bytes};
    m_recorder->follow(VK_PIPELINE_STAGE_TRANSFER_BIT);
    vkCmdCopyBuffer(m_recorder->commands, m_recorder->h.blocks[from.block].buffer, m_recorder->h.blocks[to.block].buffer, 1, &copy);
    return {};
}

Status VulkanMemory::read(const DeviceBuffer& from, std::span<std::byte> to)
{
    LS_CHECK_OK(begin());
    Recorder& r = *m_recorder;
    LS_CHECK_OK(grow(r.down, to.size(), true));
    const bool isFetched = to.size() <= kMostFetched && !m_device->info().isSoftware();
    for (size_t done = 0; done < to.size();) {
        LS_CHECK_OK(begin());
        const uint64_t piece = std::min<uint64_t>(to.size() - done, r.down.bytes);
        if (isFetched) {
            LS_CHECK_OK(fetch(from, piece));
        } else {
            const VkBufferCopy copy{from.offset + done, 0, piece};
            r.follow(VK_PIPELINE_STAGE_TRANSFER_BIT);
            vkCmdCopyBuffer(r.commands, r.h.blocks[from.block].buffer, r.down.buffer, 1, &copy);
        }
        r.follow(VK_PIPELINE_STAGE_HOST_BIT);
        LS_CHECK_OK(finish());
        std::memcpy(to.data() + done, r.down.data, piece);
        done += piece;
    }
    return {};
}

/// The same by a shader, recorded without counting as a launch.
Status VulkanMemory::fetch(const DeviceBuffer& from, uint64_t bytes)
{
    Recorder& r = *m_recorder;
    LS_TRY(const DevicePipeline* const pipeline, m_device->pipeline(kFetch, {}));
    const auto words = static_cast<uint32_t>((bytes + 3) / 4);
    const VkDescriptorBufferInfo infos[] = {{r.h.blocks[from.block].buffer, from.offset, (bytes + 15) / 16 * 16},
                                            {r.down.buffer, 0, (bytes + 15) / 16 * 16}};
    r.bind(*pipeline, infos, std::span(&words, 1));
    r.follow(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
    vkCmdDispatch(r.commands, (words + 255) / 256, 1, 1);
    return {};
}

Status VulkanMemory::readBack(std::byte* place, size_t bytes)
{
    if (m_isCopying || bytes == 0) return {};
    const auto known = m_buffers.find(place);
    if (known == m_buffers.end()) return Error(ErrorCode::internal, "a value that nobody computed was to be read back");
    LS_CHECK_OK(read(known->second, {place, bytes}));
    m_traffic.readBack += bytes;
    return {};
}

} // namespace loopscope
