// The option `--memory` of every command, the window's among them.
#pragma once

#include "app/wiring/command_line.h"
#include "engine/base/result.h"

namespace loopscope::app {

/// Sets how much memory may be used, and lets what is kept beyond half of it go to disk. Without the option nothing changes. Errors: usage.
Status applyMemory(const Arguments& arguments);

} // namespace loopscope::app
