// Fuzz target: scripts of the debugger.
#include "tests/fuzz/target.h"

#include "tests/fuzz/debugged.h"

#include <algorithm>

using namespace loopscope;

LS_FUZZ_TARGET(script, true, 200)
{
    app::Terminal& terminal = debugged();
    std::string_view text(reinterpret_cast<const char*>(data), size);
    for (int lines = 0; !text.empty() && lines < 30; ++lines) {
        const size_t end = std::min(text.find(0x0a), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        // What writes or reads other files is left out: the file under test is this one.
        const bool touchesFiles = line.find_first_of("/~.") != line.npos && line.find_first_not_of(" \t") != line.npos &&
                                  std::string_view("slrxi").find(line[line.find_first_not_of(" \t")]) != std::string_view::npos;
        if (!touchesFiles && line.find("record") == line.npos && line.find("save") == line.npos)
            terminal.execute(line, app::LineOrigin::file);
    }
    terminal.execute("delete", app::LineOrigin::file);
    return 0;
}
