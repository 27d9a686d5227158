// Which operators compute each element of their result from one element of each operand, shapes broadcast.
#pragma once

#include "engine/ir/model.h"

namespace loopscope {

/// For known kinds of the dialects tfl, circle and tf; others are not.
bool isElementWise(const Kind& kind);

} // namespace loopscope
