// The terminal debugger without a terminal: takes command lines, drives a session, and tells a sink what came of them. The prompt, scripts,
// `--json` and text tests all sit on top of it.
#pragma once

#include "app/terminal/answer.h"
#include "app/terminal/command_block.h"
#include "app/terminal/displays.h"
#include "app/terminal/ink.h"
#include "app/terminal/listing_view.h"
#include "app/terminal/operator_lines.h"
#include "app/terminal/stop_view.h"
#include "app/terminal/variables.h"
#include "engine/api/debug_session.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::app {

struct TerminalCommand;

/// Where a line of commands came from, which decides what it may do: files are often somebody else's.
enum class LineOrigin : uint8_t {
    prompt,      ///< typed by a person, or clicked
    commandLine, ///< `--ex`
    pipe,        ///< standard input that is no terminal
    file,        ///< `--script`, `source`, `--rc`, the configuration
    breakpoint   ///< the commands of a breakpoint, typed or loaded
};

struct TerminalSettings {
    bool colored = false;
    bool shell = false;    ///< `!COMMAND` is allowed at the prompt
    bool confirms = false; ///< `quit` warns once if there are edits
    int width = 0;         ///< columns; 0: lines are not cut
    int context = 5;       ///< lines that `list` shows
};

/// What came of a command, told while it happens.
struct TerminalEvent {
    enum class Kind : uint8_t {
        stopped,
        reply,
        log,
        error,
        done ///< a command has ended, or a line that holds none; it has no text
    };
    Kind kind = Kind::reply;
    std::string text;               ///< as a person reads it; lines are ended
    const StopView* stop = nullptr; ///< of `stopped`
    const Error* error = nullptr;   ///< of `error`
    // Of `done`.
    std::string_view command;               ///< its full name; empty: the line held none
    LineOrigin origin = LineOrigin::prompt; ///< of the command
    const Answer* answer = nullptr;         ///< what it found, in fields
};
using TerminalSink = std::function<void(const TerminalEvent&)>;

/// `set option NAME V`.
struct TerminalOptions {
    int digits = 0;
    int context = 5;
};

class Terminal {
public:
    Terminal(DebugSubject subject, TerminalSettings settings, TerminalSink sink);
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    /// Called about every 50 ms while a request runs: progress lines, Ctrl-C.
    void setWaiter(std::function<void(DebugSession&)> waiter);
    /// Asked before each command that a file or a breakpoint gives: true ends them all. They may be endless: `run` at a breakpoint.
    void setInterrupted(std::function<bool()> interrupted) { m_interrupted = std::move(interrupted); }

    /// Before the first command: says what the reference run pairs with, if there is one. False if it cannot be made.
    bool prepare();
    /// A request that no line was typed for; told and shown as the command that commandText() says.
    bool perform(const Request& request);
    /// One line as typed. Errors were told to the sink already; they change nothing. False if the command failed.
    bool execute(std::string_view line, LineOrigin origin);
    bool ended() const { return m_ended; }
    /// "(loop) ", "(loop r3) ", "(replay) ", ">" while the commands of a breakpoint are typed.
    std::string prompt() const;
    std::string banner() const;
    /// What an empty line repeats; empty: nothing.
    const std::string& repeatable() const { return m_repeat; }
    ErrorCode lastError() const { return m_lastError; }

    // For the commands.

    /// Carries a request out, shows where that ended, and says what else there is to say.
    Status carryOut(const Request& request);
    /// Looks at the stop that a request came to; what breakpoints want to be run there follows.
    Status arrive(Result<Stop> stop, StopStyle style);
    void forgetValues() { m_stop.memory = {}; } ///< another run has begun: nothing is compared with what was shown before
    Status arriveEdited(Result<Edited> edited);
    Status display(const std::string& expression);
    /// Runs `work(Inspector&)` on the engine's thread and waits for its answer.
    template <typename Work> auto ask(Work work) { return m_session.ask(std::move(work)); }
    Status checkStarted() const { return m_session.checkStarted(); }
    void reply(std::string_view text);
    void note(std::string_view text) { reply("note: " + std::string(text) + "\n"); }
    /// The fields of the running command's answer.
    Answer& answer() { return m_answer; }

    DebugSession& session() { return m_session; }
    const DebugSession& session() const { return m_session; }
    const Model& model() const { return m_session.model(); }
    const RunTarget& target() const { return m_session.target(); }
    bool isReplay() const { return m_session.isReplay(); }
    bool isStarted() const { return m_started && m_session.isStarted(); }
    const Ink& ink() const { return m_ink; }
    const TerminalSettings& settings() const { return m_settings; }
    TerminalOptions& options() { return m_options; }
    NumberFormat format() const { return {m_options.digits, false, false}; }
    OperatorLines& lines() { return m_lines; }
    const StopView& stop() const { return m_stop; } ///< the last one; valid once started
    /// The frame that commands are about.
    FrameContext frame() const { return m_frame; }
    int frameDepth() const { return m_frame.depth < 0 ? static_cast<int>(m_stop.stack.size()) - 1 : m_frame.depth; }
    void selectFrame(int depth);

    Displays& displays() { return m_displays; }
    ListingView& listing() { return m_listing; }
    /// The lines that follow belong to it.
    CommandBlock& block() { return m_block; }
    Variables& variables() { return m_variables; }
    Status source(const std::string& path); ///< runs the commands of a file
    /// Of the line that is being executed.
    LineOrigin origin() const { return m_origin; }
    /// Errors: usage, if that line came from a file or a breakpoint, which overwrite nothing.
    Status checkMayOverwrite(std::string_view command) const;
    void end() { m_ended = true; }
    bool confirmed(); ///< of `quit` with edits: true the second time

private:
    bool fail(const Error& error);
    bool run(std::string_view line, LineOrigin origin);
    bool runLine(std::string_view typed, std::string_view& command);
    bool collect(std::string_view line);
    Status setVariable(std::string_view text);
    bool runDefined(const std::vector<std::string>& commands, std::string_view arguments);
    bool runPending();
    void show(StopView view);
    void tellPrinted();
    void deliver(TerminalEvent::Kind kind, std::string text, const StopView* stop = nullptr, const Error* error = nullptr);
    ViewRequest viewRequest(StopStyle style) const;

    DebugSession m_session;
    TerminalSettings m_settings;
    TerminalSink m_sink;
    Ink m_ink;
    OperatorLines m_lines;
    TerminalOptions m_options;
    bool m_started = false;
    bool m_ended = false;
    bool m_warned = false;
    StopView m_stop;
    FrameContext m_frame;
    Displays m_displays;
    ListingView m_listing;
    std::string m_repeat;
    CommandBlock m_block;
    Variables m_variables;
    int m_definedDepth = 0;            ///< defined commands that run
    std::deque<std::string> m_pending; ///< commands of breakpoints that are to be run
    int m_sourceDepth = 0;
    LineOrigin m_origin = LineOrigin::prompt;
    Answer m_answer;
    std::function<bool()> m_interrupted;
    ErrorCode m_lastError = ErrorCode::usage;
};

} // namespace loopscope::app
