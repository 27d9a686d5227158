// Raising: the control flow of TensorFlow 1 (Switch, Merge, Enter, Exit, NextIteration, LoopCond) becomes While and If.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

/// What has to keep its name at the top of the primary graph, as a session is asked for it (`node` or `node:slot`).
struct RaiseOptions {
    std::vector<std::string> fetches, targets, feeds;
};

/// Something of the v1 graph that became an operator.
struct Raised {
    std::string kind;               ///< "while" or "if"
    std::string from;               ///< frame, or predicate
    std::string graph, name;        ///< where the operator is and what it is called
    std::vector<std::string> nodes; ///< the v1 nodes of control flow that it stands for
};

/// Something that stays as it is.
struct Declined {
    std::string where;  ///< node
    std::string reason; ///< the rule: "Merge has two inputs that may both be live: 'a' and 'b'"
};

struct RaiseReport {
    std::vector<Raised> raised;
    std::vector<Declined> declined;
};

/// Raises all graphs of a TensorFlow model. What cannot be raised stays, and is told. GraphIds stay valid; functions are added behind.
/// Errors: usage, for another dialect and for names that there are not.
Result<RaiseReport> raiseControlFlow(Model& model, const RaiseOptions& options = {});

} // namespace loopscope
