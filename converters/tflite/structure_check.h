// Finds the place where a FlatBuffer breaks its own rules, for a message: FlatBuffers' verifier says only that it does.
#pragma once

#include "converters/tflite/file_view.h"

namespace loopscope::tflite_format {

/// The first table, vector or string that does not lie within the file, or is misaligned. Called when verification has failed.
Error describeStructure(const FileView& file);

} // namespace loopscope::tflite_format
