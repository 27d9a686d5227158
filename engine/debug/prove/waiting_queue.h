// The writes by which one run of a proof is ahead of the other where the runs come by them in different orders, or where they are large.
#pragma once

#include "engine/debug/prove/run_follower.h"
#include "engine/tensor/tensor.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace loopscope {

constexpr size_t kMostInStream = 64 << 10; ///< larger values have memory of their own, which goes as soon as they are compared

/// A tensor with bytes of its own, which are kept where they fit, unless they are many.
struct Held {
    Tensor tensor;
    std::vector<std::byte> bytes;
    void assign(const Tensor& from)
    {
        bytes.assign(from.data, from.data + from.bytes);
        tensor = from;
        tensor.data = bytes.data();
    }
    void release()
    {
        if (bytes.capacity() > kMostInStream) bytes = {};
    }
};

/// A write that waits for that of the other run.
struct Waiting {
    RunMap::Side side = RunMap::here;
    uint64_t chain = 0;
    std::shared_ptr<ProofCall> call;
    GraphId graph;
    OperatorId op;
    int32_t slot = 0;
    Step step;
    double roundings = 0;
    Held value;
};

/// Those of one key, in order. Both runs come by the iterations of a place in much the same order, so that a partner is near the front;
/// where one is far behind, it is found by its chain.
class WaitingQueue {
public:
    bool empty() const { return m_first == m_end; }
    bool holds(RunMap::Side side) const { return m_count[side] > 0; }

    /// A place for one more.
    Waiting& add(uint64_t chain, RunMap::Side side)
    {
        ++m_count[side];
        if (m_end == m_items.size()) m_items.emplace_back();
        if (m_isIndexed) m_index[chain] = m_erased + m_end;
        Waiting& waiting = m_items[m_end++];
        waiting.chain = chain;
        waiting.side = side;
        return waiting;
    }

    /// What waits for a write of `side`; null: nothing.
    Waiting* find(uint64_t chain, RunMap::Side side)
    {
        if (m_count[side == RunMap::here ? RunMap::there : RunMap::here] == 0) return nullptr;
        const auto isIt = [&](const Waiting& waiting) { return waiting.call && waiting.chain == chain && waiting.side != side; };
        const size_t near = std::min(m_end, m_first + kNear);
        for (size_t i = m_first; i < near; ++i)
            if (isIt(m_items[i])) return &m_items[i];
        if (near == m_end) return nullptr;
        if (!m_isIndexed) {
            m_isIndexed = true;
            for (size_t i = m_first; i < m_end; ++i)
                if (m_items[i].call) m_index[m_items[i].chain] = m_erased + i;
        }
        const auto found = m_index.find(chain);
        if (found == m_index.end() || found->second < m_erased + m_first) return nullptr;
        Waiting& waiting = m_items[found->second - m_erased];
        return isIt(waiting) ? &waiting : nullptr;
    }

    /// It has met its partner.
    void done(Waiting& waiting)
    {
        --m_count[waiting.side];
        if (m_isIndexed) m_index.erase(waiting.chain);
        waiting.call.reset();
        waiting.value.release();
        while (m_first < m_end && !m_items[m_first].call) ++m_first;
        if (empty()) { // the places stay, with their memory
            m_first = m_end = m_erased = 0;
            if (m_isIndexed) m_index.clear();
            m_isIndexed = false;
        } else if (m_first > 1024 && 2 * m_first > m_end) {
            m_items.erase(m_items.begin(), m_items.begin() + static_cast<ptrdiff_t>(m_first));
            m_erased += m_first;
            m_end -= m_first;
            m_first = 0;
        }
    }

    /// Everything that still waits.
    template <typename Use> void drain(Use use)
    {
        for (size_t i = m_first; i < m_end; ++i)
            if (m_items[i].call) use(m_items[i]);
        *this = WaitingQueue();
    }

private:
    static constexpr size_t kNear = 8;
    std::vector<Waiting> m_items; ///< those from `m_first` to `m_end` wait, or are done; behind are free places
    size_t m_first = 0, m_end = 0;
    size_t m_erased = 0;
    std::array<size_t, 2> m_count = {0, 0};       ///< by side
    std::unordered_map<uint64_t, size_t> m_index; ///< by chain: position, what was erased included
    bool m_isIndexed = false;
};

} // namespace loopscope
