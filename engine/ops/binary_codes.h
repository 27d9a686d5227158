// Weights in binary codes (BCQ) of Circle: a row of weights is a sum of rows of signs, each with its scale. ONE publishes the operands and
// the shapes of its two operators (luci, onert), but no kernel; order of rows and bits are those of its LQ_FULLY_CONNECTED, the open
// relative of the closed one: the codes of a weight row follow each other, bit i of word w is column 32·w + i, a set bit is +1.
#pragma once

#include "engine/ops/op_def.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace loopscope {

/// Weight rows with the same number of codes.
struct BinaryCluster {
    int64_t codes = 0, rows = 0;
};

/// Operand numbers.
struct BinaryOperands {
    int scales, binary, clusters;
};

/// What the operands say of a weight matrix; rows and codes are unknown until the clusters are known.
struct BinaryShape {
    int64_t rows = kUnknownDim;
    int64_t codes = kUnknownDim;
};

/// The clusters of a [n,2] tensor of (codes, rows). Nothing is checked.
std::vector<BinaryCluster> binaryClusters(std::span<const int64_t> numbers);

/// C2 ranks and dtypes of the operands, C3 clusters, C4 as many scales and rows of words as codes, C5 `width` columns in those words.
Result<BinaryShape> checkBinaryCodes(const InferContext& context, BinaryOperands operands, int64_t width);

} // namespace loopscope
