// What the model that is open is held against in the window: another file, with the rewrites that lie between the two, of which some may
// be taken back, or the model itself on other kernels.
#pragma once

#include "app/wiring/command_line.h"
#include "engine/api/debug_subject.h"
#include "viewer/bridge/fused_side.h"

#include <memory>
#include <string>
#include <vector>

namespace loopscope::app {

/// Makes `subject` be held against a model file in which operators of `off` are as on this side. Null where nothing was rewritten. Errors:
/// of opening the file; usage (what is to be taken back is no rewrite, or cannot be).
Result<std::shared_ptr<const viewer::FusedSide>> holdAgainstRewritten(DebugSubject& subject, const std::string& file,
                                                                      const std::vector<viewer::FusionSwitch>& off,
                                                                      const Arguments& arguments);

/// Makes `subject` be held against a run of its own model on the kernels of a profile, "reference", "fast", "xnnpack" or "vulkan". Errors:
/// unsupported (a recording; no device), usage.
Status holdAgainstKernels(DebugSubject& subject, const std::string& profile, const Arguments& arguments);

} // namespace loopscope::app
