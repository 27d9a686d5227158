// Snappy's block format (google/snappy, format_description.txt), in which the index of a checkpoint may be compressed.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace loopscope::savedmodel {

/// The plain bytes of a compressed block. Errors: badFile, damaged data; more than `most` bytes.
Result<std::string> unpackSnappy(std::string_view block, uint64_t most);

} // namespace loopscope::savedmodel
