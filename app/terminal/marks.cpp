// Commands about timelines, bookmarks and notes.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
#include "app/wiring/table.h"

namespace loopscope::app::terminal {

Status timelines(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    LS_CHECK_OK(terminal.checkStarted());
    struct Answer {
        std::vector<TimelineInfo> lines;
        int current = 0;
    };
    const Answer answer = terminal.ask([](Debugger& debugger) {
        return Answer{debugger.timeline().timelines(), debugger.timeline().current()};
    });
    Table table({"", "timeline", "from", "forked at tick", "left at tick", "reached tick"});
    for (const TimelineInfo& info : answer.lines)
        table.add({info.id == answer.current ? "*" : "", std::to_string(info.id + 1),
                   info.parent < 0 ? "" : std::to_string(info.parent + 1), info.parent < 0 ? "" : std::to_string(info.forkTick),
                   std::to_string(info.lastTick), std::to_string(info.frontier)});
    terminal.reply(table.text());
    return {};
}

Status switchTimeline(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    LS_TRY(const int64_t number, wholeNumber(line.text, "switch", 1, INT32_MAX));
    return terminal.move([=](RunControl& control) { return control.switchTo(static_cast<int>(number)); }, StopStyle::place);
}

Status mark(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    if (line.text.empty() || line.words().size() > 1)
        return Error(ErrorCode::usage, "mark").expected("one word as the name, 'mark before'");
    const std::string name(line.text);
    LS_CHECK_OK(terminal.ask([&](Debugger& debugger) { return debugger.control().mark(name); }));
    terminal.reply("mark " + name + " at " + terminal.stop().report.address + ", step " +
                   std::to_string(terminal.stop().report.position.step) + "\n");
    return {};
}

Status marks(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    const std::vector<Mark> list = terminal.ask([](Debugger& debugger) { return debugger.control().marks(); });
    if (list.empty()) {
        terminal.reply("no marks\n");
        return {};
    }
    bool several = false;
    for (const Mark& mark : list) several = several || mark.timeline != 0;
    Table table({"mark", "step", "place", several ? "timeline" : "", "note"});
    table.align(1, Align::right);
    for (const Mark& mark : list)
        table.add({mark.name, std::to_string(mark.step), mark.address, several ? std::to_string(mark.timeline + 1) : "", mark.text});
    terminal.reply(table.text());
    return {};
}

Status note(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    if (line.text.empty()) return Error(ErrorCode::usage, "note").expected("a text");
    const std::string text(line.text);
    terminal.ask([&](Debugger& debugger) { debugger.control().note(text); });
    return {};
}

} // namespace loopscope::app::terminal
