// Weights of bytes with scales, for products of floats: what a recurrent layer's operator makes of those of its cell.
#pragma once

#include "converters/fuse/constants.h"

#include <optional>
#include <string>
#include <vector>

namespace loopscope::fusing {

inline constexpr double kHalfStep = 0.5 / 127; ///< of the largest byte: how near rounding to another scale has to be

struct LstmWeights;

/// Bytes as numbers, with one scale for all or one for each index of their first dimension.
struct StoredWeights {
    Numbers bytes;
    std::vector<float> scales;
};

/// A constant matrix of i8 whose zero points are 0; nothing: it is something else.
std::optional<StoredWeights> storedWeights(const Graph& graph, ValueId value);

/// Gives each gate one scale, which the operator has, where columns have several: bytes move by no more than `nearness` of the gate's
/// largest weight. Tells why not; what became approximate joins `note`.
std::string unifyScales(LstmWeights& weights, double nearness, std::string& note);

/// The same of weights that are to have one scale for all, whose rows may have their own now.
std::string unifyScale(StoredWeights& weights, double nearness, std::string& note);

} // namespace loopscope::fusing
