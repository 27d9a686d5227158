// Which variable of a graph has which entry of the checkpoint, by the objects that the program had when it was saved. TensorFlow's own
// loader goes this way; savers of Keras 3 restore other variables than those that the signatures read.
#pragma once

#include "converters/savedmodel/checkpoint.h"
#include "converters/savedmodel/restored_variables.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <span>
#include <vector>

namespace loopscope::savedmodel {

/// `metaGraph`: the MetaGraphDef that the model was read from, without its graph. Variables that a function gets from the main graph are
/// those that the function is bound to, others those of their name. Empty without graphs of objects. Errors: badFile (damaged).
Result<std::vector<RestoredVariable>> objectVariables(const Model& model, std::span<const std::byte> metaGraph, Checkpoint& checkpoint);

} // namespace loopscope::savedmodel
