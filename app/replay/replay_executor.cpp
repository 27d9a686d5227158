#include "app/replay/replay_executor.h"

#include "app/replay/recorded_dataflow.h"
#include "app/replay/trace_executor.h"
#include "engine/exec/dataflow_executor.h"
#include "engine/ops/dataflow.h"

namespace loopscope::app {

std::unique_ptr<Executor> replayExecutor(RecordingFile file, const CancelFlag* cancel)
{
    const bool isDataflow = file.model.dialect == Dialect::tf && !dataflowOperator(file.model, file.root).empty();
    if (!isDataflow) return TraceExecutor::create(std::move(file), cancel);
    return DataflowExecutor::replay(std::make_shared<RecordedDataflow>(std::move(file)), cancel);
}

} // namespace loopscope::app
