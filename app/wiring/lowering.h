// From a TensorFlow model to a TFLite one: what is asked of it is cut out, v1 control flow is raised, variables become constants where they
// can, and the rest is lowered. Of a TFLite model only composites of StableHLO may be asked to become something else.
#pragma once

#include "converters/fuse/fuse.h"
#include "converters/lower/lower.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/run_selection.h"

#include <string>

namespace loopscope::app {

/// `model` is changed on the way. `selection` is complete (completeSelection); inputs and outputs are in its order. `signature`: the chosen
/// one, which is kept; empty: none. Errors: unsupported, for what of v1 control flow cannot be raised, with node and rule; of selectForRun.
Result<LoweredModel> loweredModel(Model model, GraphId root, const RunSelection& selection, const std::string& signature,
                                  const LowerOptions& options);

/// What `--composites operator|keep|body` asks for; empty: `otherwise`. Errors: usage.
Result<Composites> compositesOf(const std::string& choice, Composites otherwise);
/// Composites of StableHLO become what is asked for; nothing else changes. Errors: usage.
Status chooseComposites(Model& model, const std::string& choice);

/// "cannot convert to tflite: 2 operators have no form there: main/CTCLoss, main/decode/Bitcast (--allow-custom keeps them)", and why.
Error noFormError(const LoweredModel& lowered);

} // namespace loopscope::app
