// What rewrites make of the model that is open, for the window: raised from TensorFlow 1, and fused as the other side of a comparison.
#pragma once

#include "app/wiring/command_line.h"
#include "converters/fuse/fuse.h"
#include "engine/api/debug_subject.h"
#include "viewer/bridge/fused_side.h"

#include <memory>
#include <vector>

namespace loopscope::app {

/// Makes `subject` be held against its own model, fused but for places that are switched off. Errors: unsupported (a recording), usage,
/// of fusing.
Result<std::shared_ptr<const viewer::FusedSide>> holdAgainstFused(DebugSubject& subject, const std::vector<viewer::FusionSwitch>& off,
                                                                  const Arguments& arguments);

/// How the model of `target` is fused but for places that are switched off.
FusionOptions fusionOptions(const Model& model, const RunTarget& target, const std::vector<viewer::FusionSwitch>& off);

} // namespace loopscope::app
