#include "app/terminal/debug_loop.h"

#include "app/terminal/json_events.h"
#include "app/terminal/line_editor.h"
#include "app/wiring/config.h"
#include "app/wiring/signals.h"
#include "engine/base/clock.h"
#include "engine/base/file_guard.h"
#include "engine/base/interruption.h"
#include "engine/base/text.h"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <unistd.h>

namespace loopscope::app {

namespace {

constexpr int64_t kProgressEveryNs = 250'000'000;
constexpr std::string_view kStartupFile = ".loopscoperc";

/// Feeds command lines to a terminal and prints what comes of them.
class Loop {
public:
    Loop(Console& console, DebugSubject subject, const DebugLoopOptions& options)
        : m_console(console),
          m_options(options),
          m_interactive(!options.batch && !console.json() && isatty(STDIN_FILENO) == 1),
          m_terminal(std::move(subject), settings(), [this](const TerminalEvent& event) { tell(event); })
    {
        m_terminal.setWaiter([this](DebugSession& session) { wait(session); });
        m_terminal.setInterrupted([this] { return wasInterrupted(); });
    }

    Result<int> run()
    {
        catchInterrupts();
        std::optional<Watchdog> watchdog;
        if (!m_interactive) watchdog.emplace(m_console.json());
        if (!m_options.batch && !m_console.quiet() && !m_console.json()) m_console.print(m_terminal.banner());
        bool fine = prepare() && startup();
        for (const std::string& command : m_options.commands)
            if (fine && !m_terminal.ended())
                fine = command.starts_with('-') ? (one(command.substr(1), LineOrigin::commandLine), !m_interrupted)
                                                : one(command, LineOrigin::commandLine);
        if (m_options.batch) {
            const int code = ended();
            return !fine && !m_interrupted ? static_cast<int>(m_terminal.lastError()) : code;
        }
        if (!m_terminal.ended()) {
            if (m_interactive) prompt();
            else pipe();
        }
        return ended();
    }

private:
    TerminalSettings settings() const
    {
        TerminalSettings settings;
        settings.colored = m_console.colored();
        settings.shell = m_interactive;
        settings.confirms = m_interactive;
        settings.width = m_console.outIsTerminal() && !m_console.json() ? m_console.width() : 0;
        settings.context = m_options.context;
        return settings;
    }

    int ended()
    {
        if (m_console.json()) m_events.ended(m_number);
        if (m_timedOut && !m_interactive) return static_cast<int>(ErrorCode::execution);
        return m_interrupted && !m_interactive ? static_cast<int>(ErrorCode::cancelled) : 0;
    }

    /// Inputs are tried before the first line: those of gigabytes take long.
    bool prepare()
    {
        const Deadline deadline(interruptFlag(), m_interactive ? 0 : m_options.timeout);
        const InterruptionScope heeds(&interruptFlag());
        const bool fine = m_terminal.prepare();
        m_events.flush(m_number);
        if (!deadline.passed()) return fine;
        m_console.error(timeLimitError(m_options.timeout));
        interruptFlag().clear();
        m_timedOut = m_interrupted = true;
        return false;
    }

    bool startup()
    {
        for (const std::string& command : m_options.startup) one(command, LineOrigin::file);
        if (!m_options.startupFile.empty() && !script(m_options.startupFile)) return false;
        for (const std::string& path : m_options.scripts)
            if (!m_terminal.ended() && !script(path)) return false;
        return true;
    }

    bool script(const std::string& path) { return one("source " + path, LineOrigin::commandLine); }

    /// Ctrl-C or the time limit since the last line that was typed, also in one command and between two.
    bool wasInterrupted()
    {
        const bool timedOut = m_options.timeout > 0 && static_cast<double>(nowNs() - m_lineNs) > m_options.timeout * 1e9;
        if (timedOut && !m_timedOut) {
            m_timedOut = true;
            m_console.error(timeLimitError(m_options.timeout));
        }
        if (interruptFlag().requested() && !timedOut) m_interruptions += 1;
        interruptFlag().clear();
        m_interrupted = m_interrupted || timedOut || m_interruptions > 0;
        return m_interrupted;
    }

    /// Work that looks at no flag: without a prompt it is ended at once, with one it is offered.
    void insist()
    {
        if (m_pausedNs == 0) m_pausedNs = nowNs();
        if (static_cast<double>(nowNs() - m_pausedNs) < kSecondsToStop * 1e9) return;
        const Error error = m_timedOut ? timeLimitError(m_options.timeout) : Error(ErrorCode::cancelled, "cancelled");
        if (!m_interactive || terminationRequested() || m_interruptions > 2) endAtOnce(error, m_console.json());
        if (!m_insisted) m_console.note("the operator that runs cannot be paused; Ctrl-C three times ends the program");
        m_insisted = true;
    }

