#include "engine/distributed/memory_transport.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace loopscope {

namespace {

struct Mailbox {
    std::mutex mutex;
    std::condition_variable hasCome;
    std::deque<RankMessage> messages;
    std::vector<std::vector<std::byte>> rooms; ///< of messages that were taken
};

constexpr size_t kMostRooms = 64;

class MemoryTransport final : public Transport {
public:
    MemoryTransport(std::shared_ptr<std::vector<Mailbox>> group, int32_t rank) : m_group(std::move(group)), m_rank(rank) {}
    int32_t rank() const override { return m_rank; }
    int32_t size() const override { return static_cast<int32_t>(m_group->size()); }
    bool isLost(int32_t) override { return false; }

    Status send(int32_t to, int32_t tag, std::span<const std::byte> bytes) override
    {
        Mailbox& box = (*m_group)[static_cast<size_t>(to)];
        {
            const std::lock_guard lock(box.mutex);
            RankMessage& message = box.messages.emplace_back();
            if (!box.rooms.empty()) {
                message.bytes = std::move(box.rooms.back());
                box.rooms.pop_back();
            }
            message.from = m_rank;
            message.tag = tag;
            message.bytes.assign(bytes.begin(), bytes.end());
        }
        box.hasCome.notify_one();
        return {};
    }

    Result<bool> receive(RankMessage& message) override { return take(message, 0); }
    Result<bool> wait(RankMessage& message, int64_t ns) override { return take(message, ns); }

private:
    bool take(RankMessage& message, int64_t ns)
    {
        Mailbox& box = (*m_group)[static_cast<size_t>(m_rank)];
        std::unique_lock lock(box.mutex);
        if (box.messages.empty() && ns > 0) box.hasCome.wait_for(lock, std::chrono::nanoseconds(ns), [&] { return !box.messages.empty(); });
        if (box.messages.empty()) return false;
        if (box.rooms.size() < kMostRooms) box.rooms.push_back(std::move(message.bytes));
        message = std::move(box.messages.front());
        box.messages.pop_front();
        return true;
    }

    std::shared_ptr<std::vector<Mailbox>> m_group;
    int32_t m_rank;
};

} // namespace

std::vector<std::unique_ptr<Transport>> memoryTransports(int32_t size)
{
    auto group = std::make_shared<std::vector<Mailbox>>(static_cast<size_t>(size));
    std::vector<std::unique_ptr<Transport>> transports;
    for (int32_t rank = 0; rank < size; ++rank) transports.push_back(std::make_unique<MemoryTransport>(group, rank));
    return transports;
}

} // namespace loopscope
