// Elements by their indices as people type them: "0,-1".
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/shape.h"

#include <cstdint>
#include <string_view>

namespace loopscope {

/// The flat index that "0,-1" (without brackets) names in `shape`; negative indices count from the end. Errors: usage.
Result<int64_t> flatIndex(const Shape& shape, std::string_view indices);

} // namespace loopscope
