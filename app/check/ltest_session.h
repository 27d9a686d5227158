// `== session`: commands of the terminal debugger and what it must reply. Pages of the documentation are replayed the same way.
#pragma once

#include "app/check/ltest_file.h"
#include "app/terminal/terminal.h"
#include "engine/base/result.h"
#include "engine/tensor/compare.h"

#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

/// One command and the lines that follow it.
struct SessionCommand {
    std::string text;
    std::vector<std::string> expected;
    size_t line = 0; ///< in its section, from 0
};

/// Cuts lines into commands: each begins with `prompt` ("> ", "(loop) "). Lines before the first command are left out. Empty lines at the
/// end of a reply do not count.
std::vector<SessionCommand> readSession(const std::vector<std::string>& lines, std::string_view prompt);

/// Runs the commands one after the other; the lines that each one printed.
std::vector<std::vector<std::string>> replaySession(DebugSubject subject, const std::vector<SessionCommand>& commands);

/// How near values of two models are the same for a session that is held against another one: `cosine=C`, else close.
Tolerance sessionTolerance(const LtestSection& section);

} // namespace loopscope::app
