// What a loop's condition compares, in numbers, for the head of a loop in a picture.
#pragma once

#include "engine/api/inspector.h"

#include <string>

namespace loopscope::viewer {

/// "37<48" for the iteration that the frame at `depth` is part of: the comparison that decides, with the values it has there; "37<48 …"
/// where more than one does. Values that are gone are named. Empty: the frame is no iteration, or its condition compares nothing.
std::string loopConditionText(const Inspector& inspector, int depth);

} // namespace loopscope::viewer
