// The debugger with its surroundings: where command lines come from (a prompt, a pipe, scripts, options) and where replies go.
#pragma once

#include "app/terminal/terminal.h"
#include "app/wiring/command_line.h"

#include <string>
#include <vector>

namespace loopscope::app {

struct DebugLoopOptions {
    std::vector<std::string> startup;  ///< commands of the configuration file
    std::string startupFile;           ///< --rc: `.loopscoperc`; empty: none
    std::vector<std::string> scripts;  ///< --script
    std::vector<std::string> commands; ///< --ex
    double timeout = 0;                ///< seconds that one command may take; 0: any
    bool batch = false;                ///< ends after scripts and commands
    int context = 5;
    int64_t history = 10000; ///< lines of the history file
};
/// From --script, --ex, --batch, --rc and the section [debug] of the configuration. Errors: usage, badFile.
Result<DebugLoopOptions> debugLoopOptions(const Arguments& arguments, Console& console);

/// Runs until `quit`, the end of the input, or, with --batch, the first error. Exit codes of docs/commands.md.
Result<int> runDebugLoop(Console& console, DebugSubject subject, const DebugLoopOptions& options);

} // namespace loopscope::app
