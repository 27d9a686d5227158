// TFLite models: `.tflite` files to the IR and back. What the file says is kept: importing what was exported gives an equal model
// (sameModel), though not the same bytes: numbering, order of buffers and padding are the writer's business.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

/// Reads a model. Constants are slices of `content`; their bytes are not touched, so a mapped file of any size opens at once.
/// Every index and offset is checked. Errors: badFile, `PATH: at 0x1a4: subgraphs[2].operators[5].inputs[1] is tensor 91, …`.
/// Facts that have no place of their own in the IR are kept as attributes of values (docs/tflite.md lists them).
Result<Model> importTflite(const std::string& path, Bytes content);

/// What can be read of a damaged file; `faults` says what is wrong, each with its place. The model may break rules of verifyModel, and is
/// there to be looked at. Errors: badFile (nothing is left).
Result<Model> importTflitePart(const std::string& path, const Bytes& content, std::vector<Error>& faults);

/// Bytes of constants up to which data lies inside the FlatBuffer, whose own limit is 2 GiB. Beyond, it follows the FlatBuffer and
/// the buffers say offset and size.
inline constexpr uint64_t kMaxInlineData = uint64_t{3} << 29;

/// Writes a model of dialect tfl. Buffers are shared by content and aligned to 16 bytes.
/// Errors: unsupported (operators, dtypes or attributes that the format has no form for, by name), badFile (a constant whose bytes are
/// not known).
Result<std::vector<std::byte>> exportTflite(const Model& model, uint64_t maxInlineData = kMaxInlineData);

/// True if the bytes carry TFLite's file identifier.
bool looksLikeTflite(std::span<const std::byte> content);

} // namespace loopscope
