// What lies where on a tape of whole iterations: which of a loop's results are compared, and of what type they are.
#pragma once

#include "engine/debug/prove/run_map.h"
#include "engine/observe/trip_taker.h"
#include "engine/tensor/tensor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace loopscope {

struct ProofCall;

/// The same dtype, dimensions and quantization.
bool isSameType(const Tensor& a, const Tensor& b);
/// A resource or variant: a number of the session.
bool isHandle(DType dtype);

struct TripLayout {
    /// What a cell holds.
    struct Result {
        uint32_t key = 0;
        GraphId graph;
        OperatorId op;
        int32_t slot = 0;
        Tensor type; ///< without bytes
    };
    /// Where it was made for.
    const RunMap::Scope *body = nullptr, *cond = nullptr;
    int32_t ofBody = 0; ///< operators

    std::vector<TripCell> cells;   ///< and one more behind the last
    std::vector<Result> results;   ///< by cell
    std::vector<int32_t> handles;  ///< operators of a row, once for each handle that they give
    std::vector<double> roundings; ///< before each operator of a row, and after the last
    size_t rowBytes = 0;

    size_t cellCount() const { return results.size(); }
    int32_t kernelCount() const { return static_cast<int32_t>(roundings.size()) - 1; }
    /// The cells are complete.
    void close();
    bool isInCond(size_t cell) const { return cells[cell].kernel >= ofBody; }
    /// Whether the rows of both hold results of the same keys and types in the same order.
    bool agreesWith(const TripLayout& other) const;
};

/// Some rows of one run.
struct Tape {
    std::shared_ptr<const TripLayout> layout;
    std::shared_ptr<ProofCall> call;     ///< the iteration of the first row's body
    Step step;                           ///< of the first row's first operator
    double roundings = 0;                ///< before it
    std::shared_ptr<std::byte[]> memory; ///< where the rows lie, and others; null: they are only compared
    std::byte* bytes = nullptr;
    int64_t first = 0, rows = 0; ///< those before `first` have met their partners

    std::byte* row(int64_t index) const { return bytes + static_cast<size_t>(index) * layout->rowBytes; }
};

/// Room for the rows of one run, used again when nothing waits in it.
class TapeMemory {
public:
    /// Begins a tape of at least one row; returns how many rows there is room for.
    int64_t begin(Tape& tape)
    {
        if (!m_now || m_used > kChunk / 2) {
            if (m_chunks.empty() || m_chunks.front().use_count() > 1 || m_chunks.front() == m_now)
                m_chunks.emplace_front(new std::byte[kChunk]); // not zeros: they are overwritten
            m_now = m_chunks.front();
            m_chunks.pop_front();
            m_chunks.push_back(m_now);
            m_used = 0;
        }
        tape.memory = m_now;
        tape.bytes = m_now.get() + m_used;
        const size_t rowBytes = tape.layout->rowBytes;
        return rowBytes == 0 ? kMostRows : std::min<int64_t>(kMostRows, static_cast<int64_t>((kChunk - m_used) / rowBytes));
    }
    /// The rows that it has come to stay.
    void end(const Tape& tape) { m_used += static_cast<size_t>(tape.rows) * tape.layout->rowBytes; }

private:
    static constexpr size_t kChunk = 64 << 10;
    static constexpr int64_t kMostRows = 4096;
    std::deque<std::shared_ptr<std::byte[]>> m_chunks; ///< the one that was begun first at the front
    std::shared_ptr<std::byte[]> m_now;
    size_t m_used = 0;
};

} // namespace loopscope
