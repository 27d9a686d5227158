// String tensors in memory: int32 count, count + 1 int32 offsets from the start of the block, then the bytes. The layout is that of
// TFLite buffers, so that constants are used where the file maps them.
#pragma once

#include "engine/base/result.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Packs strings into one block.
std::vector<std::byte> packStrings(std::span<const std::string> strings);
/// Views into `block`. Errors: badFile if count or offsets do not fit the block.
Result<std::vector<std::string_view>> unpackStrings(std::span<const std::byte> block);

} // namespace loopscope
