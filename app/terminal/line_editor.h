// The prompt: line editing, history and Tab completion over libedit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace loopscope::app {

class Terminal;

class LineEditor {
public:
    /// Reads the history file of the state folder ($XDG_STATE_HOME/loopscope/debug_history), if there is one.
    LineEditor(Terminal& terminal, int64_t historyLines);
    /// Writes the history back.
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    /// One line without its end; none at the end of the input (Ctrl-D). Ctrl-C gives up the line and begins another.
    std::optional<std::string> read(const std::string& prompt);

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace loopscope::app
