// Commands about timelines, bookmarks and notes.
#include "app/output/table.h"
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"

namespace loopscope::app::terminal {

Status timelines(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    LS_CHECK_OK(terminal.checkStarted());
    LS_TRY(const TimelineList answer, terminal.ask([](Inspector& inspector) { return inspector.timelines(); }));
    Table table({"", "timeline", "from", "forked at tick", "left at tick", "reached tick"});
    for (const TimelineInfo& info : answer.timelines)
        table.add({info.id == answer.current ? "*" : "", std::to_string(info.id), info.parent == 0 ? "" : std::to_string(info.parent),
                   info.parent == 0 ? "" : std::to_string(info.forkTick), std::to_string(info.lastTick), std::to_string(info.frontier)});
    terminal.reply(table.text());
    terminal.answer().list("timelines", answer.timelines, [&](Answer& out, const TimelineInfo& info) {
        out.field("id", info.id).field("current", info.id == answer.current);
        if (info.parent == 0) out.null("parent").null("forked_at_tick");
        else out.field("parent", info.parent).field("forked_at_tick", static_cast<int64_t>(info.forkTick));
        out.field("left_at_tick", static_cast<int64_t>(info.lastTick)).field("reached_tick", static_cast<int64_t>(info.frontier));
    });
    return {};
}

Status switchTimeline(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    LS_TRY(const int64_t number, wholeNumber(line.text, "switch", 1, INT32_MAX));
    return terminal.carryOut(request::SwitchTimeline{number});
}

Status mark(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    if (line.text.empty() || line.words().size() > 1)
        return Error(ErrorCode::usage, "mark").expected("one word as the name, 'mark before'");
    return terminal.carryOut(request::SetMark{std::string(line.text)});
}

Status marks(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    LS_TRY(const std::vector<Mark> list, terminal.ask([](Inspector& inspector) { return inspector.marks(); }));
    terminal.answer().list("marks", list, [](Answer& out, const Mark& mark) {
        out.field("name", mark.name).field("note", mark.text).field("address", mark.address).field("step", static_cast<int64_t>(mark.step));
        out.field("timeline", mark.timeline);
    });
    if (list.empty()) {
        terminal.reply("no marks\n");
        return {};
    }
    bool several = false;
    for (const Mark& mark : list) several = several || mark.timeline != 1;
    Table table({"mark", "step", "place", several ? "timeline" : "", "note"});
    table.align(1, Align::right);
    for (const Mark& mark : list)
        table.add({mark.name, std::to_string(mark.step), mark.address, several ? std::to_string(mark.timeline) : "", mark.text});
    terminal.reply(table.text());
    return {};
}

Status note(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    if (line.text.empty()) return Error(ErrorCode::usage, "note").expected("a text");
    return terminal.carryOut(request::TakeNote{std::string(line.text)});
}

} // namespace loopscope::app::terminal
