// One session on a model: runs of any of its graphs, between which variables, tables and random numbers carry over; with progress, a
// time limit and Ctrl-C.
#pragma once

#include "engine/api/inputs/inputs.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "engine/exec/interpreter.h"
#include "engine/observe/execution_observer.h"
#include "engine/transform/run_selection.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace loopscope::app {

class Arguments;
class Console;
class ProgressMeter;

/// --profile. Errors: usage; unsupported, for one that is not built into this program.
Result<Profile> profileOption(const Arguments& arguments);
/// Reads --profile, --seed, --threads, --max-steps and --max-depth; --backend must be one that exists. Errors: usage, device.
Result<ExecutionOptions> executionOptions(const Arguments& arguments, std::string* whyNoDevice = nullptr);

/// Inputs under a time limit (≤ 0: none): `@rand` of gigabytes takes long. Errors: of `bind`; execution if the limit has passed.
Result<BoundInputs> boundInTime(double timeoutSeconds, const std::function<Result<BoundInputs>()>& bind);

/// Steps of one run of the graph; -1 where that is only known afterwards: there are calls.
int64_t knownSteps(const Model& model, GraphId graph);

/// Trips of one loop, summed over its executions, in order of first entry.
struct LoopTrips {
    std::string address; ///< "main/while#0"; without iterations of outer loops
    int64_t executions = 0;
    int64_t trips = 0;
};

class ModelSession {
public:
    /// `model` must outlive the session.
    ModelSession(const Model& model, const ExecutionOptions& options) : m_model(model), m_options(options) {}

    /// The executor of a graph, carrying the session's state. Errors as makeExecutor.
    Result<Executor*> enter(GraphId graph);
    /// TensorFlow graphs: what the selection runs of the graph, in the same session. `target` becomes its inputs and outputs.
    Result<Executor*> enter(GraphId graph, const RunSelection& selection, RunTarget& target);
    /// From the next enter() on, other options apply; the session's state stays. Executors given out before are gone then.
    void setOptions(const ExecutionOptions& options);
    /// Where kernels of a device leave results of this executor; null: it has none.
    DeviceMemory* deviceOf(const Executor& executor) const;
    /// Gives the inputs of run `run` to the executor, starts and runs to the end. `meter` may be null. `timeoutSeconds` ≤ 0: none.
    /// Errors: as the executor's; execution if the time limit passed.
    Status run(Executor& executor, const BoundInputs& inputs, int64_t run, ProgressMeter* meter, double timeoutSeconds,
               const std::function<std::string()>& extra = {});

private:
    Result<Executor*> enter(const Model& model, GraphId graph);

    const Model& m_model;
    ExecutionOptions m_options;
    std::map<std::string, Model> m_selected; ///< by what was selected
    std::map<std::pair<const Model*, GraphId>, std::unique_ptr<Executor>> m_executors;
    std::unique_ptr<Executor> m_retired;                ///< ran last under other options; holds the state until the next enter()
    std::map<const Executor*, DeviceMemory*> m_devices; ///< those that have one
    Executor* m_current = nullptr;
};

} // namespace loopscope::app
