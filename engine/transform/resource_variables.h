// The variables of TensorFlow 1, whose references run along the edges of a graph, become those of TensorFlow 2, whose handles do: what
// raises, lowers or splits a graph then meets one kind of variable only.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

struct ResourceVariables {
    std::vector<std::string> variables;                       ///< nodes that are handles now
    std::vector<std::pair<std::string, std::string>> without; ///< nodes that stand in the way, each with the reason; then nothing changed
};

/// Rewrites one graph: VariableV2 becomes VarHandleOp, Assign AssignVariableOp and so on, RefEnter, RefSwitch, … hand on handles, and who
/// read a value through a reference reads it by a ReadVariableOp where it did: when all its operands are there. Nodes among `asked`
/// (`node` or `node:slot`: fetches) keep their name for the value. Errors: internal, from the editor.
Result<ResourceVariables> useResourceVariables(Model& model, GraphId id, std::span<const std::string> asked);

} // namespace loopscope
