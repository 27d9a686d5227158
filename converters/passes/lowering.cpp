// The operators of TensorFlow become those of TFLite.
#include "converters/lower/lower.h"
#include "converters/passes/graph_walk.h"
#include "converters/passes/pass.h"

namespace loopscope {

/// to-tflite: the primary graph and what it calls (docs/lowering.md); where something has no form, the model stays as it is.
Result<RewriteReport> runLowering(Model& model, const PassContext&)
{
    LS_CHECK_OK(needsTensorFlow(model));
    LS_TRY(LoweredModel lowered, lowerToTflite(model, GraphId(0), {}));
    RewriteReport report;
    for (NoForm& each : lowered.noForm) report.declined.push_back({std::move(each.place), each.kind + ": " + each.reason});
    if (!report.declined.empty()) return report;
    const Graph& before = model.graph(GraphId(0));
    Rewrite whole{"tflite", "graph " + before.id, before.id, "", {}};
    for (const Operator& op : before.operators) whole.nodes.push_back(op.name);
    report.rewrites.push_back(std::move(whole));
    model = std::move(lowered.model);
    return report;
}

} // namespace loopscope
