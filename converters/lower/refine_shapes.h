// What shapes the values of a lowered model have, as far as that follows from the shapes of its inputs.
#pragma once

#include "engine/ir/model.h"

#include <set>
#include <utility>
#include <vector>

namespace loopscope::lowering {

/// Stand-ins for values that are dead: graph and value. Nobody looks at an element of one.
using StandIns = std::set<std::pair<int32_t, int32_t>>;

/// Follows shapes from the inputs of graph 0 through branches and around loops to the fixed point: what a loop hands on in the shape in
/// which it came keeps that, what changes is open. Values of open shape get what is found; declared shapes stay. A stand-in takes the
/// shape of what the other branch gives in its place, up to 16,384 elements: LiteRT prepares what reads it, although that will not run.
void refineShapes(Model& model, const StandIns& standIns);

} // namespace loopscope::lowering
