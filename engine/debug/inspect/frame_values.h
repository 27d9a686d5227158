// What the operators of a frame gave, for lines that show a graph with its last values.
#pragma once

#include "engine/debug/inspect/value_line.h"
#include "engine/debug/target.h"
#include "engine/observe/address_names.h"

#include <functional>
#include <string>
#include <vector>

namespace loopscope {

/// The values of one operator's results.
struct OperatorValues {
    enum class Age : uint8_t { none, current, earlier };
    OperatorId op;
    Age age = Age::none;
    std::string text;
    bool abnormal = false;
};

/// How a face writes values.
using ValueWriter = std::function<InlineValue(const Tensor&)>;

/// What the results of operators of the frame at `depth` (−1: innermost) are; with `earlier`, where one has not run in this invocation,
/// what it gave in the one before: that is looked up by travelling, and stands where it stood afterwards.
std::vector<OperatorValues> valuesOf(const DebugTarget& target, int depth, const std::vector<OperatorId>& operators, bool earlier,
                                     const ValueWriter& writer);

} // namespace loopscope
