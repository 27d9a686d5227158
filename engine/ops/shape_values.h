// Small integers that follow from shapes: dimensions that a graph takes out of one shape and puts into another. Who infers shapes can
// follow them before anything has run.
#pragma once

#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace loopscope {

/// Bytes of results that were shown. They stay where they are.
using ShownValues = std::deque<std::vector<std::byte>>;

/// The elements of a tensor of integers that has data; nothing: it has none, or they are many.
std::optional<std::vector<int64_t>> shownIntegers(const Tensor* tensor);

/// If the result of `op` is a few integers that follow from the operands' shapes and from the data that these have (Shape, Size, Rank of a
/// known shape, then parts, joins, sums and products of such), gives it its bytes, which `shown` keeps. Its dtype and shape are set.
void showShapeValue(const Operator& op, std::span<const Tensor* const> inputs, Tensor& result, ShownValues& shown);

} // namespace loopscope
