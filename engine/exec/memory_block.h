// Blocks of memory that grow on demand, counted against one limit, so that a model that asks for too much ends in an error.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>

namespace loopscope {

/// Where the memory of tensors comes from: the heap of the host, or memory that a device sees, too.
class BlockAllocator {
public:
    virtual ~BlockAllocator() = default;
    /// Aligned to 64 bytes, whatever its content; null if there is none.
    virtual std::byte* allocate(uint64_t bytes) = 0;
    virtual void release(std::byte* block, uint64_t bytes) = 0;
};
BlockAllocator& hostAllocator();

/// What an interpreter has allocated for tensors, how much it may, and where.
struct MemoryAccount {
    uint64_t used = 0;  ///< bytes
    uint64_t limit = 0; ///< bytes
    BlockAllocator* allocator = &hostAllocator();
    /// Three quarters of the machine's physical memory: the rest of the system must live, too.
    static uint64_t machineLimit();
};

/// One block, aligned to 64 bytes. Its memory is zero when it is new, so that runs are repeatable whatever a kernel leaves out.
class MemoryBlock {
public:
    explicit MemoryBlock(MemoryAccount& account) : m_account(&account) {}
    MemoryBlock(MemoryBlock&& other) noexcept;
    MemoryBlock& operator=(MemoryBlock&&) = delete;
    ~MemoryBlock() { release(); }

    /// Makes room for `bytes`; the content is lost if the block must grow. `data()` is not null afterwards, not even for 0 bytes.
    /// Errors: execution, when the limit or the system says no.
    Status reserve(uint64_t bytes)
    {
        if (m_data && bytes <= m_capacity) return {};
        return grow(bytes);
    }
    void release();
    /// Exchanges the memory of two blocks of one account.
    void swap(MemoryBlock& other) noexcept;

    std::byte* data() const { return m_data; }
    uint64_t capacity() const { return m_capacity; }

private:
    Status grow(uint64_t bytes);

    MemoryAccount* m_account;
    std::byte* m_data = nullptr;
    uint64_t m_capacity = 0;
};

} // namespace loopscope
