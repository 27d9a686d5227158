// `record`: recordings of what is debugged, in the format of `loopscope trace`.
#include "app/wiring/recording.h"
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
#include "engine/base/text.h"

#include <optional>

namespace loopscope::app::terminal {

namespace {

Error misused() { return Error(ErrorCode::usage, "record").expected("'record on [FILE] [LEVEL] [--force]' or 'record off'"); }

Status switchOn(Terminal& terminal, std::vector<std::string> words)
{
    request::RecordOn request;
    request.overwrite = std::erase(words, "--force") > 0;
    if (request.overwrite) LS_CHECK_OK(terminal.checkMayOverwrite("record"));
    for (const std::string& word : words) {
        if (parseLevel(word).ok()) request.level = word;
        else if (&word == words.data()) request.path = word;
        else return misused();
    }
    return terminal.carryOut(request);
}

} // namespace

std::string recordingState(Terminal& terminal)
{
    const std::optional<RecordingState> state = terminal.session().recording();
    if (!state) return "nothing is recorded; 'record on FILE' begins with the next run\n";
    std::string text = state->path + ": level " + state->level + ", ";
    if (!state->hasRun) return text + "begins with the next run\n";
    text += groupThousands(state->steps) + " steps of this run";
    return text + (state->wasEdited ? ", which was edited then\n" : "\n");
}

void answerRecording(Terminal& terminal, const std::optional<RecordingState>& state)
{
    Answer& answer = terminal.answer();
    if (!state) {
        answer.null("path").null("level").field("runs", 0).field("steps", 0).null("outcome");
        return;
    }
    answer.field("path", state->path).field("level", state->level).field("runs", state->runs).field("steps", state->steps);
    answer.field("outcome", state->outcome.empty() ? std::nullopt : std::optional(state->outcome));
}

Status record(Terminal& terminal, const CommandLine& line)
{
    std::vector<std::string> words = line.words();
    if (words.empty()) {
        terminal.reply(recordingState(terminal));
        answerRecording(terminal, terminal.session().recording());
        return {};
    }
    const std::string what = words.front();
    words.erase(words.begin());
    if (what == "on") return switchOn(terminal, std::move(words));
    if (what == "off" && words.empty()) return terminal.carryOut(request::RecordOff());
    return misused();
}

} // namespace loopscope::app::terminal
