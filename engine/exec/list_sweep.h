// Which shared elements of lists a run still needs: nobody counts the copies of a list, so values are looked at.
#pragma once

#include "engine/kernels/resources.h"
#include "engine/tensor/tensor.h"

#include <functional>
#include <vector>

namespace loopscope {

/// What these values, and variables, refer to belongs to a run that begins.
void holdListElements(const std::vector<const Tensor*>& inputs, ResourceStore& resources);

using ValueVisit = std::function<void(const Tensor&)>;
/// Lets go what neither a value that may still be read nor anything in `resources` refers to. `visitValues` calls with each such value.
void sweepListElements(ResourceStore& resources, const std::function<void(const ValueVisit&)>& visitValues);

} // namespace loopscope