    bool one(const std::string& line, LineOrigin origin)
    {
        m_lineNs = nowNs();
        m_pausedNs = 0;
        m_interruptions = 0;
        m_timedOut = m_insisted = false;
        // With a prompt the time limit pauses; without one it also ends what looks at no flag, wherever that is.
        const Deadline deadline(interruptFlag(), m_interactive ? 0 : m_options.timeout);
        const bool fine = m_terminal.execute(line, origin);
        m_console.endProgress();
        m_progressNs = 0;
        std::fflush(stdout);
        tellChangedFiles();
        return fine && !m_interrupted;
    }

    /// Each large file that somebody writes while it is mapped here, once.
    void tellChangedFiles()
    {
        for (const std::string& path : changedFiles())
            if (m_changed.insert(path).second)
                m_console.warning(path + ": was written while it was in use: what is computed from it holds no longer");
    }

    void prompt()
    {
        LineEditor editor(m_terminal, m_options.history);
        while (!m_terminal.ended() && !terminationRequested()) {
            std::optional<std::string> line = editor.read(m_terminal.prompt());
            if (!line) break;
            m_interrupted = false;
            interruptFlag().clear();
            if (line->find_first_not_of(" \t") == std::string::npos) line = m_terminal.repeatable();
            one(*line, LineOrigin::prompt);
        }
    }

    /// Commands from a pipe: no prompt, nothing is repeated.
    void pipe()
    {
        std::string line;
        while (!m_terminal.ended() && !m_interrupted && std::getline(std::cin, line)) {
            ++m_number;
            one(line, LineOrigin::pipe);
        }
    }

    void tell(const TerminalEvent& event)
    {
        m_console.endProgress();
        if (m_console.json()) {
            m_events.tell(event, m_number);
        } else if (event.kind == TerminalEvent::Kind::error) {
            // Among replies on a terminal and in pipes alike: what failed stands where it was asked.
            std::fflush(stdout);
            if (m_options.batch) m_console.said(event.text);
            else m_console.print(event.text);
        } else if (m_interactive && event.kind == TerminalEvent::Kind::reply) {
            m_console.page(event.text);
        } else {
            m_console.print(event.text);
        }
    }

    void wait(DebugSession& session)
    {
        const bool wasAsked = m_interrupted;
        const int signals = m_interruptions;
        if (wasInterrupted()) {
            if (!wasAsked || m_interruptions > signals) session.pause();
            insist();
        }
        const SessionProgress progress = session.progress();
        if (m_console.json() && progress.busy && progress.sinceNs - m_progressNs > kProgressEveryNs) {
            m_progressNs = progress.sinceNs;
            m_events.progress(m_number, progress);
            std::fflush(stdout);
        }
        if (!m_console.showsProgress() || !progress.busy || !m_console.progressDue()) return;
        std::string text = "running  tick " + groupThousands(progress.tick);
        if (progress.target != INT64_MAX && progress.target > 0) text += " of " + groupThousands(progress.target);
        const double seconds = static_cast<double>(progress.sinceNs) / 1e9;
        if (seconds > 0) text += "  " + std::to_string(static_cast<int64_t>(seconds)) + " s";
        m_console.progress(text + "  (Ctrl-C pauses)");
    }

    Console& m_console;
    const DebugLoopOptions& m_options;
    bool m_interactive;
    JsonEvents m_events{[this](const std::string& line) { m_console.line(line); }};
    Terminal m_terminal;
    bool m_interrupted = false;
    bool m_timedOut = false;         ///< of the line that runs
    bool m_insisted = false;         ///< it was said that what runs cannot be paused
    std::set<std::string> m_changed; ///< files that were told to be written while they are in use
    int m_interruptions = 0;         ///< by signals, of the line that runs
    int64_t m_lineNs = 0;            ///< when the line that runs was begun
    int64_t m_pausedNs = 0;          ///< when that was first asked to pause; 0: it was not
    int64_t m_number = 0;            ///< of the command line, for --json
    int64_t m_progressNs = 0;        ///< when the running request was last told about
};

} // namespace

Result<DebugLoopOptions> debugLoopOptions(const Arguments& arguments, Console&)
{
    DebugLoopOptions options;
    LS_TRY(const Config config, loadConfig());
    options.startup = config.debug.startup;
    options.context = config.debug.context;
    options.history = config.debug.history;
    options.scripts = arguments.all("script");
    options.commands = arguments.all("ex");
    options.batch = arguments.has("batch");
    LS_TRY(options.timeout, arguments.real("timeout", 0));
    std::error_code error;
    if (arguments.has("rc")) {
        if (!std::filesystem::exists(kStartupFile, error)) return Error(ErrorCode::badFile, "no such file").at(std::string(kStartupFile));
        options.startupFile = std::string(kStartupFile);
    }
    return options;
}

Result<int> runDebugLoop(Console& console, DebugSubject subject, const DebugLoopOptions& options)
{
    return Loop(console, std::move(subject), options).run();
}

} // namespace loopscope::app
