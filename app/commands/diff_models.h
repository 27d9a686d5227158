// Two models operator by operator: which belongs to which, and what differs between them.
#pragma once

#include "engine/base/result.h"
#include "engine/debug/graph_diff/scopes.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope::app {

/// One thing in which two operators differ, or an operator without a partner.
struct ModelDifference {
    std::string address; ///< in the first model; in the second, if only that has it
    /// `operator`, `attribute KEY`, `operand N`, `result N`, `fused`, `split`, `moved`, `missing`; `model`: no operator's
    std::string kind;
    std::string a, b; ///< the two sides
};

struct ModelDiff {
    int64_t paired = 0, differing = 0;        ///< operators of the first model
    int64_t onlyA = 0, onlyB = 0;             ///< without a partner
    std::string pairedBy;                     ///< "address", "content", "name", "neighbours", "structure": how most pair
    std::vector<ScopeSummary> scopes;         ///< the same by the scopes of names; those of the first model, where it has the operator
    std::vector<ModelDifference> differences; ///< in listing order of the first model, then those of the second alone
};

/// Where one is TensorFlow's and the other is not: variables that nothing writes become constants, and calls what they call.
Status openForDiff(Model& a, Model& b);

/// Pairs the operators that the primary graphs reach, by address where both have the same structure, else as engine/debug/graph_diff does,
/// and compares kinds, attributes, operands and types of results.
ModelDiff diffModels(const Model& a, const Model& b);

} // namespace loopscope::app
