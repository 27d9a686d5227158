// The writes by which one run of a proof is ahead of the other, in their order. Two runs of much the same program come by their writes in
// the same order, so that the partner of a write is at the front: nothing is looked up, and nothing is allocated for it.
#pragma once

#include "engine/debug/prove/run_follower.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace loopscope {

class WriteStream {
public:
    /// One write. Its bytes lie in the stream.
    struct Entry {
        uint64_t chain = 0;
        uint32_t key = 0;
        uint32_t call = 0;
        uint32_t type = 0;
        GraphId graph;
        OperatorId op;
        int32_t slot = 0;
        Step step;
        double roundings = 0;
        size_t bytes = 0, at = 0;
    };

    // Whole iterations take their place among the writes: an entry of no key.
    bool isTape(const Entry& entry) const { return entry.key == 0; }
    Tape& tapeOf(const Entry& entry) { return m_tapes[entry.at]; }
    void push(Tape tape)
    {
        Entry entry;
        entry.at = m_tapes.size();
        m_entries.push_back(entry);
        m_tapes.push_back(std::move(tape));
    }

    bool empty() const { return m_first == m_entries.size(); }
    size_t size() const { return m_entries.size() - m_first; }
    const Entry& front() const { return m_entries[m_first]; }
    const std::shared_ptr<ProofCall>& callOf(const Entry& entry) const { return m_calls[entry.call]; }

    /// What `entry` wrote, with bytes that stay until the stream is empty or grows.
    Tensor tensorOf(const Entry& entry) const
    {
        Tensor tensor = m_types[entry.type];
        tensor.data = m_bytes.get() + entry.at;
        tensor.bytes = entry.bytes;
        return tensor;
    }

    /// The same dtype, shape, quantization and bits.
    bool isSame(const Entry& entry, const Tensor& tensor) const
    {
        return entry.bytes == tensor.bytes && isSameType(m_types[entry.type], tensor) &&
               std::memcmp(m_bytes.get() + entry.at, tensor.data, entry.bytes) == 0;
    }

    /// What it costs to keep `bytes`.
    static size_t costOf(size_t bytes) { return sizeof(Entry) + bytes; }

    void push(const ProofWrite& write)
    {
        const Tensor& tensor = *write.tensor;
        if (m_calls.empty() || m_calls.back() != *write.call) m_calls.push_back(*write.call);
        const size_t at = room(tensor.bytes);
        std::memcpy(m_bytes.get() + at, tensor.data, tensor.bytes);
        m_entries.push_back({write.chain, write.key, static_cast<uint32_t>(m_calls.size() - 1), typeOf(write.key, tensor), write.graph,
                             write.op, write.slot, write.step, write.roundings, tensor.bytes, at});
    }

    void pop()
    {
        if (++m_first == m_entries.size()) clear();
    }

    void clear() // the memory stays
    {
        m_entries.clear();
        m_calls.clear();
        m_tapes.clear();
        m_first = m_used = 0;
        if (m_types.size() > kMostTypes) {
            m_types.clear();
            m_typeOfKey.clear();
        }
    }

private:
    static constexpr size_t kMostTypes = 4096, kAlign = 16;

    /// Values seldom change their types: the last one of each key is asked first.
    uint32_t typeOf(uint32_t key, const Tensor& tensor)
    {
        if (key >= m_typeOfKey.size()) m_typeOfKey.resize(key + 1, kNone);
        uint32_t& known = m_typeOfKey[key];
        if (known != kNone && m_types[known].quantization == tensor.quantization && isSameType(m_types[known], tensor)) return known;
        known = static_cast<uint32_t>(m_types.size());
        m_types.push_back(tensor);
        m_types.back().data = nullptr;
        return known;
    }

    size_t room(size_t bytes)
    {
        const size_t at = m_used;
        m_used += (bytes + kAlign - 1) / kAlign * kAlign;
        if (m_used > m_size) {
            const size_t size = m_used * 2;
            std::unique_ptr<std::byte[]> more(new std::byte[size]); // not zeros: they are overwritten
            if (at > 0) std::memcpy(more.get(), m_bytes.get(), at);
            m_bytes = std::move(more);
            m_size = size;
        }
        return at;
    }

    static constexpr uint32_t kNone = UINT32_MAX;
    std::vector<Entry> m_entries; ///< from `m_first` on
    size_t m_first = 0;
    std::vector<std::shared_ptr<ProofCall>> m_calls;
    std::vector<Tape> m_tapes;
    std::vector<Tensor> m_types; ///< without bytes
    std::vector<uint32_t> m_typeOfKey;
    std::unique_ptr<std::byte[]> m_bytes;
    size_t m_size = 0, m_used = 0;
};

} // namespace loopscope
