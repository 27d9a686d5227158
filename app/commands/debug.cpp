// `loopscope debug`: the terminal debugger on a model.
#include "app/commands/commands.h"
#include "app/terminal/debug_loop.h"
#include "app/wiring/console.h"
#include "app/wiring/model_file.h"
#include "app/wiring/session.h"
#include "engine/exec/interpreter.h"

namespace loopscope::app {

Result<int> runDebug(const CommandContext& context)
{
    const Arguments& arguments = context.arguments;
    if (arguments.positionals.empty())
        return Error(ErrorCode::usage, "something is missing")
            .at("'debug'")
            .expected("loopscope debug MODEL")
            .note("for example: loopscope debug samples/text/collatz.lsir -i x=27");
    LS_TRY(ExecutionOptions options, executionOptions(arguments));
    LS_TRY(const LoadedModel file, loadModel(arguments.positionals[0]));
    LS_TRY(DebugSubject subject, liveSubject(file.model, fileNameOf(file.path), arguments.text("signature"), options));
    subject.inputs = arguments.all("input");
    for (std::string& feed : arguments.all("feed")) subject.inputs.push_back(std::move(feed));
    LS_TRY(const DebugLoopOptions loop, debugLoopOptions(arguments, context.console));
    return runDebugLoop(context.console, std::move(subject), loop);
}

} // namespace loopscope::app
