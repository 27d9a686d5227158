// Values that are kept for long and read again in the reverse order, as gradients need them, within a bound of memory: what has not been
// used for the longest time lies compressed in a file. Nobody waits for it to be written while there is room; what is read next comes back
// before it is.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace loopscope {

/// How much of what is kept may be in memory, and the folder of the file. 0: all of it is, in the heap, as by default.
void setSwapping(uint64_t bytesInMemory, const std::string& folder);
bool isSwapping();

constexpr size_t kLeastKept = 1024; ///< bytes: smaller values stay in the heap

struct BytesPin;

/// A kept value, which may lie on disk. Copies share it. There may be a million of them, so it is three words.
class KeptBytes {
public:
    KeptBytes() = default;
    /// A copy in the heap, where it stays.
    static KeptBytes inHeap(std::span<const std::byte> source);
    /// Of swapped_bytes.cpp: bytes that lie in a piece, which counts this value already.
    KeptBytes(std::span<const std::byte> place, void* piece) : m_data(place.data()), m_size(place.size()), m_inPiece(true), m_holder(piece)
    {
    }
    KeptBytes(const KeptBytes& other) : m_data(other.m_data), m_size(other.m_size), m_inPiece(other.m_inPiece), m_holder(other.m_holder)
    {
        if (m_holder) retain();
    }
    KeptBytes(KeptBytes&& other) noexcept { swap(other); }
    KeptBytes& operator=(KeptBytes other) noexcept
    {
        swap(other);
        return *this;
    }
    ~KeptBytes()
    {
        if (m_holder) release();
    }

    size_t size() const { return m_size; }
    bool empty() const { return m_size == 0; }
    bool isOnDisk() const;
    /// Its bytes, which are brought back if they are on disk and stay in memory as long as the result lives. What the disk does not give
    /// back is zeros, and `swapFailure` says so.
    Bytes pinned() const;
    /// The same for whoever holds this value and a pin.
    const std::byte* look(BytesPin& pin) const;

private:
    void retain() const;
    void release() const;
    void swap(KeptBytes& other) noexcept
    {
        std::swap(m_data, other.m_data);
        const size_t size = m_size;
        const bool inPiece = m_inPiece;
        m_size = other.m_size;
        m_inPiece = other.m_inPiece;
        other.m_size = size;
        other.m_inPiece = inPiece;
        std::swap(m_holder, other.m_holder);
    }

    const std::byte* m_data = nullptr;
    size_t m_size : 63 = 0;
    bool m_inPiece : 1 = false;
    void* m_holder = nullptr; ///< who counts the copies: the piece, or the block in the heap; null: there are no bytes
};

/// What holds a kept value in memory while somebody looks at it. Whoever copies what has it does not look at it yet.
struct BytesPin {
    Bytes bytes;

    BytesPin() = default;
    ~BytesPin() = default;
    BytesPin(const BytesPin&) {} // NOLINT(bugprone-copy-constructor-init)
    BytesPin(BytesPin&& other) noexcept = default;
    BytesPin& operator=(const BytesPin&) { return *this = BytesPin(); } // NOLINT(bugprone-unhandled-self-assignment)
    BytesPin& operator=(BytesPin&& other) noexcept = default;
};

/// What comes and goes together: values, and what they are found by, which is small and looked through as a whole.
enum class KeptKind : uint8_t { value, index };

/// A copy of `source`. Errors: cannotWrite, if something has to go to the file and there is no room.
Result<KeptBytes> keptCopy(std::span<const std::byte> source, KeptKind kind = KeptKind::value);

/// Not ok, once, after something that was written could not be read.
Status swapFailure();

/// Memory that says where values are kept is taken (or given back, < 0) from what may be in memory.
void countKeptRecords(int64_t bytes);

/// Where what is kept lies now.
struct SwapShares {
    uint64_t inMemory = 0; ///< of what may go to disk
    uint64_t onDisk = 0;   ///< as large as it is in memory
    uint64_t written = 0;  ///< bytes of the file that it takes, compressed
};
SwapShares swapShares();

} // namespace loopscope
