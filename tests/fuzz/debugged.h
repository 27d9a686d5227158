// A debugger on a small loop, for the fuzz targets of what people and files say to it.
#pragma once

#include "app/terminal/terminal.h"

namespace loopscope {

/// One for the whole process, on the Collatz loop; what is said goes nowhere. Runs are ended after some thousand steps.
app::Terminal& debugged();

} // namespace loopscope
