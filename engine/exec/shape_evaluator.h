// Computes small integer values while a graph is planned, so that a shape that is calculated from other shapes is known beforehand.
#pragma once

#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <span>

namespace loopscope {

/// Runs the reference kernel of `op` on operands with data. Results have their final shapes and room for their elements. False if the
/// kernel cannot do it; then nothing is known of the results.
bool evaluateAtPlanning(const Operator& op, std::span<const Tensor* const> inputs, std::span<Tensor* const> results);

} // namespace loopscope
