// Commands that read and write files, and the end.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
#include "engine/base/bytes.h"

#include <algorithm>

namespace loopscope::app::terminal {

Status save(Terminal& terminal, const CommandLine& line)
{
    const std::vector<std::string> words = line.words();
    if (words.empty() || words.size() > 2 || (words.size() == 2 && words[1] != "--force"))
        return Error(ErrorCode::usage, "save").expected("a file, and --force to overwrite it");
    if (words.size() == 2) LS_CHECK_OK(terminal.checkMayOverwrite("save"));
    LS_TRY(std::string text, terminal.ask([](Inspector& inspector) { return inspector.savedBreakpoints(); }));
    for (const DisplayRequest& display : terminal.displays().list()) text += "display " + display.expression + "\n";
    LS_CHECK_OK(writeFile(words[0], text, words.size() == 2));
    const auto count = std::count(text.begin(), text.end(), '\n');
    terminal.answer().field("file", words[0]).field("lines", static_cast<int64_t>(count));
    terminal.reply(words[0] + ": " + std::to_string(count) + (count == 1 ? " line\n" : " lines\n"));
    return {};
}

Status load(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty()) return Error(ErrorCode::usage, "load").expected("a file that 'save' wrote");
    const std::string path(line.text);
    LS_TRY(const Bytes content, mapFile(path));
    // Displays are this face's own; the rest is the engine's.
    std::string rest;
    std::vector<std::string> displays;
    const std::string_view text(content.as<char>(), content.size());
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view one = text.substr(at, end - at);
        at = end + 1;
        if (one.starts_with("display ")) displays.emplace_back(one.substr(8));
        else rest += std::string(one) + "\n";
    }
    struct Loaded {
        size_t total = 0, disabled = 0;
    };
    const auto known = [&] { return terminal.ask([](Inspector& inspector) { return inspector.breakpoints(); }); };
    const auto load = [&]() -> Result<Loaded> {
        LS_TRY(const std::vector<BreakpointInfo> old, known());
        const size_t before = old.size();
        LS_CHECK_OK(terminal.session().loadBreakpoints(rest));
        Loaded counts;
        LS_TRY(const std::vector<BreakpointInfo> list, known());
        counts.total = list.size() - std::min(before, list.size());
        for (const BreakpointInfo& info : list) counts.disabled += info.disabledBecause.empty() ? 0 : 1;
        return counts;
    };
    Result<Loaded> loaded = load();
    if (!loaded.ok()) return std::move(loaded).takeError().at(path);
    for (const std::string& display : displays) terminal.displays().add(display);
    std::string reply = path + ": " + std::to_string(loaded->total) + (loaded->total == 1 ? " breakpoint" : " breakpoints");
    if (!displays.empty()) reply += ", " + std::to_string(displays.size()) + (displays.size() == 1 ? " display" : " displays");
    if (loaded->disabled > 0) reply += "; " + std::to_string(loaded->disabled) + " disabled, 'info breakpoints' says why";
    terminal.reply(reply + "\n");
    terminal.answer()
        .field("file", path)
        .field("loaded", static_cast<int64_t>(loaded->total))
        .field("disabled", static_cast<int64_t>(loaded->disabled))
        .field("displays", static_cast<int64_t>(displays.size()));
    return {};
}

Status source(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty()) return Error(ErrorCode::usage, "source").expected("a file with one command per line");
    terminal.answer().field("file", line.text);
    return terminal.source(std::string(line.text));
}

Status quit(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    const bool isEnd = terminal.confirmed();
    terminal.answer().field("ended", isEnd);
    if (!isEnd) {
        terminal.reply("there are edits on further timelines, which nothing keeps; 'quit' again leaves\n");
        return {};
    }
    terminal.end();
    return {};
}

} // namespace loopscope::app::terminal
