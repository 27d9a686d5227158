// What every program does with a model that opened: what the fuzz targets of model formats share.
#pragma once

#include "engine/ir/model.h"

namespace loopscope {

/// Verifies, prints, shows and exports a model and runs a few steps of it, if its tensors are small. Results and refusals are all the same.
void lookAtModel(const Model& model);

} // namespace loopscope
