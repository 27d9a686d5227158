// Where iterations and nodes are, as addresses, and the iterations around the place where the machine stands.
#pragma once

#include "engine/exec/dataflow/flow.h"
#include "engine/observe/address.h"

#include <string>
#include <vector>

namespace loopscope::dataflow {

/// Of the invocation or iteration.
Address addressOf(const Iteration& innermost);
/// Of an operator in it and, from `slot` 0 on, its output.
std::string addressOf(const Iteration& iteration, OperatorId op, int32_t slot = -1);
/// The iterations around the next node, outermost first; of a run that is over the root.
std::vector<const Iteration*> stackOf(const Flow& flow);
/// The frame that stack[depth] is, of what stackOf() has given.
FrameInfo frameInfo(const Flow& flow, const std::vector<const Iteration*>& stack, size_t depth);
/// What lies in the frame at `depth` of the stack (0 = root, −1 = innermost); null: nothing.
Cell* cellAt(const Flow& flow, int depth, ValueId value);

} // namespace loopscope::dataflow
