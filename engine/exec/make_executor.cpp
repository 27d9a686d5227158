#include "engine/exec/make_executor.h"

#include "engine/exec/dataflow_executor.h"
#include "engine/plan/run_selection.h"

namespace loopscope {

Result<std::unique_ptr<Executor>> makeExecutor(const Model& model, GraphId root, const ExecutionOptions& options)
{
    if (model.hasGraph(root) && model.dialect == Dialect::tf && !dataflowOperator(model, root).empty()) {
        LS_TRY(std::unique_ptr<Executor> executor, DataflowExecutor::create(model, root, options));
        return executor;
    }
    LS_TRY(std::unique_ptr<Executor> executor, Interpreter::create(model, root, options));
    return executor;
}

} // namespace loopscope
