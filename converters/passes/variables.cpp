// Variables of TensorFlow 1 become those of TensorFlow 2.
#include "converters/passes/graph_walk.h"
#include "converters/passes/pass.h"
#include "engine/transform/resource_variables.h"

namespace loopscope {

/// resource-variables: in every graph whose references all go to operators that have a form with handles.
Result<RewriteReport> runResourceVariables(Model& model, const PassContext& context)
{
    LS_CHECK_OK(needsTensorFlow(model));
    RewriteReport report;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const GraphId graph(static_cast<int64_t>(g));
        std::vector<std::string> asked;
        if (g == 0) asked = context.visible.fetches;
        LS_TRY(ResourceVariables done, useResourceVariables(model, graph, asked));
        for (const std::string& name : done.variables)
            report.rewrites.push_back({"VarHandleOp", "variable " + name, model.graph(graph).id, name, {name}});
        for (auto& [where, reason] : done.without) report.declined.push_back({std::move(where), std::move(reason)});
    }
    return report;
}

} // namespace loopscope
