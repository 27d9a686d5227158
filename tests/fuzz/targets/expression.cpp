// Fuzz target: expressions: compiled, evaluated at a stop, as conditions.
#include "tests/fuzz/target.h"

#include "tests/fuzz/debugged.h"

using namespace loopscope;

LS_FUZZ_TARGET(expression, true, 600)
{
    app::Terminal& terminal = debugged();
    if (!terminal.isStarted()) terminal.execute("start x=6", app::LineOrigin::file);
    std::string text(reinterpret_cast<const char*>(data), size);
    if (text.find("npz") != text.npos || text.find("npy") != text.npos) return 0; // files are targets of their own
    terminal.execute("print " + text, app::LineOrigin::file);
    terminal.execute("break when " + text, app::LineOrigin::file);
    terminal.execute("delete", app::LineOrigin::file);
    return 0;
}
