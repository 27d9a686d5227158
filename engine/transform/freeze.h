// Variables of a TensorFlow graph become constants, so that the graph alone computes what its checkpoint and graph computed together.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/run_selection.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

struct Frozen {
    int64_t variables = 0;
    std::vector<std::string> tables; ///< nodes that still hold state: whoever runs the graph has to fill them first
};

/// Reduces the root to what the fetches and targets need, turns every variable that is left into a constant of its value (`@value`), and
/// drops what nobody needs any more: nodes, functions, signatures but `signature`, the parts of the MetaGraph that speak of checkpoints.
/// Handles that go through calls, loops and branches become the values themselves. Errors: unsupported, with the variables' names: one is
/// written by what is left, has no value, or is read in a way that constants know no operator for; the model is then as it was.
Result<Frozen> freezeVariables(Model& model, GraphId root, const RunSelection& selection, std::string_view signature);

} // namespace loopscope
