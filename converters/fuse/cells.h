// What the cells of recurrent layers are written with, in either dialect: products with weights, parts of sums, constants of any graph.
#pragma once

#include "converters/fuse/constants.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::fusing {

/// The value behind operators that only pass one on.
ValueId behindIdentities(const Graph& graph, ValueId value);
/// What computes it; null: no operator, or another result than its first.
const Operator* producerIn(const Graph& graph, ValueId value);
/// The same, if it is of this kind (neutralKind) and has as many operands.
const Operator* producerIn(const Graph& graph, ValueId value, std::string_view kind, size_t operands);
/// i32 or i64 elements of a constant of any graph.
std::optional<std::vector<int64_t>> integersIn(const Graph& graph, ValueId value);
/// f32 elements, of f16 too where that is cast.
std::optional<Numbers> floatsIn(const Graph& graph, ValueId value);

/// Which name both dialects' operators have here: `split`, `strided_slice`, `slice`, `unpack`; else neutralKind.
std::string_view cellKind(const Operator& op);

/// The letters of the operands and of the result of an Einsum of two operands; empty: it is another operator, or written otherwise.
std::vector<std::string> einsumLetters(const Operator& op);

/// left · weights (+ bias)
struct WeightedProduct {
    ValueId left, weights, bias; ///< no bias: invalid
    bool isTurned = false;       ///< a row of the weights is what a column is elsewhere, as TFLite has them
    bool isAsymmetric = false;   ///< with weights of bytes: how the other operand is rounded
};
/// `ignoresActivation`: what is fused into it is looked at by who asks.
std::optional<WeightedProduct> weightedProduct(const Graph& graph, ValueId value, bool ignoresActivation = false);

/// One of equal parts along the last dimension of a sum.
struct SumPart {
    ValueId sum;
    int part = -1; ///< −1: none
};
SumPart partOfSum(const Graph& graph, ValueId value, int parts);

/// As [rows, columns].
Numbers straightWeights(Numbers weights, bool isTurned);

/// Why states of a size that is not known are no states of an operator.
std::string unknownBatch(std::string_view what);

} // namespace loopscope::fusing
