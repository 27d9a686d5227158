// Gradients that functions of Python give (tf.custom_gradient), as far as a SavedModel holds them as functions.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <span>

namespace loopscope::savedmodel {

/// Says of each function that the library registers for a `_gradient_op_type` what the graph does not say, in the attributes that
/// engine/transform/gradient/custom_gradients.h reads. `metaGraph`: the MetaGraphDef without its graph. Errors: badFile, it is no message.
Status nameRegisteredGradients(Model& model, std::span<const std::byte> metaGraph);

} // namespace loopscope::savedmodel
