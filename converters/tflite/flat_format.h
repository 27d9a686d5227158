// What tells apart the formats of the TFLite family, TFLite itself and Circle: they share nearly all tables, so import and export are
// written once, against TFLite's accessors, and ask this description where a number or a place differs.
#pragma once

#include "converters/tflite/format_schema.h"
#include "engine/base/bytes.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flatbuffers {
class Verifier;
} // namespace flatbuffers

namespace loopscope::tflite_format {

/// One format. Slots are offsets in the vtable, 4 + 2 * id; 0 where the format has no such field. Tags are of the union
/// QuantizationDetails, whose CustomQuantization is 1 everywhere; 0 where the format has no such table.
struct FlatFormat {
    std::string_view name;       ///< for people: "TFLite"
    std::string_view extension;  ///< "tflite"
    std::string_view identifier; ///< bytes 4 to 7 of the file
    Dialect dialect = Dialect::tfl;
    const uint8_t* binarySchema = nullptr; ///< what flatc embeds
    const FormatSchema& schema;
    /// Verifies the whole file along the format's own schema: only what this has seen may be read.
    bool (*verify)(flatbuffers::Verifier& verifier);
    /// The operator code that an entry of operator_codes means.
    int32_t (*realCode)(int8_t oldCode, int32_t code);
    uint32_t usualVersion = 0;       ///< of Model.version, as writers say it
    uint32_t newestVersion = 0;      ///< that can be read
    uint16_t graphDebugSlot = 0;     ///< SubGraph.debug_metadata_index
    uint16_t dataFormatSlot = 0;     ///< SubGraph.deprecated_data_format
    uint16_t compressionSlot = 0;    ///< Tensor.compression_type
    bool hasExternalBuffers = false; ///< Tensor.external_buffer, Model.external_buffers
    uint8_t blockwiseTag = 0;
    uint8_t multiAxisTag = 0;
    uint8_t mxTag = 0;

    bool isIdentified(std::span<const std::byte> content) const
    {
        return content.size() >= 8 && std::memcmp(content.data() + 4, identifier.data(), 4) == 0;
    }
};

/// importTflite and exportTflite (tflite.h) for any format of the family.
Result<Model> importFlatModel(const std::string& path, Bytes content, const FlatFormat& format);
/// The same of a damaged file, as far as it goes: what is lost is left out or empty, and `faults` says what was wrong. The model may
/// break rules of verifyModel. Errors: there is nothing left to read.
Result<Model> importFlatPart(const std::string& path, const Bytes& content, const FlatFormat& format, std::vector<Error>& faults);
Result<std::vector<std::byte>> exportFlatModel(const Model& model, const FlatFormat& format, uint64_t maxInlineData);

const FlatFormat& tfliteFormat();

} // namespace loopscope::tflite_format
