// The subcommands. Each has a file of its own; registry.cpp lists them with their help.
#pragma once

#include "app/wiring/command_line.h"

#include <span>
#include <string>
#include <string_view>

namespace loopscope::app {

Result<int> runInfo(const CommandContext& context);
Result<int> runList(const CommandContext& context);
Result<int> runRun(const CommandContext& context);
Result<int> runBench(const CommandContext& context);
Result<int> runTrace(const CommandContext& context);
Result<int> runQuery(const CommandContext& context);
Result<int> runReportCommand(const CommandContext& context);
Result<int> runProve(const CommandContext& context);
Result<int> runDiff(const CommandContext& context);
Result<int> runExport(const CommandContext& context);
Result<int> runExportGraph(const CommandContext& context);
Result<int> runConvert(const CommandContext& context);
Result<int> runDevices(const CommandContext& context);
Result<int> runGrad(const CommandContext& context);
Result<int> runFuse(const CommandContext& context);
Result<int> runRaiseCommand(const CommandContext& context);
Result<int> runPassList(const CommandContext& context);
Result<int> runOps(const CommandContext& context);
Result<int> runDebug(const CommandContext& context);
Result<int> runDap(const CommandContext& context);
Result<int> runPartition(const CommandContext& context);
Result<int> runGui(const CommandContext& context);
Result<int> runCheck(const CommandContext& context);
Result<int> runHelp(const CommandContext& context);
Result<int> runCompletion(const CommandContext& context);

std::span<const CommandSpec> allCommands();
/// Null if there is none.
const CommandSpec* findCommand(std::string_view name);

/// What `loopscope` alone and `loopscope help` print.
std::string overviewText();
/// The bash completion script (app/completion).
std::string bashCompletion();

/// Everything after the program's name: finds the command, parses and runs it. The exit code; errors are told to nobody.
Result<int> runWords(Console& console, std::span<const std::string> words);
/// The same, and prints an error. Returns the exit code.
int runCommandLine(Console& console, std::span<const std::string> words);

} // namespace loopscope::app
