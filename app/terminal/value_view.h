// How the debugger writes values in full, as `print` shows them.
#pragma once

#include "app/terminal/ink.h"
#include "engine/api/inspector.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// What `print` says: a value of the model with its name and type, anything computed by itself, a list joined by ", ". Lines are ended.
/// `level` says of a recording what is in it.
std::string printedText(const std::vector<EvaluatedValue>& values, const NumberFormat& format, const Ink& ink,
                        const std::string& level = "");

} // namespace loopscope::app
