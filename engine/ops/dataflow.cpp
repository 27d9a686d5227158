#include "engine/ops/dataflow.h"

#include "engine/ir/ids.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"
#include "engine/ops/op_traits.h"

#include <algorithm>
#include <set>
#include <vector>

namespace loopscope {

bool isDataflow(const Operator& op) { return op.kind.dialect == "tf" && hasTrait(op.kind, OpTrait::dataflow); }

std::string dataflowOperator(const Model& model, GraphId root)
{
    std::vector<GraphId> graphs = {root};
    std::set<GraphId> seen = {root};
    for (size_t g = 0; g < graphs.size(); ++g) {
        const Graph& graph = model.graph(graphs[g]);
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const Operator& op = graph.operators[o];
            const auto isLate = [&](ValueId input) {
                return input.valid() && graph.value(input).role == ValueRole::result &&
                       graph.value(input).producer.index >= static_cast<int32_t>(o);
            };
            if (isDataflow(op) || std::any_of(op.inputs.begin(), op.inputs.end(), isLate))
                return graph.id + "/" + operatorLabel(op, static_cast<int64_t>(o));
            for (const Callee& callee : callForm(op).callees)
                if (model.hasGraph(callee.graph) && seen.insert(callee.graph).second) graphs.push_back(callee.graph);
        }
    }
    return {};
}

bool hasEffects(const Operator& op)
{
    const OpDef* const def = findOp(op.kind);
    return !def || def->hasSideEffects;
}

} // namespace loopscope
