// `loopscope dap`: the debugger for editors, over the Debug Adapter Protocol.
#include "app/commands/commands.h"
#include "app/dap/listen.h"
#include "app/output/console.h"

#include <cstdio>

namespace loopscope::app {

Result<int> runDap(const CommandContext& context)
{
    const Arguments& arguments = context.arguments;
    if (!arguments.has("listen")) {
        dap::serveStandardStreams();
        return 0;
    }
    LS_TRY(const int64_t port, arguments.integer("listen", 0, 0, 65535));
    LS_CHECK_OK(dap::serveClients(port, [&](int taken, const std::string& token) {
        context.console.line("listening on 127.0.0.1:" + std::to_string(taken) + " token " + token);
        std::fflush(stdout);
    }));
    return 0;
}

} // namespace loopscope::app
