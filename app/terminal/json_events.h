// The events of `debug --json`: one object per line (docs/json_events.md). What a command says and where it stopped is gathered, so that
// each command has one event with all of it.
#pragma once

#include "app/terminal/terminal.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::app {

class JsonEvents {
public:
    explicit JsonEvents(std::function<void(const std::string& line)> line) : m_line(std::move(line)) {}

    /// `command` is the number of the line that it answers, from 1; 0: of none.
    void tell(const TerminalEvent& event, int64_t command);
    void progress(int64_t command, const SessionProgress& progress);
    /// What was said outside of commands.
    void flush(int64_t command);
    void ended(int64_t command);

private:
    void answer(const TerminalEvent& event, int64_t command);

    std::function<void(const std::string& line)> m_line;
    int64_t m_sequence = 0;
    std::string m_text;
    std::vector<std::string> m_notes;
    std::optional<StopView> m_stop;
    std::optional<ErrorDetail> m_error;
};

} // namespace loopscope::app
