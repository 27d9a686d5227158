// Operators of two graphs that belong together although nothing names them alike: what stands between neighbours that pair, with the same
// kinds and shapes in the same order.
#pragma once

#include "engine/ir/model.h"

#include <utility>
#include <vector>

namespace loopscope {

/// Positions of the longest part of `numbers` that rises strictly; entries below 0 are left out.
std::vector<size_t> longestRise(const std::vector<int>& numbers);

/// `partners`: of each operator of `here` the one of `there` that it pairs with already, or −1. `taken`: operators of `there` that pair. A
/// stretch of which less than half of the shorter side finds a partner is left alone: alike by chance.
std::vector<std::pair<OperatorId, OperatorId>> pairByStructure(const Graph& here, const Graph& there, const std::vector<int>& partners,
                                                               const std::vector<char>& taken);

} // namespace loopscope
