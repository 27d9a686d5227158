// What a command line asks to be run, read once for all commands that run a model: options, the model, what of it runs, its inputs.
#pragma once

#include "converters/formats.h"
#include "engine/api/inputs/inputs.h"
#include "engine/api/inputs/run_target.h"
#include "engine/exec/execution_options.h"

#include <cstdint>
#include <string>

namespace loopscope::app {

class Arguments;
class Console;

struct AskedRun {
    ExecutionOptions options;
    int64_t runs = 1;
    double timeout = 0; ///< seconds of each run and of the filling of inputs; ≤ 0: none
    LoadedModel file;
    RunTarget target;
    BoundInputs inputs;
    std::string initialiser; ///< initialiserOf() of what was in the file
};

/// Whether a host loop that stands beside the model is run.
enum class KeptLoop : uint8_t { ignored, used };

/// Notes about inputs, and the seed where it was used, go to the console. Errors: of whatever is read.
Result<AskedRun> askedRun(Console& console, const Arguments& arguments, KeptLoop loop = KeptLoop::ignored);

} // namespace loopscope::app
