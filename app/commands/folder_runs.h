// `trace DIR` and `prove DIR`: a folder of golden cases, each run of which is traced or proved by itself, here and on other ranks.
#pragma once

#include "app/wiring/command_line.h"

namespace loopscope::app {

/// Whether the first word names a folder with golden cases in it or below it.
bool namesGoldenFolder(const Arguments& arguments);

/// One recording for each run of each case, in the folder of --output.
Result<int> traceFolder(const CommandContext& context);
/// Each model against other kernels, or against the model of the case of that id in a second folder, on the inputs of its runs.
Result<int> proveFolder(const CommandContext& context);

} // namespace loopscope::app
