// Pruning that reaches into calls, as TensorFlow does it.
#pragma once

#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope {

/// TensorFlow puts the functions that calls, Ifs, Cases and Whiles run into the graph (where they say `_lower_using_switch_merge`, and
/// calls unless the function says `_noinline`) before it prunes the graph to what a session fetches. So, of a function, only that runs
/// which what is fetched needs: operands that nothing in it needs are not computed, nor are loop variables, and side effects of branches
/// and called functions happen only if something needs them or waits for them. What is fetched or asked for itself (`targets`) runs whole.
/// `root` is what the session fetches, selected and in order. Calls that lose something call copies behind the other graphs; operands that
/// are not computed are FakeParams.
void pruneCalls(Model& model, GraphId root, const std::vector<std::string>& targets);

} // namespace loopscope
