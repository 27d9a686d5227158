// How ranks talk to each other: messages with a tag, in order between any two of them, over whatever joins them. One executor's thread uses
// it; docs/distributed.md.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace loopscope {

struct RankMessage {
    int32_t from = -1;
    int32_t tag = 0;
    std::vector<std::byte> bytes; ///< its room is used again by the next message
};

/// Not thread-safe: each rank has its own.
class Transport {
public:
    virtual ~Transport() = default;
    virtual int32_t rank() const = 0;
    virtual int32_t size() const = 0;
    /// Returns when the bytes may be changed again; what arrives meanwhile waits for receive(). Errors: execution, if that rank is gone.
    virtual Status send(int32_t to, int32_t tag, std::span<const std::byte> bytes) = 0;
    /// The same of a message behind kHeader bytes that the transport may write to: it need not be copied for one.
    virtual Status sendInPlace(int32_t to, int32_t tag, std::span<std::byte> room) { return send(to, tag, room.subspan(kHeader)); }
    static constexpr size_t kHeader = 16;
    /// What has arrived, of each rank in the order in which it was sent. False: nothing.
    virtual Result<bool> receive(RankMessage& message) = 0;
    /// The same, waiting up to so long for something to arrive.
    virtual Result<bool> wait(RankMessage& message, int64_t ns) = 0;
    /// Whether a rank is known to have ended without a word.
    virtual bool isLost(int32_t rank) = 0;
};

} // namespace loopscope
