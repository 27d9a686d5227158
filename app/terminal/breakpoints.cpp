// Commands that make, change and remove breakpoints, watches and log points.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"

#include <algorithm>
#include <optional>

namespace loopscope::app::terminal {

namespace {

constexpr int64_t kMostNumber = 1'000'000'000;

/// The first word as a number, the rest.
Result<std::pair<int, std::string>> numberAndRest(const CommandLine& line, std::string_view expected)
{
    const size_t end = std::min(line.text.find_first_of(" \t"), line.text.size());
    if (end == 0) return Error(ErrorCode::usage, "no breakpoint is named").at(line.name).expected(std::string(expected));
    LS_TRY(const int64_t number, wholeNumber(line.text.substr(0, end), line.name, 1, kMostNumber));
    const size_t rest = line.text.find_first_not_of(" \t", end);
    return std::pair{static_cast<int>(number), rest == std::string_view::npos ? std::string() : std::string(line.text.substr(rest))};
}

/// The breakpoint that was made last. Errors: usage, there is none.
Result<int> lastBreakpoint(Terminal& terminal, std::string_view command)
{
    LS_TRY(const std::vector<BreakpointInfo> list, terminal.ask([](Inspector& inspector) { return inspector.breakpoints(); }));
    int last = 0;
    for (const BreakpointInfo& info : list) last = std::max(last, info.number);
    if (last == 0) return Error(ErrorCode::usage, "there is no breakpoint").at(command);
    return last;
}

} // namespace

Status addBreakpoint(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty())
        return Error(ErrorCode::usage, "no place is named").at(line.name).expected("what 'help " + std::string(line.name) + "' lists");
    LS_TRY(BreakpointSpec spec, parseSpec(*breakpointCommand(line.name), line.text));
    return terminal.carryOut(request::AddBreakpoint{std::move(spec)});
}

Status condition(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(auto parts, numberAndRest(line, "condition N EXPR"));
    return terminal.carryOut(request::SetCondition{parts.first, std::move(parts.second)});
}

Status ignore(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(auto parts, numberAndRest(line, "ignore N COUNT, or ignore COUNT for the last one"));
    if (parts.second.empty()) {
        parts.second = line.text;
        LS_TRY(parts.first, lastBreakpoint(terminal, "ignore"));
    }
    LS_TRY(const int64_t count, wholeNumber(parts.second, "ignore", 0, INT64_MAX));
    return terminal.carryOut(request::IgnoreHits{parts.first, count});
}

Status answerBreakpoints(Terminal& terminal, std::optional<int> only)
{
    LS_TRY(std::vector<BreakpointInfo> list, terminal.ask([](Inspector& inspector) { return inspector.breakpoints(); }));
    if (only) std::erase_if(list, [&](const BreakpointInfo& info) { return info.number != *only; });
    terminal.answer().breakpoints(list);
    return {};
}

Status commands(Terminal& terminal, const CommandLine& line)
{
    std::pair<int, std::string> parts;
    if (line.text.empty()) {
        LS_TRY(parts.first, lastBreakpoint(terminal, "commands"));
    } else {
        LS_TRY(parts, numberAndRest(line, "commands [N]"));
    }
    LS_TRY([[maybe_unused]] const BreakpointInfo info,
           terminal.ask([&](Inspector& inspector) { return inspector.breakpoint(parts.first); }));
    if (!parts.second.empty())
        return Error(ErrorCode::usage, "commands")
            .found("'" + parts.second + "'")
            .expected("one command on each of the next lines, then 'end'");
    terminal.block().begin(parts.first);
    return answerBreakpoints(terminal, parts.first);
}

Status enable(Terminal& terminal, const CommandLine& line)
{
    std::optional<int> only;
    if (!line.text.empty()) {
        LS_TRY(const int64_t number, wholeNumber(line.text, line.name, 1, kMostNumber));
        only = static_cast<int>(number);
    }
    if (line.name == "delete") return terminal.carryOut(request::RemoveBreakpoint{only});
    return terminal.carryOut(request::EnableBreakpoint{only, line.name == "enable"});
}

} // namespace loopscope::app::terminal
