// Large constants of a text: base64 blocks, and putting bytes where a text named them by hash.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/ir/text/printer.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace loopscope {

/// Standard alphabet, padded, in lines of 76 characters, each ended.
std::string encodeBase64Lines(std::span<const std::byte> bytes);
/// None if `text` is not base64. Blanks and line ends do not count.
std::optional<Bytes> decodeBase64(std::string_view text);

/// A relative path without `..`, that stays below the folder of the text that names it.
bool isSafeSidePath(std::string_view path);

/// Gives every constant, metadata entry and quantization parameter that is known by hash only the bytes of the blob with that hash.
/// Errors: badFile if a blob has another size than what refers to it.
Status resolveBlobs(Model& model, std::span<const TextBlob> blobs);

} // namespace loopscope
