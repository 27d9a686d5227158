// Expressions about an operator that has run though the executor stands before it: of invocations that are over, what the last one gave
// can be asked for nowhere else, since ends of graphs are no stops.
#pragma once

#include "engine/debug/evaluate.h"
#include "engine/observe/events.h"

#include <string_view>
#include <vector>

namespace loopscope {

/// evaluateList() in the innermost frame, whose next operator is `ran.op`, as if that had run: what it gives is `ran.results`, which must
/// stay where they are when the executor moves. Errors: of evaluateList().
Result<std::vector<EvaluatedValue>> evaluateAfter(const DebugTarget& target, const OperatorEvent& ran, std::string_view text);

} // namespace loopscope
