#include "engine/exec/make_executor.h"

#include "engine/exec/dataflow_executor.h"
#include "engine/exec/machine_state.h"
#include "engine/ir/verifier.h"
#include "engine/ops/control_flow.h"
#include "engine/ops/dataflow.h"

namespace loopscope {

namespace {

Result<std::unique_ptr<Executor>> plainExecutor(const Model& model, GraphId root, const ExecutionOptions& options)
{
    if (model.hasGraph(root) && model.dialect == Dialect::tf && !dataflowOperator(model, root).empty()) {
        LS_TRY(std::unique_ptr<Executor> executor, DataflowExecutor::create(model, root, options));
        return executor;
    }
    LS_TRY(std::unique_ptr<Executor> executor, Interpreter::create(model, root, options));
    return executor;
}

/// Runs the graph that a session begins with, and leaves the executor its variables and tables.
Status initialise(Executor& executor, GraphId initialiser, const ExecutionOptions& options)
{
    Result<std::unique_ptr<Executor>> first = plainExecutor(executor.model(), initialiser, options);
    Status status = first.ok() ? (*first)->start() : Status(std::move(first).takeError());
    if (status.ok()) status = (*first)->run();
    if (status.ok()) return carryOver(**first, executor);
    return status.detail().code == ErrorCode::unsupported ? Status() : std::move(status);
}

} // namespace

Status carryOver(const Executor& from, Executor& to)
{
    const MachineState before = from.snapshot();
    MachineState state = to.snapshot();
    state.frames.clear(); // a run that failed there is over
    state.finished = false;
    state.resources = before.resources;
    state.random = before.random;
    state.initialised = before.initialised;
    state.variables = before.variables;
    return to.restore(state);
}

Result<std::unique_ptr<Executor>> makeExecutor(const Model& model, GraphId root, const ExecutionOptions& options)
{
    LS_CHECK_OK(verifyCalls(model));
    LS_TRY(std::unique_ptr<Executor> executor, plainExecutor(model, root, options));
    const GraphId initialiser = attributeGraph(model.attributes, kInitialiserGraph);
    if (model.hasGraph(initialiser) && initialiser != root) LS_CHECK_OK(initialise(*executor, initialiser, options));
    return executor;
}

} // namespace loopscope
