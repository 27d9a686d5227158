// Shapes of results that inference leaves to the kernels: layers need them while they are written. Only of what rules write, with operands
// as rules give them; whatever is not certain stays unknown.
#pragma once

#include "engine/ir/model.h"

#include <optional>
#include <vector>

namespace loopscope::keras {

/// The elements of a Const of integers; none of anything else.
std::optional<std::vector<int64_t>> constantInts(const Graph& graph, ValueId value);
/// The shape of a result; of unknown rank where nothing is known.
Shape shapeOfResult(const Graph& graph, const Operator& op, size_t result);

} // namespace loopscope::keras
