// What a debugger asks about frames, tokens and deadness.
#include "engine/exec/dataflow/machine.h"

namespace loopscope {

std::vector<DataflowFrame> DataflowExecutor::Impl::frames() const { return {}; }
std::vector<DataflowToken> DataflowExecutor::Impl::tokens() const { return {}; }
std::vector<DataflowReady> DataflowExecutor::Impl::ready() const { return {}; }
std::vector<DataflowTally> DataflowExecutor::Impl::tallies() const { return {}; }
bool DataflowExecutor::Impl::isDead(int, ValueId) const { return false; }
Result<std::vector<DeadHop>> DataflowExecutor::Impl::whyDead(GraphId, OperatorId) const { return std::vector<DeadHop>(); }
int64_t DataflowExecutor::Impl::reachableNodes() const { return 0; }
std::vector<std::string> DataflowExecutor::Impl::warnings() const { return {}; }

} // namespace loopscope
