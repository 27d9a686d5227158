// The terminal debugger without a terminal: takes command lines, drives a session, and tells a sink what came of them. The prompt, scripts,
// `--json` and text tests all sit on top of it.
#pragma once

#include "app/replay/run_recording.h"
#include "app/terminal/ink.h"
#include "app/terminal/operator_lines.h"
#include "app/terminal/stop_view.h"
#include "app/wiring/run_observers.h"
#include "app/wiring/run_target.h"
#include "engine/api/session.h"
#include "engine/debug/reference/drift.h"
#include "engine/debug/reference/reference.h"
#include "engine/ir/text/structured.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope::app {

struct BoundInputs;
struct TerminalCommand;

/// What is debugged.
struct DebugSubject {
    std::shared_ptr<const void> owner; ///< of the model, if nobody else owns it
    std::string name;                  ///< file, for the banner
    const Model* model = nullptr;      ///< outlives the debugger
    RunTarget target;
    std::unique_ptr<CancelFlag> cancel;
    std::unique_ptr<Executor> executor; ///< looks at `cancel`
    bool isReplay = false;              ///< a recording: it has its inputs
    std::string note;                   ///< to be said once, before the first command; empty: nothing
    std::string selection;              ///< TensorFlow graphs: "22 of 25 nodes after pruning; …", said before the first command
    std::function<std::string(int64_t first, int64_t last)>
        printed;                     ///< what the model said in those steps of a recording; asked by the engine's thread
    std::string level;               ///< of a recording, "level statistics": what is in it
    std::vector<std::string> inputs; ///< as typed after --input
    uint64_t seed = 1;
    TimelineBudget budget;
    /// What a recording of it begins with, but its file and level. Empty: it cannot be recorded.
    std::function<RecorderOptions()> recording;
    /// --against: makes the reference run for inputs as typed; `last` is what the run before was fed with, null: there was none. Empty:
    /// there is no reference.
    std::function<Result<std::unique_ptr<Reference>>(const std::vector<std::string>& inputs, const BoundInputs* last)> reference;
};

struct TerminalSettings {
    bool colored = false;
    bool shell = false;    ///< `!COMMAND` is allowed
    bool confirms = false; ///< `quit` warns once if there are edits
    int width = 0;         ///< columns; 0: lines are not cut
    int context = 5;       ///< lines that `list` shows
};

/// What came of a command, told while it happens.
struct TerminalEvent {
    enum class Kind : uint8_t { stopped, reply, log, error };
    Kind kind = Kind::reply;
    std::string text;               ///< as a person reads it; lines are ended
    const StopView* stop = nullptr; ///< of `stopped`
    const Error* error = nullptr;   ///< of `error`
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
    void setWaiter(std::function<void(Session&)> waiter) { m_waiter = std::move(waiter); }

    /// Before the first command: says what the reference run pairs with, if there is one. False if it cannot be made.
    bool prepare();
    /// One line as typed. Errors were told to the sink already; they change nothing. False if the command failed.
    bool execute(std::string_view line);
    bool ended() const { return m_ended; }
    /// "(loop) ", "(loop r3) ", "(replay) ", ">" while the commands of a breakpoint are typed.
    std::string prompt() const;
    std::string banner() const;
    /// What an empty line repeats; empty: nothing.
    const std::string& repeatable() const { return m_repeat; }
    ErrorCode lastError() const { return m_lastError; }

    // For the commands.

    /// Runs `work` on the engine's thread and waits for its answer.
    template <typename Work> auto ask(Work work) -> std::invoke_result_t<Work, Debugger&>
    {
        using Answer = std::invoke_result_t<Work, Debugger&>;
        std::promise<Answer> promise;
        std::future<Answer> answer = promise.get_future();
        m_session->post("", [&](Debugger& debugger) {
            if constexpr (std::is_void_v<Answer>) {
                work(debugger);
                promise.set_value();
            } else {
                promise.set_value(work(debugger));
            }
        });
        if (m_waiter)
            while (answer.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) m_waiter(*m_session);
        return answer.get();
    }
    using Move = std::function<Result<StopReport>(RunControl&)>;
    /// Moves and shows where that ended; what breakpoints want to be run there follows.
    Status move(const Move& move, StopStyle style);
    /// The same where the run may not have begun: errors say how to begin it.
    Status checkStarted() const;
    /// Binds inputs and begins: `move` is start or run.
    Status begin(const std::vector<std::string>& inputs, const Move& move);
    /// Changes a value at this stop: "timeline 2 from step 276".
    Status edit(const std::function<Result<StopReport>(Debugger&)>& work);
    void reply(std::string_view text);
    void note(std::string_view text) { reply("note: " + std::string(text) + "\n"); }

