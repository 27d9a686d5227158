// The table of the debugger's commands: dispatch, help, apropos, completion and the reference page all follow from it.
#pragma once

#include "engine/base/result.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

class Terminal;

/// What the Tab key offers after a command's name.
enum class CompletionKind : uint8_t {
    none,
    value,
    place,
    breakpointKind,
    breakpoint,
    mark,
    command,
    info,
    file,
    option,
    iteration,
    inputName
};

/// What was typed after the command's name.
struct CommandLine {
    std::string_view name;      ///< of the command, in full
    std::string_view modifiers; ///< of `x/16 acc`: "16"
    std::string_view text;      ///< the rest without blanks around it
    /// The words of `text`.
    std::vector<std::string> words() const;
};

struct TerminalCommand {
    std::string_view name;
    std::string_view shortName; ///< empty: none
    std::string_view topic;     ///< "moving", "breakpoints", …: how help groups them
    std::string_view synopsis;  ///< "step [N]"
    std::string_view example;   ///< a line that works on samples/text/collatz.lsir
    std::string_view summary;   ///< one sentence
    std::string_view details;   ///< further lines; empty: none
    CompletionKind completion = CompletionKind::none;
    Status (*run)(Terminal& terminal, const CommandLine& line) = nullptr;
    bool repeats = false; ///< an empty line does it again
};

std::span<const TerminalCommand> terminalCommands();
/// By full name, short form or unique prefix. Errors: usage, "unknown command 'stpe'; did you mean 'step'?", "'re' is ambiguous: …".
Result<const TerminalCommand*> findTerminalCommand(std::string_view word);

/// A whole number of an argument. Errors: usage.
Result<int64_t> wholeNumber(std::string_view text, std::string_view what, int64_t least, int64_t most);
/// Errors: usage if anything was typed after the command's name.
Status expectNothing(const CommandLine& line);

/// What `help` prints: the topics, or one command with its example first.
std::string helpOverview();
std::string helpText(const TerminalCommand& command);
/// The table of commands for docs/debugging.md.
std::string commandReference();

} // namespace loopscope::app
