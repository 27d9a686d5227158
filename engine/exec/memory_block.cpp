#include "engine/exec/memory_block.h"

#include "engine/base/interruption.h"
#include "engine/base/text.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <unistd.h>
#include <utility>

namespace loopscope {

namespace {

constexpr std::align_val_t kAlignment = std::align_val_t(64);

class HostAllocator final : public BlockAllocator {
public:
    std::byte* allocate(uint64_t bytes) override { return static_cast<std::byte*>(::operator new(bytes, kAlignment, std::nothrow)); }
    void release(std::byte* block, uint64_t) override { ::operator delete(block, kAlignment); }
};

} // namespace

BlockAllocator& hostAllocator()
{
    static HostAllocator allocator;
    return allocator;
}

uint64_t MemoryAccount::machineLimit()
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long size = sysconf(_SC_PAGESIZE);
    const uint64_t machine = pages > 0 && size > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(size) : uint64_t{1} << 34;
    return machine / 4 * 3;
}

MemoryBlock::MemoryBlock(MemoryBlock&& other) noexcept
    : m_account(other.m_account),
      m_data(std::exchange(other.m_data, nullptr)),
      m_capacity(std::exchange(other.m_capacity, 0))
{
}

void MemoryBlock::swap(MemoryBlock& other) noexcept
{
    std::swap(m_data, other.m_data);
    std::swap(m_capacity, other.m_capacity);
}

void MemoryBlock::release()
{
    if (!m_data) return;
    m_account->allocator->release(m_data, m_capacity);
    m_account->used -= m_capacity;
    m_data = nullptr;
    m_capacity = 0;
}

Status MemoryBlock::grow(uint64_t bytes)
{
    const auto refuse = [&] {
        return Error(ErrorCode::execution, "out of memory: " + formatBytes(bytes) + " more are needed")
            .found(formatBytes(m_account->used) + " in use")
            .expected("at most " + formatBytes(m_account->limit));
    };
    const uint64_t freed = m_capacity;
    if (bytes > m_account->limit || m_account->used - freed > m_account->limit - bytes) return refuse();
    // Half as much again, so that a value that grows in every iteration of a loop is not moved in every iteration.
    uint64_t capacity = std::max(bytes, freed + freed / 2);
    if (m_account->used - freed > m_account->limit - std::min(capacity, m_account->limit)) capacity = bytes;
    capacity = (std::max<uint64_t>(capacity, 1) + 63) / 64 * 64;
    release();
    m_data = m_account->allocator->allocate(capacity);
    if (!m_data) return refuse();
    m_capacity = capacity;
    m_account->used += capacity;
    // The machine takes seconds to hand out gigabytes: whoever waits may give up between two pieces.
    constexpr uint64_t kPiece = uint64_t{1} << 26U;
    for (uint64_t done = 0; done < capacity; done += kPiece) {
        if (done > 0) interruptionPoint();
        std::memset(m_data + done, 0, std::min(kPiece, capacity - done));
    }
    return {};
}

} // namespace loopscope
