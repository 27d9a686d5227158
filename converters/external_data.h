// Constants whose data lies in files beside the model ("external buffers").
#pragma once

#include "engine/ir/model.h"

#include <string>

namespace loopscope {

/// Maps the files that the groups of external buffers name, relative to `folder`, and gives each buffer its bytes (setFoundData).
/// What cannot be reached stays as it is: the model opens and lists, and operators that want the data say what is missing.
void findExternalData(Model& model, const std::string& folder);

} // namespace loopscope
