// Commands that make, change and remove breakpoints, watches and log points.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"

#include <optional>

namespace loopscope::app::terminal {

namespace {

constexpr int64_t kMostNumber = 1'000'000'000;

BreakpointCommand commandOf(std::string_view name)
{
    if (name == "tbreak") return BreakpointCommand::temporary;
    if (name == "watch") return BreakpointCommand::watch;
    if (name == "rwatch") return BreakpointCommand::readWatch;
    if (name == "awatch") return BreakpointCommand::accessWatch;
    if (name == "log") return BreakpointCommand::log;
    return BreakpointCommand::breakpoint;
}

/// "breakpoint 1 at main/while#0@37", "watch 2: acc", "log 3 at …".
std::string createdText(const BreakpointInfo& info)
{
    std::string text = info.command == BreakpointCommand::log          ? "log "
                       : info.command == BreakpointCommand::temporary  ? "temporary breakpoint "
                       : info.command == BreakpointCommand::breakpoint ? "breakpoint "
                                                                       : "watch ";
    text += std::to_string(info.number);
    if (!info.place.empty()) return text + " at " + info.place + "\n";
    return text + ": " + info.spec + "\n";
}

/// The first word as a number, the rest.
Result<std::pair<int, std::string>> numberAndRest(const CommandLine& line, std::string_view expected)
{
    const size_t end = std::min(line.text.find_first_of(" \t"), line.text.size());
    if (end == 0) return Error(ErrorCode::usage, "no breakpoint is named").at(line.name).expected(std::string(expected));
    LS_TRY(const int64_t number, wholeNumber(line.text.substr(0, end), line.name, 1, kMostNumber));
    const size_t rest = line.text.find_first_not_of(" \t", end);
    return std::pair{static_cast<int>(number), rest == std::string_view::npos ? std::string() : std::string(line.text.substr(rest))};
}

} // namespace

Status addBreakpoint(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty())
        return Error(ErrorCode::usage, "no place is named").at(line.name).expected("what 'help " + std::string(line.name) + "' lists");
    const FrameContext frame = terminal.frame();
    const std::string spec(line.text);
    const BreakpointCommand command = commandOf(line.name);
    LS_TRY(const BreakpointInfo info, terminal.ask([&](Debugger& debugger) -> Result<BreakpointInfo> {
        LS_TRY(const int number, debugger.breakpoints().add(command, spec, frame));
        return debugger.breakpoints().get(number);
    }));
    terminal.reply(createdText(info));
    return {};
}

Status condition(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(const auto parts, numberAndRest(line, "condition N EXPR"));
    const FrameContext frame = terminal.frame();
    LS_CHECK_OK(terminal.ask([&](Debugger& debugger) { return debugger.breakpoints().setCondition(parts.first, parts.second, frame); }));
    terminal.reply("breakpoint " + std::to_string(parts.first) +
                   (parts.second.empty() ? " has no condition now\n" : " stops if " + parts.second + "\n"));
    return {};
}

Status ignore(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(const auto parts, numberAndRest(line, "ignore N COUNT"));
    LS_TRY(const int64_t count, wholeNumber(parts.second, "ignore", 0, INT64_MAX));
    LS_CHECK_OK(terminal.ask([&](Debugger& debugger) { return debugger.breakpoints().setIgnore(parts.first, count); }));
    terminal.reply("breakpoint " + std::to_string(parts.first) + " ignores the next " + std::to_string(count) +
                   (count == 1 ? " hit\n" : " hits\n"));
    return {};
}

Status commands(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(const auto parts, numberAndRest(line, "commands N"));
    LS_TRY([[maybe_unused]] const BreakpointInfo info,
           terminal.ask([&](Debugger& debugger) { return debugger.breakpoints().get(parts.first); }));
    if (!parts.second.empty())
        return Error(ErrorCode::usage, "commands")
            .found("'" + parts.second + "'")
            .expected("one command on each of the next lines, then 'end'");
    terminal.collectCommands(parts.first);
    return {};
}

Status enable(Terminal& terminal, const CommandLine& line)
{
    std::optional<int> only;
    if (!line.text.empty()) {
        LS_TRY(const int64_t number, wholeNumber(line.text, line.name, 1, kMostNumber));
        only = static_cast<int>(number);
    }
    return terminal.ask([&](Debugger& debugger) -> Status {
        BreakpointSet& set = debugger.breakpoints();
        if (line.name == "delete") {
            if (only) return set.remove(*only);
            set.removeAll();
            return {};
        }
        const bool wanted = line.name == "enable";
        if (only) return set.setEnabled(*only, wanted);
        for (const BreakpointInfo& info : set.list()) LS_CHECK_OK(set.setEnabled(info.number, wanted));
        return {};
    });
}

} // namespace loopscope::app::terminal
