// A function parted in two for its gradient: one that computes what it did and hands out what backpropagation needs of it, and one that
// takes this and the gradients of the outputs and gives those of the inputs.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/gradient/backward_pass.h"

#include <string>
#include <vector>

namespace loopscope {

/// What is asked of a function.
struct SplitRequest {
    GraphId function;
    std::vector<bool> wanted;           ///< inputs that get a gradient
    std::vector<bool> seeded;           ///< outputs for which one comes
    std::vector<DType> dtypes;          ///< of the inputs' gradients
    std::vector<Shape> shapes;          ///< that the inputs have whenever it is called
    std::vector<std::string> recompute; ///< names or kinds of operators that are computed again instead of kept: 'block_1/*', 'Tanh'
};

struct SplitFunction {
    Graph forward;        ///< outputs: the function's, then what is saved
    Graph backward;       ///< inputs: gradients of seeded outputs, what was saved, then those of the function's inputs that it needs
    size_t gradients = 0; ///< how many gradients `backward` takes
    std::vector<TensorType> saved; ///< types of what is saved
    std::vector<size_t> inputs;    ///< numbers of the function's inputs that `backward` needs
};

/// The backward function gives a gradient for each wanted input, zeros where nothing comes. The model may grow by functions that are
/// called. Errors: those of `calls`.
Result<SplitFunction> splitFunction(Model& model, CallGradients& calls, const SplitRequest& request);

/// An id for a function that no graph of the model has.
std::string freshFunctionId(const Model& model, const std::string& wanted);

} // namespace loopscope
