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

/// A kept value, which may lie on disk. Copies share it.
class KeptBytes {
public:
    KeptBytes() = default;
    KeptBytes(Bytes bytes) : m_bytes(std::move(bytes)) {} // NOLINT(google-explicit-constructor): bytes in the heap are kept, too
    KeptBytes(Bytes bytes, void* piece) : m_bytes(std::move(bytes)), m_piece(piece) {}

    size_t size() const { return m_bytes.size(); }
    bool empty() const { return m_bytes.empty(); }
    bool isOnDisk() const;
    /// Its bytes, which are brought back if they are on disk and stay in memory as long as the result lives. What the disk does not give
    /// back is zeros, and `swapFailure` says so.
    Bytes pinned() const { return m_piece ? bringBack() : m_bytes; }

private:
    Bytes bringBack() const;

    Bytes m_bytes;
    void* m_piece = nullptr; ///< where it lies; null: in the heap
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

/// A copy of `source`. Errors: cannotWrite, if something has to go to the file and there is no room.
Result<KeptBytes> keptCopy(std::span<const std::byte> source);

/// Not ok, once, after something that was written could not be read.
Status swapFailure();

/// Where what is kept lies now.
struct SwapShares {
    uint64_t inMemory = 0; ///< of what may go to disk
    uint64_t onDisk = 0;   ///< as large as it is in memory
    uint64_t written = 0;  ///< bytes of the file that it takes, compressed
};
SwapShares swapShares();

} // namespace loopscope
