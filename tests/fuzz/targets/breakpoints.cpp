// Fuzz target: files of breakpoints, on a loop that they may stop.
#include "tests/fuzz/target.h"

#include "tests/fuzz/debugged.h"

using namespace loopscope;

LS_FUZZ_TARGET(breakpoints, true, 200)
{
    app::Terminal& terminal = debugged();
    static_cast<void>(terminal.session().loadBreakpoints(std::string(reinterpret_cast<const char*>(data), size)));
    terminal.execute("run x=6", app::LineOrigin::file);
    terminal.execute("info breakpoints", app::LineOrigin::file);
    terminal.execute("delete", app::LineOrigin::file);
    return 0;
}
