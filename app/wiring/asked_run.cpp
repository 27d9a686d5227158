#include "app/wiring/asked_run.h"

#include "app/output/console.h"
#include "app/wiring/backend.h"
#include "app/wiring/command_line.h"
#include "app/wiring/host_loop.h"
#include "app/wiring/input_sources.h"
#include "app/wiring/lowering.h"
#include "app/wiring/model_file.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"

namespace loopscope::app {

Result<AskedRun> askedRun(Console& console, const Arguments& typed, KeptLoop loop)
{
    AskedRun asked;
    Arguments arguments = typed;
    LS_TRY(const bool isKept, loop == KeptLoop::used ? useLoopFile(arguments) : Result<bool>(false));
    if (isKept) console.note(loopNote(arguments.positionals[0]));
    std::string whyNoDevice;
    LS_TRY(asked.options, executionOptions(arguments, &whyNoDevice));
    if (!whyNoDevice.empty()) console.note(whyNoDevice);
    LS_TRY(asked.runs, arguments.integer("runs", 1, 1, 1'000'000'000));
    LS_TRY(asked.timeout, arguments.real("timeout", 0));
    LS_TRY(asked.file, loadModel(arguments.positionals[0]));
    LS_CHECK_OK(chooseComposites(asked.file.model, arguments.text("composites")));
    if (!arguments.has("init")) asked.initialiser = initialiserOf(asked.file.model);
    LS_CHECK_OK(selectFromArguments(asked.file, arguments));
    LS_CHECK_OK(placeOperators(arguments, asked.file.model));
    const bool isLoop = asksHostLoop(arguments);
    if (isLoop) LS_CHECK_OK(wrapInHostLoop(asked.file, arguments));
    LS_TRY(asked.target, targetOf(asked.file, isLoop ? "" : arguments.text("signature")));
    asked.options.signature = asked.target.signature;
    LS_TRY(const std::vector<std::string> sources, inputSources(arguments));
    LS_TRY(asked.inputs, boundInTime(asked.timeout, [&] { return bindInputs(asked.target, sources, asked.options.seed, asked.runs); }));
    for (const std::string& note : asked.inputs.notes) console.note(note);
    if (asked.inputs.usedSeed) console.note("seed " + std::to_string(asked.options.seed));
    return asked;
}

} // namespace loopscope::app
