// What was rewritten between two models: operators that became others, fused, split or of another kind, functions that are called once
// opened on both sides. And one of them taken back.
#pragma once

#include "engine/debug/graph_diff/graph_diff.h"

#include <vector>

namespace loopscope {

struct GraphOperator {
    GraphId graph;
    OperatorId op;
    auto operator<=>(const GraphOperator&) const = default;
};

struct GraphRewrite {
    std::vector<GraphOperator> here, there; ///< in the order of their graphs; neither is empty
    MatchedBy how = MatchedBy::content;
};

/// Of all pairs of graphs that the two roots lead to, in the order of this side.
std::vector<GraphRewrite> rewritesBetween(const Model& here, GraphId root, const Model& there, GraphId rootThere);

} // namespace loopscope
