// The answers behind `why`, one function for each question. All of them leave the timeline anywhere.
#pragma once

#include "engine/debug/inspect/provenance.h"
#include "engine/debug/inspect/why.h"

#include <optional>
#include <string>

namespace loopscope {

/// Why the loop goes on whose frame is at `depth` of the present stop.
Result<Explanation> explainLoop(const DebugTarget& target, int depth);
/// The same of a v1 frame.
Result<Explanation> explainFrame(const DebugTarget& target, int depth);
/// How the loop `site` of the graph that the path leads to ended, when it ran last before here.
Result<Explanation> explainLoopEnd(const DebugTarget& target, const CallPath& outside, OperatorId site);
/// Why it stopped, when it ran last before here: the part of the condition that was false, and who wrote what that part reads.
Result<Explanation> explainStop(const DebugTarget& target, const CallPath& outside, OperatorId site);
/// Why the branch `site` of the graph that the path leads to takes the way that it takes: in the present invocation where it is before it
/// or inside it, else when it ran last.
Result<Explanation> explainBranch(const DebugTarget& target, const CallPath& outside, OperatorId site);
/// Why a node of a v1 graph is dead, in the present iteration of its frame. Errors: usage, it is not dead or there is no such graph.
Result<Explanation> explainDead(const DebugTarget& target, GraphId graph, OperatorId op);
/// Which Recvs wait for which Sends, what keeps those from sending, and who waits for whom in a circle.
Result<Explanation> explainWaiting(const DebugTarget& target);
/// Where a NaN comes from; `element`: which one (flat), else the first.
Result<Explanation> explainNan(const DebugTarget& target, ValueAt value, std::optional<int64_t> element);
/// Which way a gradient came, and where it became zero, NaN or largest. Errors: usage, it is none.
Result<Explanation> explainGradient(const DebugTarget& target, ValueAt value);
/// Where an element comes from.
Result<Explanation> explainElement(const DebugTarget& target, ValueAt value, int64_t element);

/// Flat index of the first NaN; −1: there is none.
int64_t firstNan(const Tensor& tensor);
/// The value of a frame at the present stop: of the root also an output after the end. Null: not there.
const Tensor* valueHere(const Executor& executor, int depth, ValueId value);
/// "x[0,3,1]"; a scalar has no index.
std::string elementName(const std::string& id, const Shape& shape, int64_t element);

} // namespace loopscope