    const Model& model() const { return *m_subject.model; }
    const RunTarget& target() const { return m_subject.target; }
    const std::string& name() const { return m_subject.name; }
    bool isReplay() const { return m_subject.isReplay; }
    const std::string& level() const { return m_subject.level; }
    Session& session() { return *m_session; } ///< for faces that ask questions of their own beside the commands
    bool isStarted() const { return m_started; }
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
    Status setInput(const std::string& text);        ///< of the next run: "n=5"
    void setOrder(uint64_t seed) { m_order = seed; } ///< of nodes that are ready, from the next run on; 0: the documented one
    /// What the last run was fed with; null: there was none. From any thread.
    std::shared_ptr<const BoundInputs> lastInputs() const { return m_lastInputs.load(); }
    const std::vector<std::string>& inputs() const { return m_subject.inputs; }
    uint64_t seed() const { return m_subject.seed; }

    std::vector<DisplayRequest>& displays() { return m_displays; }
    int nextDisplay() { return ++m_lastDisplay; }
    /// The structured view of what runs, made when it is asked for first.
    const std::vector<StructuredLine>& listing();
    bool listStarted() const { return m_listStarted; } ///< since the last stop
    size_t listFirst() const { return m_listFirst; }   ///< first line that `list` showed last
    void setList(size_t first)
    {
        m_listFirst = first;
        m_listStarted = true;
    }
    /// The recording that is on; null: none. The engine's thread feeds it.
    RunRecording* recording() const
    {
        return m_recordings.empty() || m_recordings.back()->isClosed() ? nullptr : m_recordings.back().get();
    }
    RecorderOptions recorderOptions() const;
    Status startRecording(RecorderOptions options);            ///< errors: cannotWrite
    Result<RecordingSummary> stopRecording();                  ///< errors: usage, if none is on; cannotWrite
    Reference* reference() const { return m_reference.get(); } ///< null: none; the engine's thread uses it
    std::shared_ptr<Reference> sharedReference() const { return m_reference; }
    /// What `drift` found last against this reference; null: nothing yet.
    std::shared_ptr<const Drift> drift() const { return m_drift; }
    void keepDrift(std::shared_ptr<const Drift> drift) { m_drift = std::move(drift); }
    void collectCommands(int number) { m_collecting = number; }
    Status source(const std::string& path); ///< runs the commands of a file
    void end() { m_ended = true; }
    bool confirmed(); ///< of `quit` with edits: true the second time

private:
    bool fail(const Error& error);
    bool run(std::string_view line);
    bool collect(std::string_view line);
    void show(StopView view);
    void observe();
    void tellSayings();
    void deliver(TerminalEvent::Kind kind, std::string text, const StopView* stop = nullptr, const Error* error = nullptr);
    Status attachReference(const std::vector<std::string>& inputs);
    ViewRequest viewRequest(StopStyle style) const;

    DebugSubject m_subject;
    TerminalSettings m_settings;
    TerminalSink m_sink;
    Ink m_ink;
    OperatorLines m_lines;
    TerminalOptions m_options;
    std::shared_ptr<Reference> m_reference;
    std::shared_ptr<const Drift> m_drift;
    std::vector<std::string> m_referenceInputs;              ///< it was made for
    std::vector<std::unique_ptr<RunRecording>> m_recordings; ///< the last may be on; a run that goes on may still know the others
    class Sayings;
    int64_t m_toldSteps = 0;            ///< of a recording: what it printed in steps before this one was told
    std::unique_ptr<Sayings> m_sayings; ///< what the model prints; null: it never does
    std::deque<FanOut> m_observers;     ///< the last is that of the next run
    std::unique_ptr<Session> m_session; ///< after what it uses
    std::function<void(Session&)> m_waiter;
    std::atomic<std::shared_ptr<const BoundInputs>> m_lastInputs;
    std::optional<uint64_t> m_order;               ///< none: as the executor was made
    std::shared_ptr<const MachineState> m_initial; ///< before the first run: each `run` begins from here
    bool m_started = false;
    bool m_ended = false;
    bool m_warned = false;
    StopView m_stop;
    FrameContext m_frame;
    std::vector<DisplayRequest> m_displays;
    int m_lastDisplay = 0;
    std::vector<StructuredLine> m_listing;
    size_t m_listFirst = 0;
    bool m_listStarted = false;
    std::string m_repeat;
    int m_collecting = 0; ///< breakpoint whose commands are being typed; 0: none
    std::vector<std::string> m_collected;
    std::deque<std::string> m_pending; ///< commands of breakpoints that are to be run
    bool m_running = false;            ///< an execute() is on the stack
    int m_sourceDepth = 0;
    ErrorCode m_lastError = ErrorCode::usage;
};

} // namespace loopscope::app
