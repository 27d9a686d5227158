// A damaged file of the TFLite family as one that can be read: what leads nowhere leads to something empty instead.
#pragma once

#include "converters/tflite/file_view.h"
#include "engine/base/bytes.h"
#include "engine/base/result.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace loopscope::tflite_format {

struct MendedFile {
    Bytes content;             ///< the file, and behind it what is empty
    uint64_t emptyTable = 0;   ///< where the table lies that stands for those that are lost
    std::vector<Error> faults; ///< what was wrong, with its place; the first ones only where there are very many
};

/// Follows the compiled schema through the whole file. None: it has no root table, or is too large to be copied.
std::optional<MendedFile> mendStructure(const FileView& file, const uint8_t* binarySchema);

} // namespace loopscope::tflite_format
