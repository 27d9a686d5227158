// Slices that are written to, or combined with, places that index vectors name: TensorFlow's scatter operators on tensors and on variables.
#pragma once

#include "engine/kernels/cpu/tf_support.h"

#include <cstddef>
#include <vector>

namespace loopscope {

enum class Scatter : uint8_t { update, add, subtract, multiply, divide, maximum, minimum };

/// Index vectors: their last dimension says how many leading dimensions of a shape each entry names.
struct IndexVectors {
    int64_t count = 0;           ///< of vectors
    int64_t slice = 1;           ///< elements behind one of them
    std::vector<int64_t> starts; ///< first element of each slice
};
/// Errors: InvalidArgument for a vector that names no place of `shape`.
Result<IndexVectors> indexVectors(const Tensor& indices, const Shape& shape);

/// Elements of `to` from each of `vectors`, in their order, combined with those of `from`, which lie one slice after the other; if
/// `isScalar`, `from` is one element for all. Adding bools is or. Errors: unsupported for a dtype that has no such combination,
/// InvalidArgument for an integer divided by zero.
Status scatterSlices(Scatter how, DType dtype, const IndexVectors& vectors, const std::byte* from, bool isScalar, std::byte* to);

} // namespace loopscope
