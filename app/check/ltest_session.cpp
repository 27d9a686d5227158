#include "app/check/ltest_session.h"

#include <cstdlib>

namespace loopscope::app {

std::vector<SessionCommand> readSession(const std::vector<std::string>& lines, std::string_view prompt)
{
    std::vector<SessionCommand> commands;
    for (size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].starts_with(prompt)) commands.push_back({lines[i].substr(prompt.size()), {}, i});
        else if (!commands.empty()) commands.back().expected.push_back(lines[i]);
    }
    for (SessionCommand& command : commands)
        while (!command.expected.empty() && command.expected.back().find_first_not_of(" \t") == std::string::npos)
            command.expected.pop_back();
    return commands;
}

std::vector<std::vector<std::string>> replaySession(DebugSubject subject, const std::vector<SessionCommand>& commands)
{
    std::string text;
    Terminal terminal(std::move(subject), {}, [&](const TerminalEvent& event) { text += event.text; });
    std::vector<std::vector<std::string>> replies;
    for (const SessionCommand& command : commands) {
        text.clear();
        if (!terminal.ended()) terminal.execute(command.text, LineOrigin::file);
        std::vector<std::string> lines = splitLines(text);
        while (!lines.empty() && lines.back().empty()) lines.pop_back();
        replies.push_back(std::move(lines));
    }
    return replies;
}

Tolerance sessionTolerance(const LtestSection& section)
{
    Tolerance tolerance;
    const std::string cosine = section.value("cosine");
    if (cosine.empty()) tolerance.close.emplace();
    else tolerance.cosine = std::strtod(cosine.c_str(), nullptr);
    return tolerance;
}

} // namespace loopscope::app
