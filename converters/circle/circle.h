// Circle models, the format of Samsung's ONE: `.circle` files to the IR and back. TFLite's tables with operators, element types and
// numbers of its own; what is the same is shared with converters/tflite, whose promises hold here too.
#pragma once

#include "converters/tflite/tflite.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

namespace tflite_format {
class FormatSchema;
} // namespace tflite_format

/// Reads a model of dialect circle: operators that TFLite has too are of dialect tfl, the others of dialect circle. Errors: badFile.
Result<Model> importCircle(const std::string& path, Bytes content);

/// As importTflitePart().
Result<Model> importCirclePart(const std::string& path, const Bytes& content, std::vector<Error>& faults);

/// Writes a model of dialect circle or tfl. Errors: unsupported (what Circle has no form for, by name), badFile.
Result<std::vector<std::byte>> exportCircle(const Model& model, uint64_t maxInlineData = kMaxInlineData);

/// What Circle's schema says of operators and their options.
const tflite_format::FormatSchema& circleSchema();

/// True if the bytes carry Circle's file identifier.
bool looksLikeCircle(std::span<const std::byte> content);

} // namespace loopscope
