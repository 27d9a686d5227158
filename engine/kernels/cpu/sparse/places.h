// Sparse tensors as TensorFlow's operators have them: indices [n,rank], values [n] and the dense shape [rank].
#pragma once

#include "engine/kernels/cpu/tf_support.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace loopscope {

/// Where the entries of a sparse tensor lie.
struct SparsePlaces {
    Shape shape;
    int64_t count = 0;
    std::vector<int64_t> indices; ///< [count, rank]
    int rank() const { return shape.rank(); }
    int64_t at(int64_t entry, int d) const { return indices[static_cast<size_t>(entry * rank() + d)]; }
    /// Entry x lies before y in the dense tensor: below 0; at the same place: 0.
    int compare(int64_t x, const SparsePlaces& other, int64_t y) const;
    /// The entries in the order of the dense tensor, equal ones as they are.
    std::vector<int64_t> order() const;
    void add(const SparsePlaces& from, int64_t entry);
};

/// Those of the tensor whose indices and shape are operands `i` and `s`. Errors: InvalidArgument if an index lies outside of the shape.
Result<SparsePlaces> sparsePlaces(const KernelArgs& args, int i, int s);
/// Errors: InvalidArgument if operand `v` is no vector of `count` values.
Status checkSparseValues(const KernelArgs& args, int v, int64_t count);
/// Result `k`, of dtype i64.
Status giveSparseIntegers(const KernelArgs& args, int k, const Shape& shape, const std::vector<int64_t>& numbers);
/// Results `i` and `s`: the indices and the shape.
Status giveSparsePlaces(const KernelArgs& args, int i, int s, const SparsePlaces& places);
/// Result `k`: the elements `chosen` of operand `v`, one after the other.
Status giveChosen(const KernelArgs& args, int k, int v, const std::vector<int64_t>& chosen);

/// For each dimension whether operand `k` names it. Errors: InvalidArgument.
Result<std::vector<bool>> reducedDimensions(const KernelArgs& args, int k, int rank);

} // namespace loopscope
