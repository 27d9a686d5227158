// What shapes results of TensorFlow's operators have, as far as that follows before they run. Their kernels say what comes out when they
// run; this is for those who look at a graph.
#pragma once

#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <span>
#include <vector>

namespace loopscope {

/// The shapes of the results of `op`: of unknown rank where nothing follows. Operands have shapes, and
/// data where that is known; null: not there.
std::vector<Shape> followedShapes(const Operator& op, std::span<const Tensor* const> inputs);

} // namespace loopscope
