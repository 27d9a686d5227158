// The part of `check` that verifies traces.
#pragma once

#include "engine/base/result.h"

#include <string>

namespace loopscope::app {

class Console;

/// Ends in the file what a killed recorder left open. Errors: cannotWrite, badFile, cancelled.
Status repairOneTrace(Console& console, const std::string& path);
/// Prints what holds and what is broken. Exit code 0 or 1. Errors: badFile, cancelled.
Result<int> checkOneTrace(Console& console, const std::string& path);

} // namespace loopscope::app
