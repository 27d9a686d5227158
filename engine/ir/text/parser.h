// Text to model. The parser knows no operator: types that are left out stay unknown until the loader runs inference, and the order
// that tfl graphs demand is the verifier's business. Any text gives a model or errors with places, never a crash.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/ir/text/lexer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// A data block that names a place in another file: `data HASH N file "m.lsir.bin" offset=4096`.
struct SideBlob {
    std::string hash; ///< 16 or 32 digits
    uint64_t size = 0;
    std::string file; ///< relative to the text file, without `..`
    uint64_t offset = 0;
    uint32_t line = 1, column = 1; ///< of the statement
};

struct ParseOptions {
    /// Bytes that `splat` and one-number quantization parameters of one text may grow to: short text must not eat all memory.
    uint64_t largestExpansion = uint64_t{1} << 31;
};

/// Where an operator stands, for those who know which kinds and attributes there are.
struct OperatorPlace {
    struct At {
        uint32_t line = 1, column = 1;
    };
    At kind;
    std::vector<At> attributes; ///< in the order of the operator's list
};

struct ParsedText {
    Model model;                   ///< meaningful if there are no errors; inline data blocks are resolved, side blobs are not
    std::vector<TextError> errors; ///< by place, at most 20
    std::vector<SideBlob> sideBlobs;
    std::vector<std::vector<OperatorPlace>> places; ///< of each graph's operators
};

ParsedText parseText(std::string_view text, const ParseOptions& options = {});

/// The model of a text. Errors: badFile with the first error as `FILE:LINE:COL: …` and the others as notes.
/// Constants of side files are known by hash only (converters/lsir maps them).
Result<Model> parseModel(std::string_view text, std::string_view fileName);

/// `FILE:LINE:COL: …` and notes from at least one error.
Error textError(const std::vector<TextError>& errors, std::string_view fileName);

} // namespace loopscope
