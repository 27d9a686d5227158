// help and apropos: all from the table of commands.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <vector>

namespace loopscope::app::terminal {

namespace {

std::string lowered(std::string_view text)
{
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

void answerCommands(Terminal& terminal, std::span<const TerminalCommand> commands)
{
    terminal.answer().list("commands", commands, [](Answer& answer, const TerminalCommand& command) {
        answer.field("name", command.name).field("short", command.shortName).field("synopsis", command.synopsis);
        answer.field("summary", command.summary).field("example", command.example);
    });
}

} // namespace

Status help(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty()) {
        terminal.reply(helpOverview());
        answerCommands(terminal, terminalCommands());
        return {};
    }
    LS_TRY(const TerminalCommand* command, findTerminalCommand(line.text));
    terminal.reply(helpText(*command));
    answerCommands(terminal, std::span(command, 1));
    return {};
}

Status apropos(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty()) return Error(ErrorCode::usage, "apropos").expected("a word, 'apropos iteration'");
    const std::string word = lowered(line.text);
    std::string out;
    std::vector<TerminalCommand> found;
    for (const TerminalCommand& command : terminalCommands()) {
        const std::string all = lowered(std::string(command.name) + " " + std::string(command.topic) + " " + std::string(command.synopsis) +
                                        " " + std::string(command.summary) + " " + std::string(command.details));
        if (all.find(word) == std::string::npos) continue;
        std::string name(command.name);
        name.resize(std::max<size_t>(name.size(), 18), ' ');
        out += name + std::string(command.summary) + "\n";
        found.push_back(command);
    }
    answerCommands(terminal, found);
    terminal.reply(out.empty() ? "nothing is about '" + std::string(line.text) + "'; 'help' lists the commands\n" : out);
    return {};
}

} // namespace loopscope::app::terminal
