// Values that are kept for long and read again in the reverse order, as gradients need them, within a bound of memory: they lie in a file,
// of which the newest part stays in memory. The system writes what is older behind the run's back; what is read next comes back before it
// is.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace loopscope {

/// How much of what is kept may be in memory, and the folder of the file. 0: all of it is, in the heap, as by default.
void setSwapping(uint64_t bytesInMemory, const std::string& folder);

/// A copy of `source`. Errors: cannotWrite, if it has to go to the file and there is no room.
Result<Bytes> keptCopy(std::span<const std::byte> source);

/// Where what is kept lies now.
struct SwapShares {
    uint64_t inMemory = 0; ///< of the file's part
    uint64_t onDisk = 0;
};
SwapShares swapShares();

} // namespace loopscope
