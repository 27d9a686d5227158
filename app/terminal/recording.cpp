// `record`: recordings of what is debugged, in the format of `loopscope trace`.
#include "app/wiring/recording.h"
#include "app/replay/run_recording.h"
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
#include "engine/base/text.h"

#include <array>
#include <filesystem>

namespace loopscope::app::terminal {

namespace {

std::string levelText(TraceLevel level)
{
    constexpr std::array names = {"control", "statistics", "hashes", "values", "all"};
    return names[static_cast<size_t>(level)];
}

Error misused() { return Error(ErrorCode::usage, "record").expected("'record on [FILE] [LEVEL] [--force]' or 'record off'"); }

Status switchOn(Terminal& terminal, std::vector<std::string> words)
{
    if (terminal.isReplay()) return Error(ErrorCode::usage, "a recording is not recorded again");
    if (const RunRecording* const present = terminal.recording())
        return Error(ErrorCode::usage, "is being recorded into").at(present->path()).expected("'record off' first");
    RecorderOptions options = terminal.recorderOptions();
    options.overwrite = std::erase(words, "--force") > 0;
    options.path = std::filesystem::path(terminal.name()).stem().string() + ".lstrace";
    for (const std::string& word : words) {
        if (const Result<TraceLevel> level = parseLevel(word); level.ok()) options.level = *level;
        else if (&word == words.data()) options.path = word;
        else return misused();
    }
    const std::string path = options.path, level = levelText(options.level);
    LS_CHECK_OK(terminal.startRecording(std::move(options)));
    terminal.reply("recording into " + path + " from the next 'run' on, level " + level + "\n");
    return {};
}

Status switchOff(Terminal& terminal)
{
    const RunRecording* const present = terminal.recording();
    const std::string level = present ? levelText(present->level()) : "";
    LS_TRY(const RecordingSummary summary, terminal.stopRecording());
    std::string text =
        summary.path + ": " + groupThousands(summary.events) + (summary.events == 1 ? " event" : " events") + ", level " + level;
    if (summary.runs != 1) text += ", " + groupThousands(summary.runs) + " runs";
    if (summary.state != "complete") text += ", " + summary.state;
    terminal.reply(text + "\n");
    return {};
}

} // namespace

std::string recordingState(Terminal& terminal)
{
    const RunRecording* const recording = terminal.recording();
    if (!recording) return "nothing is recorded; 'record on FILE' begins with the next run\n";
    // The engine's thread is what feeds the recording.
    return terminal.ask([&](Debugger&) {
        std::string text = recording->path() + ": level " + levelText(recording->level()) + ", ";
        if (!recording->hasRun()) return text + "begins with the next run\n";
        text += groupThousands(recording->steps()) + " steps of this run";
        return text + (recording->wasEdited() ? ", which was edited then\n" : "\n");
    });
}

Status record(Terminal& terminal, const CommandLine& line)
{
    std::vector<std::string> words = line.words();
    if (words.empty()) {
        terminal.reply(recordingState(terminal));
        return {};
    }
    const std::string what = words.front();
    words.erase(words.begin());
    if (what == "on") return switchOn(terminal, std::move(words));
    if (what == "off" && words.empty()) return switchOff(terminal);
    return misused();
}

} // namespace loopscope::app::terminal
