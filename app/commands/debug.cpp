// `loopscope debug`: the terminal debugger on a model.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/ranks/driven_run.h"
#include "app/terminal/debug_loop.h"
#include "app/wiring/input_sources.h"
#include "app/wiring/session.h"
#include "app/wiring/subject.h"
#include "engine/kernels/selection.h"

namespace loopscope::app {

Result<int> runDebug(const CommandContext& context)
{
    const Arguments& arguments = context.arguments;
    LS_TRY(const std::unique_ptr<DrivenRanks> ranks, DrivenRanks::join(arguments));
    if (const std::optional<int> code = ranks->serve(arguments)) return *code;
    LS_TRY(DebugSubject subject, openSubject(arguments, [&](const Model& model, GraphId root, ExecutionOptions& options) {
               ranks->drive(model, root, options);
           }));
    LS_TRY(const DebugLoopOptions loop, debugLoopOptions(arguments, context.console));
    if (!loop.batch && readsStandardInput(subject.inputs))
        return Error(ErrorCode::usage, "commands and an input cannot both come from standard input")
            .expected("--batch with --ex or --script");
    if (!subject.isReplay) {
        LS_TRY(const Profile profile, profileOption(arguments));
        const std::string text = fallbackText(*subject.model, expectedKernels(*subject.model, profile), profile);
        if (!text.empty()) context.console.note(text);
    }
    return runDebugLoop(context.console, std::move(subject), loop);
}

} // namespace loopscope::app
