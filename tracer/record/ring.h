// A ring of 64-byte records between one producer and one consumer. The producer waits when it is full; nothing is dropped.
#pragma once

#include "tracer/record/records.h"

#include <atomic>
#include <cstring>
#include <memory>

namespace loopscope {

class RecordRing {
public:
    static constexpr uint64_t kCapacity = 8192;

    RecordRing() : m_slots(new RingSlot[kCapacity]) {}

    /// Producer: appends. Seen by the consumer after publish().
    template <typename T> void push(const T& record)
    {
        static_assert(kIsRecord<T>);
        if (m_next - m_knownHead >= kCapacity) [[unlikely]]
            waitForSpace();
        std::memcpy(m_slots[m_next & (kCapacity - 1)].bytes, &record, sizeof(T));
        ++m_next;
    }
    void publish() { m_tail.store(m_next, std::memory_order_release); }

    /// Consumer: hands out at most `limit` records; returns how many.
    template <typename Handle> uint64_t consume(uint64_t limit, Handle handle)
    {
        const uint64_t head = m_head.load(std::memory_order_relaxed);
        const uint64_t available = m_tail.load(std::memory_order_acquire) - head;
        const uint64_t count = available < limit ? available : limit;
        for (uint64_t i = 0; i < count; ++i) handle(m_slots[(head + i) & (kCapacity - 1)]);
        if (count > 0) {
            m_head.store(head + count, std::memory_order_release);
            m_head.notify_one();
        }
        return count;
    }

private:
    void waitForSpace()
    {
        // What is there becomes visible, so that a group of records longer than the ring cannot wait for itself.
        publish();
        for (;;) {
            m_knownHead = m_head.load(std::memory_order_acquire);
            if (m_next - m_knownHead < kCapacity) return;
            m_head.wait(m_knownHead, std::memory_order_acquire);
        }
    }

    std::unique_ptr<RingSlot[]> m_slots;
    alignas(64) std::atomic<uint64_t> m_head = 0; ///< taken out so far
    alignas(64) std::atomic<uint64_t> m_tail = 0; ///< published so far
    alignas(64) uint64_t m_next = 0;              ///< producer only
    uint64_t m_knownHead = 0;                     ///< producer only
};

} // namespace loopscope
