// The other way than lowering: a TFLite model as a TensorFlow one, operator by operator, with its names. Gradients are those of
// TensorFlow's operators, so that TFLite models are lifted first, and lowered again where a TFLite file is asked for.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <vector>

namespace loopscope {

struct LiftedModel {
    Model model;                              ///< dialect tf; graphs as they were, with inputs and outputs of their own
    std::vector<std::vector<ValueId>> values; ///< graph, value → what it is now; invalid: nothing
};

/// Errors: unsupported, "no form in TensorFlow for tfl.lstm", with the operator's place.
Result<LiftedModel> liftToTensorFlow(const Model& model);

} // namespace loopscope
