// Text IR files (`.lsir`) to models and back: what the parser leaves open is filled in here, since this layer may see the operator
// catalogue and other files. The language: docs/text_ir.md.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Where the data of large constants goes.
enum class DataMode : uint8_t {
    automatic,  ///< in the text up to 1 MiB in all, else in a side file
    inlineData, ///< base64 blocks after the graphs
    side,       ///< `PATH.bin` beside the text
    none,       ///< hashes alone: for listings, diffs and tests; such a file does not run
};

/// True if the bytes begin like a text IR file: with `lsir`, `model`, `graph` or another of its statements, after blanks and comments.
bool looksLikeLsir(std::span<const std::byte> content);

/// Reads a text: parses, maps side files (relative to `path`), verifies, and fills in result types that were left out.
/// Types that inference cannot tell stay unknown. Side files of up to 64 MiB in all are checked against their hashes; larger ones are
/// mapped and not read.
/// Errors: badFile, `PATH:LINE:COL: …` with further errors as notes; a side file that is missing, short or does not match its hash.
Result<Model> importLsir(const std::string& path, Bytes content);

/// What is left of a text with errors: lines that are wrong, and those that hang on them, are passed over. All of it comes to `faults`.
/// Errors: badFile (nothing is left).
Result<Model> importLsirPart(const std::string& path, Bytes content, std::vector<Error>& faults);

/// As importLsir() for a text that comes from no file (it can have no side files). `name` stands in messages.
Result<Model> modelFromText(std::string_view text, std::string_view name);

/// Writes the canonical text, and the side file if there is one. Existing files are refused unless `overwrite`.
/// Errors: cannotWrite.
Status exportLsir(const Model& model, const std::string& path, DataMode mode, bool overwrite);

/// The text with its data inside (inlineData) or without data (none).
std::string lsirText(const Model& model, DataMode mode);

} // namespace loopscope
