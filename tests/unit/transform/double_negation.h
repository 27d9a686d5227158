// The rewrite that docs/transform.md explains, as it stands there.
#pragma once

#include "engine/transform/graph_editor.h"

namespace loopscope::testing {

// clang-format off
/// −(−x) is x. The number of pairs that were taken out.
inline int removeDoubleNegations(Model& model, GraphId graph)
{
    GraphEditor editor(model, graph);
    int count = 0;
    for (const OperatorId outer : editor.order()) {
        if (!editor.isAlive(outer) || editor.op(outer).kind.name != "neg") continue;
        const Value& between = editor.value(editor.op(outer).inputs[0]);
        if (between.role != ValueRole::result || editor.op(between.producer).kind.name != "neg") continue;
        const OperatorId inner = between.producer;
        editor.replaceUses(editor.op(outer).results[0], editor.op(inner).inputs[0]);
        const OperatorId pair[] = {inner, outer};
        editor.eraseUnused(pair); // the inner one stays if something else reads it
        ++count;
    }
    return count;
}
// clang-format on

} // namespace loopscope::testing
