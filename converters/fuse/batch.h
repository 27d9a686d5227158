// A model whose inputs take batches of any size gets one of a known size: states of recurrent operators have it.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>

namespace loopscope {

/// The first dimension of each input of `root`, and of the placeholders in it, becomes `size` where it is unknown; in a .tflite file also
/// of the inputs of signatures, and what follows from them. Errors: usage, no input begins with a dimension that is unknown.
Status giveBatch(Model& model, GraphId root, int64_t size);

} // namespace loopscope
