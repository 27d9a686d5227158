// Finds the place where a FlatBuffer breaks its own rules, for a message: FlatBuffers' verifier says only that it does.
#pragma once

#include "converters/tflite/file_view.h"

#include <string_view>

namespace loopscope::tflite_format {

/// The first table, vector or string that does not lie within the file, or is misaligned. Called when verification has failed.
/// `binarySchema` is the compiled schema; `format` is its name, "TFLite".
Error describeStructure(const FileView& file, const uint8_t* binarySchema, std::string_view format);

} // namespace loopscope::tflite_format
