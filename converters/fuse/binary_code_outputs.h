// Weights in binary codes, as a compressor writes them into a file: behind the outputs of the model stand constants that describe them. The
// first output is a table of numbers between two magic ones, which says how many outputs are the model's own.
#pragma once

#include "engine/ir/model.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// The constants that describe one matrix.
struct BinaryCodeOutputs {
    ValueId isLeft;  ///< bool: the weights are W · x as they are, else transposed
    ValueId scales;  ///< f32 [codes]
    ValueId words;   ///< i32 [codes, words of a row]
    ValueId count;   ///< i32: how many clusters there are
    ValueId sizes;   ///< i32 [clusters]: rows
    ValueId bits;    ///< i32 [clusters]: codes of a row
    ValueId weights; ///< f32: the matrix that they stand for
};

/// Those of a graph, and how many of its outputs are its own; nothing: it has none.
struct BinaryCodeTable {
    size_t own = 0;
    std::vector<BinaryCodeOutputs> matrices;
};
std::optional<BinaryCodeTable> binaryCodeTable(const Graph& graph);

/// Once operators read the codes themselves, the outputs that describe them go; a line that tells so for each graph.
std::vector<std::string> dropBinaryCodeOutputs(Model& model);

} // namespace loopscope
