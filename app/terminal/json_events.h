// The events of `debug --json`: one object per line (docs/debugging.md, "For programs").
#pragma once

#include "app/terminal/terminal.h"

#include <cstdint>
#include <string>

namespace loopscope::app {

/// `sequence` counts events from 1; `command` is the number of the command line that it answers, from 1; 0: of none.
std::string eventJson(const TerminalEvent& event, int64_t sequence, int64_t command);
std::string progressJson(int64_t sequence, int64_t command, const SessionProgress& progress);
std::string endedJson(int64_t sequence, int64_t command);

} // namespace loopscope::app
