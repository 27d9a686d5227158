// What of a TensorFlow graph runs: pruned to what the fetches and targets need, cut where values are fed, and put into an order in which
// every operator follows what it reads. Ids and names stay, so that addresses mean the same in the selection and in the file.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope {

/// As a TensorFlow session is asked: values by `node` or `node:slot`, targets by node name.
struct RunSelection {
    std::vector<std::string> feeds, fetches, targets;
};

/// The model with `root` as what the selection runs: its inputs are the feeds in their order, its outputs the fetches. Without feeds,
/// fetches and targets the root keeps its own inputs and outputs. Functions keep what their outputs, control outputs and side effects
/// need. Graphs without cycles are in an order of execution, which respects control inputs; others keep the order of the file.
/// Calls of functions by name and with type parameters are resolved (function_calls.h).
/// The initialising nodes of a model (`init_op`, apart by blanks) become a graph behind the others, kInitialiserGraph.
/// All GraphIds and ValueIds stay valid; OperatorIds do not. Fetched references (variables of TensorFlow 1) are read by an Identity that
/// is added at the end.
/// Errors: usage, "feed 'x:0': no such node; did you mean 'X:0'?".
/// `others`: what else is run of the model, by graphs beside it, which are selected alike; calls then keep all that their functions give.
struct OtherRun {
    GraphId root;
    RunSelection selection;
};
Result<Model> selectForRun(const Model& model, GraphId root, const RunSelection& selection, const std::vector<OtherRun>& others = {});

} // namespace loopscope
