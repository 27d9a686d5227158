// Which variable of a graph is restored from which entry of its checkpoint. A SavedModel says it in the graph itself: RestoreV2 reads
// entries by name, and assignments carry them to the variables, in the main graph (v1) or in a function that it calls (v2).
#pragma once

#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope::savedmodel {

struct RestoredVariable {
    OperatorId variable;    ///< a node of the main graph: VarHandleOp, VariableV2
    std::string key;        ///< entry of the checkpoint
    std::string slice = {}; ///< if only a part of it is restored: which, as RestoreV2 spells it
};

/// In file order of the variables, one for each.
std::vector<RestoredVariable> restoredVariables(const Model& model);

} // namespace loopscope::savedmodel
