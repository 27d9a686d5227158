// Gradients of whole TensorFlow models: a graph gets operators that compute the gradients of some of its values by others. Calls, branches
// and loops get backward functions; what these need of the forward run is handed out by functions and kept in TensorLists by loops.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope {

struct GradientRequest {
    GraphId graph;
    std::vector<ValueId> of, wrt;        ///< the gradient of the sum of all elements of all `of`, by each `wrt`
    std::vector<std::string> recompute;  ///< names or kinds of operators in functions that are computed again instead of kept
    std::vector<std::string> names = {}; ///< by `wrt`: what the results are called after; empty: after the nodes
    bool stacks = false;                 ///< loops of the graph itself keep what is large and of known size on stacks instead of lists
};

struct ModelGradient {
    std::vector<ValueId> gradients; ///< in the order of `wrt`
    std::vector<bool> isConnected;  ///< whether anything of `of` depends on it; else its gradient is zeros
    size_t operators = 0;           ///< new ones, in all graphs
};

/// The graph's outputs, if it has some, are followed by the gradients. Every new operator's origin is the forward operator that it belongs
/// to. Gradients of gradients: by doing it again. GraphIds stay valid, functions are added behind.
/// Errors: usage (types without a gradient, another dialect); unsupported, "no gradient rule for tf.Foo", with the operator's place.
Result<ModelGradient> addGradients(Model& model, const GradientRequest& request);

} // namespace loopscope
