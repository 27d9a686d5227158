// Two models operator by operator: which belongs to which, and what differs between them.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope::app {

/// One thing in which two operators differ, or an operator without a partner.
struct ModelDifference {
    std::string address; ///< in the first model; in the second, if only that has it
    std::string kind;    ///< `operator`, `attribute KEY`, `operand N`, `result N`, `missing`; `model`: no operator's
    std::string a, b;    ///< the two sides
};

struct ModelDiff {
    int64_t paired = 0, differing = 0;        ///< operators of the first model
    int64_t onlyA = 0, onlyB = 0;             ///< without a partner
    std::string pairedBy;                     ///< "address", "name" or "structure"
    std::vector<ModelDifference> differences; ///< in listing order of the first model, then those of the second alone
};

/// Pairs the operators that the primary graphs reach, as runs are paired, and compares kinds, attributes, operands and types of results.
ModelDiff diffModels(const Model& a, const Model& b);

} // namespace loopscope::app
